"""What certificates claim, against the exact answer to many digits."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from mpmath import mpf
from numpy.testing import assert_allclose

import oracle
from mercer import KernelLogisticRegression, KernelRidge, KernelSVC, KernelSVR
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial
from mercer.solvers import Cholesky

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")

KERNELS = [Gaussian(1.0), Linear(), Linear(1.0), Polynomial(2), Polynomial(3)]
SOLVERS = ["eigen", "cholesky", Cholesky(precision="single"), "cg", "primal", "banded"]
EPS = np.finfo(float).eps


def powers(low, high):
    return st.integers(low, high).map(lambda e: 10.0**e)


@st.composite
def data(draw, most=5):
    """Rows of one or two columns, some of them equal, targets and weights of any size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 2))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]
    weights = 10.0 ** rng.uniform(-3.0, 3.0, size=n) if draw(st.booleans()) else np.ones(n)
    return X, rng.normal(size=n), weights


def refused(fit, *reasons):
    """Return the fitted model, or None where it says that there is no answer."""
    try:
        return fit()
    except ValueError as error:
        assert any(reason in str(error) for reason in reasons), error
        return None


@given(
    data(),
    st.sampled_from(KERNELS),
    st.sampled_from(SOLVERS),
    powers(-200, 200),
    powers(-15, 15),
    st.booleans(),
)
def test_the_bound_of_a_ridge_certificate_holds(rows, kernel, solver, size, alpha, offset):
    X, y, weights = rows
    if solver == "primal" and not kernel.feature_map:
        kernel = Linear()
    if solver == "banded":
        X, kernel = X[:, :1], Exponential(1.0)
    y = size * y
    model = KernelRidge(kernel, alpha, solver=solver, fit_intercept=offset)
    model = refused(
        lambda: model.fit(X, y, weights), "singular to working precision", "overflow", "beyond"
    )
    if model is None or not model.certificate_.satisfied:
        return
    exact, b = oracle.ridge_fit(kernel, X, y, alpha, weights, offset)
    if model.function_.form == "dual":
        found = oracle.expansion(kernel, X, model.dual_coef_)
    else:
        found = [mpf(float(v)) - mpf(model.intercept_) for v in model.predict(X)]
    rounding = 8 * EPS * max(*map(abs, exact), abs(b), mpf(float(np.abs(y).max())))
    for f, true, bound in zip(found, exact, model.certificate_.bound(X), strict=True):
        assert abs(f - true) <= mpf(float(bound)) + rounding


@pytest.mark.filterwarnings("error::mercer.errors.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("size", [1e-200, 1e-170, 1e-100, 1.0, 1e100, 1e200])
def test_targets_of_any_size_are_fitted_as_those_of_size_one(rng, solver, offset, size):
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    kernel = {"primal": Polynomial(2), "banded": Exponential(1.0)}.get(str(solver), Gaussian(1.0))
    model = KernelRidge(kernel, 0.1, solver=solver, fit_intercept=offset, random_state=0)
    plain = model.fit(X, y).predict(X)
    assert np.abs(model.fit(X, size * y).predict(X) / size - plain).max() < 1e-6
    assert 0.0 < model.certificate_.value < 1e-6


@pytest.mark.parametrize("solver", ["eigen", "cholesky", "cg"])
def test_equal_rows_with_a_tiny_ridge_keep_the_mean_and_claim_nothing(solver):
    y = np.array([-0.653, 0.767, 0.413])
    model = KernelRidge(Gaussian(1.0), 1e-15, solver=solver).fit(np.zeros((3, 1)), y)
    assert model.predict(np.zeros((1, 1)))[0] == pytest.approx(y.mean(), abs=1e-12)
    assert model.intercept_ == pytest.approx(y.mean(), abs=1e-12)
    # Coefficients of 1e15 do not tell the sum zero from a half in float64.
    assert not model.certificate_.satisfied


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n", "sizes", "alpha"),
    [(5, [1e6, 1e-5], 1e-6), (10, [1e8, 10.0, 1.0], 1e-9), (10, [1e8, 1e-7, 1.0], 1e8)],
)
def test_small_features_are_not_lost_beside_large_ones(seed, n, sizes, alpha):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, len(sizes))) * sizes, rng.normal(size=n)
    model = KernelRidge(Polynomial(3), alpha, solver="primal", fit_intercept=False).fit(X, y)
    f, _ = oracle.ridge_fit(Polynomial(3), X, y, alpha, np.ones(n), False)
    exact = np.array([float(v) for v in f])
    error = np.linalg.norm(model.predict(X) - exact) / np.linalg.norm(y)
    assert error < 1e-10
    assert error <= model.certificate_.value


def test_a_primal_certificate_says_that_it_is_not_that_of_the_dual_coefficients(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    primal = KernelRidge(Linear(), solver="primal").fit(X, y)
    assert primal.certificate_.kind == "relative residual of the normal equations"
    assert KernelRidge(Linear(), solver="eigen").fit(X, y).certificate_.kind == "relative residual"


def unseen(costs, z, b):
    """What the rounding of targets and offset themselves does to the losses, at most."""
    return 16.0 * EPS * (costs * (np.abs(z) + abs(b))).sum()


EQUAL = (
    np.array([[1.028e-3, 318.0], [-1.126e-3, -991.0], [1.028e-3, 318.0], [-1.126e-3, -991.0]]),
    np.array([1.74, -0.18, 0.74, -0.92]),
    np.ones(4),
)


@settings(max_examples=60)
@given(
    data(),
    st.sampled_from(KERNELS),
    st.sampled_from(["smo", "primal", "sgd"]),
    powers(-200, 200),
    powers(-6, 6),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.booleans(),
)
# Errors of equal rows have one sign.
@example(EQUAL, Linear(1.0), "smo", 1.0, 1e3, 0.01, False)
def test_the_gap_of_a_regression_is_that_of_what_is_reported(
    rows, kernel, solver, size, C, tube, offset
):
    X, y, weights = rows
    if solver == "primal" and not kernel.feature_map:
        kernel = Linear()
    y, epsilon = size * y, size * tube
    model = KernelSVR(
        kernel, C, epsilon=epsilon, solver=solver, fit_intercept=offset, time_limit=0.2
    )
    model.fit(X, y, weights)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    K, b, costs = oracle.gram(kernel, X), model.intercept_[0], C * weights
    gap, objective = oracle.margin_gap(K, y, -costs, costs, epsilon, offset, a, b)
    if model.certificate_.satisfied:
        assert gap <= 2.0 * model.certificate_.value * objective + unseen(costs, y, b)


def test_targets_whose_squares_underflow_are_not_called_solved():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(6, 2)), 1e-170 * rng.normal(size=6)
    # C is so large beside them that no gap is proved in float64.
    model = KernelSVR(Gaussian(1.0), 1.0, epsilon=1e-171, solver="sgd").fit(X, y)
    assert not model.certificate_.satisfied


@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("solver", ["cg", "cholesky", "eigen"])
def test_the_bound_holds_for_targets_far_from_zero(rng, solver, far):
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, 0]) + far
    # The offset takes up whatever all targets share, and y - far is exact.
    exact = KernelRidge(Gaussian(1.0), 0.1, solver="cholesky").fit(X, y - far)
    model = KernelRidge(Gaussian(1.0), 0.1, solver=solver, random_state=0).fit(X, y)
    error = np.abs(Gaussian(1.0)(X) @ (model.dual_coef_ - exact.dual_coef_)).max()
    assert error <= model.certificate_.bound(X).max() + 1e-14


def test_a_price_beyond_all_targets_ends_in_a_model_and_not_in_a_division_by_zero():
    X, y = np.array([[0.0126], [-0.0132]]), 1e-46 * np.array([0.105, -0.536])
    model = KernelSVR(Linear(), 1e6, epsilon=0.0, solver="primal").fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("size", [1e-200, 1e90])
@pytest.mark.parametrize("solver", ["smo", "primal", "sgd"])
def test_a_tube_of_any_size_is_fitted_as_one_of_size_one(rng, solver, size):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    model = KernelSVR(Linear(), 0.1, epsilon=0.1, solver=solver, random_state=0, tol=1e-6)
    plain = model.fit(X, y).predict(X)
    # The price of a loss is counted in the unit of the targets.
    model.set_params(C=0.1 * size, epsilon=0.1 * size).fit(X, size * y)
    assert np.abs(model.predict(X) / size - plain).max() < 1e-3
    assert model.certificate_.value > 0.0


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_of_ill_conditioned_rows_sum_to_zero(seed):
    rng = np.random.default_rng(seed)
    X, y = 1e-3 * rng.normal(size=(3, 1)), 1e-2 * rng.normal(size=3)
    weights = 10.0 ** rng.uniform(-3.0, 3.0, size=3)
    a = KernelSVR(Linear(), 1.0, epsilon=0.0, solver="smo").fit(X, y, weights).dual_coef_
    assert abs(a.sum()) <= 1e-14 * np.abs(a).sum()


@settings(max_examples=60)
@given(
    data(6),
    st.sampled_from(KERNELS),
    st.sampled_from(["smo", "primal", "sgd"]),
    powers(-6, 6),
    st.booleans(),
)
def test_the_gap_of_a_classifier_is_that_of_what_is_reported(rows, kernel, solver, C, offset):
    X, y, weights = rows
    if solver == "primal" and not kernel.feature_map:
        kernel = Linear()
    signs = np.where(np.arange(len(y)) % 2, 1.0, -1.0)
    model = KernelSVC(kernel, C, solver=solver, fit_intercept=offset, time_limit=0.2)
    model.fit(X, signs, weights)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    costs, b = C * weights, model.intercept_[0]
    upper, lower = np.where(signs > 0, costs, 0.0), np.where(signs > 0, 0.0, -costs)
    K = oracle.gram(kernel, X)
    gap, objective = oracle.margin_gap(K, signs, lower, upper, 0.0, offset, a, b)
    if model.certificate_.satisfied:
        assert gap <= 2.0 * model.certificate_.value * objective + unseen(costs, signs, b)


@settings(max_examples=40)
@given(
    data(),
    st.sampled_from(KERNELS),
    st.sampled_from(["newton", "cg"]),
    powers(-6, 6),
    st.booleans(),
)
def test_the_gap_of_probabilities_bounds_what_is_above_the_minimum(rows, kernel, solver, C, offset):
    X, y, weights = rows
    signs = np.where(np.arange(len(y)) % 2, 1.0, -1.0)
    model = KernelLogisticRegression(
        kernel, C, solver=solver, fit_intercept=offset, time_limit=0.2, random_state=0
    )
    model.fit(X, signs, weights)
    if model.certificate_.satisfied:
        reported = (model.dual_coef_[0], model.intercept_[0])
        K = oracle.gram(kernel, X)
        excess = oracle.logistic_excess(K, signs, C, weights, offset, *reported)
        # The gap is counted in the objective, the excess in its minimum, which is smaller.
        value = model.certificate_.value
        assert excess <= value / (1.0 - value) + 1e-12


@pytest.mark.parametrize("solver", ["newton", "cg"])
def test_the_offset_of_a_class_that_hardly_counts_is_the_best_one(rng, solver):
    # Far from its neighbours a row of no great weight has no say in the slope of all.
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(3, 2)) + 50.0])
    y, weights = np.repeat([0, 1], [30, 3]), np.repeat([1e6, 1e-9], [30, 3])
    model = KernelLogisticRegression(Linear() * 1e4, 1e4, solver=solver, random_state=0)
    model.fit(X, y, weights)
    missed = weights * (y - model.predict_proba(X)[:, 1])
    assert abs(missed.sum()) <= 1e-6 * np.abs(missed).sum()


def test_the_offsets_of_several_classes_sum_to_zero_whatever_their_weights(rng):
    X, y = 10.0 * rng.normal(size=(8, 2)), np.arange(8) % 3
    weights = 10.0 ** rng.uniform(-6.0, 6.0, size=8)
    b = KernelLogisticRegression(Linear(), 1.0, solver="cg").fit(X, y, weights).intercept_
    assert abs(b.sum()) <= 1e-12 * np.abs(b).sum()


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "cg"])
def test_an_offset_of_the_targets_does_not_make_the_certificate_look_better(rng, solver):
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, 0])
    plain, shifted = (
        KernelRidge(Gaussian(1.0), 1e-3, solver=solver, tol=1e-4, random_state=0).fit(X, y + c)
        for c in (0.0, 1e4)
    )
    assert shifted.certificate_.value >= 0.1 * plain.certificate_.value
    assert_allclose(shifted.predict(X) - 1e4, plain.predict(X), atol=1e-3)
