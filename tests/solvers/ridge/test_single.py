"""Factors in float32 refined in float64: as exact as float64, or not used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers import Cholesky, RidgeProblem
from mercer.solvers.ridge.single import (
    SingleFactor,
    _scale,
    _scale_lower,
    predicted_steps,
    substituted,
)


def problem_of(y, alpha=0.1, weights=None, fit_intercept=True):
    y = y.reshape(len(y), -1)
    alphas = np.broadcast_to(np.asarray(alpha, float), (y.shape[1],))
    return RidgeProblem(y, alphas, np.ones(len(y)) if weights is None else weights, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2), 1e6 * Gaussian(1.0)], ids=str)
def test_single_precision_gives_the_answer_of_double_precision(kernel, fit_intercept, rng):
    X, y = rng.normal(size=(300, 4)), rng.normal(size=(300, 2)) + 5.0
    weights = rng.uniform(0.5, 2.0, 300)
    problem = problem_of(y, [0.1, 1.0], weights, fit_intercept)
    gram = StreamedGram(kernel, X)
    single = Cholesky(precision="single").solve(gram, problem)
    double = Cholesky(precision="double").solve(gram, problem)
    assert "float32" in single.solver
    assert single.residual.max() <= 1e-9
    assert_allclose(gram @ single.coefficients, gram @ double.coefficients, rtol=1e-6, atol=1e-7)
    assert_allclose(single.intercept, double.intercept, rtol=1e-6)


def test_a_factor_that_fails_in_single_precision_is_taken_in_double(rng):
    X = rng.normal(size=(200, 1))
    problem = problem_of(np.sin(X[:, 0]), alpha=1e-9)
    solution = Cholesky(precision="single").solve(StreamedGram(Gaussian(2.0), X), problem)
    assert solution.solver == "cholesky in float64"
    assert solution.residual.max() <= 1e-6


def test_half_the_memory_suffices_for_single_precision(rng):
    X = rng.normal(size=(300, 3))
    problem = problem_of(rng.normal(size=300))
    half = 300 * 300 * 5
    solution = Cholesky(precision="single").solve(StreamedGram(Gaussian(1.0), X, half), problem)
    assert "float32" in solution.solver


def test_large_diagonals_do_not_overflow_the_single_factor(rng):
    X = 1e15 * rng.normal(size=(100, 3))
    gram = StreamedGram(Linear(), X)
    factor = SingleFactor(gram, np.full(100, 1e28))
    V = rng.normal(size=(100, 2))
    assert factor.order == 0
    assert_allclose(factor.product(factor.solve(V)), V, atol=1e-8)


def test_more_steps_are_predicted_for_smaller_alpha():
    steps = [predicted_steps(5000, 1.0, alpha) for alpha in (1.0, 1e-2, 1e-4, 1e-6)]
    assert steps == sorted(steps)
    assert steps[0] < 6
    assert predicted_steps(5000, 1.0, 0.0) == np.inf


def test_an_unknown_precision_is_refused():
    with pytest.raises(ValueError, match=r"precision must be .* got 'half'"):
        Cholesky(precision="half")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [gram_of, StreamedGram], ids=["held", "streamed"])
def test_the_lower_triangle_is_that_of_the_matrix(make, dtype, rng):
    X = rng.normal(size=(70, 3))
    gram = make(Gaussian(1.0), X)
    lower = gram.lower(dtype)
    assert lower.dtype == dtype
    expected = Gaussian(1.0)(X)
    assert_allclose(np.tril(lower), np.tril(expected), rtol=2 * np.finfo(dtype).eps)


def test_the_lower_triangle_of_a_held_matrix_is_a_copy(rng):
    K = Gaussian(1.0)(rng.normal(size=(20, 2)))
    lower = PrecomputedGram(K, memory=10**9).lower(np.float64)
    lower[:] = 0.0
    assert K[3, 3] == 1.0


@pytest.mark.parametrize("columns", [1, 3, 7])
def test_substitution_inverts_the_product_of_the_triangles(columns, rng):
    L = np.tril(rng.normal(size=(1100, 1100)) / 50.0 + np.eye(1100)).astype(np.float32)
    V = rng.normal(size=(1100, columns)).astype(np.float32)
    X = substituted(L, V).astype(float)
    assert_allclose(L.astype(float) @ (L.T.astype(float) @ X), V, atol=1e-3)


@pytest.mark.parametrize(
    ("n", "largest", "shift"), [(1000, 1.0, 0.1), (50, 4.0, 1e-6), (900, 2.0, 7.0)]
)
def test_the_steps_follow_from_the_condition_that_rounding_leaves(n, largest, shift):
    eps = float(np.finfo(np.float32).eps)
    root = np.sqrt(1.0 + 0.3 * eps * n * largest / shift)
    expected = 2.0 + np.log(2.0 / 1e-10) / np.log((root + 1.0) / (root - 1.0))
    assert predicted_steps(n, largest, shift) == pytest.approx(expected, rel=1e-6)


def test_without_a_shift_there_is_no_end_and_with_a_large_one_next_to_nothing_to_do():
    assert predicted_steps(10, 1.0, 0.0) == predicted_steps(10, 1.0, -1.0) == np.inf
    assert predicted_steps(10, 1.0, 1e30) == pytest.approx(2.0 + np.log(2e10) / np.log(2e8))


@pytest.mark.parametrize(
    ("least", "most", "is_scaled"),
    [
        (1.0, 2.0, False),
        (1.1e-6, 2.0, False),
        (1e-6, 2.0, True),
        (1.0, 1e6, True),
        (1.0, 9e5, False),
    ],
)
def test_diagonals_that_float32_cannot_hold_are_brought_to_one(least, most, is_scaled):
    A = np.array([least, 1.5, most])
    assert_allclose(_scale(A), 1.0 / np.sqrt(A) if is_scaled else np.ones(3))


@pytest.mark.parametrize("n", [5, 256, 600])
def test_a_lower_triangle_is_scaled_on_both_sides(rng, n):
    K = rng.normal(size=(n, n)).astype(np.float32)
    scale = rng.uniform(0.5, 2.0, size=n)
    lower = K.copy()
    _scale_lower(lower, scale)
    expected = np.tril(K * np.outer(scale, scale))
    assert_allclose(np.tril(lower), expected, rtol=1e-5)


@pytest.mark.parametrize("columns", [1, 4, 5])
@pytest.mark.parametrize("block", [512, 7])
def test_substitution_is_the_same_in_blocks_of_any_size(rng, monkeypatch, columns, block):
    monkeypatch.setattr(SingleFactor, "block", block)
    A = rng.normal(size=(30, 30))
    L = np.linalg.cholesky(A @ A.T + 30.0 * np.eye(30)).astype(np.float32)
    V = rng.normal(size=(30, columns)).astype(np.float32)
    expected = np.linalg.solve(L.astype(float) @ L.T.astype(float), V)
    assert_allclose(substituted(L, V), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("size", [1.0, 1e20])
def test_a_single_factor_solves_and_multiplies_in_double(rng, size):
    X = rng.normal(size=(40, 2))
    K = size * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    d = size * rng.uniform(0.1, 1.0, size=40)
    factor = SingleFactor(PrecomputedGram(K), d)
    V = np.column_stack([rng.normal(size=(40, 2)), np.zeros(40)])
    A = K + np.diag(d)
    assert_allclose(factor.product(V), A @ V, atol=1e-12 * size)
    assert_allclose(factor.solve(V), np.linalg.solve(A, V), rtol=1e-7, atol=1e-9 / size)
    assert factor.order == 0
    assert 0 < factor.steps < 15


def test_no_step_is_taken_where_the_first_answer_is_near_enough(rng, monkeypatch):
    monkeypatch.setattr(SingleFactor, "exact", 1e-4)
    X = rng.normal(size=(40, 2))
    factor = SingleFactor(PrecomputedGram(np.exp(-np.abs(X @ X.T))), np.full(40, 100.0))
    factor.solve(rng.normal(size=(40, 2)))
    assert factor.steps == 0
