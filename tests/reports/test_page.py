"""The page about a model says what a reader wants to know, and asks for nothing outside."""

import re
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import mercer
from mercer.reports.page import Source, facts_of, page_of
from mercer.reports.page.again import code
from mercer.reports.page.facts import Facts
from mercer.reports.page.html import cell, number

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


@pytest.mark.parametrize(("word", "is_upright"), [("{}", False), ("class {}", True)])
def test_long_names_of_many_classes_stand_upright_in_the_confusion_matrix(word, is_upright):
    codes = np.arange(N) % 6
    labels = np.array([word.format(c) for c in codes])
    X = np.c_[codes, random.normal(size=N)]
    page = mercer.report(mercer.KernelRidgeClassifier().fit(X, labels), X, labels).html
    assert ('<table class="confusion many upright">' in page) == is_upright
    assert ('<table class="confusion many">' in page) != is_upright


class Tags(HTMLParser):
    """Counts what is open, and collects addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.texts = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link", "img", "br", "line", "circle", "polyline", "polygon"):
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
    source = Source("price", "mercer fit t.csv")
    return page_of(facts_of(model, TABLE[TEST], PRICE[TEST]), source).html


@pytest.fixture(scope="module")
def classification():
    model = mercer.KernelLogisticRegression("auto", 10.0).fit(TABLE[TRAIN], SICK[TRAIN])
    return mercer.report(model, TABLE[TEST], SICK[TEST]).html


def test_a_page_asks_for_nothing_outside(regression, classification):
    for html in (regression, classification):
        assert all(a.startswith(("data:", "#")) for a in read(html).addresses)
        # Nor for an icon, which a browser looks for where a page came from.
        assert '<link rel="icon" href="data:,">' in html
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
    for said in ("accuracy", "log loss", "Confusion matrix", "ROC curve", "were taken for"):
        assert said in text
    assert "names the right class for" in text
    assert "how often the predicted class is right" in text


def test_a_page_tells_cost_certificate_and_code(regression, classification):
    for html, name in ((regression, "KernelRidge"), (classification, "KernelLogisticRegression")):
        text = " ".join(read(html).texts)
        for said in ("certificate", "time to solve", "memory of the model", "rows a second"):
            assert said in text
        assert f"model = mercer.{name}(" in text


def test_the_code_of_a_page_makes_the_same_model(regression):
    code = re.search(r"<h3>Python</h3><pre>(.*?)</pre>", regression, re.DOTALL)[1]
    lines = unescape(code).rsplit("mercer.report", 1)[0]
    given = {"X": TABLE[TRAIN], "y": PRICE[TRAIN]}
    exec(lines, given)
    expected = mercer.KernelRidgeCV("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    found = given["model"].predict(TABLE[TEST])
    np.testing.assert_allclose(found, expected.predict(TABLE[TEST]), rtol=1e-9)


def test_the_code_of_a_mean_makes_the_same_model():
    kernels = ["gaussian.on(age)", "match.on(site)"]
    model = mercer.KernelRidgeMean(kernels, [0.1, 0.2], [0.7, 0.3]).fit(TABLE[TRAIN], PRICE[TRAIN])
    given = {"X": TABLE[TRAIN], "y": PRICE[TRAIN]}
    exec(code(Facts(model)).rsplit("mercer.report", 1)[0], given)
    found = given["model"].predict(TABLE[TEST])
    np.testing.assert_allclose(found, model.predict(TABLE[TEST]), rtol=1e-9)


def test_the_code_says_what_searched_for_the_kernel():
    model = mercer.KernelRegressor(random_state=1).fit(X2[:25], X2[:25, 0])
    assert "# What mercer.KernelRegressor(random_state=1) chose of these rows." in code(
        Facts(model)
    )


def test_the_kernel_is_said_in_words(regression):
    text = " ".join(read(regression).texts)
    assert re.search(r"Rows are compared by [^.]*of age[^.]*match of site", text)


def test_influential_rows_are_counted_as_in_the_file():
    model = mercer.KernelRidge("gaussian").fit(X2[:30], X2[:30, 0])
    facts = facts_of(model, X2[30:], X2[30:, 0])
    page = page_of(facts, Source(rows=np.arange(30) + 1001)).html
    listed = re.search(r'id="influential-rows">(.*?)</section>', page, re.DOTALL)[1]
    rows = [int(n) for n in re.findall(r'<tr><td class="number">(\d+)</td>', listed)]
    assert len(rows) == 10 and min(rows) > 1000
    assert "the first below the header is 1" in listed


def test_what_a_shuffled_column_costs_is_told_of_probabilities(classification):
    assert "log loss gained when shuffled" in classification
    noise = TABLE.assign(noise=random.normal(size=N))
    model = mercer.KernelLogisticRegression("auto", 10.0).fit(noise[TRAIN], SICK[TRAIN])
    lost = Facts(model, noise[TEST], SICK[TEST]).tests.shuffled(["age", "noise"])
    assert lost["age"] > 0.1 > abs(lost["noise"])


def test_the_formula_is_mathml_of_known_elements(regression):
    formula = re.search(r'<div class="formula">(.*?)</div></div>', regression, re.DOTALL)[1]
    known = {"math", "mrow", "mi", "mo", "mn", "mtext", "msub", "msup", "munder", "mfrac"}
    known |= {"mspace"}
    assert "math" in formula and set(re.findall(r"<(m\w+)", formula)) <= known


def test_the_summary_names_the_columns_that_matter(regression):
    text = " ".join(read(regression).texts)
    assert re.search(r"Of its 3 columns, (age and site|site and age)[^.]* matter most", text)


def test_the_page_warns_of_few_rows_and_of_a_column_that_gives_the_target_away():
    leaky = TABLE.assign(copy=PRICE)
    model = mercer.KernelRidge("auto").fit(leaky[TRAIN], PRICE[TRAIN])
    html = mercer.report(model, leaky[TEST], PRICE[TEST]).html
    assert "made of 40 rows only" in html
    assert "&#x27;copy&#x27; alone gives the target away" in html


def test_many_columns_that_drift_are_one_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 6)), rng.normal(size=200)
    model = mercer.KernelRidge("gaussian").fit(X[:100], y[:100])
    html = mercer.report(model, X[100:] + 50.0, y[100:]).html
    assert html.count("distributed differently") == 1
    assert "and 2 more are distributed differently" in html


def test_the_page_warns_of_columns_that_drift():
    model = mercer.KernelRidge("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    moved = TABLE[TEST].assign(age=TABLE.age[TEST] + 100.0)
    assert (
        "&#x27;age&#x27; is distributed differently"
        in mercer.report(model, moved, PRICE[TEST]).html
    )


EVIL = "<script>alert(1)</script>\\}{$&%_^~'\"</math><img src=x onerror=alert(2)>"


def test_what_users_wrote_is_text_and_no_markup():
    cells = {
        "site": TABLE.site.replace("b", EVIL),
        "note": [f"{EVIL} {i}" for i in range(N)],
    }
    evil = TABLE.assign(**cells).rename(columns={"age": EVIL, "site": "</style><svg onload=x>"})
    for model, y in (
        (mercer.KernelRidge("auto"), PRICE),
        (mercer.KernelLogisticRegression("auto"), np.where(SICK == "ill", EVIL, "well")),
    ):
        facts = facts_of(model.fit(evil[TRAIN], y[TRAIN]), evil[TEST], y[TEST])
        html = page_of(facts, Source(EVIL, EVIL, (EVIL,))).html
        page = read(html)
        assert "<script" not in html and "<svg onload" not in html and "<img src=x" not in html
        assert html.count("</style>") == 2 == html.count("<style>")
        assert any(EVIL[:40] in text for text in page.texts)


TEXTS = ["abab", "bcbc", "caca"] * 20
X2 = random.normal(size=(N, 2))


@pytest.mark.parametrize(
    ("model", "rows", "y"),
    [
        (mercer.KernelSVC(), X2, np.digitize(X2[:, 0], [-0.5, 0.5])),
        (mercer.KernelSVC("auto"), TABLE, SICK),
        (mercer.KernelSVR(), X2, X2[:, 0]),
        (mercer.KernelRidge("spectrum(2)"), TEXTS, X2[:, 0]),
        (mercer.KernelSVC("spectrum(2)"), TEXTS, X2[:, 0] > 0.0),
        (mercer.KernelRidge(solver="nystrom", n_landmarks=10), X2, X2[:, 0]),
        (mercer.KernelRidge("exponential(1.0)"), X2[:, :1], X2[:, 0]),
        (mercer.KernelRidge("polynomial(2)", solver="primal"), X2, X2[:, 0]),
        (mercer.KernelRidge("linear"), csr_array(X2), X2[:, 0]),
        (mercer.KernelRidge(mercer.FromFunction(lambda X, Z: X @ Z.T)), X2, X2[:, 0]),
        (mercer.KernelRidgeClassifier(), X2, X2[:, 0] > 0.0),
        (mercer.KernelRidgeMean(weights=[0.5, 0.5]), X2, X2[:, 0]),
        (
            mercer.KernelRidgeMean(["gaussian", "linear"], 1.0, [0.5, 0.5], n_landmarks=9),
            X2,
            X2[:, 0],
        ),
        (mercer.KernelRidgeMeanClassifier(weights=[0.5, 0.5]), X2, X2[:, 0] > 0.0),
        (mercer.KernelRidgeClassifierCV("gaussian"), X2, X2[:, 0] > 0.0),
        (mercer.KernelLogisticRegressionCV("gaussian"), X2, X2[:, 0] > 0.0),
        (mercer.KernelPerceptron(), X2, X2[:, 0] > 0.0),
        (mercer.KernelRegressor(), X2[:25], X2[:25, 0]),
        (mercer.KernelClassifier(), X2[:25], X2[:25, 0] > 0.0),
        (mercer.KernelRidge("auto"), pl.from_pandas(TABLE), PRICE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_model_has_a_page(model, rows, y):
    page = read(mercer.report(model.fit(rows, y), rows, y).html)
    assert "Certificate and cost" in page.texts or "certificate" in page.texts


def test_models_without_intervals_have_those_of_half_of_the_held_out_rows():
    X = random.normal(size=(400, 1))
    y = X[:, 0] + random.normal(size=400)
    model = mercer.KernelSVR("linear").fit(X[:100], y[:100])
    tests = Facts(model, X[100:], y[100:]).tests
    found = tests.interval
    assert found.kind == "split conformal"
    first, second = slice(100, None, 2), slice(101, None, 2)
    missed = np.sort(np.abs(y[first] - model.predict(X[first])))
    width = missed[int(np.ceil(0.9 * 151)) - 1]
    np.testing.assert_allclose(found.high, model.predict(X[second]) + width)
    assert 0.8 < tests.coverage < 0.97
    ridge = mercer.KernelRidge("linear").fit(X[:100], y[:100])
    assert Facts(ridge, X[100:], y[100:]).tests.interval.kind == "jackknife+"


def test_a_finished_gram_matrix_has_no_page():
    model = mercer.KernelRidge("precomputed").fit(X2 @ X2.T, X2[:, 0])
    with pytest.raises(ValueError, match="fitted to a finished Gram matrix; fit it to rows"):
        mercer.report(model, X2 @ X2.T, X2[:, 0])


def test_the_page_warns_of_a_column_that_gives_classes_away():
    leaky = TABLE.assign(
        code=np.where(SICK == "ill", "x", "y"), risk=np.where(SICK == "ill", 0.9, 0.1)
    )
    model = mercer.KernelLogisticRegression("auto").fit(leaky[TRAIN], SICK[TRAIN])
    html = mercer.report(model, leaky[TEST], SICK[TEST]).html
    for name in ("code", "risk"):
        assert f"&#x27;{name}&#x27; alone gives the target away" in html
    assert "&#x27;note&#x27; alone" not in html


def test_the_page_warns_of_categories_that_drift_and_of_rows_seen_before():
    model = mercer.KernelRidge("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    moved = TABLE[TRAIN].assign(site="c")
    assert (
        "&#x27;site&#x27; is distributed differently"
        in mercer.report(model, moved, PRICE[TRAIN]).html
    )
    html = mercer.report(model, TABLE[TRAIN], PRICE[TRAIN]).html
    assert "100% of the test rows equal a training row" in html
    assert "distributed differently" not in html


def test_a_page_is_written_to_a_file_and_shown_in_a_notebook(tmp_path):
    model = mercer.KernelRidge("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    page = mercer.report(model, TABLE[TEST], PRICE[TEST], tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page.html
    assert page._repr_html_().startswith("<iframe")


def test_targets_of_another_number_are_refused():
    model = mercer.KernelRidge("auto").fit(TABLE[TRAIN], PRICE[TRAIN])
    with pytest.raises(ValueError, match="one target for each of 20 rows"):
        mercer.report(model, TABLE[TEST], PRICE)


def test_classes_that_the_model_does_not_know_are_refused():
    model = mercer.KernelLogisticRegression("auto").fit(TABLE[TRAIN], SICK[TRAIN])
    with pytest.raises(ValueError, match="y has the class 'dead', which the model does not know"):
        mercer.report(model, TABLE[TEST], np.full(20, "dead"))


def test_the_baseline_of_classes_is_that_of_the_training_rows():
    y = np.array(["ill"] * 30 + ["well"] * 10)
    model = mercer.KernelLogisticRegression("auto").fit(TABLE[TRAIN], y)
    facts = Facts(model, TABLE[TEST], np.array(["well"] * 15 + ["ill"] * 5))
    assert facts.tests.scores[0].baseline == 0.25


def test_support_vectors_are_not_taken_for_all_rows():
    X = random.uniform(size=(300, 1))
    model = mercer.KernelSVC("gaussian").fit(X, X[:, 0] > 0.5)
    html = mercer.report(model, random.uniform(size=(100, 1)), np.arange(100) % 2 == 0).html
    assert "distributed differently" not in html
    assert "rows only: the scores" not in html


def test_zero_has_no_sign():
    assert number(-0.0) == "0"
    assert number(-0.25) == "−0.25"


@pytest.mark.parametrize(
    ("trend", "missed", "said"),
    [
        (0.0, 0.1, "% less than predicting the mean of the training targets would."),
        (0.0, 3.0, "% more than predicting the mean of the training targets would."),
        (50.0, 9.0, "the mean of the held-out targets would miss it by less."),
        (0.0, 9.0, "It predicts no better than the mean of the training targets does."),
    ],
)
def test_the_summary_compares_with_the_mean_of_the_training_targets(trend, missed, said):
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(300) < 0.5, -1.0, 1.0)
    # Most targets are near their mean, and few far off, so that the mean is seldom off by much.
    y = np.where(np.arange(300) % 10 == 0, 10.0, 0.1) * signs
    model = mercer.KernelRidge("linear", 1e-6).fit(y[:200, None], y[:200])
    html = mercer.report(model, (y[200:] + trend + missed * signs[200:])[:, None], y[200:] + trend)
    assert said in html.html


def test_words_are_listed_under_what_they_speak_for():
    texts = np.array(["win cash now", "see you at home", "cash prize", "home for tea"] * 15)
    spam = np.array(["spam", "ham"] * 30)
    table = pd.DataFrame({"text": texts, "n": random.normal(size=N)})
    model = mercer.KernelLogisticRegression("words.on(text) + linear.on(n)").fit(table, spam)
    found = re.search(r'id="text">(.*?)</section>', mercer.report(model, table, spam).html)[1]
    for_spam, for_ham = found.split("<h3>for ham</h3>")
    assert "<h3>for spam</h3>" in for_spam and "cash" in for_spam and "home" in for_ham
    assert "column" not in found
    model.fit(table, np.array(["a", "b", "c"] * 20))
    html = mercer.report(model, table, np.array(["a", "b", "c"] * 20)).html
    assert "<h3>for a class</h3>" in html and "<th>class</th>" in html


def test_what_is_short_in_a_table_stands_on_one_line():
    assert cell("2015-09-25") == '<td class="line">2015-09-25</td>'
    assert cell("quiet street, park") == "<td>quiet street, park</td>"


def test_what_is_long_in_a_table_has_some_width_on_a_telephone():
    style = files("mercer.reports.page").joinpath("style.css").read_text(encoding="utf-8")
    assert cell("quiet street near the park") == '<td class="long">quiet street near the park</td>'
    assert re.search(r"max-width: 600px.*td\.long[^}]*min-width", style, re.DOTALL)
