"""The path on a line against the path of all entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import chain_of
from mercer.kernels import Exponential, Laplacian, Sobolev
from mercer.solvers import ChainPath, RidgePath, RidgeProblem
from mercer.solvers.line.path import ChainSmoother
from mercer.solvers.ridge.held_out import smoothers

N = 60
ALPHAS = np.array([1e-3, 0.1, 20.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", [Exponential(0.3), 2.0 * Sobolev() + 1.0], ids=str)
@pytest.mark.parametrize("shared", [False, True], ids=["distinct", "shared"])
def test_everything_is_as_on_the_path_of_all_entries(kernel, fit_intercept, weighted, shared, rng):
    x = rng.uniform(size=(N, 1))
    if shared:
        x = np.round(x, 1) + 0.1
    y = np.column_stack([np.sin(9.0 * x[:, 0]) + 3.0, rng.normal(size=N)])
    w = rng.uniform(0.2, 3.0, size=N) if weighted else np.ones(N)
    mine = ChainPath(chain_of(kernel, x), w, fit_intercept).at(y, ALPHAS)
    other = RidgePath(kernel(x), w, fit_intercept).at(y, ALPHAS)
    z, block = rng.uniform(size=(7, 1)), rng.choice(N, 20, replace=False)
    assert_allclose(mine.leave_one_out(), other.leave_one_out(), rtol=1e-8, atol=1e-10)
    assert_allclose(mine.losses(), other.losses(), rtol=1e-9)
    assert_allclose(mine.leave_out(block), other.leave_out(block), rtol=1e-8, atol=1e-10)
    assert_allclose(mine.residuals(), other.residuals(), rtol=1e-8, atol=1e-10)
    assert_allclose(mine.generalised(), other.generalised(), rtol=1e-9)
    assert_allclose(mine.predicted(z), other.predicted(kernel(z, x)), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_generalised_cross_validation_of_interpolation_is_its_limit(rng, fit_intercept):
    x, y, w = rng.uniform(size=(N, 1)), rng.normal(size=(N, 1)), rng.uniform(0.2, 3.0, size=N)
    path = ChainPath(chain_of(Exponential(1.0), x), w, fit_intercept)
    values = path.at(y, np.array([0.0, 1e-14])).generalised()
    assert_allclose(values[0], values[1], rtol=1e-8)


def test_generalised_cross_validation_of_a_huge_ridge_is_that_of_the_mean(rng):
    x, y = rng.uniform(size=(N, 1)), rng.normal(size=(N, 1))
    path = ChainPath(chain_of(Exponential(1.0), x), np.ones(N), True)
    expected = N * ((y - y.mean()) ** 2).sum() / (N - 1) ** 2
    assert_allclose(path.at(y, np.array([1e200, 1e30])).generalised()[:, 0], expected, rtol=1e-12)


def dense_smoother(k, alpha, w, fit_intercept, x, z):
    """Return h and the variance of f + b at the rows z, from the inverse of K + alpha / w."""
    inverse = np.linalg.inv(k(x) + np.diag(alpha / w))
    N = np.ones((len(x), int(fit_intercept)))
    U = inverse @ N
    missed = 1.0 - U.T @ k(x, z)
    offset = np.linalg.solve(N.T @ U, missed)
    explained = inverse @ k(x, z)
    variance = k.diagonal(z) - (k(x, z) * explained).sum(axis=0) + (missed * offset).sum(axis=0)
    return explained + U @ offset, variance


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [Sobolev(), Exponential(0.3), Laplacian(40.0), 2.0 * Sobolev() + 1.0, 0.5 * Exponential() + 2],
    ids=str,
)
@pytest.mark.parametrize("shared", [False, True], ids=["distinct", "shared"])
@pytest.mark.parametrize("n", [1, 2, N])
def test_smoother_and_variance_are_those_of_the_inverse(kernel, fit_intercept, shared, n, rng):
    x = rng.uniform(0.2, 3.0, size=(n, 1))
    if shared:
        x = np.round(x, 1)
    w = rng.uniform(0.2, 3.0, size=n)
    # Before the first row, behind the last, between rows, and on them.
    z = np.vstack([[[0.0], [0.1], [3.0], [50.0]], rng.uniform(0.2, 3.0, size=(20, 1)), x])
    alpha = np.array([0.02, 30.0])
    problem = RidgeProblem(rng.normal(size=(n, 2)), alpha, w, fit_intercept)
    for smoother in smoothers(chain_of(kernel, x), problem):
        assert isinstance(smoother, ChainSmoother)
        h, variance = dense_smoother(kernel, smoother.alpha, w, fit_intercept, x, z)
        assert_allclose(smoother.weights(z), h, rtol=1e-9, atol=1e-11)
        assert_allclose(smoother.variance(z), variance, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kernel", [Sobolev(), Exponential(1.0)], ids=str)
def test_interpolation_leaves_no_variance_at_the_rows_and_a_bridge_between_them(kernel):
    x = np.array([[1.0], [2.0]])
    problem = RidgeProblem(np.zeros((2, 1)), np.zeros(1), np.ones(2), False)
    (smoother,) = smoothers(chain_of(kernel, x), problem)
    _, variance = dense_smoother(kernel, 0.0, np.ones(2), False, x, np.array([[1.5]]))
    assert_allclose(smoother.variance(x), 0.0, atol=1e-15)
    assert_allclose(smoother.variance(np.array([[1.5]])), variance, rtol=1e-12)
    assert_allclose(smoother.weights(x), np.eye(2), atol=1e-15)


def test_very_long_length_scales_keep_the_digits_of_the_variance(rng):
    # exp(-D / l) is 1 - D / l, so that the offset takes up the one: f + b is a Brownian motion of
    # the variance 2 / l, as in min(x, z).
    scale = 1e12
    x, z, w = rng.uniform(1.0, 2.0, size=(N, 1)), rng.uniform(1.0, 2.0, size=(9, 1)), np.ones(N)
    problem = RidgeProblem(np.zeros((N, 1)), np.array([0.1]), w, True)
    (smoother,) = smoothers(chain_of(scale / 2.0 * Exponential(scale), x), problem)
    (other,) = smoothers(chain_of(Sobolev(), x), problem)
    assert_allclose(smoother.variance(z), other.variance(z), rtol=1e-10)
    assert_allclose(smoother.weights(z), other.weights(z), rtol=1e-9, atol=1e-13)
