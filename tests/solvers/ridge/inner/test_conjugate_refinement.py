"""Refinement by conjugate gradients, the order of ridges, and what is said at the end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import StreamedGram
from mercer.kernels import Gaussian
from mercer.solvers import ConjugateGradient, RidgeProblem, Run
from mercer.solvers.ridge.cg_factor import IteratedFactor

CG = ConjugateGradient(random_state=0)


def problem_of(y, alpha=1.0, weights=None, fit_intercept=True):
    y = y.reshape(len(y), -1)
    alpha = np.broadcast_to(np.asarray(alpha, float), y.shape[1:])
    return RidgeProblem(y, alpha, np.ones(len(y)) if weights is None else weights, fit_intercept)


@pytest.fixture
def X(points):
    return points(400)


@pytest.fixture
def y(X, rng):
    return np.column_stack([np.sin(2.0 * X[:, 0]) + 3.0, X[:, 1] ** 2 + 0.1 * rng.normal(size=400)])


class Rough:
    """A factor whose answers are off by shares given one after the other."""

    def __init__(self, A, shares, steps=99):
        self.A, self.shares, self.goals = A, list(shares), []
        self.alpha, self.goal, self.steps = None, None, steps

    @property
    def is_over(self):
        return self.steps == 0

    def shift(self, alpha):
        self.alpha = alpha

    def product(self, V):
        return self.A @ V

    def solve(self, V):
        self.goals.append(self.goal)
        self.steps -= 1
        return (1.0 - self.shares.pop(0)) * np.linalg.solve(self.A, V)


@pytest.fixture
def system(rng):
    A = rng.normal(size=(6, 6))
    return A @ A.T + np.eye(6), rng.normal(size=(6, 2))


def solved(A, y, tol, goal=None):
    solver = ConjugateGradient(tol=tol, goal=goal)
    found, r = solver._scaled(A, 0.7, np.ones(6), y, False, Run())
    assert_allclose(r, y - A.A @ found.a, atol=1e-12)
    return found, float((np.linalg.norm(r, axis=0) / np.linalg.norm(y, axis=0)).max())


def test_an_answer_that_misses_the_tolerance_is_refined_until_it_does_not(system):
    A, y = system
    factor = Rough(A, [1e-2, 1e-2, 1e-2, 1e-2])
    _, error = solved(factor, y, 1e-5)
    assert_allclose(error, 1e-6)
    assert factor.alpha == 0.7
    # A quarter of the tolerance first, then what is left of it beside the error, a tenth at most.
    assert_allclose(factor.goals, [0.25e-5, 0.25e-5 / 1e-2, 0.25e-5 / 1e-4])
    coarse = Rough(A, [1e-2, 1e-2])
    solved(coarse, y, 9e-3)
    assert_allclose(coarse.goals[1], 0.1)


def test_a_smaller_goal_than_the_tolerance_is_aimed_at(system):
    A, y = system
    factor = Rough(A, [1e-2])
    solved(factor, y, 0.1, goal=1e-4)
    assert_allclose(factor.goals, [0.25e-4])
    larger = Rough(A, [1e-2])
    solved(larger, y, 0.1, goal=0.5)
    assert_allclose(larger.goals, [0.025])


@pytest.mark.parametrize(
    ("shares", "error"),
    # A refinement that is worse is not taken, one that hardly helps is the last.
    [([1e-2, 3.0], 1e-2), ([1e-2, 0.9], 0.9e-2), ([1e-2, 0.51], 0.51e-2)],
)
def test_refinement_ends_where_it_does_not_halve_the_error(system, shares, error):
    A, y = system
    factor = Rough(A, shares)
    _, found = solved(factor, y, 1e-9)
    assert_allclose(found, error)
    assert not factor.shares


def test_without_steps_left_nothing_is_refined(system):
    A, y = system
    factor = Rough(A, [1e-2], steps=1)
    assert_allclose(solved(factor, y, 1e-9)[1], 1e-2)


def test_ridges_are_solved_from_the_largest_to_the_smallest(X, y, monkeypatch):
    seen = []
    shift = IteratedFactor.shift

    def watched(self, alpha):
        seen.append(alpha)
        shift(self, alpha)

    monkeypatch.setattr(IteratedFactor, "shift", watched)
    targets = np.column_stack([y.reshape(len(X), -1)[:, 0]] * 3)
    problem = RidgeProblem(targets, np.array([0.1, 10.0, 1.0]), np.ones(len(X)), True)
    ConjugateGradient(random_state=0).solve(StreamedGram(Gaussian(1.0), X), problem)
    assert seen == [10.0, 1.0, 0.1]


class Spent:
    """What an iteration came to, for what is said about it."""

    def __init__(self, ran_out=False, work=0.0, remaining=0.0):
        self.ran_out, self.work, self.remaining = ran_out, work, remaining
        self.iterations, self.rank = 7, 3


@pytest.mark.parametrize(
    ("ran_out", "ended_by", "is_met", "said"),
    [
        (False, "", True, ""),
        (False, "time", True, "the time limit of 2 s was up; raise time_limit"),
        (False, "progress", False, "a callback ended the iteration"),
        (True, "", False, "raise max_iter (now 1000) or alpha"),
        (False, "", False, "too ill-conditioned for float64"),
    ],
)
def test_what_ended_it_is_said_with_the_way_on(ran_out, ended_by, is_met, said):
    gram = StreamedGram(Gaussian(1.0), np.zeros((10, 1)))
    run = Run(time_limit=2.0)
    run.ended_by = ended_by
    advice = ConjugateGradient()._advice(Spent(ran_out), gram, is_met, run)
    assert said in advice
    assert advice.startswith("after 7 steps with a preconditioner of rank 3 ") is bool(said)


@pytest.mark.parametrize(
    ("work", "remaining", "is_met", "is_said"),
    [
        (330.0, 0.0, True, False),
        (340.0, 0.0, True, True),
        (300.0, 40.0, True, False),
        (300.0, 40.0, False, True),
    ],
)
def test_the_factor_is_advised_where_it_takes_less_work_and_fits(work, remaining, is_met, is_said):
    # n^3 / 3 of ten rows are 333.
    X = np.zeros((10, 1))
    spent = Spent(work=work, remaining=remaining)
    for memory, fits in ((800, True), (799, False)):
        gram = StreamedGram(Gaussian(1.0), X, memory)
        advice = ConjugateGradient()._advice(spent, gram, is_met, Run())
        assert ("solver='cholesky' takes about 1 of the work" in advice) is (is_said and fits)
