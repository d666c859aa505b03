"""One square of memory that holds a symmetric matrix and its factor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.solvers.ridge.cholesky import TwoTriangles

N = 70


@pytest.fixture
def K(rng):
    F = rng.normal(size=(N, 2 * N))
    return F @ F.T / N


@pytest.fixture(params=[1 << 20, 500], ids=["one block", "many blocks"])
def square(K, monkeypatch, request):
    monkeypatch.setattr("mercer.data.blocks.MEMORY", request.param)
    return TwoTriangles(K.copy())


@pytest.fixture
def d():
    return np.linspace(0.1, 3.0, N)


def test_it_solves_with_the_shifted_matrix(square, K, d, rng):
    assert square.factor(d) == 0
    V = rng.normal(size=(N, 3))
    assert_allclose(square.solve(V), np.linalg.solve(K + np.diag(d), V), rtol=1e-10)


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_it_multiplies_after_the_factorisation(square, K, d, rng, columns):
    square.factor(d)
    V = rng.normal(size=(N, columns))
    assert_allclose(square.gram_product(V), K @ V, rtol=1e-12, atol=1e-12)
    assert_allclose(square.product(V), (K + np.diag(d)) @ V, rtol=1e-12, atol=1e-12)


def test_a_product_leaves_the_factor_as_it_was(square, d, rng):
    square.factor(d)
    V = rng.normal(size=(N, 2))
    before = square.solve(V)
    square.product(V)
    assert_array_equal(square.solve(V), before)


def test_it_factors_again_with_another_shift(square, K, d, rng):
    V = rng.normal(size=(N, 2))
    square.factor(d)
    square.factor(5.0 * d)
    again = square.solve(V)
    assert_allclose(again, np.linalg.solve(K + np.diag(5.0 * d), V), rtol=1e-10)
    fresh = TwoTriangles(K.copy())
    fresh.factor(5.0 * d)
    assert_array_equal(again, fresh.solve(V))


def test_it_works_in_the_memory_it_was_given(K, d):
    given = K.copy()
    TwoTriangles(given).factor(d)
    # The factor lies above the diagonal in C order, the matrix below it.
    L = np.linalg.cholesky(K + np.diag(d))
    assert_allclose(np.triu(given), L.T, rtol=1e-10, atol=1e-12)
    assert_array_equal(np.tril(given, -1), np.tril(K, -1))


def test_it_multiplies_with_absolute_values(square, K, d, rng):
    v = rng.uniform(size=N)
    assert_allclose(square.absolute_product(v), np.abs(K) @ v, rtol=1e-12)
    square.factor(d)
    assert_allclose(square.absolute_product(v), np.abs(K) @ v, rtol=1e-12)


def test_it_estimates_the_condition(square, K, d):
    square.factor(d)
    exact = 1.0 / np.linalg.cond(K + np.diag(d), 1)
    assert exact <= square.reciprocal_condition() * 1.01 <= 10.0 * exact


@pytest.mark.parametrize("position", [0, 1, 40, N - 1])
def test_a_failed_factorisation_gives_a_negative_direction(square, K, position):
    square.diagonal[position] -= 100.0
    K[position, position] -= 100.0
    order = square.factor(np.zeros(N))
    assert order == position + 1
    v = square.negative_direction(order)
    assert_allclose(np.linalg.norm(v), 1.0)
    assert_array_equal(v[order:], 0.0)
    assert v @ K @ v < 0.0


def test_a_negative_direction_is_found_in_a_large_matrix(rng):
    # Large enough for the blocked and threaded branch of LAPACK.
    n, p = 700, 650
    F = rng.normal(size=(n, n + 50))
    K = F @ F.T / n
    K[p, p] = 0.0
    square = TwoTriangles(K.copy())
    order = square.factor(np.zeros(n))
    assert order == p + 1
    expected = np.append(-np.linalg.solve(K[:p, :p], K[:p, p]), 1.0)
    v = square.negative_direction(order)
    assert_allclose(v[:order], expected / np.linalg.norm(expected), rtol=1e-8, atol=1e-12)
    assert v @ K @ v < 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", [(3, 50), (9, 9)])
def test_it_notices_entries_that_are_not_finite(K, bad, where):
    i, j = where
    K[i, j] = K[j, i] = bad
    assert not TwoTriangles(K).is_finite()


def test_a_finite_matrix_is_finite(square, d):
    square.factor(d)
    assert square.is_finite()


def test_no_more_is_added_to_the_diagonal_than_rounding_asks_for(rng):
    F = rng.normal(size=(N, 5))
    K = F @ F.T
    lacking = 1e-9 * np.abs(K.diagonal()).max()
    square = TwoTriangles(K - lacking * np.eye(N))
    square.factor_near(np.full(N, 1e-300))
    assert lacking < square.shift.min() == square.shift.max() < 20.0 * lacking
