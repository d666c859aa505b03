"""Newton steps on a face of the box of a margin problem."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian
from mercer.gram import DenseGram, StreamedGram
from mercer.solvers import SMO, MarginProblem
from mercer.solvers.margin.active_set import Leap, _Face

KERNEL = Gaussian(1.5)


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 3))


def dual(problem, K, a):
    return problem.z @ a - problem.epsilon * np.abs(a).sum() - 0.5 * a @ K @ a


def problems(X, rng, fit_intercept):
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    signs, costs = np.sign(y), rng.uniform(1.0, 5.0, size=len(X))
    return [
        MarginProblem.regression(y, costs, 0.1, fit_intercept),
        MarginProblem.classification(signs, costs, fit_intercept),
    ]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_leap_raises_the_dual_and_keeps_bounds_sum_and_gradient(X, rng, fit_intercept, kind):
    problem = problems(X, rng, fit_intercept)[kind]
    K = KERNEL(X)
    a = problem.feasible(0.3 * rng.normal(size=len(X)))
    g = K @ a - problem.z
    before, total = dual(problem, K, a), a.sum()
    leap = Leap(lambda rows: K[np.ix_(rows, rows)], DenseGram(K, 1 << 30), problem, a, g)
    assert 0.0 < leap() <= 1.0
    assert dual(problem, K, a) > before
    assert (a >= problem.lower).all() and (a <= problem.upper).all()
    assert_allclose(g, K @ a - problem.z, atol=1e-10)
    if fit_intercept:
        assert_allclose(a.sum(), total, atol=1e-10)


def test_leaps_alone_solve_a_problem(X, rng):
    problem = problems(X, rng, True)[0]
    K = KERNEL(X)
    a, g = np.zeros(len(X)), -problem.z
    leap = Leap(lambda rows: K[np.ix_(rows, rows)], DenseGram(K, 1 << 30), problem, a, g)
    for _ in range(30):
        leap()
    assert problem.gap(a, K @ a).relative < 1e-8


def test_a_leap_that_leads_nowhere_is_damped_the_next_time(X, rng):
    problem = problems(X, rng, True)[0]
    K = KERNEL(X)
    a, g = np.zeros(len(X)), -problem.z
    leap = Leap(lambda rows: K[np.ix_(rows, rows)], DenseGram(K, 1 << 30), problem, a, g, 0.0)
    assert leap() < 0.3
    assert leap.damping > 0.0
    assert leap() > 0.3


def test_a_matrix_that_is_not_positive_definite_is_left_alone(rng):
    K = -np.eye(20)
    problem = MarginProblem.regression(rng.normal(size=20), np.ones(20), 0.1, True)
    a, g = np.zeros(20), -problem.z
    leap = Leap(lambda rows: K[np.ix_(rows, rows)], DenseGram(K, 1 << 30), problem, a, g, 0.0)
    assert leap() == 0.0
    assert not a.any()


def test_a_leap_that_is_called_off_changes_nothing(X, rng):
    problem = problems(X, rng, True)[0]
    K = KERNEL(X)
    a, g = np.zeros(len(X)), -problem.z
    gram = DenseGram(K, 1 << 30)
    leap = Leap(lambda rows: K[np.ix_(rows, rows)], gram, problem, a, g, None, lambda: True)
    assert leap() == 0.0
    assert not a.any()


def test_a_face_beyond_the_memory_is_left_to_the_pairs(rng):
    K = np.eye(20)
    problem = MarginProblem.regression(rng.normal(size=20), np.ones(20), 0.1, True)
    a = np.zeros(20)
    small = DenseGram(K, 100)
    assert Leap(lambda rows: K[np.ix_(rows, rows)], small, problem, a, -problem.z)() == 0.0


def test_a_steep_price_in_a_tube_is_solved_in_few_rounds(rng):
    X = rng.uniform(-2.0, 2.0, size=(1100, 4))
    y = np.sin(X).sum(axis=1) + 0.2 * rng.normal(size=1100)
    problem = MarginProblem.regression(y, np.full(1100, 100.0), 0.05, True)
    solution = SMO().solve(StreamedGram(Gaussian(2.0), X), problem)
    assert solution.residual[0] <= 1e-3
    # Pairs of coefficients alone take thousands of rounds.
    assert solution.iterations < 400


def test_changes_that_all_have_one_sign_are_balanced_within_their_bounds():
    one = np.ones(4)
    face = _Face(np.arange(4), 0.5 * one, -one, 0.0 * one, one, True)
    change = face._balanced(np.array([0.3, 0.31, 0.32, 0.33]))
    assert_allclose(change.sum(), 0.0, atol=1e-12)
    assert (face.start + change >= 0.0).all() and (face.start + change <= 1.0).all()


def test_bounds_that_round_are_held_once(X, rng):
    # start + (bound - start) is not the bound where its last bit is odd.
    upper = rng.uniform(0.3, 0.4, size=len(X))
    K = KERNEL(X)
    problem = MarginProblem.classification(np.sign(rng.normal(size=len(X))), upper, True)
    a = problem.feasible(rng.uniform(-0.3, 0.3, size=len(X)))
    g = K @ a - problem.z
    leap = Leap(lambda rows: K[np.ix_(rows, rows)], DenseGram(K, 1 << 30), problem, a, g, 0.1)
    before = 0.5 * a @ K @ a - problem.z @ a
    for _ in range(10):
        leap()
    assert (a >= problem.lower).all() and (a <= problem.upper).all()
    assert 0.5 * a @ K @ a - problem.z @ a < before
