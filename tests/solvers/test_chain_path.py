"""The path on a line against the path of all entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import chain_of
from mercer.kernels import Exponential, Sobolev
from mercer.solvers import ChainPath, RidgePath

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
