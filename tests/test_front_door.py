import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "polars", "pandas", "pyarrow", "dask", "click")


def fresh(code):
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    code = f"import sys, mercer; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert fresh(code) == "[]"


def test_kernels_do_not_load_optional_libraries():
    optional = ("sklearn", "matplotlib", "polars", "pandas", "pyarrow", "dask", "click", "rich")
    shown = f"print([m for m in {optional!r} if m in sys.modules])"
    assert fresh(f"import sys, mercer; mercer.Gaussian(); {shown}") == "[]"


@pytest.mark.parametrize("name", mercer.__all__)
def test_every_public_name_loads(name):
    assert getattr(mercer, name) is not None
    assert name in dir(mercer)


def test_a_public_name_is_the_object_of_its_room():
    assert mercer.Gaussian is importlib.import_module("mercer.kernels").Gaussian


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'Similarity'"):
        mercer.Similarity  # noqa: B018


def test_type_checkers_see_the_same_names():
    stub = ast.parse(Path(mercer.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    rooms = {name: f"mercer.{name}" for name in mercer._ROOMS}
    assert seen == rooms | {name: f"{home}.{name}" for name, home in mercer._HOMES.items()}
