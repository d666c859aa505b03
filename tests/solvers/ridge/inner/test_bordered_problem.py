"""A ridge problem and its answer: units of targets, ridges of some of them, weights."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from mercer.solvers import RidgeProblem
from mercer.solvers.ridge.bordered import (
    Answer,
    Measured,
)

N = 30


def test_targets_of_any_size_are_solved_in_a_unit_of_their_own():
    y = np.array([[3e-200, 1.0, 0.0, 7e180], [1e-200, -2.0, 0.0, 1e180]])
    problem = RidgeProblem(y, np.ones(4), np.ones(2), True)
    scaled, unit = problem.in_units()
    assert_array_equal(scaled.y * unit, y)
    assert unit[1] == unit[2] == 1.0
    assert_array_equal(np.frexp(unit)[0], 0.5)
    assert (np.abs(scaled.y).max(axis=0)[[0, 3]] < 2.0).all()
    assert (np.abs(scaled.y).max(axis=0)[[0, 3]] > 0.5).all()
    usual = RidgeProblem(y[:, 1:3], np.ones(2), np.ones(2), True)
    same, unit = usual.in_units()
    assert same is usual
    assert unit.tolist() == [1.0, 1.0]


def test_an_answer_is_gathered_target_by_target(rng):
    problem = RidgeProblem(rng.normal(size=(3, 4)), np.ones(4), np.ones(3), True)
    answer = Answer.like(problem)
    for targets in (np.array([2, 0]), np.array([1, 3])):
        a = rng.normal(size=(3, 2))
        b, residual, radius = rng.normal(size=(3, 2))
        answer.keep(Measured(a, b, a, residual, radius), targets)
        assert_array_equal(answer.a[:, targets], a)
        assert_array_equal(answer.b[targets], b)
        assert_array_equal(answer.residual[targets], residual)
        assert_array_equal(answer.radius[targets], radius)
    whole = answer.solution(1e-3, 7, "name")
    assert (whole.tolerance, whole.iterations, whole.solver) == (1e-3, 7, "name")
    assert whole.coefficients is answer.a


def test_some_targets_keep_their_ridges():
    problem = RidgeProblem(
        np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0]), np.ones(2), True
    )
    part = problem.of_targets(np.array([2, 0]))
    assert part.y.tolist() == [[2.0, 0.0], [5.0, 3.0]]
    assert part.alpha.tolist() == [3.0, 1.0]


def test_a_weight_whose_quotient_is_just_a_number_is_used():
    weights = np.array([1.0, 1e-307])
    for alpha, is_used in ((1.0, True), (1e3, False)):
        problem = RidgeProblem(np.ones((2, 2)), np.array([1e-9, alpha]), weights, True)
        assert problem.used.tolist() == [True, is_used]


def test_the_residual_is_relative_to_what_an_offset_leaves_of_the_targets(rng):
    y, weights = rng.normal(size=(N, 1)), rng.uniform(0.5, 2.0, size=N)
    for offset in (0.0, 1e6):
        problem = RidgeProblem(y + offset, np.array([1.0]), weights, True)
        rest = y - np.average(y, axis=0, weights=weights)
        expected = np.linalg.norm(np.sqrt(weights)[:, None] * rest)
        assert_allclose(problem.sizes, expected, rtol=1e-9)
    problem = RidgeProblem(y + 1e6, np.array([1.0]), weights, False)
    assert_allclose(problem.sizes, np.linalg.norm(np.sqrt(weights)[:, None] * (y + 1e6)))


def test_targets_that_are_all_equal_are_compared_with_their_rounding():
    problem = RidgeProblem(np.full((N, 1), 3.0), np.array([1.0]), np.ones(N), True)
    assert_allclose(problem.sizes, 3.0 * np.sqrt(N * np.finfo(np.float64).eps))
