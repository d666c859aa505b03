"""The start of a margin problem from a low-rank copy of K."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.gram import PrecomputedGram, StreamedGram
from mercer.kernels import Gaussian
from mercer.solvers import SMO, MarginProblem
from mercer.solvers.margin import low_rank_start as seeding

KERNEL = Gaussian(1.0)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(seeding, "RANKS", (16, 32, 64))
    monkeypatch.setattr(seeding, "FEWEST", 150)
    monkeypatch.setattr(seeding, "GAIN", 1e-9)
    monkeypatch.setattr(seeding, "STEPS", 50)


@pytest.fixture
def X(rng):
    return rng.normal(size=(800, 2))


def seeded(gram, problem, is_over=lambda: False):
    return seeding.seed(gram, gram.single(), problem, is_over)


def classification(X, rng, C, fit_intercept=True):
    signs = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0.3, 1.0, -1.0)
    return MarginProblem.classification(signs, np.full(len(X), C), fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_the_seed_is_feasible_and_near_the_optimum(X, rng, monkeypatch, C, fit_intercept):
    monkeypatch.setattr(seeding, "RANKS", (64,))
    problem = classification(X, rng, C, fit_intercept)
    found = seeded(StreamedGram(KERNEL, X), problem)
    assert (found.a >= problem.lower).all() and (found.a <= problem.upper).all()
    if fit_intercept:
        assert abs(found.a.sum()) <= 1e-9 * np.abs(found.a).sum()
    assert problem.gap(found.a, KERNEL(X) @ found.a).relative < 0.1


def distances(kernel, X, problem):
    """Return how far a seed is from the optimum at every row."""
    gram, K = StreamedGram(kernel, X), kernel(X)
    exact = SMO(tol=1e-6).solve(gram, problem).coefficients[:, 0]
    f, g = K @ exact, K @ seeded(gram, problem).a
    return np.abs(f + problem.offset(f) - g - problem.offset(g))


def test_the_seed_of_a_tube_is_off_by_less_than_the_kinks_are_wide(X, rng, monkeypatch):
    monkeypatch.setattr(seeding, "RANKS", (256,))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    problem = MarginProblem.regression(y, np.ones(len(X)), 0.1, True)
    width = 0.5 * np.ptp(y) * seeding.ALL_WIDTHS[-1]
    assert np.quantile(distances(KERNEL, X, problem), 0.95) < width


def test_what_the_copy_leaves_of_the_diagonal_counts(X, rng, monkeypatch):
    # Of narrow bumps few rows copy hardly anything but the diagonal.
    monkeypatch.setattr(seeding, "RANKS", (16,))
    problem = classification(X, rng, 100.0)
    assert np.median(distances(Gaussian(0.02), X, problem)) < 0.1


def test_doubtful_rows_are_those_that_the_optimum_leaves_between_their_bounds(X, rng):
    problem = classification(X, rng, 1.0)
    found = seeded(StreamedGram(KERNEL, X), problem)
    exact = SMO(tol=1e-6).solve(StreamedGram(KERNEL, X), problem).coefficients[:, 0]
    assert np.isin(np.flatnonzero(problem.free(exact)), found.doubtful).mean() > 0.9
    assert len(found.doubtful) < 0.5 * len(X)


def test_threads_change_no_bit_of_the_seed(X, rng, monkeypatch):
    monkeypatch.setattr(seeding, "ROWS_AT_A_TIME", 50)
    monkeypatch.setattr(seeding, "MULTIPLIED", 4000)
    monkeypatch.setattr(seeding, "READ", 9000)
    gram, problem = StreamedGram(KERNEL, X), classification(X, rng, 1.0)

    def found(threads):
        monkeypatch.setenv("MERCER_THREADS", threads)
        return seeded(gram, problem)

    alone, together = found("1"), found("3")
    assert_array_equal(alone.a, together.a)
    assert_array_equal(alone.doubtful, together.doubtful)


def test_equal_targets_have_a_seed():
    X = np.linspace(0.0, 1.0, 400)[:, None]
    problem = MarginProblem.regression(np.ones(400), np.ones(400), 0.1, True)
    assert not seeded(StreamedGram(KERNEL, X), problem).a.any()


def test_the_seed_is_given_up_when_time_is_over(X, rng):
    problem = classification(X, rng, 1.0)
    assert seeded(StreamedGram(KERNEL, X), problem, lambda: True) is None


def test_an_indefinite_matrix_has_no_seed(X, rng):
    problem = classification(X, rng, 1.0)
    assert seeded(PrecomputedGram(-KERNEL(X)), problem) is None


def test_a_seed_that_does_not_fit_is_left_out(X, rng):
    problem = classification(X, rng, 1.0)
    assert seeded(StreamedGram(KERNEL, X, 1 << 10), problem) is None
