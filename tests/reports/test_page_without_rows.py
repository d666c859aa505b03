"""A page about a model without held-out rows: all that needs none, and that nothing was tested."""

import re
import warnings
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import mercer

random = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame({"age": random.normal(50, 10, N), "site": random.choice(["a", "b", "c"], N)})
PRICE = 0.1 * TABLE.age.to_numpy() + 2.0 * (TABLE.site == "b").to_numpy()
SICK = np.where(np.median(PRICE) < PRICE, "ill", "well")
X = random.normal(size=(N, 2))
TEXTS = ["abab", "bcbc", "caca"] * 20
HOW = "mercer report MODEL --data FILE --target COLUMN"
ALWAYS = {"before-you-use-it", "kernel", "certificate-and-cost", "make-it-again"}
FROM_ROWS = {"columns", "effects", "similarity-of-the-training-rows", "influential-rows"}


def sections(page):
    found = re.findall(r'<section id="([^"]*)">(.*?)</section>', page.html, re.DOTALL)
    return {name: unescape(body) for name, body in found}


def summary(page):
    return plain(re.search("<header>(.*?)</header>", page.html, re.DOTALL)[1])


def plain(html):
    return unescape(re.sub("</?span[^>]*>", "", html))


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge("auto").fit(TABLE, PRICE),
        mercer.KernelRidge(solver="nystrom", n_landmarks=10).fit(X, PRICE),
        mercer.KernelLogisticRegression("auto").fit(TABLE, SICK),
        mercer.KernelSVC("auto").fit(TABLE, SICK),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_page_without_rows_has_all_sections_that_need_none_and_no_scores(model):
    page = mercer.report(model)
    found = sections(page)
    assert set(found) == ALWAYS | FROM_ROWS
    assert 'class="card"' not in page.html
    assert "when shuffled" not in page.html
    assert "rows a second" in found["certificate-and-cost"]


def test_the_summary_and_the_warnings_say_that_nothing_was_tested_and_how_to_do_it():
    page = mercer.report(mercer.KernelRidge("auto").fit(TABLE, PRICE))
    assert f"fitted to {N} rows. It was not tested on held-out rows; {HOW} does" in summary(page)
    assert re.search("Of its 2 columns, .* matter", summary(page))
    warned = plain(sections(page)["before-you-use-it"])
    assert "It was not tested on held-out rows" in warned
    assert HOW in warned
    assert f"made of {N} rows only" in warned


@pytest.mark.parametrize(
    ("model", "y"),
    [(mercer.KernelRegressor(), PRICE), (mercer.KernelClassifier(), SICK)],
    ids=["regression", "classification"],
)
def test_an_automatic_machine_from_a_file_has_a_page_with_its_leaderboard(model, y, tmp_path):
    mercer.save(model.fit(TABLE[["age"]][:20], y[:20]), tmp_path / "m.mercer")
    page = mercer.report(mercer.load(tmp_path / "m.mercer"), path=tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text(encoding="utf-8") == page.html
    assert set(sections(page)) >= ALWAYS | FROM_ROWS | {"leaderboard"}
    assert "It was not tested" in summary(page)


def test_a_page_of_texts_without_rows_lists_their_k_grams():
    page = mercer.report(mercer.KernelRidge("spectrum(2)").fit(TEXTS, X[:, 0]))
    assert "text" in sections(page)


def test_a_search_without_rows_has_its_selection_curve():
    page = mercer.report(mercer.KernelRidgeCV("gaussian").fit(X, X[:, 0]))
    assert "<svg" in sections(page)["selection"]


def test_a_model_that_keeps_no_rows_has_no_sections_of_rows():
    model = mercer.KernelRidge("polynomial(2)", solver="primal").fit(X, X[:, 0])
    model.function_ = replace(model.function_, dual=None)
    found = sections(mercer.report(model))
    assert set(found) == ALWAYS
    assert "rows a second" not in found["certificate-and-cost"]


def test_a_pipeline_of_features_has_a_page_of_what_is_known_of_it():
    model = make_pipeline(mercer.Nystroem(n_components=5), Ridge()).fit(X, X[:, 0])
    assert set(sections(mercer.report(model))) == ALWAYS - {"kernel"}


def test_a_sparse_model_without_rows_has_a_page():
    page = mercer.report(mercer.KernelRidge("gaussian").fit(csr_array(X), X[:, 0]))
    assert set(sections(page)) >= ALWAYS


def test_columns_of_kept_numbers_are_called_by_their_names_and_nothing_is_warned_of():
    model = mercer.KernelRidge("gaussian").fit(pd.DataFrame(X, columns=["u", "v"]), X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sections(mercer.report(model))
    assert "effect of u<" in found["effects"]
    assert ">u</td>" in found["columns"]


def test_rows_without_targets_are_looked_at_and_compared_but_not_tested():
    model = mercer.KernelRidge("auto").fit(TABLE[:40], PRICE[:40])
    moved = TABLE[40:].assign(age=TABLE.age[40:] + 100.0)
    page = mercer.report(model, moved)
    assert "It was not tested" in summary(page)
    assert "on-held-out-rows" not in sections(page)
    assert "'age' is distributed differently" in sections(page)["before-you-use-it"]


def test_what_has_no_page_is_refused_without_rows_too():
    with pytest.raises(ValueError, match="y are the targets of held-out rows X"):
        mercer.report(mercer.KernelRidge().fit(X, X[:, 0]), y=X[:, 0])
    with pytest.raises(ValueError, match="predicts several"):
        mercer.report(mercer.KernelRidge().fit(X, X))
    with pytest.raises(ValueError, match="fitted to a finished Gram matrix"):
        mercer.report(mercer.KernelRidge("precomputed").fit(X @ X.T, X[:, 0]))
    with pytest.raises(NotFittedError):
        mercer.report(mercer.KernelRidge())
