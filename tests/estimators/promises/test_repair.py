"""KernelRidge with an indefinite kernel: refused, or repaired for training and new rows alike."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import IndefiniteKernelError
from mercer.estimators import (
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    KernelSVC,
    MercerMap,
)
from mercer.kernels import FromFunction, Gaussian, Precomputed, Sigmoid
from mercer.selection import KernelLogisticRegressionCV, KernelRidgeCV

REPAIRS = ["clip", "flip", "shift"]
KERNEL = Sigmoid(1.0, -2.0)


@pytest.fixture
def X(rng):
    return rng.normal(size=(50, 2))


@pytest.fixture
def y(X):
    return np.sin(2.0 * X[:, 0]) + 3.0


def spectral_map(K, how):
    """Return U diag(g(s)) U' and U diag(g(s)/s) U', written out."""
    s, U = np.linalg.eigh(K)
    g = {"clip": np.maximum(s, 0.0), "flip": np.abs(s), "shift": s - s[0]}[how]
    ratio = np.ones(len(s)) if how == "shift" else g / s
    return (U * g) @ U.T, (U * ratio) @ U.T


@pytest.mark.parametrize("how", REPAIRS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_the_fit_is_that_of_the_mapped_matrix(X, y, rng, how, fit_intercept, solver):
    weights, new = rng.uniform(0.5, 2.0, size=50), rng.normal(size=(9, 2))
    settings = dict(alpha=0.1, fit_intercept=fit_intercept)
    repaired, M = spectral_map(KERNEL(X), how)
    expected = KernelRidge("precomputed", **settings).fit(repaired, y, weights)
    model = KernelRidge(KERNEL, solver=solver, repair=how, **settings).fit(X, y, weights)
    assert_allclose(model.predict(new), expected.predict(KERNEL(new, X) @ M), rtol=1e-8, atol=1e-9)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-9)


def test_a_solver_that_iterates_sees_the_repaired_matrix(X, y):
    settings = dict(alpha=0.1, repair="flip", tol=1e-11)
    iterated = KernelRidge(KERNEL, solver="cg", random_state=0, **settings).fit(X, y)
    factored = KernelRidge(KERNEL, solver="cholesky", **settings).fit(X, y)
    assert_allclose(iterated.predict(X), factored.predict(X))


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_training_rows_are_predicted_as_they_were_fitted(X, y, how):
    model = KernelRidge(KERNEL, 0.1, repair=how).fit(X, y)
    repaired, _ = spectral_map(KERNEL(X), how)
    fitted = KernelRidge("precomputed", 0.1).fit(repaired, y).predict(repaired)
    assert_allclose(model.predict(X), fitted, rtol=1e-9)


@pytest.mark.parametrize("how", REPAIRS)
def test_a_precomputed_matrix_is_repaired_in_the_same_way(X, y, how, rng):
    K, new = KERNEL(X), rng.normal(size=(9, 2))
    direct = KernelRidge(KERNEL, 0.1, repair=how).fit(X, y)
    for kernel in (Precomputed(), "precomputed"):
        model = KernelRidge(kernel, 0.1, repair=how).fit(K, y)
        assert_allclose(model.predict(KERNEL(new, X)), direct.predict(new), rtol=1e-9)


@pytest.mark.parametrize("how", REPAIRS)
@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), FromFunction(lambda A, B: A @ B.T + 1.0), "poly"], ids=str
)
def test_a_positive_semidefinite_kernel_is_left_as_it_is(X, y, how, kernel):
    plain = KernelRidge(kernel, 0.1, solver="cholesky").fit(X, y)
    model = KernelRidge(kernel, 0.1, repair=how).fit(X, y)
    assert_array_equal(model.dual_coef_, plain.dual_coef_)
    assert_array_equal(model.certificate_.bound(X), plain.certificate_.bound(X))


@pytest.mark.parametrize("how", REPAIRS)
def test_rows_of_no_weight_take_no_part_in_the_repair(X, y, how, rng):
    weights = rng.uniform(0.5, 2.0, size=50) * (np.arange(50) % 3 > 0)
    used = weights > 0
    model = KernelRidge(KERNEL, 0.1, repair=how).fit(X, y, weights)
    dropped = KernelRidge(KERNEL, 0.1, repair=how).fit(X[used], y[used], weights[used])
    assert_array_equal(model.dual_coef_[~used], 0.0)
    assert_allclose(model.predict(X), dropped.predict(X), rtol=1e-9)


def test_without_repair_the_refusal_names_it(X, y):
    with pytest.raises(IndefiniteKernelError, match=r"use another kernel, or repair=") as refusal:
        KernelRidge(KERNEL, 1e-3).fit(X, y)
    c, points = refusal.value.witness.coefficients, refusal.value.witness.points
    assert c @ KERNEL(points) @ c < -refusal.value.witness.rounding_bound


REFUSING = [
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    KernelSVC,
    MercerMap,
]


@pytest.mark.parametrize("kind", REFUSING, ids=lambda kind: kind.__name__)
def test_a_refusal_advises_what_can_be_had_whichever_estimator_it_is(kind, X):
    with pytest.raises(IndefiniteKernelError) as refusal:
        kind(KERNEL).fit(X, np.arange(50) % 2)
    own, other = "repair='clip', 'flip' or 'shift'", "repair= of an estimator that has it"
    advice = own if "repair" in kind().get_params() else other
    assert f"use another kernel, or {advice}" in str(refusal.value)


def test_nothing_is_bounded_at_new_rows_of_a_repaired_kernel(X, y):
    model = KernelRidge(KERNEL, 0.1, repair="clip").fit(X, y)
    assert model.certificate_.satisfied
    assert np.isinf(model.certificate_.radius)


def test_a_repaired_fit_has_no_closed_forms(X, y):
    model = KernelRidge(KERNEL, 0.1, repair="flip").fit(X, y)
    for ask in (
        lambda: model.leave_one_out_predictions_,
        lambda: model.predict_interval(X),
        lambda: model.predict(X, return_std=True),
    ):
        with pytest.raises(ValueError, match=r"was repaired with repair='flip'.*cross-validation"):
            ask()
    again = model.set_params(kernel=Gaussian(1.0)).fit(X, y)
    assert again.leave_one_out_predictions_.shape == (50,)


@pytest.mark.parametrize("how", ["mend", True, 1])
def test_an_unknown_repair_is_refused_in_fit(X, y, how):
    with pytest.raises(ValueError, match="repair must be None or one of 'clip', 'flip', 'shift'"):
        KernelRidge(repair=how).fit(X, y)
