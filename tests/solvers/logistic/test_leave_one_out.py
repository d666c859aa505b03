"""Scores of rows left out in closed form, against the whole Newton system written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import PrecomputedGram
from mercer.solvers import LogisticProblem, NewtonCholesky
from mercer.solvers.logistic.leave_one_out import (
    Covariance,
    _covariance,
    leave_one_out_scores,
    without,
)

N = 18


@pytest.fixture
def K(rng):
    X = rng.normal(size=(N, 2))
    return np.exp(-2.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 0.01 * np.eye(N)


def solved(K, classes, with_offset, C=4.0):
    rng = np.random.default_rng(8)
    codes = np.arange(N) % classes
    problem = LogisticProblem(codes, classes, C, rng.uniform(0.5, 2.0, size=N), with_offset)
    solution = NewtonCholesky(1e-12).solve(PrecomputedGram(K), problem)
    return problem, solution.coefficients, solution.intercept


def by_the_whole_system(K, problem, A, b, copies):
    """F_i - (I - V_i H_i / m_i)^-1 V_i g_i / m_i, V from the Hessian in scores and offsets."""
    m = problem.columns
    F = K @ A + b
    H_rows = problem.curvature(F).blocks()
    H = np.zeros((N * m, N * m))
    for i in range(N):
        H[i * m : (i + 1) * m, i * m : (i + 1) * m] = H_rows[i]
    prior = np.kron(np.linalg.inv(K), np.eye(m)) / problem.C
    ones = np.tile(np.eye(m), (N, 1))[:, : m if problem.fit_intercept else 0]
    J = np.block([[prior + H, H @ ones], [ones.T @ H, ones.T @ H @ ones]])
    both = np.hstack([np.eye(N * m), ones])
    V = both @ np.linalg.pinv(J, rcond=1e-11, hermitian=True) @ both.T
    scores = np.empty_like(F)
    for i in range(N):
        own = slice(i * m, (i + 1) * m)
        g = problem.residual(F)[i] / copies[i]
        kept = np.eye(m) - V[own, own] @ H_rows[i] / copies[i]
        scores[i] = F[i] - np.linalg.solve(kept, V[own, own] @ g)
    return scores


def centred(F):
    return F - F.mean(axis=1, keepdims=True) if F.shape[1] > 1 else F


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("with_offset", [True, False])
@pytest.mark.parametrize("are_copied", [False, True])
def test_scores_without_a_row_are_those_of_the_whole_system(K, classes, with_offset, are_copied):
    problem, A, b = solved(K, classes, with_offset)
    copies = np.tile([1.0, 2.0, 5.0], N // 3) if are_copied else np.ones(N)
    expected = by_the_whole_system(K, problem, A, b, copies)
    given = copies if are_copied else None
    scores = leave_one_out_scores(PrecomputedGram(K), problem, A, b, given)
    assert_allclose(centred(scores), centred(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_without_a_row_are_near_those_of_a_fit_without_it(K, classes):
    problem, A, b = solved(K, classes, True, C=0.5)
    scores = leave_one_out_scores(PrecomputedGram(K), problem, A, b)
    with_it = K @ A + b
    for i in range(0, N, 5):
        rest = np.arange(N) != i
        less = LogisticProblem(problem.codes[rest], classes, 0.5, problem.weights[rest], True)
        fit = NewtonCholesky(1e-10).solve(PrecomputedGram(K[np.ix_(rest, rest)]), less)
        true = K[i, rest] @ fit.coefficients + fit.intercept
        error = np.abs(centred(scores[[i]]) - centred(true[None])).max()
        assert error < 0.1 * np.abs(centred(with_it[[i]]) - centred(true[None])).max()


def test_a_row_of_next_to_no_curvature_changes_nothing_by_its_absence(K):
    problem, A, b = solved(K, 2, False)
    A = A.copy()
    # Certain beyond rounding: neither residual nor curvature.
    A[0] = 4e4 * np.sign(A[0])
    scores = leave_one_out_scores(PrecomputedGram(np.eye(N)), problem, A, b)
    assert_allclose(scores[0], A[0])
    assert np.isfinite(scores).all()


def test_the_covariance_of_a_class_is_the_inverse_of_its_precision(K, rng):
    scale = rng.uniform(0.1, 2.0, size=N)
    expected = np.linalg.inv(0.3 * np.linalg.inv(K) + np.diag(scale**2))
    assert_allclose(_covariance(K, scale, 0.3), expected, rtol=1e-7, atol=1e-9)


def test_blocks_and_products_are_those_of_the_inverse_written_out(K, rng):
    problem, A, b = solved(K, 3, True)
    root = problem.curvature(K @ A + b)
    H = np.zeros((N, 3, N, 3))
    for i, block in enumerate(root.blocks()):
        H[i, :, i] = block
    prior = np.kron(np.linalg.inv(K), np.eye(3)) * 0.25
    V = np.linalg.inv(prior + H.reshape(3 * N, 3 * N))
    covariance = Covariance(K, root, 0.25)
    whole = V.reshape(N, 3, N, 3)
    blocks = np.array([whole[i, :, i] for i in range(N)])
    assert_allclose(covariance.blocks(), blocks, rtol=1e-6, atol=1e-8)
    X = rng.normal(size=(N, 3, 2))
    expected = (V @ X.reshape(3 * N, 2)).reshape(N, 3, 2)
    assert_allclose(covariance.product(X), expected, rtol=1e-6, atol=1e-8)


def test_a_share_of_a_row_moves_its_scores_by_that_share(rng):
    problem = LogisticProblem(np.array([0, 1]), 2, 1.0, np.ones(2), False)
    F, H, V = np.array([[0.3], [-0.2]]), np.full((2, 1, 1), 0.2), np.full((2, 1, 1), 1.5)
    copies = np.array([1.0, 4.0])
    g = problem.residual(F)[:, 0]
    expected = F[:, 0] - (1.5 * g / copies) / (1.0 - 1.5 * 0.2 / copies)
    assert_allclose(without(problem, F, H, V, copies)[:, 0], expected)


def test_several_classes_ask_for_the_memory_of_their_covariances(K):
    problem, A, b = solved(K, 3, True)
    # K, and for each of three classes two matrices beside one to work in.
    enough = (2 * 3 + 3) * N * N * 8
    assert leave_one_out_scores(PrecomputedGram(K, enough), problem, A, b).shape == (N, 3)
    with pytest.raises(MemoryLimitError):
        leave_one_out_scores(PrecomputedGram(K, enough - 1), problem, A, b)
