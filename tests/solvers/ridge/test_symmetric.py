"""The ridge system of a symmetric matrix that need not be positive definite."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import DenseGram
from mercer.solvers.ridge.symmetric import Symmetric
from ridges import lapack_ratio, problem_of


@st.composite
def symmetric(draw):
    """F F' - u 1' - 1 u', of any rank and of any sizes of its two parts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 30))
    F = rng.normal(size=(n, draw(st.integers(1, n + 1)))) * 10.0 ** draw(st.integers(-3, 3))
    u = rng.normal(size=n) * 10.0 ** draw(st.integers(-3, 3))
    return F @ F.T - u[:, None] - u, rng


@given(symmetric(), st.floats(1e-8, 1e3), st.booleans())
def test_residuals_are_those_of_rounding(given, ridge, several):
    K, rng = given
    n = len(K)
    problem = problem_of(
        rng.normal(size=(n, 2)),
        ridge * np.abs(K).max() * (np.array([1.0, 3.0]) if several else 1.0),
        rng.uniform(0.1, 10.0, size=n),
        fit_intercept=False,
    )
    solution = Symmetric().solve(DenseGram(K, 1 << 30), problem)
    assert lapack_ratio(K, problem, solution) < 30.0


def test_it_solves_where_eigenvalues_have_both_signs(rng):
    A = rng.normal(size=(40, 40))
    K, y, weights = A + A.T, rng.normal(size=(40, 2)), rng.uniform(0.5, 2.0, 40)
    solution = Symmetric().solve(DenseGram(K, 1 << 20), problem_of(y, 0.3, weights, False))
    assert_allclose(solution.coefficients, np.linalg.solve(K + np.diag(0.3 / weights), y))
    assert (solution.intercept == 0.0).all()


def test_the_residual_is_measured_and_nothing_is_bounded(rng):
    K, y = -np.eye(5), rng.normal(size=(5, 1))
    solution = Symmetric().solve(DenseGram(K, 1 << 20), problem_of(y, 0.3, fit_intercept=False))
    assert solution.residual[0] < 1e-14
    assert np.isinf(solution.radius).all()
    assert solution.solver == "symmetric factor in float64"


def test_a_ridge_that_makes_the_matrix_singular_is_refused_in_words():
    # The eigenvalues of K are 1 and -1.
    gram = DenseGram(np.array([[0.0, -1.0], [-1.0, 0.0]]), 1 << 20)
    with pytest.raises(ValueError, match="at alpha = 1; raise alpha"):
        Symmetric().solve(gram, problem_of(np.ones(2), 1.0, fit_intercept=False))


def test_entries_that_are_not_finite_are_refused():
    K = np.eye(9)
    K[2, 5] = K[5, 2] = -np.inf
    with pytest.raises(ValueError, match="not finite"):
        Symmetric().solve(DenseGram(K, 1 << 20), problem_of(np.ones(9), fit_intercept=False))


def test_a_copy_beyond_the_memory_is_refused():
    with pytest.raises(MemoryLimitError, match="memory="):
        Symmetric().solve(DenseGram(np.eye(9), 100), problem_of(np.ones(9), fit_intercept=False))
