"""What certificates claim, against the exact answer to many digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import oracle
from mercer import KernelLogisticRegression, KernelRidge, KernelSVC, KernelSVR
from mercer.errors import ConvergenceWarning
from mercer.kernels import Exponential, Gaussian, Laplacian, Linear, Polynomial
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
    K = oracle.gram(kernel, X)
    a, b = oracle.ridge(K, y, alpha, weights, offset)
    exact = [mp.fdot(k, a) for k in K]
    if model.theta_ is None and solver != "banded":
        found = [mp.fdot(k, [mpf(float(v)) for v in model.dual_coef_]) for k in K]
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


@pytest.mark.parametrize("place", [1e2, 1e4])
def test_features_too_large_for_the_ridge_are_not_certified(rng, place):
    X = place * rng.normal(size=(6, 2))
    y = rng.normal(size=6)
    model = KernelRidge(Polynomial(3), 1e-6, solver="primal").fit(X, y)
    K = oracle.gram(Polynomial(3), X)
    a, b = oracle.ridge(K, y, 1e-6, np.ones(6), True)
    exact = [float(mp.fdot(k, a) + b) for k in K]
    error = np.abs(model.predict(X) - exact).max()
    assert error < 1e-6 or not model.certificate_.satisfied
    assert "of the normal equations" in str(model.certificate_)
