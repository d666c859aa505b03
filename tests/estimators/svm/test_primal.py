"""Support vector machines in the primal: weights of features, found by reading them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification, make_regression
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.svm import SVC

import strings
from mercer import Gaussian, KernelSVC, KernelSVR, Linear, Polynomial, Spectrum
from mercer.errors import MemoryLimitError
from mercer.planning import margin
from mercer.solvers import SMO, CoordinateDescent


@pytest.fixture
def texts(rng):
    X = strings.words(rng, 240, "ACGT", 40)
    score = np.array([x.count("ACG") - x.count("GTT") for x in X])
    return X, np.where(score > 0, "many", "few"), np.digitize(score, [0, 1])


@pytest.fixture
def many(monkeypatch):
    """Let few rows count as many."""
    monkeypatch.setattr(margin, "FEW", 100)


KERNELS = [
    "spectrum(k=3)",
    "spectrum(k=3, normalize=True)",
    "spectrum(k=[1, 2, 3], weights=[1.0, 0.5, 0.25])",
    "2.0 * spectrum(k=2).normalized() + 1.0",
    "gapped_kmer(g=4, m=2)",
    "words",
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_primal_and_dual_are_one_machine(texts, kernel, C):
    X, y, _ = texts
    primal = KernelSVC(kernel, C, solver="primal", tol=1e-6).fit(X[:160], y[:160])
    dual = KernelSVC(kernel, C, solver="smo", tol=1e-6).fit(X[:160], y[:160])
    assert isinstance(primal.solver_, CoordinateDescent)
    assert_allclose(primal.decision_function(X), dual.decision_function(X), atol=5e-3)
    assert primal.certificate_.satisfied
    assert_allclose(primal.dual_coef_.sum(), 0.0, atol=1e-9)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes_have_the_weights_of_every_problem(texts, multiclass):
    X, _, y = texts
    models = [
        KernelSVC("spectrum(k=3)", 0.1, multiclass=multiclass, solver=s, tol=1e-6).fit(X, y)
        for s in ("primal", "smo")
    ]
    assert len(models[0].coef_) == 3
    scores = [m.set_params(decision_function_shape=multiclass).decision_function(X) for m in models]
    assert_allclose(*scores, atol=5e-3)


def test_weights_are_those_of_the_support_vectors(texts):
    X, y, _ = texts
    model = KernelSVC("spectrum(k=3)", 0.1, solver="primal").fit(X, y)
    f = model.kernel_(X, model.support_vectors_) @ model.dual_coef_.T
    assert_allclose(model.decision_function(X), f[:, 0] + model.intercept_, atol=1e-9)
    assert model.coef_.shape == (1, len(model.function_.columns))


def test_new_letters_and_empty_rows_are_predicted(texts):
    X, y, _ = texts
    model = KernelSVC("spectrum(k=3)", 0.1, solver="primal").fit(X, y)
    assert_allclose(model.decision_function(["", "NNNNN", "A"]), model.intercept_[0])


@pytest.fixture
def many_texts(rng):
    X = strings.words(rng, 2000, "ACGT", 40)
    return X, np.array([x.count("ACG") > x.count("GTT") for x in X])


def test_many_rows_of_k_grams_are_solved_in_the_primal(many_texts):
    model = KernelSVC("spectrum(k=3)", 100.0).fit(*many_texts)
    assert isinstance(model.solver_, CoordinateDescent)


def test_few_rows_are_solved_in_the_dual(texts, many):
    X, y, _ = texts
    assert isinstance(KernelSVC("spectrum(k=3)").fit(X[:90], y[:90]).solver_, SMO)


def test_strings_without_features_are_solved_in_the_dual(texts, many):
    X, y, _ = texts
    assert isinstance(KernelSVC("subsequence").fit(X[:120], y[:120]).solver_, SMO)


def test_rows_without_any_k_gram_are_no_obstacle():
    X, y = ["A", "CC"] * 20, np.arange(40) % 2
    model = KernelSVC("spectrum(k=3)", solver="primal").fit(X, y)
    assert_array_equal(model.decision_function(["A", "ACGT"]), model.intercept_[0])
    assert_allclose(KernelSVR("spectrum(k=3)", solver="primal").fit(X, y).predict(X), 0.5)


@pytest.mark.parametrize("kernel", ["linear", "polynomial(degree=2)"])
def test_many_rows_of_few_features_are_solved_in_the_primal(kernel):
    X, y = make_classification(3000, 5, flip_y=0.1, random_state=0)
    model = KernelSVC(kernel, 10.0).fit(X, y)
    assert isinstance(model.solver_, CoordinateDescent)
    assert model.certificate_.satisfied


@pytest.mark.parametrize(("kernel", "columns"), [("gaussian", 5), ("linear", 80)])
def test_many_features_are_left_to_the_dual(many, rng, kernel, columns):
    X = rng.normal(size=(500, columns))
    assert isinstance(KernelSVC(kernel).fit(X, X[:, 0] > 0).solver_, SMO)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_linear_machine_is_that_of_libsvm(C):
    X, y = make_classification(400, 6, flip_y=0.1, random_state=0)
    ours = KernelSVC("linear", C, solver="primal", tol=1e-7).fit(X, y)
    peer = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=5e-3)
    assert_allclose(ours.coef_, peer.coef_, atol=5e-3)
    assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pairs_of_rows_have_the_weights_of_columns_that_libsvm_has(n_classes, sparse):
    X, y = make_classification(90, 6, n_informative=4, n_classes=n_classes, random_state=0)
    X = sp.csr_array(X) if sparse else X
    ours = KernelSVC("linear", 0.1, solver="smo", tol=1e-7).fit(X, y)
    peer = SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, y)
    expected = peer.coef_.toarray() if sparse else peer.coef_
    assert_allclose(ours.coef_, expected, atol=1e-4)
    with pytest.raises(ValueError, match="read-only"):
        ours.coef_[0, 0] = 1.0


def test_columns_are_selected_by_their_weights_in_a_regression_by_pairs(rng):
    X = rng.normal(size=(80, 5))
    selector = SelectFromModel(KernelSVR("linear", solver="smo"), max_features=2)
    assert selector.fit(X, X[:, 1] - X[:, 3]).get_support().tolist() == [0, 1, 0, 1, 0]


def test_raw_columns_of_all_sizes_are_solved(rng):
    X = 50.0 + rng.normal(size=(400, 5)) * 10.0 ** np.arange(-2, 3)
    y = X[:, 2] > 50.0
    model = KernelSVC("linear", 10.0, solver="primal").fit(X, y)
    assert model.certificate_.satisfied
    assert model.score(X, y) > 0.97


def test_sparse_rows_of_words_are_solved_in_the_primal(rng):
    texts = [" ".join(rng.choice(list("abcdefghij"), 8)) for _ in range(1500)]
    y = np.array(["a" in text and "b" in text for text in texts])
    X = TfidfVectorizer(token_pattern=r"\w").fit_transform(texts)
    for kernel in ("linear", "cosine"):
        model = KernelSVC(kernel).fit(sp.csr_matrix(X), y)
        assert isinstance(model.solver_, CoordinateDescent)
        dual = KernelSVC(kernel, solver="smo", tol=1e-8).fit(X, y)
        assert_allclose(model.decision_function(X), dual.decision_function(X), atol=0.02)


def test_the_tube_is_solved_in_the_primal():
    X, y = make_regression(300, 5, noise=5.0, random_state=0)
    y = y / 10.0 + 20.0
    for kernel in (Linear(), Polynomial(2)):
        primal = KernelSVR(kernel, 1.0, solver="primal", tol=1e-6).fit(X, y)
        dual = KernelSVR(kernel, 1.0, solver="smo", tol=1e-6).fit(X, y)
        assert len(primal.coef_) == 1
        assert_allclose(primal.predict(X), dual.predict(X), atol=0.01)


def test_weights_of_rows_and_classes_count(texts, rng):
    X, y, _ = texts
    w = rng.integers(0, 3, len(y)).astype(float)
    repeated = np.repeat(np.arange(len(y)), w.astype(int))
    settings = {"solver": "primal", "class_weight": "balanced", "tol": 1e-6}
    model = KernelSVC("spectrum(k=3)", 0.1, **settings).fit(X, y, w)
    copies = KernelSVC("spectrum(k=3)", 0.1, **settings)
    copies.fit([X[i] for i in repeated], y[repeated])
    assert_allclose(model.decision_function(X), copies.decision_function(X), atol=5e-3)


def test_a_warm_start_goes_on_from_the_last_coefficients(texts):
    X, y, _ = texts
    kernel = "spectrum(k=3, normalize=True)"
    cold = KernelSVC(kernel, 1.1, solver="primal").fit(X, y).n_iter_
    model = KernelSVC(kernel, 1.0, solver="primal", warm_start=True).fit(X, y)
    assert model.set_params(C=1.1).fit(X, y).n_iter_ < cold


def test_weights_are_kept_for_columns_in_use_alone(rng):
    texts = [" ".join(rng.choice(list("abcdefghij"), 6)) for _ in range(150)]
    y = rng.integers(0, 3, 150)
    model = KernelSVC("words", solver="primal").fit(texts, y)
    assert model.coef_.shape[1] == len(model.function_.columns) <= 10
    X = sp.csr_array((np.ones(60), (np.arange(60), np.arange(60) % 7)), shape=(60, 10**6))
    linear = KernelSVC("linear", solver="primal").fit(X, np.arange(60) % 2)
    assert linear.coef_.shape[1] <= 7
    dual = KernelSVC("linear", solver="smo").fit(X, np.arange(60) % 2)
    assert_allclose(linear.decision_function(X), dual.decision_function(X), atol=0.01)


def test_sparse_and_dense_rows_are_predicted_alike(rng):
    X = sp.random_array((200, 30), density=0.2, random_state=rng, format="csr")
    y = X.toarray()[:, 0] > X.toarray()[:, 1]
    model = KernelSVC("linear", 100.0, solver="primal").fit(X, y)
    assert_allclose(model.decision_function(X.toarray()), model.decision_function(X), atol=1e-9)


def test_a_repair_finds_nothing_to_repair(texts):
    X, y, _ = texts
    plain = KernelSVC(Spectrum(3), 0.1, solver="primal").fit(X, y)
    fixed = KernelSVC(Spectrum(3), 0.1, solver="primal", repair="clip").fit(X, y)
    assert_array_equal(fixed.dual_coef_, plain.dual_coef_)


def test_an_unknown_repair_is_refused(texts):
    X, y, _ = texts
    with pytest.raises(ValueError, match="repair must be None or one of"):
        KernelSVC(Spectrum(3), solver="primal", repair="bogus").fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "polynomial(degree=2)"])
def test_features_that_do_not_fit_are_left_to_the_dual(many, rng, kernel):
    X = rng.normal(size=(500, 20))
    model = KernelSVC(kernel, memory="100KB")
    assert model.plan(X).solver == "smo"
    assert isinstance(model.fit(X, X[:, 0] > 0).solver_, SMO)


def test_sparse_features_that_do_not_fit_are_refused_by_fit_and_plan(texts):
    X, y, _ = texts
    model = KernelSVC("spectrum(k=3)", solver="primal", memory="50KB")
    with pytest.raises(MemoryLimitError):
        model.fit(X, y)
    with pytest.raises(MemoryLimitError):
        model.plan(X)


def test_the_plan_names_the_primal_and_what_else_would_do(many_texts):
    plan = KernelSVC("spectrum(k=3)", 100.0).plan(*many_texts)
    assert plan.solver == "primal"
    assert {other.solver for other in plan.alternatives} == {"smo", "sgd"}
    other = KernelSVC(Gaussian(1.0)).plan(np.arange(20.0).reshape(10, 2))
    assert {other.solver, *(o.solver for o in other.alternatives)} == {"smo", "sgd"}


def test_a_kernel_without_finite_features_is_refused_by_name(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"needs a kernel with finitely many features.*'smo'"):
        KernelSVC(Gaussian(1.0), solver="primal").fit(X, y)
    with pytest.raises(ValueError, match="solver='primal' cannot take gaussian"):
        KernelSVC(Gaussian(1.0), solver="primal").plan(X)
