"""Jackknife+ intervals from what fits without a row miss and know."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.solvers import RidgeProblem
from mercer.solvers.ridge.held_out import LeftOut
from mercer.solvers.ridge.jackknife import (
    TargetVariance,
    jackknife_plus,
    prediction_changes,
    spread,
)


@pytest.mark.parametrize(
    ("coverage", "low", "high"),
    [(0.8, 2, 8), (0.9, 1, 9), (0.91, None, None), (0.1, 9, 1), (0.5, 5, 5)],
)
def test_the_ends_of_the_interval_are_the_ranks_that_the_coverage_asks_for(coverage, low, high):
    # Nine rows whose absence moves nothing and whose errors are 1, ..., 9: n + 1 = 10.
    errors = np.array([3.0, -1.0, 9.0, 5.0, -7.0, 2.0, 4.0, -8.0, 6.0])
    lower, upper = jackknife_plus(
        np.array([100.0]), np.zeros((9, 1)), abs(errors)[:, None], coverage
    )
    # The r-th smallest of 100 - |e| is that of the r-th largest |e|.
    assert lower[0] == (-np.inf if low is None else 100.0 - (10 - low))
    assert upper[0] == (np.inf if high is None else 100.0 + high)


def test_a_row_that_is_predicted_by_nothing_opens_an_interval_only_at_its_rank():
    errors = np.array([1.0, 2.0, 3.0, np.inf])
    weights, distances = np.full((4, 1), 0.5), spread(errors, np.ones(4), np.ones((4, 1)))
    lower, upper = jackknife_plus(
        np.array([0.0]), prediction_changes(weights, errors), distances, 0.6
    )
    # Ranks floor(0.4 * 5) = 2 and ceil(0.6 * 5) = 3 of f - h e -+ |e|, the last row unmoved.
    below = np.sort([-0.5 - 1.0, -1.0 - 2.0, -1.5 - 3.0, -np.inf])
    above = np.sort([-0.5 + 1.0, -1.0 + 2.0, -1.5 + 3.0, np.inf])
    assert (lower[0], upper[0]) == (below[1], above[2])


def test_errors_count_in_units_of_what_was_known_where_they_were_made():
    distances = spread(np.array([1.0, -2.0]), np.array([4.0, 1.0]), np.array([[9.0], [0.25]]))
    assert_array_equal(distances, [[1.5], [1.0]])


def test_the_unit_of_a_variance_makes_the_squares_of_scores_one_in_the_mean(rng):
    e, variances = rng.normal(size=(9, 2)), rng.uniform(1.0, 2.0, (9, 2))
    problem = RidgeProblem(e, np.array([0.1, 0.2]), np.ones(9), True)
    target = TargetVariance.of(LeftOut(e, variances), problem, np.zeros(9), np.ones(2))
    assert_allclose((e**2 / target.rows).mean(axis=0), 1.0)
    # The ratios are those of the variances with their mean, whatever the unit.
    expected = variances + variances.mean(axis=0)
    assert_allclose(target.rows / target.rows[0], expected / expected[0])


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_where_no_variance_is_known_all_rows_have_one(rng, alpha):
    e, h = rng.normal(size=(9, 1)), rng.normal(size=(9, 3))
    problem = RidgeProblem(e, np.array([alpha]), np.ones(9), True)
    # Least squares has no noise to speak of, and a finished matrix no k(x, x).
    variances, prior = (np.zeros((9, 1)), np.zeros(9)) if alpha == 0.0 else (np.ones((9, 1)), None)
    target = TargetVariance.of(LeftOut(e, variances), problem, prior, np.full(1, 3.0))
    assert_array_equal(target.rows, np.full((9, 1), np.mean(e**2)))
    assert_array_equal(target.at(0, h, np.ones(3)), np.full((9, 3), np.mean(e**2)))


def test_posterior_variances_have_the_factor_by_which_errors_of_slices_grow(rng):
    e, variances = rng.normal(size=(9, 2)), rng.uniform(1.0, 2.0, (9, 2))
    problem = RidgeProblem(e, np.array([0.1, 0.2]), np.ones(9), True)
    target = TargetVariance.of(LeftOut(e, variances), problem, np.zeros(9), np.array([1.0, 4.0]))
    expected = problem.alpha + [1.0, 4.0] * (variances - problem.alpha) + variances.mean(axis=0)
    assert_allclose(target.rows / target.rows[0], expected / expected[0])
    # At a new row the same: h = 0 leaves v(x) alone.
    new = target.at(1, np.zeros((9, 1)), np.array([0.7]))
    level = variances[:, 1].mean()
    assert_allclose(new / target.rows[0, 1], (0.2 + 4.0 * 0.7 + level) / expected[0, 1])
