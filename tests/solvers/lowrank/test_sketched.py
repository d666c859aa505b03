"""Conjugate gradients by a sketch of the features, against the inverse written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import landmark_gram
from mercer.kernels import Gaussian
from mercer.solvers import Run
from mercer.solvers.lowrank import sketched
from mercer.solvers.lowrank.counted import CountedInverse
from mercer.solvers.lowrank.equations import LandmarkEquations
from mercer.solvers.lowrank.normal import Inverse
from mercer.solvers.lowrank.sketched import TINY, SketchedInverse, _least_ritz
from ridges import problem_of

N, M = 300, 12


def equations_of(rng, fit_intercept=True, alpha=(0.1, 2.0)):
    X = rng.normal(size=(N, 2))
    y, weights = rng.normal(size=(N, len(alpha))), rng.uniform(0.3, 3.0, N)
    gram = landmark_gram(Gaussian(0.7), X, M, "uniform")
    return LandmarkEquations.of(gram, problem_of(y, list(alpha), weights, fit_intercept))


def normal_matrix(equations, alpha):
    F, w = equations.gram.features(), equations.problem.weights
    Z = F - w @ F / w.sum() if equations.problem.fit_intercept else F
    return Z.T @ (w[:, None] * Z) + alpha * np.eye(M)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_product_is_that_of_the_normal_matrix(rng, fit_intercept):
    equations = equations_of(rng, fit_intercept)
    inverse = SketchedInverse(equations, np.full(2, 1e-9), 50, Run())
    V = rng.normal(size=(M, 2))
    expected = [normal_matrix(equations, a) @ v for a, v in zip((0.1, 2.0), V.T, strict=True)]
    assert_allclose(inverse._product(V, np.float32), np.transpose(expected), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_it_comes_to_the_goal_or_to_what_float32_allows(rng, fit_intercept):
    equations = equations_of(rng, fit_intercept)
    inverse = SketchedInverse(equations, np.full(2, 1e-9), 50, Run())
    g = rng.normal(size=(M, 2))
    found = inverse(g)
    for t, alpha in enumerate((0.1, 2.0)):
        N_alpha = normal_matrix(equations, alpha)
        exact = np.linalg.solve(N_alpha, g[:, t])
        missed = found[:, t] - exact
        begun = g[:, t] @ exact
        assert missed @ N_alpha @ missed <= (10.0 * SketchedInverse.single) ** 2 * begun
    assert 2 < inverse.steps < 40


@pytest.mark.parametrize("steps", [1, 2])
def test_the_first_two_steps_are_as_long_as_in_float64(rng, steps):
    equations = equations_of(rng, alpha=(0.1,))
    inverse = SketchedInverse(equations, np.array([1e-12]), steps, Run())
    r = rng.normal(size=(M, 1))
    g, expected, p, N_alpha = r, 0.0, inverse._inverse(r), normal_matrix(equations, 0.1)
    for _ in range(steps):
        form = (r * inverse._inverse(r)).sum()
        length = form / (p * (N_alpha @ p)).sum()
        expected, r = expected + length * p, r - length * (N_alpha @ p)
        p = inverse._inverse(r) + (r * inverse._inverse(r)).sum() / form * p
    assert_allclose(inverse(g), expected, rtol=1e-9)


def test_the_preconditioner_has_eigenvalues_near_one_and_the_least_is_seen(rng):
    equations = equations_of(rng, alpha=(0.1,))
    inverse = SketchedInverse(equations, np.array([1e-12]), 50, Run())
    inverse(rng.normal(size=(M, 1)))
    P = np.column_stack([inverse._inverse(e[:, None])[:, 0] for e in np.eye(M)])
    values = np.linalg.eigvals(P @ normal_matrix(equations, 0.1)).real
    assert values.max() / values.min() < 34.0
    assert values.min() * 0.99 <= inverse.least <= min(1.0, values.min() * 1.2)


def test_what_is_as_good_as_zero_takes_no_step_and_is_no_less(rng):
    equations = equations_of(rng)
    g = rng.normal(size=(M, 2))
    inverse = SketchedInverse(equations, np.full(2, 1e3), 50, Run())
    inverse.least = 0.25
    assert_allclose(inverse(g), inverse._inverse(g) / 0.25)
    assert inverse.steps == 0
    # One of two targets that is not is enough for steps.
    inverse.goal = np.array([1e3, 1e-9])
    inverse(g)
    assert inverse.steps > 0


def test_the_first_goal_that_is_met_without_a_step_is_the_square_root_of_the_form(rng):
    equations = equations_of(rng, alpha=(0.5,))
    g = rng.normal(size=(M, 1))
    probe = SketchedInverse(equations, np.array([1.0]), 50, Run())
    form = float((g * probe._inverse(g)).sum()) / 0.5
    for factor, steps in ((1.001, False), (0.999, True)):
        inverse = SketchedInverse(equations, np.array([factor * form**0.5]), 50, Run())
        inverse.least = 0.5
        inverse(g)
        assert (inverse.steps > 0) == steps


def test_steps_end_at_the_most_and_where_the_run_says_so(rng):
    equations = equations_of(rng)
    g = rng.normal(size=(M, 2))
    few = SketchedInverse(equations, np.full(2, 1e-12), 3, Run())
    few(g)
    assert few.steps == 3
    told = []

    def progress(step, value):
        told.append((step, value))
        return step == 2

    ended = SketchedInverse(equations, np.full(2, 1e-6), 50, Run(progress=progress))
    ended(g)
    assert [step for step, _ in told] == [1, 2]
    assert ended.steps == 2


def test_progress_is_what_is_left_beside_the_goal(rng):
    equations = equations_of(rng, alpha=(0.5,))
    g, told = rng.normal(size=(M, 1)), []
    run = Run(progress=lambda step, value: told.append(value) and None)
    inverse = SketchedInverse(equations, np.array([1e-3]), 1, run)
    step = inverse(g)
    r = g - normal_matrix(equations, 0.5) @ step
    left = float((r * inverse._inverse(r)).sum()) / inverse.least
    assert_allclose(told, np.sqrt(left) / 1e-3, rtol=1e-2)


def test_a_target_that_is_solved_stays_as_it_is_while_others_go_on(rng):
    equations = equations_of(rng)
    g = rng.normal(size=(M, 2))
    g[:, 0] = 0.0
    found = SketchedInverse(equations, np.full(2, 1e-9), 50, Run())(g)
    assert not found[:, 0].any()
    exact = np.linalg.solve(normal_matrix(equations, 2.0), g[:, 1])
    assert_allclose(found[:, 1], exact, rtol=1e-3, atol=1e-4)


def conjugate_gradients(A, b, steps):
    """The lengths of steps and the ratios of squared residuals, for the Lanczos matrix."""
    r, p = b.copy(), b.copy()
    sizes, ratios = [], []
    for _ in range(steps):
        size = (r @ r) / (p @ A @ p)
        last = r @ r
        r = r - size * (A @ p)
        sizes.append(size)
        ratios.append((r @ r) / last)
        p = r + ratios[-1] * p
    return sizes, ratios


def test_the_least_ritz_value_of_all_steps_is_the_least_eigenvalue(rng):
    values = np.array([0.05, 0.4, 0.8, 2.0])
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    A = Q @ np.diag(values) @ Q.T
    sizes, ratios = conjugate_gradients(A, rng.normal(size=4), 4)
    assert_allclose(_least_ritz(np.array(sizes)[:, None], np.array(ratios)[:, None]), 0.05)
    # After fewer steps it is above, and none is taken for more than 1.
    some = _least_ritz(np.array(sizes)[:2, None], np.array(ratios)[:2, None])
    assert 0.05 < some <= 1.0
    assert _least_ritz(np.array([[0.1]]), np.array([[0.3]])) == 1.0
    assert_allclose(_least_ritz(np.array([[4.0]]), np.array([[0.3]])), 0.25)


def test_the_least_of_several_targets_counts_each_as_far_as_it_went(rng):
    first = conjugate_gradients(np.diag([0.2, 1.0, 3.0]), np.ones(3), 3)
    second = conjugate_gradients(np.diag([0.5, 0.6, 0.7]), np.ones(3), 2)
    sizes = np.column_stack([first[0], [*second[0], 0.0]])
    ratios = np.column_stack([first[1], [*second[1], 0.0]])
    assert_allclose(_least_ritz(sizes, ratios), 0.2)
    alone = _least_ritz(np.array(second[0])[:, None], np.array(second[1])[:, None])
    assert_allclose(_least_ritz(sizes[:, 1:], ratios[:, 1:]), alone)
    assert _least_ritz(np.zeros((2, 1)), np.zeros((2, 1))) == 1.0
    assert _least_ritz(np.array([[1e308], [1e308]]), np.array([[1.0], [0.0]])) >= TINY


@pytest.fixture
def counted(monkeypatch):
    """Let landmarks stand for the rows."""
    monkeypatch.setattr(sketched, "ENTRY", 0.0)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_landmarks_in_the_place_of_rows_lead_to_the_same_solution(rng, counted, fit_intercept):
    equations = equations_of(rng, fit_intercept, alpha=(0.1,))
    inverse = SketchedInverse(equations, np.array([1e-9]), 200, Run())
    assert isinstance(inverse._inverse, CountedInverse)
    g = rng.normal(size=(M, 1))
    exact = np.linalg.solve(normal_matrix(equations, 0.1), g)
    assert_allclose(inverse(g), exact, atol=1e-4 * np.abs(exact).max())


def test_sums_take_over_where_landmarks_take_many_steps(rng, counted, monkeypatch):
    monkeypatch.setattr(SketchedInverse, "patience", 2)
    equations = equations_of(rng, alpha=(0.1,))
    inverse = SketchedInverse(equations, np.array([1e-9]), 200, Run())
    g = rng.normal(size=(M, 1))
    exact = np.linalg.solve(normal_matrix(equations, 0.1), g)
    assert_allclose(inverse(g), exact, atol=1e-4 * np.abs(exact).max())
    assert isinstance(inverse._inverse, Inverse)


def test_several_ridges_are_left_to_sums(rng, counted):
    several = SketchedInverse(equations_of(rng), np.full(2, 1e-9), 50, Run())
    assert isinstance(several._inverse, Inverse)


class Kept:
    """A checkpoint in memory, which knows all that it was given."""

    def __init__(self, begun=None):
        self.begun, self.states = begun, []

    def restored(self, problem):
        return None if self.begun is None else {n: a.copy() for n, a in self.begun.items()}

    def keep(self, problem, state):
        self.states.append({name: np.array(array) for name, array in state.items()})


@pytest.mark.parametrize("patience", [3, 60])
def test_every_step_can_be_gone_on_from_to_the_same_bits(rng, counted, monkeypatch, patience):
    monkeypatch.setattr(SketchedInverse, "patience", patience)
    equations = equations_of(rng, alpha=(0.1,))
    g = rng.normal(size=(M, 2)) * [1.0, 100.0]

    def solved(kept):
        """Two solves, as a fit has, in a run with this checkpoint."""
        inverse = SketchedInverse(equations, np.array([1e-9]), 200, Run(checkpoint=kept))
        found = [inverse(g[:, :1]), inverse(g[:, 1:])]
        return np.hstack(found), inverse.steps, inverse.least

    whole = Kept()
    expected, steps, least = solved(whole)
    assert steps == len(whole.states) > 8
    for taken, state in enumerate(whole.states, 1):
        again = Kept(state)
        found = solved(again)
        assert np.array_equal(found[0], expected)
        assert found[1:] == (steps, least)
        # What was done is not done again.
        assert len(again.states) == steps - taken
