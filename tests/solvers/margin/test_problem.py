"""Margin problems: what their dual says of a step."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from mercer.solvers import MarginProblem
from mercer.solvers.margin.problem import Gap
from mercer.solvers.refusals import LARGEST_COST
from mercer.solvers.rounding import EPS, UNITS, product_rounding

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


def test_the_bounds_are_the_costs_on_the_side_of_a_row():
    signs, costs = np.array([1.0, -1.0]), np.array([2.0, 3.0])
    problem = MarginProblem.classification(signs, costs, True)
    assert_array_equal(problem.upper, [2.0, 0.0])
    assert_array_equal(problem.lower, [0.0, -3.0])
    assert (problem.epsilon, problem.largest) == (0.0, 3.0)
    problem = MarginProblem.regression(np.zeros(2), costs, 0.5, False)
    assert_array_equal(problem.upper, costs)
    assert_array_equal(problem.lower, -costs)
    assert (problem.epsilon, problem.fit_intercept, problem.largest) == (0.5, False, 3.0)
    assert problem.on(np.array([], dtype=int)).largest == 0.0


def test_bounds_whose_squares_overflow_are_refused():
    for sign in (1.0, -1.0):
        MarginProblem.classification(np.array([sign]), np.array([LARGEST_COST]), True)
        with pytest.raises(ValueError, match=r"C times the largest weight is 1\.1e\+100"):
            MarginProblem.classification(np.array([sign]), np.array([1.1 * LARGEST_COST]), True)


def test_some_rows_keep_what_is_theirs(rng):
    (_, problem) = problems(rng, True)
    part = problem.on(np.array([4, 1]))
    assert_array_equal(part.z, problem.z[[4, 1]])
    assert_array_equal(part.lower, problem.lower[[4, 1]])
    assert_array_equal(part.upper, problem.upper[[4, 1]])
    assert (part.epsilon, part.fit_intercept) == (0.3, True)


def test_slopes_are_those_of_the_dual_on_either_side():
    z, r = np.zeros(5), np.array([0.7, -0.2, 0.1, 0.4, -0.9])
    problem = MarginProblem(z, np.full(5, -1.0), np.full(5, 2.0), 0.25, True)
    a = np.array([-1.0, -0.5, 0.0, 0.5, 2.0])
    up, down = problem.slopes(a, r)
    # -(r s + 0.25 |s|) has the slope -r -+ 0.25, by the side of zero that s is on.
    assert_allclose(up, [-0.7 + 0.25, 0.2 + 0.25, -0.1 - 0.25, -0.4 - 0.25, -np.inf])
    assert_allclose(down, [-np.inf, -0.2 - 0.25, 0.1 - 0.25, 0.4 + 0.25, -0.9 + 0.25])


def test_a_coefficient_is_free_between_its_bounds_and_not_at_zero():
    problem = MarginProblem(np.zeros(6), np.full(6, -1.0), np.full(6, 2.0), 0.1, True)
    a = np.array([-1.0, -0.5, 0.0, 0.5, 2.0, 1.5])
    assert problem.free(a).tolist() == [False, True, False, True, False, True]


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("move", [0.0, 0.3, -0.3, 40.0, -40.0])
def test_feasible_coefficients_are_within_bounds_and_sum_to_nothing_at_all(rng, kind, move):
    problem = list(problems(rng, True))[kind]
    for _ in range(20):
        a = problem.feasible(rng.normal(size=M) + move)
        assert ((problem.lower <= a) & (a <= problem.upper)).all()
        assert abs(math.fsum(a)) <= EPS * np.abs(a).max(initial=0.0)
        assert_allclose(problem.feasible(a), a, atol=1e-15)


def test_without_an_offset_feasible_means_within_the_bounds(rng):
    (_, problem) = problems(rng, False)
    a = 3.0 * rng.normal(size=M)
    assert_array_equal(problem.feasible(a), np.clip(a, problem.lower, problem.upper))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_missing_goes_to_free_coefficients_by_their_room_on_their_side_of_zero(sign):
    problem = MarginProblem.regression(np.zeros(4), np.full(4, 2.0), 0.1, True)
    # 1.5 has room of 0.5 up to its bound, -1 and -1.3 have their size up to zero: 2.8 in all.
    a = sign * np.array([1.5, -1.0, -1.3, -2.0])
    room, missing = np.array([0.5, 1.0, 1.3, 0.0]), sign * 2.8
    assert_allclose(-a.sum(), missing)
    # As much as there is room: not less, so that the heavier side is made lighter.
    assert_allclose(
        problem.feasible(a), sign * np.array([1.5, -1.5 / 4.3, -1.95 / 4.3, -3.0 / 4.3])
    )
    a = sign * np.array([1.5, -1.0, -1.3, -1.0])
    room, missing = np.array([0.5, 1.0, 1.3, 1.0]), sign * 1.8
    assert_allclose(problem.feasible(a), a + missing * room / room.sum())


def test_a_sum_is_balanced_at_the_smallest_coefficient_that_has_room():
    problem = MarginProblem.regression(np.zeros(4), np.array([1.0, 1.0, 1.0, 1e-20]), 0.1, True)
    a = np.array([0.5, -0.25, -0.25 + 2.0**-54, 0.0])
    balanced = problem._balanced(a.copy())
    assert math.fsum(balanced) == 0.0
    assert balanced[0] == 0.5
    assert (balanced[1:3] != a[1:3]).sum() == 1
    # Nothing is free: what is left stays.
    still = np.array([1.0, -1.0, 0.0, 1e-20])
    assert_array_equal(problem._balanced(still.copy()), still)


def dual_at(problem, K, a):
    return problem.z @ a - problem.epsilon * np.abs(a).sum() - 0.5 * a @ K @ a


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gap_is_primal_less_dual(rng, kind, fit_intercept):
    problem = list(problems(rng, fit_intercept))[kind]
    X = rng.normal(size=(M, 2))
    K = X @ X.T
    a = problem.feasible(rng.normal(size=M))
    gap = problem.gap(a, K @ a)
    primal = 0.5 * a @ K @ a + loss_at(problem, K @ a, gap.offset)
    dual = dual_at(problem, K, a)
    assert_allclose(gap.primal, primal, rtol=1e-12)
    assert_allclose(gap.gap, primal - dual, rtol=1e-10)
    assert_allclose(gap.scale, max(abs(primal), abs(dual)), rtol=1e-12)
    assert_allclose(gap.relative, (primal - dual) / max(abs(primal), abs(dual)), rtol=1e-9)


@pytest.mark.parametrize("kind", [0, 1])
def test_the_proved_gap_is_that_of_the_worst_residuals_and_of_a_sum_taken_back(rng, kind):
    problem = list(problems(rng, True))[kind]
    a = np.clip(rng.normal(size=M), problem.lower, problem.upper)
    diagonal = 1e14 * rng.uniform(0.5, 2.0, size=M)
    f = rng.normal(size=M)
    found, hidden = problem.gap(a, f), product_rounding(diagonal, a)
    r = f + found.offset - problem.z
    total = 0.0
    for i in range(M):
        worst = 0.0
        for residual in (r[i] - hidden[i], r[i] + hidden[i]):
            above, below = max(residual - problem.epsilon, 0), max(-residual - problem.epsilon, 0)
            loss = problem.upper[i] * below - problem.lower[i] * above
            worst = max(worst, a[i] * residual + problem.epsilon * abs(a[i]) + loss)
        total += worst
    q = a.sum()
    size = abs(q) + UNITS * EPS * np.linalg.norm(a)
    room = [j for j in range(M) if problem.lower[j] <= a[j] - q <= problem.upper[j]]
    costs = (np.abs(r) + hidden + problem.epsilon + 0.5 * diagonal * size) * size
    taken = min(costs[room]) if room else max(costs)
    proved = problem.proved(a, f, diagonal)
    assert_allclose(proved.gap, total + taken, rtol=1e-10)
    assert (proved.offset, proved.primal) == (found.offset, found.primal)


def test_without_room_for_a_sum_the_dearest_row_counts():
    problem = MarginProblem.classification(np.array([1.0, 1.0]), np.ones(2), True)
    # Both coefficients would leave their bounds if they took back the sum of 1.5.
    a, f = np.array([1.0, 0.5]), np.array([1.0, 0.5])
    found = problem.proved(a, f, np.ones(2))
    r = f + found.offset - problem.z
    costs = (np.abs(r) + 0.5 * 1.5) * 1.5
    assert_allclose(found.gap, problem.gap(a, f).gap + max(costs), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e150])
@pytest.mark.parametrize("cost", [1.0, 1e-80, 1e90])
def test_targets_of_any_size_are_counted_in_a_unit_half_way_to_the_bounds(size, cost):
    z, start = size * np.array([1.0, -0.5]), cost * np.array([0.5, -0.5])
    problem = MarginProblem.regression(z, np.full(2, cost), 0.1 * size, True)
    scaled, (unit,) = replace(problem, start=start).in_units()
    assert np.frexp(unit)[0] == 0.5
    assert_array_equal(scaled.z * unit, z)
    assert_array_equal(scaled.lower * unit, problem.lower)
    assert_array_equal(scaled.upper * unit, problem.upper)
    assert_array_equal(scaled.start * unit, start)
    assert scaled.epsilon * unit == problem.epsilon
    assert scaled.fit_intercept
    half_way = 2.0 ** np.ceil(0.5 * (np.log2(size) + np.log2(cost)))
    assert unit == max(half_way, 2.0 ** np.ceil(np.log2(cost / LARGEST_COST)))
    assert problem.in_units()[0].start is None


def test_targets_of_usual_size_are_solved_as_they_are():
    problem = MarginProblem.regression(np.array([1.0, -0.5]), np.ones(2), 0.1, True)
    same, unit = problem.in_units()
    assert same is problem
    assert unit.tolist() == [1.0]


def test_without_bounds_the_unit_is_that_of_the_targets():
    problem = MarginProblem.regression(np.array([2.0**-500, 0.0]), np.zeros(2), 0.0, True)
    assert problem.in_units()[0].z.tolist() == [1.0, 0.0]


def test_the_engine_takes_the_dual_as_it_is(rng):
    (_, problem) = problems(rng, False)
    box = problem.box
    assert box.z is problem.z
    assert (box.epsilon, box.lower is problem.lower, box.upper is problem.upper) == (
        0.3,
        True,
        True,
    )


def test_without_an_offset_none_is_best(rng):
    for problem in problems(rng, False):
        assert problem.offset(rng.normal(size=M)) == 0.0


def test_where_equal_kinks_balance_but_for_rounding_the_offset_is_in_the_middle():
    # Ten times 0.3 is less than 3 in float64, and any offset between the next two is best.
    problem = MarginProblem(np.arange(10.0), np.full(10, -0.7), np.full(10, 0.3), 0.0, True)
    assert problem.upper.sum() < 3.0
    assert problem.offset(np.zeros(10)) == 2.5


@pytest.mark.parametrize("unit", [1.0, 1e8, 1e-8])
def test_where_costs_balance_but_for_rounding_the_offset_is_in_the_middle(unit):
    # 0.1 + 0.2 + 0.3 is not 0.6 in float64, and any offset between the last two is best.
    costs = unit * np.array([0.1, 0.2, 0.3, 0.6])
    problem = MarginProblem.regression(np.array([0.0, 1.0, 2.0, 4.0]), costs, 0.0, True)
    assert problem.offset(np.zeros(4)) == 3.0
