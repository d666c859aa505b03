"""The examples that users copy are run as they stand."""

import re
from pathlib import Path

import pytest
from numpy.testing import assert_allclose, assert_array_equal

ROOT = Path(__file__).parents[1]


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)


@pytest.mark.parametrize(
    "code",
    [*blocks("README.md"), *blocks("docs/guide.md")],
    ids=lambda code: code.split("\n")[0],
)
def test_examples_of_the_readme_and_the_guide_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    if "import mercer" not in code:
        exec("import mercer", names)
    exec(code, names)


def test_examples_of_the_guide_to_tables_run():
    exec("\n".join(blocks("docs/tables.md")), {})


def test_examples_of_the_guide_to_learned_kernels_run():
    names = {"print": lambda *values: None}
    exec("\n".join(blocks("docs/learning.md")), names)
    assert set(names["np"].argsort(names["learned"].kernel.length_scale)[:2]) == {0, 1}


def test_examples_of_the_guide_to_reports_run(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib.pyplot").switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    names = {"print": lambda *values: None}
    exec("\n".join(blocks("docs/report.md")), names)
    assert {row.column for row in names["explanation"].columns[:3]} == {"age", "dose", "site"}
    assert (tmp_path / "report.html").is_file()


def test_examples_for_those_who_come_from_scikit_learn_keep_its_numbers():
    names = {"print": lambda *values: None}
    (code,) = blocks("docs/from-scikit-learn.md")
    ridge, machine = code.split("X, y = load_digits")
    exec(ridge, names)
    X = names["X"]
    assert_allclose(names["ours"].predict(X), names["theirs"].predict(X), rtol=1e-9)
    exec("X, y = load_digits" + machine, names)
    X = names["X"]
    assert_array_equal(names["ours"].predict(X), names["theirs"].predict(X))


def test_the_kernel_added_in_the_guide_for_contributors_keeps_the_contract(points):
    names = {}
    exec(
        "from dataclasses import dataclass\n"
        "from mercer.tiles import Expression, Tile\n"
        "from mercer.kernels import Kernel, domains\n"
        "from mercer.kernels.families.stationary import SCHOENBERG, Rule\n",
        names,
    )
    (code,) = blocks("CONTRIBUTING.md")
    exec(code, names)
    # A class made by exec belongs to no module, so only its evaluation is checked here.
    kernel = names["Cauchy"](2.0)
    X, Z = points(9), points(4)
    squared = ((X[:, None] - Z[None]) ** 2).sum(axis=-1)
    assert abs(kernel(X, Z) - 1.0 / (1.0 + squared / 4.0)).max() < 1e-14
    assert kernel.check().status == "PROVED"
