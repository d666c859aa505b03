"""The interior point of margin problems: the optimum of few features, ill-conditioned or not."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import LowRankGram
from mercer.solvers import SMO, MarginProblem
from mercer.solvers.margin import interior
from mercer.solvers.margin.interior import interior_point


def never(a):
    return False


def gap_of(F, problem, a):
    return problem.gap(a, F @ (F.T @ a)).relative


@pytest.fixture
def F(rng):
    return rng.normal(size=(200, 6))


@pytest.fixture
def signs(F, rng):
    return np.where(F[:, 0] + 0.8 * rng.normal(size=200) > 0.4, 1.0, -1.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_optimum_is_that_of_working_sets(F, signs, rng, fit_intercept, C, form):
    problem = MarginProblem.classification(signs, C * rng.uniform(0.5, 2.0, 200), fit_intercept)
    a = interior_point(form(F), problem, 1e-6, never)
    assert gap_of(F, problem, a) <= 1e-6
    exact = SMO(tol=1e-8).solve(LowRankGram(F), problem)
    w = (F.T @ exact.coefficients)[:, 0]
    assert np.linalg.norm(F.T @ a - w) <= 0.01 * np.linalg.norm(w)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_tube_has_two_sides(F, rng, epsilon, fit_intercept):
    y = F @ rng.normal(size=6) + 2.0 + rng.normal(size=200)
    costs = rng.uniform(0.1, 2.0, 200)
    problem = MarginProblem.regression(y, costs, epsilon, fit_intercept)
    a = interior_point(F, problem, 1e-6, never)
    assert gap_of(F, problem, a) <= 1e-6


def test_rows_away_from_the_margin_are_exactly_at_their_bounds(F, signs):
    problem = MarginProblem.classification(signs, np.ones(200), True)
    a = interior_point(F, problem, 1e-6, never)
    exact = SMO(tol=1e-10).solve(LowRankGram(F), problem).coefficients[:, 0]
    assert_array_equal(np.flatnonzero(a), np.flatnonzero(exact))
    assert_array_equal(problem.free(a), problem.free(exact))


def test_features_far_from_zero_and_of_any_size_are_solved(rng, signs):
    F = (100.0 + rng.normal(size=(200, 6))) * 10.0 ** np.arange(-3, 3)
    problem = MarginProblem.classification(signs, np.ones(200), True)
    assert gap_of(F, problem, interior_point(F, problem, 1e-5, never)) <= 1e-5


def test_equal_columns_and_rows_are_no_obstacle(F, signs):
    F = np.hstack([F, F])[np.repeat(np.arange(100), 2)]
    problem = MarginProblem.classification(signs[np.repeat(np.arange(100), 2)], np.ones(200), True)
    assert gap_of(F, problem, interior_point(F, problem, 1e-6, never)) <= 1e-6


def test_one_class_alone_has_no_coefficients(F):
    problem = MarginProblem.classification(np.ones(200), np.ones(200), True)
    assert_array_equal(interior_point(F, problem, 1e-6, never), 0.0)


def test_blocks_of_rows_make_no_difference(F, signs, monkeypatch):
    problem = MarginProblem.classification(signs, np.ones(200), True)
    whole = interior_point(F, problem, 1e-6, never)
    monkeypatch.setattr(interior, "ENTRIES_AT_A_TIME", 50)
    assert_allclose(interior_point(F, problem, 1e-6, never), whole, atol=1e-8)


def test_who_watches_can_end_it(F, signs):
    problem = MarginProblem.classification(signs, np.ones(200), True)
    asked = []
    a = interior_point(F, problem, 1e-9, lambda a: asked.append(a) or len(asked) == 3)
    assert len(asked) == 3
    assert_array_equal(a, asked[-1])
    assert_allclose(a.sum(), 0.0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_large_features_leave_the_sum_at_zero(F, signs, scale):
    F = scale * (F - F.mean(axis=0))
    problem = MarginProblem.classification(signs, np.ones(200), True)
    a = interior_point(F, problem, 1e-6, never)
    assert abs(a.sum()) <= 1e-12 * np.abs(a).sum()
    assert gap_of(F, problem, a) <= 1e-3
