"""What a solver returns, in the unit of the targets."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.solvers import Solution


def solution(coefficients, theta=None):
    targets = coefficients.shape[1]
    bounds = np.arange(1.0, 1.0 + targets)
    return Solution(coefficients, bounds, 1e-9 * bounds, 2.0 * bounds, 1e-6, "direct", theta)


def test_in_another_unit_all_that_is_counted_in_it_grows_and_the_relative_residual_does_not(rng):
    before = solution(rng.normal(size=(4, 2)), rng.normal(size=(3, 2)))
    after = before.in_units(np.array([2.0, 8.0]))
    for name in ("coefficients", "theta", "intercept", "radius"):
        assert_array_equal(getattr(after, name), getattr(before, name) * [2.0, 8.0])
    assert_array_equal(after.residual, before.residual)
    assert (after.tolerance, after.solver) == (1e-6, "direct")
    assert solution(np.ones((2, 1))).in_units(np.array([2.0])).theta is None


def test_of_coefficients_that_lose_digits_nothing_is_proved():
    a = np.array([[1.0, 1.0], [1.0 / 3.0, 3.0]])
    after = solution(a).in_units(np.array([2.0**-1060, 2.0**-1060]))
    assert_array_equal(after.residual, [np.inf, 2e-9])
    assert_array_equal(after.radius, [np.inf, 4.0 * 2.0**-1060])


def test_coefficients_that_overflow_are_refused():
    with pytest.raises(ValueError, match="overflow in the unit of the targets"):
        solution(np.full((2, 1), 2.0**30)).in_units(np.array([2.0**1000]))
