"""The page about a model says what a reader wants to know, and asks for nothing outside."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.reports.held_out import classification_scores, regression_scores
from mercer.reports.page.facts import Facts

random = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame(
    {
        "age": random.normal(50, 10, N),
        "site": random.choice(["a", "b", "c"], N),
        "note": random.choice(["good day", "bad day"], N),
    }
)
PRICE = 0.1 * TABLE.age.to_numpy() + 2.0 * (TABLE.site == "b").to_numpy()
SICK = np.where(np.median(PRICE) < PRICE, "ill", "well")
TRAIN, TEST = slice(0, 40), slice(40, N)


class Tags(HTMLParser):
    """Counts what is open, and collects addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.texts = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img", "br", "line", "circle", "polyline", "polygon"):
            self.open.append(tag)
        self.addresses += [v for k, v in attributes if k in ("src", "href", "data", "action")]

    def handle_endtag(self, tag):
        if tag not in ("line", "circle", "polyline", "polygon"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(html):
    page = Tags()
    page.feed(html)
    assert page.open == []
    return page


@pytest.fixture(scope="module")
def regression():
    model = mercer.KernelRidgeCV("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    return mercer.report(model, TABLE[TEST], PRICE[TEST], command="mercer fit t.csv").html


@pytest.fixture(scope="module")
def classification():
    model = mercer.KernelLogisticRegression("auto", 10.0).fit(TABLE[TRAIN], SICK[TRAIN])
    return mercer.report(model, TABLE[TEST], SICK[TEST]).html


def test_a_page_asks_for_nothing_outside(regression, classification):
    for html in (regression, classification):
        assert all(a.startswith(("data:", "#")) for a in read(html).addresses)
        assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\(", html)


def test_a_page_of_a_regression_has_its_sections(regression):
    text = " ".join(read(regression).texts)
    for said in ("R2", "RMSE", "baseline", "Columns", "Effects", "age", "site", "Kernel", "PROVED"):
        assert said in text
    for said in (
        "Selection",
        "Effective dimension",
        "jackknife+",
        "Influential rows",
        "mercer fit",
    ):
        assert said in text


def test_a_page_of_classes_has_its_sections(classification):
    text = " ".join(read(classification).texts)
    for said in ("accuracy", "log loss", "Confusion matrix", "ROC curve", "taken for ill"):
        assert said in text


def test_the_page_warns_of_few_rows_and_of_a_column_that_gives_the_target_away():
    leaky = TABLE.assign(copy=PRICE)
    model = mercer.KernelRidge("auto").fit(leaky[TRAIN], PRICE[TRAIN])
    html = mercer.report(model, leaky[TEST], PRICE[TEST]).html
    assert "made of 40 rows only" in html
    assert "&#x27;copy&#x27; alone gives the target away" in html


def test_the_page_warns_of_columns_that_drift():
    model = mercer.KernelRidge("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    moved = TABLE[TEST].assign(age=TABLE.age[TEST] + 100.0)
    assert (
        "&#x27;age&#x27; is distributed differently"
        in mercer.report(model, moved, PRICE[TEST]).html
    )


def test_what_users_wrote_is_text_and_no_markup():
    evil = TABLE.rename(columns={"age": "<script>alert(1)</script>"})
    model = mercer.KernelRidge("auto").fit(evil[TRAIN], PRICE[TRAIN])
    assert "<script" not in mercer.report(model, evil[TEST], PRICE[TEST]).html


def test_arrays_texts_and_machines_have_pages():
    X = random.normal(size=(N, 2))
    texts = ["abab", "bcbc", "caca"] * 20
    for model, rows, y in (
        (mercer.KernelSVC(), X, np.digitize(X[:, 0], [-0.5, 0.5])),
        (mercer.KernelSVR(), X, X[:, 0]),
        (mercer.KernelRidge("spectrum(2)"), texts, X[:, 0]),
    ):
        read(mercer.report(model.fit(rows, y), rows, y).html)


def test_a_page_is_written_to_a_file_and_shown_in_a_notebook(tmp_path):
    model = mercer.KernelRidge("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    page = mercer.report(model, TABLE[TEST], PRICE[TEST], tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page.html
    assert page._repr_html_().startswith("<iframe")


def test_targets_of_another_number_are_refused():
    model = mercer.KernelRidge("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    with pytest.raises(ValueError, match="one target for each of 20 rows"):
        mercer.report(model, TABLE[TEST], PRICE)


def test_scores_are_those_of_their_formulas():
    y, f = random.normal(size=50), random.normal(size=50)
    r2, rmse, mae = regression_scores(y, f, 0.0, np.ones(50))
    assert r2.value == pytest.approx(1.0 - ((y - f) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert rmse.value == pytest.approx(((y - f) ** 2).mean() ** 0.5)
    assert rmse.baseline == pytest.approx((y**2).mean() ** 0.5)
    assert mae.value == pytest.approx(np.abs(y - f).mean())
    assert not r2.beats_baseline
    codes, P = np.array([0, 1, 1, 0]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [1.0, 0.0]])
    right, loss = classification_scores(
        codes, P.argmax(axis=1), P, np.array([0.5, 0.5]), np.ones(4)
    )
    assert right.value == 0.75
    assert loss.value == pytest.approx(-np.log([0.9, 0.8, 0.4, 1.0]).mean())


def test_intervals_of_scores_hold_the_true_score_about_as_often_as_they_say():
    held = 0
    for seed in range(30):
        r = np.random.default_rng(seed)
        y = r.normal(size=200)
        f = y + 0.5 * r.normal(size=200)
        score = regression_scores(y, f, 0.0, np.ones(200))[1]
        held += score.low <= 0.5 <= score.high
    assert 25 <= held <= 30


def test_classes_that_the_model_does_not_know_are_refused():
    model = mercer.KernelLogisticRegression("auto").fit(TABLE[TRAIN], SICK[TRAIN])
    with pytest.raises(ValueError, match="y has the class 'dead', which the model does not know"):
        mercer.report(model, TABLE[TEST], np.full(20, "dead"))


def test_the_baseline_of_classes_is_that_of_the_training_rows():
    y = np.array(["ill"] * 30 + ["well"] * 10)
    model = mercer.KernelLogisticRegression("auto").fit(TABLE[TRAIN], y)
    facts = Facts(model, TABLE[TEST], np.array(["well"] * 15 + ["ill"] * 5))
    assert facts.scores[0].baseline == 0.25


def test_support_vectors_are_not_taken_for_all_rows():
    X = random.uniform(size=(300, 1))
    model = mercer.KernelSVC("gaussian").fit(X, X[:, 0] > 0.5)
    html = mercer.report(model, random.uniform(size=(100, 1)), np.arange(100) % 2 == 0).html
    assert "distributed differently" not in html
    assert "rows only: the scores" not in html
