"""The page about a model says what a reader wants to know, and asks for nothing outside."""

import re
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

import mercer
from mercer.reports.held_out import classification_scores, regression_scores
from mercer.reports.page import Source, facts_of, page_of
from mercer.reports.page.again import code
from mercer.reports.page.facts import Facts
from mercer.reports.page.html import number
from mercer.reports.page.mathml import mathml
from mercer.reports.page.sections import _formula

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
    source = Source("price", "mercer fit t.csv")
    return page_of(facts_of(model, TABLE[TEST], PRICE[TEST]), source).html


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


FORMULAS = [
    "gaussian(2.0)",
    "gaussian([1, 2, 3, 4, 5.0])",
    "laplacian",
    "chi2",
    "additive_chi2",
    "sigmoid",
    "periodic",
    "rational_quadratic",
    "polynomial(3)",
    "sobolev",
    "cosine",
    "inverse_multiquadric",
    "bilinear([[2, 1], [1, 2]])",
    "(1 + gaussian) ** 2",
    "linear.exp()",
    "words",
    "mismatch(k=3)",
    "gapped_kmer(4, 2)",
    "edit_distance",
    "subsequence",
]
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


def test_the_text_of_a_formula_is_what_the_column_is_called():
    for name in (EVIL, "a b", "x_1^2", "\\", "{", "}", "50 %", "~"):
        found = mathml(mercer.Gaussian(1.0).on(name).latex())
        tree = ElementTree.fromstring(found)
        assert {element.text for element in tree.iter("mtext")} == {name}


@pytest.mark.parametrize("kernel", FORMULAS)
def test_every_formula_becomes_well_formed_mathml_without_commands(kernel):
    latex = mercer.kernel(kernel).latex()
    found = mathml(latex)
    text = "".join(ElementTree.fromstring(found).itertext())
    assert "\\" not in text
    numbers = re.findall(r"\d+(?:\.\d+)?", latex)
    assert (
        re.findall(r"\d+(?:\.\d+)?", " ".join(ElementTree.fromstring(found).itertext())) == numbers
    )


def test_scripts_fractions_and_roots_are_set():
    assert mathml("x^{2}_i") == (
        '<math displaystyle="true"><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>'
    )
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in mathml(r"\frac{1}{2}")
    assert "<msqrt><mi>x</mi></msqrt>" in mathml(r"\sqrt{x}")
    assert mathml(r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}").count("<mtd>") == 4


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


def test_scores_are_those_of_their_formulas():
    y, f = random.normal(size=50), random.normal(size=50)
    r2, rmse, mae = regression_scores(y, f, 0.0, np.ones(50))
    assert r2.value == pytest.approx(1.0 - ((y - f) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert rmse.value == pytest.approx(((y - f) ** 2).mean() ** 0.5)
    assert rmse.baseline == pytest.approx((y**2).mean() ** 0.5)
    assert mae.value == pytest.approx(np.abs(y - f).mean())
    assert not r2.beats_baseline
    codes, P = np.array([0, 1, 1, 0]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [1.0, 0.0]])
    right, loss, area = classification_scores(
        codes, P.argmax(axis=1), P, np.array([0.5, 0.5]), np.ones(4)
    )
    assert right.value == 0.75
    assert area.value == 1.0 and area.baseline == 0.5
    assert loss.value == pytest.approx(-np.log([0.9, 0.8, 0.4, 1.0]).mean())


def test_the_area_under_the_roc_curve_is_that_of_scikit_learn():
    second = np.round(random.uniform(size=80), 1)
    codes, w = (random.uniform(size=80) < second).astype(int), random.uniform(size=80)
    P = np.column_stack([1.0 - second, second])
    area = classification_scores(codes, codes, P, np.array([0.5, 0.5]), w)[2]
    assert area.value == pytest.approx(roc_auc_score(codes, second, sample_weight=w))


def test_rows_without_weight_leave_scores_as_they_are():
    y, f = random.normal(size=20), random.normal(size=20)
    w = (np.arange(20) < 15).astype(float)
    found = regression_scores(y, f, 0.0, w)
    assert found == regression_scores(y[:15], f[:15], 0.0, np.ones(15))


def test_r2_of_three_rows_has_an_interval_of_finite_size():
    y = np.array([1.0, 2.0, 4.0])
    score = regression_scores(y, y + 0.1, 0.0, np.ones(3))[0]
    assert 0.0 <= score.low <= score.high <= 1.0


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
    assert facts.tests.scores[0].baseline == 0.25


def test_support_vectors_are_not_taken_for_all_rows():
    X = random.uniform(size=(300, 1))
    model = mercer.KernelSVC("gaussian").fit(X, X[:, 0] > 0.5)
    html = mercer.report(model, random.uniform(size=(100, 1)), np.arange(100) % 2 == 0).html
    assert "distributed differently" not in html
    assert "rows only: the scores" not in html


def test_a_factor_before_a_sum_is_multiplied_out_into_lines():
    k = mercer.Gaussian(1.0) + 0.5 * (mercer.Linear() + 4.0 * mercer.Exponential(2.0))
    assert _formula(k).count("<div>") == 3


def test_a_sum_of_many_terms_is_cut_short_and_says_so():
    text = _formula(sum((mercer.Gaussian(1.0 + i) for i in range(20)), mercer.Linear()))
    assert text.count("<div>") == 13
    assert "9 terms more" in text


def test_zero_has_no_sign():
    assert number(-0.0) == "0"
    assert number(-0.25) == "−0.25"
