"""Margin problems: what their dual says of a step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from mercer.solvers import MarginProblem
from mercer.solvers.margin.problem import Gap

M = 12


def problems(rng, fit_intercept):
    costs = rng.uniform(0.5, 2.0, size=M)
    signs = np.where(np.arange(M) % 3 == 0, 1.0, -1.0)
    yield MarginProblem.classification(signs, costs, fit_intercept)
    yield MarginProblem.regression(rng.normal(size=M), costs, 0.3, fit_intercept)


def loss_at(problem, f, b):
    r = f + b - problem.z
    above = problem.upper * np.maximum(-r - problem.epsilon, 0.0)
    return (above - problem.lower * np.maximum(r - problem.epsilon, 0.0)).sum()


@pytest.mark.parametrize("costs", ["equal", "unequal"])
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.3])
@pytest.mark.parametrize("n", [1, 11, 12])
@pytest.mark.parametrize("positive", [0, 1, 5, 12])
def test_the_loss_is_least_at_the_offset(rng, costs, epsilon, n, positive):
    costs = np.full(n, 0.7) if costs == "equal" else rng.uniform(0.5, 2.0, size=n)
    if epsilon is None:
        signs = np.where(np.arange(n) < positive, 1.0, -1.0)
        problem = MarginProblem.classification(signs, costs, True)
    else:
        problem = MarginProblem.regression(rng.normal(size=n), costs, epsilon, True)
    f = rng.normal(size=n)
    # The loss is piecewise linear, so that it is least at one of its kinks.
    kinks = np.concatenate([problem.z - f - problem.epsilon, problem.z - f + problem.epsilon])
    least = min(loss_at(problem, f, b) for b in kinks)
    assert_allclose(loss_at(problem, f, problem.offset(f)), least, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_steepest_point_is_the_least_of_a_linear_programme(rng, fit_intercept):
    for problem in problems(rng, fit_intercept):
        a = problem.feasible(rng.normal(size=M))
        r = rng.normal(size=M)
        s = problem.steepest(a, r)
        assert (problem.lower <= s).all()
        assert (s <= problem.upper).all()
        # s = up - down, both not negative, with |s| = up + down.
        e = problem.epsilon
        sums = {"A_eq": [np.repeat([1.0, -1.0], M)], "b_eq": [a.sum()]} if fit_intercept else {}
        limits = [*((0.0, u) for u in problem.upper), *((0.0, -v) for v in problem.lower)]
        least = linprog(np.concatenate([r + e, e - r]), bounds=limits, **sums).fun
        assert_allclose(r @ s + e * np.abs(s).sum(), least, atol=1e-9)
        if fit_intercept:
            assert_allclose(s.sum(), a.sum(), atol=1e-12)


@pytest.mark.parametrize("free", [0.3, 0.8])
def test_a_small_sum_is_made_up_for_by_free_coefficients_alone(free):
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    problem = MarginProblem.classification(signs, np.ones(6), True)
    a = np.array([1.0, 0.0, free, -1.0, 0.0, -0.5])
    mended = problem.feasible(a)
    assert_allclose(mended.sum(), 0.0, atol=1e-15)
    assert_array_equal(mended[[0, 1, 3, 4]], a[[0, 1, 3, 4]])
    assert ((problem.lower <= mended) & (mended <= problem.upper)).all()


def test_a_sum_that_free_coefficients_cannot_make_up_for_lightens_a_side():
    problem = MarginProblem.classification(np.array([1.0, 1.0, -1.0]), np.ones(3), True)
    assert_allclose(problem.feasible(np.array([1.0, 1.0, -0.5])), [0.25, 0.25, -0.5])


def test_a_gap_that_is_no_number_is_not_taken_for_none():
    assert np.isnan(Gap(0.0, np.nan, 1.0).relative)
    assert Gap(0.0, 0.0, 0.0).relative == 0.0


def test_among_offsets_of_least_loss_the_middle_is_taken_with_equal_and_unequal_costs():
    # Half of the rows on either side: the loss is flat between the inner two kinks, and costs
    # that are equal, or nearly so, must agree on the middle of it.
    f = np.array([0.0, 0.4, -3.0, 5.0])
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    for costs in (np.ones(4), np.array([1.0, 2.0, 1.0, 2.0]), np.array([2.0, 1.0, 2.0, 1.0])):
        problem = MarginProblem.classification(signs, costs, True)
        kinks = np.sort(problem.z - f)
        losses = [loss_at(problem, f, b) for b in kinks]
        flat = kinks[np.isclose(losses, min(losses), atol=1e-12)]
        assert_allclose(problem.offset(f), 0.5 * (flat[0] + flat[-1]), atol=1e-12)


def test_costs_of_which_one_alone_differs_are_not_taken_for_equal():
    # By ranks alone the offset would lie at the first two kinks; the third row outweighs them.
    problem = MarginProblem.regression(
        np.array([0.0, 1.0, 10.0]), np.array([1.0, 1.0, 5.0]), 0.0, True
    )
    assert problem.offset(np.zeros(3)) == 10.0


def test_what_rounding_hides_of_the_values_counts_in_the_gap():
    # Entries of 1e12 and coefficients of 400 leave no digits of targets of a tenth.
    K, a = np.full((2, 2), 1e12), np.array([400.0, -400.0])
    problem = MarginProblem.regression(np.array([0.1, -0.1]), np.full(2, 1e3), 0.0, True)
    f = K @ a
    assert problem.gap(a, f).gap < 1e3
    assert problem.proved(a, f, K.diagonal()).gap > 0.1 * 400.0


def test_a_sum_that_is_not_zero_counts_in_the_gap():
    problem = MarginProblem.classification(np.array([1.0, -1.0]), np.ones(2), True)
    even = problem.proved(np.array([0.5, -0.5]), np.array([0.5, -0.5]), np.ones(2))
    odd = problem.proved(np.array([0.5, -0.4]), np.array([0.5, -0.4]), np.ones(2))
    plain = problem.gap(np.array([0.5, -0.4]), np.array([0.5, -0.4]))
    assert even.gap == pytest.approx(problem.gap(*[np.array([0.5, -0.5])] * 2).gap, abs=1e-14)
    assert odd.gap > plain.gap + 0.1 * 0.5 * 0.1
