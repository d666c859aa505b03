"""The weights of a mean of fits."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer.solvers.stacking import mean_weights

errors = arrays(np.float64, (12, 3), elements=st.floats(-10.0, 10.0))


@given(errors)
def test_weights_are_a_share_each_and_no_others_miss_less(E):
    v = mean_weights(E)
    assert np.all(v >= 0.0)
    assert_allclose(v.sum(), 1.0)
    missed = np.sum((E @ v) ** 2)
    # Towards every other fit the sum of squares grows, but for the share that ties are broken by.
    slack = 1e-9 * (np.sum(E**2) + 1.0)
    for other in np.eye(3):
        for step in (1e-3, 0.1, 1.0):
            assert missed <= np.sum((E @ (v + step * (other - v))) ** 2) + slack


def test_they_are_those_of_a_general_minimiser(rng):
    E = rng.normal(size=(50, 1)) + rng.normal(size=(50, 4)) * [1.0, 2.0, 0.7, 3.0]
    found = minimize(
        lambda v: np.sum((E @ v) ** 2),
        np.full(4, 0.25),
        bounds=[(0.0, 1.0)] * 4,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1.0},
        tol=1e-12,
    )
    assert_allclose(mean_weights(E), found.x, atol=1e-5)


def test_fits_that_are_the_same_share_their_weight(rng):
    e = rng.normal(size=30)
    assert_allclose(mean_weights(np.column_stack([e, e])), [0.5, 0.5], atol=1e-3)


@pytest.mark.parametrize("value", [0.0, np.inf])
def test_errors_that_tell_nothing_give_equal_weights(value):
    assert_allclose(mean_weights(np.full((5, 4), value)), np.full(4, 0.25))
