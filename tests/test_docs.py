"""What the site is made of: every public name has its place, and every link its page."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = pytest.fixture(scope="module")(load_reference)


def test_every_public_name_is_in_the_reference(reference):
    told = [name for names in reference.pages().values() for name in names]
    assert set(mercer._HOMES) <= {name.short for name in told if name.module == "mercer"}
    for title in mercer._ROOMS:
        module = reference.room(title)
        for short in module.__all__:
            assert any(getattr(module, short) is name.value for name in told), short


def test_every_public_name_has_a_first_sentence(reference):
    for _, name in reference.public_names():
        sentence = name.summary
        assert sentence[-1] in ".:" and len(sentence) > 5, f"{name.full}: {sentence!r}"


def test_a_page_of_the_reference_documents_each_of_its_names(reference):
    names = reference.pages()["kernels"]
    text = reference.group("kernels", names)
    for name in names:
        assert re.search(rf"^\.\. auto(class|function):: {name.short}$", text, re.MULTILINE)


def test_prose_of_docstrings_is_taken_literally(reference):
    assert reference.literal("||x||, coef_ and a*b") == r"\|\|x\|\|, coef\_ and a\*b"
    assert reference.literal("``|x|`` and :math:`a_`") == "``|x|`` and :math:`a_`"


def test_the_gallery_has_an_order_of_all_its_scripts(reference):
    assert sorted(reference.GALLERY) == sorted(path.stem for path in DOCS.glob("gallery/*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_names_that_a_page_takes_from_mercer_exist(page):
    text = page.read_text(encoding="utf-8")
    for dotted in set(re.findall(r"\bmercer((?:\.[A-Za-z_]\w*)+)\(?", text)):
        value = mercer
        for part in dotted[1:].split("."):
            if inspect.ismodule(value) and part in {"html", "toml", "svg"}:
                break
            value = find(value, part)
            assert value is not None, f"mercer{dotted}"


def find(value, part):
    """The attribute or submodule of a name; None where it has no such thing."""
    found = getattr(value, part, None)
    if found is None and inspect.ismodule(value):
        name = f"{value.__name__}.{part}"
        if importlib.util.find_spec(name) is not None:
            found = importlib.import_module(name)
    return found
