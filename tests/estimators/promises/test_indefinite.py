"""One rule for all estimators: what they refuse depends on the Gram matrix alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm

from mercer import (
    AdditiveChi2,
    FromFunction,
    Gaussian,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    MercerMap,
    Sigmoid,
)
from mercer.errors import IndefiniteKernelError
from oracle import perceptron_walk
from witnesses import recheck

KERNEL = Sigmoid(1.0, -1.0)
ALPHAS = (1e-6, 1.0, 1e6)
CS = (1e-6, 1.0, 1e6)
REFUSING = [
    *(KernelRidge(KERNEL, a, solver=s) for a in ALPHAS for s in ("cholesky", "eigen", "cg")),
    KernelRidge(KERNEL, 1e6, fit_intercept=False),
    KernelRidgeCV(KERNEL, [1e4, 1e6]),
    KernelRidgeCV([Gaussian(), KERNEL], [1e4, 1e6], cv=3),
    KernelRidgeCV(KERNEL, [1e6], cv="gcv"),
    *(KernelRidgeClassifier(KERNEL, a) for a in ALPHAS),
    *(KernelLogisticRegression(KERNEL, C, solver=s) for C in CS for s in ("newton", "cg")),
    KernelLogisticRegressionCV(KERNEL, [1e-6]),
    KernelLogisticRegressionCV(KERNEL, [1e-6], cv=3),
    *(KernelSVC(KERNEL, C, solver=s) for C in CS for s in ("smo", "sgd")),
    *(KernelSVR(KERNEL, C) for C in CS),
    MercerMap(KERNEL),
    MercerMap(KERNEL, 2, solver="dense"),
    MercerMap(KERNEL, 2, solver="iterative"),
    MercerMap(KERNEL, n_landmarks=10),
]


@pytest.fixture
def X(points):
    return points(60)


@pytest.fixture
def y(X):
    return (X[:, 0] > X[:, 1]).astype(int)


def refusal_of(model, X, y):
    with pytest.raises(IndefiniteKernelError) as refusal:
        model.fit(X, y)
    return refusal.value


@pytest.mark.parametrize("model", REFUSING, ids=repr)
def test_every_estimator_says_the_same_of_an_indefinite_kernel(model, X, y):
    error = refusal_of(model, X, y)
    said, remedy = str(error).split("; use another kernel, or ")
    assert said == str(refusal_of(KernelSVC(KERNEL), X, y)).split(";")[0]
    assert remedy.startswith("repair='clip'" if hasattr(model, "repair") else "repair= of an")
    assert recheck(KERNEL, error.witness)


@pytest.mark.parametrize("model", [KernelSVC(KERNEL), KernelSVR(KERNEL)], ids=repr)
def test_a_stream_of_rows_is_looked_at_as_well(model, X, y):
    settings = {"classes": [0, 1]} if isinstance(model, KernelSVC) else {}
    with pytest.raises(IndefiniteKernelError) as refusal:
        model.partial_fit(X, y, **settings)
    assert recheck(KERNEL, refusal.value.witness)


@pytest.mark.parametrize("solver", ["dense", "iterative", "nystrom"])
@pytest.mark.parametrize("n_components", [1, 2])
def test_kernel_pca_looks_at_the_centred_matrix(solver, n_components):
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = KernelPCA("precomputed", n_components, solver=solver, n_landmarks=3)
    witness = refusal_of(model, K, None).witness
    c = witness.coefficients
    assert_allclose(c.sum(), 0.0, atol=1e-12)
    assert_allclose(c @ witness.points @ c, -1.0)


def test_rows_of_zero_weight_do_not_count():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = KernelRidge("precomputed").fit(K, [1.0, 2.0, 3.0], [1.0, 0.0, 1.0])
    assert model.certificate_.satisfied


def test_the_perceptron_takes_any_symmetric_function(X, y):
    counts, _ = perceptron_walk(KERNEL(X), 2.0 * y - 1.0, 5)
    assert_array_equal(KernelPerceptron(KERNEL, max_epochs=5).fit(X, y).mistakes_, counts.sum())


def test_a_function_is_computed_once_for_look_and_fit(X, y):
    pairs = []

    def counted(A, B):
        pairs.append(len(A) * len(B))
        return Gaussian(2.0)(A, B)

    for model in (KernelRidge, KernelLogisticRegression, KernelSVC, KernelPCA, MercerMap):
        pairs.clear()
        model(FromFunction(counted)).fit(X, y)
        # The two halves of a symmetric matrix, and its diagonal.
        assert sum(pairs) <= 60 * 60 + 10 * 60, model


# A kernel that is valid on coefficients of sum zero is right where there is an offset.


@pytest.fixture
def histograms(points):
    return np.abs(points(90, 4))


@pytest.fixture
def three(histograms):
    return np.digitize(histograms[:, 0], [0.4, 1.0])


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_conditional_kernel_is_a_support_vector_classifier_as_of_libsvm(
    histograms, three, multiclass
):
    new = histograms[:20] + 0.1
    y = three if multiclass == "ovo" else three > 0
    model = KernelSVC(AdditiveChi2(), 3.0, multiclass=multiclass, tol=1e-9)
    model.set_params(decision_function_shape=multiclass).fit(histograms, y)
    peer = svm.SVC(C=3.0, kernel=AdditiveChi2(), tol=1e-9, decision_function_shape="ovo")
    expected = peer.fit(histograms, y).decision_function(new)
    assert_allclose(model.decision_function(new), expected, atol=1e-6)


def test_a_conditional_kernel_is_a_support_vector_regression_as_of_libsvm(histograms):
    y, new = histograms[:, 1] ** 2, histograms[:20] + 0.1
    model = KernelSVR(AdditiveChi2(), 3.0, tol=1e-9).fit(histograms, y)
    peer = svm.SVR(C=3.0, kernel=AdditiveChi2(), tol=1e-9).fit(histograms, y)
    assert_allclose(model.predict(new), peer.predict(new), atol=1e-6)


def rooted(A, B, x0):
    """The positive semi-definite kernel that gives the same fit (Schoenberg)."""
    k = AdditiveChi2()
    return k(A, B) - k(A, x0) - k(x0, B) + k(x0, x0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", ["newton", "cg"])
def test_a_conditional_kernel_is_a_logistic_regression_with_the_rooted_one(
    histograms, three, classes, solver
):
    y, x0 = np.minimum(three, classes - 1), histograms[:1]
    settings = dict(solver=solver, tol=1e-11, random_state=0)
    model = KernelLogisticRegression(AdditiveChi2(), 2.0, **settings).fit(histograms, y)
    same = KernelLogisticRegression("precomputed", 2.0, **settings)
    same.fit(rooted(histograms, histograms, x0), y)
    new = histograms[:20] + 0.1
    expected = same.decision_function(rooted(new, histograms, x0))
    assert_allclose(model.decision_function(new), expected, atol=1e-4)
    assert_allclose(model.leave_one_out_decision_, same.leave_one_out_decision_, atol=1e-4)
    assert model.certificate_.satisfied


@pytest.mark.parametrize("cv", ["loo", 3])
def test_a_conditional_kernel_is_chosen_as_the_rooted_one(histograms, three, cv):
    Cs = [0.01, 1.0, 100.0]
    model = KernelLogisticRegressionCV(AdditiveChi2(), Cs, cv=cv).fit(histograms, three)
    K = rooted(histograms, histograms, histograms[:1])
    same = KernelLogisticRegressionCV("precomputed", Cs, cv=cv).fit(K, three)
    scores = [m.cv_results_["mean_test_score"] for m in (model, same)]
    assert_allclose(*scores, rtol=1e-2)
    assert model.C_ == same.C_


@pytest.mark.parametrize(
    "model",
    [
        KernelSVC(AdditiveChi2(), fit_intercept=False),
        KernelSVR(AdditiveChi2(), fit_intercept=False),
        KernelLogisticRegression(AdditiveChi2(), fit_intercept=False),
        MercerMap(AdditiveChi2()),
    ],
    ids=repr,
)
def test_without_an_offset_it_is_refused(model, histograms, three):
    assert recheck(AdditiveChi2(), refusal_of(model, histograms, three).witness)


@pytest.mark.parametrize("kind", [KernelRidge, KernelSVR], ids=lambda kind: kind.__name__)
def test_a_finished_matrix_that_was_computed_in_single_precision_is_taken(kind, rng):
    X = rng.normal(size=(300, 2))
    K = Gaussian(2.0)(X.astype(np.float32)).astype(np.float64)
    assert np.linalg.eigvalsh(K)[0] < -1e-8
    kind("precomputed").fit(K, X[:, 0])
