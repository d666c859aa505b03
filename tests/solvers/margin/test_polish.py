"""The last digits of a margin problem, against the conditions of the optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import PrecomputedGram
from mercer.solvers import SMO, MarginProblem
from mercer.solvers.margin.active_set import polished
from mercer.solvers.rounding import EPS

M = 30


@pytest.fixture
def K(rng):
    X = rng.normal(size=(M, 2))
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def problem_of(rng, kind, fit_intercept=True):
    if kind == "tube":
        return MarginProblem.regression(rng.normal(size=M), np.ones(M), 0.2, fit_intercept)
    signs = np.where(rng.random(M) < 0.5, 1.0, -1.0)
    return MarginProblem.classification(signs, np.full(M, 0.8), fit_intercept)


@pytest.mark.parametrize("kind", ["tube", "classes"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_free_rows_end_exactly_at_their_kinks(rng, K, kind, fit_intercept):
    gram, problem = PrecomputedGram(K), problem_of(rng, kind, fit_intercept)
    a = SMO(1e-9).solve(gram, problem).coefficients[:, 0]
    free = np.flatnonzero(problem.free(a))
    assert 2 < len(free) < M
    rough = a.copy()
    # Moved by little, and in sum as well, which is put right.
    rough[free] += 1e-4 * rng.normal(size=len(free)) * np.abs(a[free])
    found, f = polished(gram, problem, rough)
    assert_allclose(f, K @ found, atol=1e-13)
    gaps = problem.z[free] - problem.epsilon * np.sign(found[free]) - f[free]
    # What is left of every free row is the same offset.
    offset = gaps.mean() if fit_intercept else 0.0
    assert_allclose(gaps, offset, atol=1e-10)
    if fit_intercept:
        assert abs(found.sum()) <= 4.0 * EPS * np.linalg.norm(found)
    others = np.delete(np.arange(M), free)
    assert_array_equal(found[others], rough[others])


def test_without_a_free_row_or_with_too_many_there_is_nothing_to_polish(rng, K, monkeypatch):
    gram, problem = PrecomputedGram(K), problem_of(rng, "tube")
    assert polished(gram, problem, np.zeros(M)) is None
    a = SMO(1e-9).solve(gram, problem).coefficients[:, 0]
    count = int(problem.free(a).sum())
    assert polished(gram, problem, a, count) is not None
    assert polished(gram, problem, a, count - 1) is None


def test_one_free_row_is_enough():
    problem = MarginProblem.regression(np.array([3.0, -3.0]), np.array([1.0, 5.0]), 0.0, False)
    found, f = polished(PrecomputedGram(np.eye(2)), problem, np.array([1.0, -2.0]))
    assert_allclose(found, [1.0, -3.0])
    assert_allclose(f, found)


@pytest.mark.parametrize(
    ("z", "bound"),
    # The kink is beyond the bound, on the bound, or on the other side of zero.
    [(3.0, 2.0), (-3.0, 2.0), (-1.0, 5.0)],
)
def test_kinks_that_cannot_be_reached_are_not(z, bound):
    problem = MarginProblem.regression(np.array([z]), np.array([bound]), 0.0, False)
    a = np.array([np.sign(z) if bound == 2.0 else 1.0])
    assert polished(PrecomputedGram(np.eye(1)), problem, a) is None


def test_a_kink_on_the_bound_is_reached():
    for z in (2.0, -2.0):
        problem = MarginProblem.regression(np.array([z]), np.array([2.0]), 0.0, False)
        found, _ = polished(PrecomputedGram(np.eye(1)), problem, np.array([0.5 * z]))
        assert found[0] == z


def test_directions_in_which_the_matrix_is_flat_are_left_alone():
    # Two equal rows: only their sum is told, and the shortest change of it is taken.
    problem = MarginProblem.regression(np.full(2, 3.0), np.full(2, 9.0), 0.0, False)
    found, _ = polished(PrecomputedGram(np.ones((2, 2))), problem, np.array([1.0, 1.5]))
    assert_allclose(found, [1.25, 1.75])


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_the_sum_counts_as_much_as_the_matrix_whatever_its_size(rng, K, size):
    problem = MarginProblem.regression(rng.normal(size=M), np.full(M, 1.0 / size), 0.2, True)
    gram = PrecomputedGram(size * K)
    a = SMO(1e-9).solve(gram, problem).coefficients[:, 0]
    found, _ = polished(gram, problem, a)
    assert abs(found.sum()) <= 4.0 * EPS * np.linalg.norm(found)


def test_a_matrix_of_zeros_moves_nothing():
    problem = MarginProblem.regression(np.array([1.0, -1.0]), np.ones(2), 0.0, True)
    a = np.array([0.5, -0.5])
    found, f = polished(PrecomputedGram(np.zeros((2, 2))), problem, a)
    assert_allclose(found, a, atol=1e-15)
    assert_array_equal(f, np.zeros(2))
