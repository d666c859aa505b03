"""The ridge path against fits that are repeated without the rows held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.solvers import RidgePath

N = 45
ALPHAS = np.array([1e-3, 0.1, 20.0])


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


@pytest.fixture
def Y(X, rng):
    return np.column_stack([np.sin(2.0 * X[:, 0]) + 5.0, X[:, 1] ** 2 + rng.normal(size=N)])


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def weights(request, rng):
    return rng.uniform(0.2, 3.0, size=N) if request.param else np.ones(N)


@pytest.fixture(params=[True, False], ids=["offset", "no offset"])
def fit_intercept(request):
    return request.param


def fits_to(K, y, weights, fit_intercept, alphas=ALPHAS):
    return RidgePath(K.copy(), weights, fit_intercept).at(y, alphas)


def missed(K, y, weights, alpha, fit_intercept, test):
    """What the fit without some rows misses there, by fitting."""
    train = np.setdiff1d(np.arange(len(K)), test)
    model = KernelRidge("precomputed", alpha, fit_intercept=fit_intercept)
    model.fit(K[np.ix_(train, train)], y[train], weights[train])
    return y[test] - model.predict(K[np.ix_(test, train)])


def test_coefficients_are_those_of_the_exact_solver(X, Y, weights, fit_intercept):
    K = Gaussian(1.5)(X)
    a, b = fits_to(K, Y, weights, fit_intercept).coefficients()
    for i, alpha in enumerate(ALPHAS):
        model = KernelRidge("precomputed", alpha, fit_intercept=fit_intercept).fit(K, Y, weights)
        assert_allclose(a[i], model.dual_coef_, rtol=1e-9, atol=1e-10)
        assert_allclose(b[i], model.intercept_, rtol=1e-10)


def test_leave_one_out_errors_are_those_of_repeated_fits(X, Y, weights, fit_intercept):
    K = Gaussian(1.5)(X)
    errors = fits_to(K, Y, weights, fit_intercept).leave_one_out()
    for i, alpha in enumerate(ALPHAS):
        refits = [missed(K, Y, weights, alpha, fit_intercept, [j])[0] for j in range(N)]
        assert_allclose(errors[i], refits, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [1, 2, 15, 44])
def test_leave_block_out_errors_are_those_of_repeated_fits(X, Y, weights, fit_intercept, size):
    K = Gaussian(1.5)(X)
    test = np.random.default_rng(size).choice(N, size, replace=False)
    errors = fits_to(K, Y, weights, fit_intercept).leave_out(test)
    for i, alpha in enumerate(ALPHAS):
        refits = missed(K, Y, weights, alpha, fit_intercept, test)
        assert_allclose(errors[i], refits, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("relative", [1e-8, 1e-6, 1e-4, 1.0, 1e4])
def test_leave_one_out_is_accurate_for_small_and_large_ridges(X, Y, weights, relative):
    K = 7.0 * Gaussian(1.0)(X)
    alpha = relative * 7.0
    errors = fits_to(K, Y, weights, True, np.array([alpha])).leave_one_out()[0]
    refits = np.array([missed(K, Y, weights, alpha, True, [j])[0] for j in range(N)])
    assert np.abs(errors - refits).max() <= 1e-8 * np.abs(refits).max()


def test_rounding_errors_stay_within_the_condition_of_the_system(X, Y):
    # eps ||K|| / alpha is what any orthogonal reduction can promise, and what this one keeps.
    K = Gaussian(6.0)(X)
    for alpha in (1e-8, 1e-6, 1e-4):
        errors = fits_to(K, Y, np.ones(N), True, np.array([alpha])).leave_one_out()[0]
        refits = np.array([missed(K, Y, np.ones(N), alpha, True, [j])[0] for j in range(N)])
        bound = 30.0 * np.finfo(float).eps * np.linalg.norm(K, 2) / alpha
        assert np.abs(errors - refits).max() <= bound * np.abs(refits).max()


def test_generalised_cross_validation_is_its_formula(X, Y, fit_intercept):
    K = Gaussian(1.5)(X)
    criterion = fits_to(K, Y, np.ones(N), fit_intercept).generalised()
    for i, alpha in enumerate(ALPHAS):
        B = np.linalg.inv(K + alpha * np.eye(N))
        if fit_intercept:
            u = B.sum(axis=1)
            B = B - np.outer(u, u) / u.sum()
        a = B @ Y
        assert_allclose(criterion[i], N * (a**2).sum(axis=0) / np.trace(B) ** 2, rtol=1e-9)


def test_weighted_generalised_cross_validation_replaces_leverages_by_their_mean(X, Y, rng):
    K, w = Gaussian(1.5)(X), rng.uniform(0.2, 3.0, size=N)
    A = np.linalg.inv(K + 0.1 * np.diag(1.0 / w))
    u = A.sum(axis=1)
    B = A - np.outer(u, u) / u.sum()
    leverages = np.diag(B) / w
    errors = (B @ Y) / (w * leverages.mean())[:, None]
    expected = np.average(errors**2, axis=0, weights=w)
    assert_allclose(fits_to(K, Y, w, True).generalised()[1], expected, rtol=1e-9)


def test_generalised_cross_validation_does_not_depend_on_the_unit_of_the_weights(X, Y, rng):
    K, w = Gaussian(1.5)(X), rng.uniform(0.2, 3.0, size=N)
    once = fits_to(K, Y, w, True, ALPHAS).generalised()
    assert_allclose(fits_to(K, Y, 10.0 * w, True, 10.0 * ALPHAS).generalised(), once, rtol=1e-9)


# Few rows, and as many as are reduced by blocks, in which squares are summed up.
@pytest.mark.parametrize("n", [N, 100])
@pytest.mark.parametrize("unit", [1e-250, 1e-150, 1e-70, 1e70, 1e150, 1e250])
def test_the_unit_of_the_kernel_does_not_matter(rng, n, unit):
    K, Y = Gaussian(1.5)(rng.normal(size=(n, 3))), rng.normal(size=(n, 2))
    usual = fits_to(K, Y, np.ones(n), True)
    scaled = fits_to(unit * K, Y, np.ones(n), True, unit * ALPHAS)
    assert_allclose(scaled.leave_one_out(), usual.leave_one_out(), rtol=1e-7)
    assert_allclose(scaled.leave_out(np.arange(9)), usual.leave_out(np.arange(9)), rtol=1e-7)
    assert_allclose(scaled.generalised(), usual.generalised(), rtol=1e-9)
    (a, b), (c, d) = scaled.coefficients(), usual.coefficients()
    assert_allclose(unit * a, c, rtol=1e-6, atol=1e-9)
    assert_allclose(b, d, rtol=1e-7)


def test_a_large_mean_costs_no_digits(X, Y):
    K = Gaussian(1.5)(X)
    errors = fits_to(K, Y, np.ones(N), True).leave_one_out()
    moved = fits_to(K, Y + 1e6, np.ones(N), True).leave_one_out()
    assert_allclose(moved, errors, atol=1e-8)


def test_a_matrix_of_low_rank_has_its_path(X, Y, weights):
    K = Linear()(X)
    errors = fits_to(K, Y, weights, True).leave_one_out()
    refits = [missed(K, Y, weights, 0.1, True, [j])[0] for j in range(N)]
    assert_allclose(errors[1], refits, rtol=1e-8, atol=1e-10)


def test_one_row_is_all_offset():
    a, b = (
        RidgePath(np.ones((1, 1)), np.ones(1), True).at(np.full((1, 1), 3.0), ALPHAS).coefficients()
    )
    assert_allclose(a, 0.0)
    assert_allclose(b, 3.0)


@pytest.mark.parametrize("weight", [1e-10, 1e-30, 1e-300])
def test_a_row_that_outweighs_all_others_is_held_out_like_any(weight):
    path = RidgePath(np.eye(2), np.array([1.0, weight]), True)
    errors = path.at(np.array([[1.0], [2.0]]), ALPHAS).leave_one_out()
    assert_allclose(errors[:, :, 0], [[-1.0, 1.0]] * 3, rtol=1e-12)


def test_where_nothing_is_left_to_predict_from_the_error_is_infinite():
    fits = RidgePath(np.ones((1, 1)), np.ones(1), True).at(np.ones((1, 1)), ALPHAS)
    assert (fits.leave_one_out() == np.inf).all()


def test_residuals_are_what_the_fit_misses_at_its_own_rows(X, Y, weights, fit_intercept):
    K = Gaussian(1.5)(X)
    fits = fits_to(K, Y, weights, fit_intercept)
    assert_allclose(fits.residuals(), Y - fits.predicted(K), atol=1e-9)
