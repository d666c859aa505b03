"""The factor of a matrix that is positive semi-definite on vectors of sum zero only."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import IndefiniteKernelError
from mercer.gram import CentredGram, DenseGram
from mercer.solvers import Cholesky, Eigen
from mercer.solvers.ridge.centred import CentredTriangles, triangles_of
from mercer.solvers.ridge.triangles import TwoTriangles
from ridges import EPS, lapack_ratio, problem_of


class Conditional(DenseGram):
    """A matrix that is known to be positive semi-definite on vectors of sum zero."""

    is_conditional = True


@st.composite
def conditional(draw, least=2):
    """F F' - u 1' - 1 u', of any rank and of any sizes of its two parts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(least, 30))
    F = rng.normal(size=(n, draw(st.integers(1, n + 1)))) * 10.0 ** draw(st.integers(-3, 3))
    u = rng.normal(size=n) * 10.0 ** draw(st.integers(-3, 3))
    return F @ F.T - u[:, None] - u, rng


@given(conditional(), st.floats(1e-8, 1e3), st.booleans())
def test_residuals_are_those_of_rounding(given, ridge, several):
    K, rng = given
    n = len(K)
    problem = problem_of(
        rng.normal(size=(n, 2)),
        ridge * np.abs(K).max() * (np.array([1.0, 3.0]) if several else 1.0),
        rng.uniform(0.1, 10.0, size=n),
        fit_intercept=False,
    )
    solution = Cholesky().solve(Conditional(K, 1 << 30), problem)
    assert solution.solver == "cholesky of the centred matrix in float64"
    assert lapack_ratio(K, problem, solution) < 30.0


@pytest.mark.parametrize("solver", [Cholesky(), Eigen()], ids=["cholesky", "eigen"])
@given(given=conditional(), ridge=st.floats(1e-8, 1e3))
def test_with_an_offset_the_centred_matrix_leaves_residuals_of_rounding(solver, given, ridge):
    K, rng = given
    n = len(K)
    alpha, weights = ridge * np.abs(K).max(), rng.uniform(0.1, 10.0, size=n)
    problem = problem_of(rng.normal(size=(n, 2)), alpha, weights)
    gram = CentredGram(Conditional(K, 1 << 30))
    solution = solver.solve(gram, problem)
    moved = solution.intercept - gram.m @ solution.coefficients
    assert lapack_ratio(K, problem, replace(solution, intercept=moved)) < 30.0


@given(conditional(1), st.floats(1e-6, 1e3))
def test_it_solves_with_a_matrix_that_has_a_negative_eigenvalue(given, ridge):
    K, rng = given
    d = ridge * np.abs(K).max() * rng.uniform(0.1, 10.0, size=len(K))
    A, V = K + np.diag(d), rng.normal(size=(len(K), 3))
    square = CentredTriangles(K.copy())
    assert square.factor(d) == 0
    X = square.solve(V)
    X += square.solve(V - square.product(X))
    error = np.linalg.norm(X - np.linalg.solve(A, V)) / np.linalg.norm(X)
    assert error < 1e3 * len(K) * EPS * np.linalg.cond(A)


@given(conditional(), st.floats(-1.0, 1.0))
def test_a_factor_exists_where_the_centred_matrix_is_positive(given, share):
    # One direction of sum zero is moved up or down, around the point where A is singular on it.
    K, rng = given
    n = len(K)
    P = np.eye(n) - 1.0 / n
    c = P @ rng.normal(size=n)
    c /= np.linalg.norm(c)
    size = np.abs(K).max()
    K = K + share * 10.0 * n * size * np.outer(c, c)
    d = np.full(n, 0.1 * size)
    lowest = np.linalg.eigvalsh(P @ K @ P + np.diag(d))[0]
    assume(abs(lowest) > 1e-10 * n * np.abs(K).max())
    square = CentredTriangles(K.copy())
    order = square.factor(d)
    assert (order == 0) == (lowest > 0.0)
    if order:
        v = square.negative_direction(order)
        assert abs(v.sum()) < 1e-12 * n
        assert v @ (K + np.diag(d)) @ v < 0.0
        assert_allclose(np.linalg.norm(v), 1.0)


@given(conditional(1), st.floats(1e-3, 1e3))
def test_a_conditional_matrix_has_one_negative_eigenvalue_at_most(given, ridge):
    K, _ = given
    size = np.abs(K).max()
    A = K + ridge * size * np.eye(len(K))
    s = np.linalg.eigvalsh(A)
    assume(np.abs(s).min() > 1e-10 * size)
    square = CentredTriangles(K.copy())
    square.factor(np.full(len(K), ridge * size))
    # Haynsworth: one negative eigenvalue shows in the sign of 1'A^-1 1.
    total = square.solve(np.ones((len(K), 1))).sum()
    assert (s < 0.0).sum() == (1 if total < 0.0 else 0)


def test_it_factors_again_with_another_shift(rng):
    K = -np.abs(np.subtract.outer(*[rng.normal(size=40)] * 2))
    square, fresh = CentredTriangles(K.copy()), CentredTriangles(K.copy())
    V, d = rng.normal(size=(40, 2)), np.linspace(0.1, 3.0, 40)
    square.factor(d)
    square.factor(5.0 * d)
    fresh.factor(5.0 * d)
    assert_array_equal(square.solve(V), fresh.solve(V))
    assert_allclose(square.product(V), (K + np.diag(5.0 * d)) @ V, rtol=1e-12, atol=1e-12)


def test_a_matrix_that_is_singular_is_no_factor():
    # The eigenvalues of K are 1 and -1.
    assert CentredTriangles(np.array([[0.0, -1.0], [-1.0, 0.0]])).factor(np.ones(2)) == 2


def test_a_singular_ridge_is_refused_in_words():
    gram = Conditional(np.array([[0.0, -1.0], [-1.0, 0.0]]), 1 << 20)
    with pytest.raises(ValueError, match="at alpha = 1; raise alpha") as refusal:
        Cholesky().solve(gram, problem_of(np.ones(2), 1.0, fit_intercept=False))
    assert not isinstance(refusal.value, IndefiniteKernelError)


@pytest.mark.parametrize("solver", [Cholesky(), Eigen()], ids=["cholesky", "eigen"])
def test_a_second_negative_direction_is_refused(rng, solver):
    x = rng.normal(size=(30, 2))
    K = -np.abs(x[:, :1] - x[:, :1].T) - 0.5 * np.outer(x[:, 1], x[:, 1])
    problem = problem_of(np.ones(30), 0.01, fit_intercept=False)
    with pytest.raises(IndefiniteKernelError) as refusal:
        solver.solve(Conditional(K, 1 << 20), problem)
    form = refusal.value.witness
    assert form.coefficients @ K @ form.coefficients < -form.rounding_bound


@pytest.mark.parametrize("solver", [Cholesky(), Eigen()], ids=["cholesky", "eigen"])
def test_a_negative_direction_of_sum_zero_is_refused_though_it_is_the_only_one(rng, solver):
    c = rng.normal(size=30)
    c -= c.mean()
    K = np.eye(30) - np.outer(c, c)
    with pytest.raises(IndefiniteKernelError):
        solver.solve(Conditional(K, 1 << 20), problem_of(np.ones(30), 0.1, fit_intercept=False))


def test_entries_that_are_not_finite_are_refused(rng):
    K = -np.abs(np.subtract.outer(*[rng.normal(size=9)] * 2))
    K[2, 5] = K[5, 2] = -np.inf
    with pytest.raises(ValueError, match="not finite"):
        Cholesky().solve(Conditional(K, 1 << 20), problem_of(np.ones(9), fit_intercept=False))


def test_the_gram_matrix_decides_which_factor_it_gets():
    K = np.eye(3)
    assert type(triangles_of(DenseGram(K, 1 << 20))) is TwoTriangles
    assert type(triangles_of(Conditional(K, 1 << 20))) is CentredTriangles
