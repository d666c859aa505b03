"""The primal solver: the answers of the dual, from as many unknowns as there are features."""

import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mp
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import FeatureGram, LowRankGram, PrecomputedGram
from mercer.kernels import Cosine, Linear, Polynomial
from mercer.solvers import Cholesky, Primal
from mercer.solvers.ridge.design import Design, SparseDesign, design_of
from ridges import EPS, SHAPES, lapack_ratio, problem_of, rows_and_targets

KERNELS = [Linear(), Linear(1.0), Polynomial(2), Polynomial(3, 0.5), Cosine()]


def exact(F, y, alpha, weights, fit_intercept):
    """Return theta and b of one target, from the normal equations with 60 digits."""
    with mp.workdps(60):
        n, p = F.shape
        columns = np.hstack([F, np.ones((n, 1))]) if fit_intercept else F
        X = mp.matrix(columns.tolist())
        W = mp.diag(weights.tolist())
        ridge = mp.diag([mp.mpf(alpha)] * p + [mp.mpf(0)] * (columns.shape[1] - p))
        solved = mp.lu_solve(X.T * W * X + ridge, X.T * W * mp.matrix(y.tolist()))
        values = np.array([float(v) for v in solved])
    return values[:p], values[p:].sum()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [80, 15, 4])
def test_it_gives_the_coefficients_of_the_dual(kernel, fit_intercept, n, rng):
    X, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)) + 5.0
    weights = rng.uniform(0.1, 3.0, size=n)
    problem = problem_of(y, [0.1, 3.0, 0.1], weights, fit_intercept)
    gram = FeatureGram(kernel, X)
    primal, dual = Primal().solve(gram, problem), Cholesky().solve(gram, problem)
    assert_allclose(primal.coefficients, dual.coefficients, rtol=1e-8, atol=1e-9)
    assert_allclose(primal.intercept, dual.intercept, rtol=1e-8, atol=1e-12)
    assert_allclose(gram.F.T @ primal.coefficients, primal.theta, rtol=1e-8, atol=1e-9)
    assert_allclose(gram.F @ primal.theta, gram @ dual.coefficients, rtol=1e-8, atol=1e-8)
    assert primal.residual.max() < 1e-14


@pytest.mark.parametrize("kernel", [Linear(), Linear(1.0), Cosine()], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_residuals_are_those_of_rounding(rng, kernel, shape, fit_intercept):
    X, y = rows_and_targets(rng, shape)
    alphas, weights = np.repeat([1e-12, 1e-3, 1.0, 1e6], 2), rng.uniform(0.01, 10.0, size=150)
    problem = problem_of(np.tile(y, 4), alphas, weights, fit_intercept)
    solution = Primal().solve(FeatureGram(kernel, X), problem)
    assert lapack_ratio(kernel(X), problem, solution) < 30.0
    assert solution.residual.max() < 1e-12
    if fit_intercept:
        a = solution.coefficients
        assert (np.abs(a.sum(axis=0)) <= 1e-10 * np.abs(a).sum(axis=0)).all()


@pytest.mark.parametrize("n", [150, 20], ids=["more rows", "more features"])
@pytest.mark.parametrize("alpha", [1e-10, 1.0])
@pytest.mark.parametrize("place", [0.0, 1e3])
def test_residuals_of_ill_conditioned_features_are_those_of_rounding(rng, n, alpha, place):
    X, kernel = rng.normal(size=(n, 3)) + place, Polynomial(4)
    problem = problem_of(rng.normal(size=(n, 2)), alpha, rng.uniform(0.01, 10.0, size=n))
    solution = Primal().solve(FeatureGram(kernel, X), problem)
    assert lapack_ratio(kernel(X), problem, solution) < 30.0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1.0])
def test_columns_of_very_different_size_keep_their_digits(rng, alpha, fit_intercept):
    # The Gram matrix has lost the small columns altogether.
    F = rng.normal(size=(30, 3)) * [1.0, 1e12, 1e-6] + [0.0, 1e13, 0.0]
    y = F @ [1.0, 1e-12, 1e6] + 0.1 * rng.normal(size=30)
    weights = rng.uniform(0.5, 2.0, size=30)
    theta, b = exact(F, y, alpha, weights, fit_intercept)
    solution = Primal().solve(LowRankGram(F), problem_of(y, alpha, weights, fit_intercept))
    assert_allclose(solution.theta[:, 0], theta, rtol=1e-9)
    assert_allclose(solution.intercept[0], b, rtol=1e-9)


def test_means_far_from_zero_cost_no_digits(rng):
    F = rng.normal(size=(60, 3)) + 1e7
    y = F @ [1.0, -2.0, 1.0] + rng.normal(size=60)
    theta, _ = exact(F, y, 0.1, np.ones(60), True)
    solution = Primal().solve(LowRankGram(F), problem_of(y, 0.1))
    assert_allclose(solution.theta[:, 0], theta, rtol=1e-13)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_a_ridge_it_is_least_squares(rng, fit_intercept):
    F, y = rng.normal(size=(40, 4)), rng.normal(size=(40, 2)) + 3.0
    weights = rng.uniform(0.5, 2.0, size=40)
    problem = problem_of(y, 0.0, weights, fit_intercept)
    solution = Primal().solve(LowRankGram(F), problem)
    design = np.hstack([F, problem.unpenalised]) * np.sqrt(weights)[:, None]
    expected = np.linalg.lstsq(design, y * np.sqrt(weights)[:, None])[0]
    assert_allclose(solution.theta, expected[:4], rtol=1e-11)
    assert_allclose(solution.intercept, expected[4:].sum(axis=0), rtol=1e-11)
    assert solution.residual.max() < 1e-14
    assert np.isinf(solution.radius).all()


@pytest.mark.parametrize("scale", [1.0, 1e-7], ids=["normal equations", "singular values"])
def test_without_a_ridge_dual_coefficients_are_the_smallest(rng, scale):
    F = rng.normal(size=(40, 4))
    F[:, 3] = F[:, 2] + scale * F[:, 3]
    weights = rng.integers(1, 4, size=40).astype(float)
    y = rng.normal(size=40)
    solution = Primal().solve(LowRankGram(F), problem_of(y, 0.0, weights))
    # a = W (F - 1 m') c, of smallest a'W^-1 a, which a row written w times shares equally.
    repeated = np.repeat(F, weights.astype(int), axis=0)
    constraints = np.hstack([repeated, np.ones((len(repeated), 1))])
    smallest = np.linalg.lstsq(constraints.T, np.append(solution.theta[:, 0], 0.0))[0]
    per_row = np.zeros(40)
    np.add.at(per_row, np.repeat(np.arange(40), weights.astype(int)), smallest)
    size = np.abs(per_row).max()
    assert_allclose(solution.coefficients[:, 0], per_row, atol=1e-6 * size)
    rounding = 100 * EPS * (np.abs(F.T) @ np.abs(solution.coefficients)).max()
    assert_allclose(F.T @ solution.coefficients, solution.theta, rtol=1e-9, atol=rounding)


def test_without_a_ridge_as_many_features_as_rows_interpolate(rng):
    F, y = rng.normal(size=(10, 25)), rng.normal(size=(10, 2))
    for fit_intercept in (True, False):
        problem = problem_of(y, 0.0, fit_intercept=fit_intercept)
        primal = Primal().solve(LowRankGram(F), problem)
        dual = Cholesky().solve(LowRankGram(F), problem)
        assert_allclose(F @ primal.theta + primal.intercept, y, atol=1e-12)
        assert_allclose(primal.coefficients, dual.coefficients, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "change",
    [
        lambda F: np.hstack([F, F[:, :1]]),
        lambda F: np.hstack([F, F @ np.ones((4, 1)) * 1e8]),
        lambda F: np.repeat(F, 2, axis=0)[:4],
    ],
    ids=["a column twice", "a sum of columns", "rows twice"],
)
def test_features_without_full_rank_are_refused_at_alpha_zero(rng, change):
    F = change(rng.normal(size=(30, 4)))
    y = rng.normal(size=len(F))
    with pytest.raises(ValueError, match=r"alpha = 0 is least squares, .* full rank.*alpha > 0"):
        Primal().solve(LowRankGram(F), problem_of(y, 0.0))
    Primal().solve(LowRankGram(F), problem_of(y, 1e-8))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_constant_feature_says_nothing_beside_an_offset(rng, container):
    F = np.where(rng.random((30, 3)) < 0.3, rng.normal(size=(30, 3)), 0.0)
    y = rng.normal(size=30) + 7.0
    with_constant = LowRankGram(container(np.hstack([F, np.full((30, 1), 0.1)])))
    for alpha in (0.0, 1.0):
        plain = Primal().solve(LowRankGram(F), problem_of(y, alpha))
        solution = Primal().solve(with_constant, problem_of(y, alpha))
        assert solution.theta[3] == 0.0
        assert_allclose(solution.theta[:3], plain.theta, rtol=1e-11)
        assert_allclose(solution.intercept, plain.intercept, rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("far", [0.0, 1e6], ids=["safe", "far from zero"])
def test_sparse_features_give_the_same_answer(rng, fit_intercept, far):
    F = np.where(rng.random((80, 6)) < 0.2, rng.normal(size=(80, 6)), 0.0)
    F[:, 0] += far
    problem = problem_of(
        rng.normal(size=(80, 2)), [0.1, 1.0], rng.uniform(0.5, 2, 80), fit_intercept
    )
    dense = Primal().solve(LowRankGram(F), problem)
    sparse = Primal().solve(LowRankGram(sp.csr_array(F)), problem)
    assert_allclose(sparse.theta, dense.theta, rtol=1e-9, atol=1e-12)
    assert_allclose(sparse.coefficients, dense.coefficients, rtol=1e-8, atol=1e-10)


def test_sparse_features_are_filled_only_where_centring_would_cost_digits():
    F = sp.csr_array([[0.0, 1.0], [3.0, 0.0], [0.0, 0.0], [0.0, 5.0]])
    assert type(design_of(F, np.ones(4), True)) is SparseDesign
    far = sp.csr_array(F.toarray() + 1e5)
    assert type(design_of(far, np.ones(4), True)) is Design
    assert type(design_of(far, np.ones(4), False)) is SparseDesign


@pytest.mark.parametrize("kind", [Design, SparseDesign])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_form_of_a_design_agrees(kind, fit_intercept, rng, monkeypatch):
    F = np.where(rng.random((50, 6)) < 0.3, rng.normal(size=(50, 6)), 0.0)
    weights = rng.uniform(0.1, 3.0, size=50)
    mean = np.average(F, axis=0, weights=weights) if fit_intercept else 0.0
    Phi = np.sqrt(weights)[:, None] * (F - mean)
    for entries, rows in ((1 << 18, 256), (20, 3)):
        monkeypatch.setattr("mercer.solvers.ridge.design.PANEL", entries)
        monkeypatch.setattr("mercer.solvers.ridge.design.Design.rows_at_a_time", rows)
        design = kind(sp.csr_array(F) if kind is SparseDesign else F, weights, fit_intercept)
        y, theta = rng.normal(size=(50, 2)), rng.normal(size=(6, 2))
        r, adjoint = design.residual(y, theta)
        assert_allclose(design.dense(), Phi, atol=1e-13)
        assert_allclose(design.normal(), Phi.T @ Phi, atol=1e-12)
        assert_allclose(design.product(theta), Phi @ theta, atol=1e-12)
        assert_allclose(r, y - Phi @ theta, atol=1e-12)
        assert_allclose(adjoint, Phi.T @ r, atol=1e-11)
        assert_allclose(design.norms, np.linalg.norm(Phi, axis=0), rtol=1e-12)


@pytest.mark.parametrize("alpha", [1e-8, 1.0])
def test_the_residual_is_the_distance_of_the_objective_from_its_minimum(rng, alpha):
    # Features that float64 can hardly tell apart leave something to measure.
    F = rng.normal(size=(60, 1)) + 1e-9 * rng.normal(size=(60, 5))
    y, weights = rng.normal(size=60), rng.uniform(0.5, 2.0, size=60)
    solution = Primal().solve(LowRankGram(F), problem_of(y, alpha, weights))
    theta, _ = exact(F, y, alpha, weights, True)
    distance = np.linalg.norm(solution.theta[:, 0] - theta)
    assert distance <= 2.0 * solution.radius[0] + 1e-6 * np.linalg.norm(theta)
    assert solution.residual[0] < 1e-10


def test_targets_and_features_of_zero_have_no_residual(rng):
    solution = Primal().solve(LowRankGram(rng.normal(size=(20, 3))), problem_of(np.zeros(20)))
    assert solution.residual.tolist() == [0.0]
    assert not solution.coefficients.any()
    solution = Primal().solve(LowRankGram(np.zeros((20, 3))), problem_of(np.arange(20.0)))
    assert not solution.theta.any()
    assert_allclose(solution.intercept, 9.5)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_row_is_all_offset(alpha):
    gram = LowRankGram([[1.0, 2.0, 3.0]])
    solution = Primal().solve(gram, problem_of(np.array([3.0]), alpha))
    assert solution.theta.tolist() == [[0.0]] * 3
    assert solution.intercept.tolist() == [3.0]
    half = Primal().solve(gram, problem_of(np.array([3.0]), 14.0, fit_intercept=False))
    assert_allclose(gram.F @ half.theta, [[1.5]])


def test_the_solution_tells_what_it_cost(rng):
    solution = Primal(tol=1e-9).solve(
        LowRankGram(rng.normal(size=(50, 3))), problem_of(np.ones(50))
    )
    assert solution.solver == "primal"
    assert solution.tolerance == 1e-9
    assert solution.seconds > 0.0
    assert solution.theta.shape == (3, 1)


def test_a_gram_without_features_is_refused():
    with pytest.raises(ValueError, match=r"needs the features .* got <PrecomputedGram 3 x 3"):
        Primal().solve(PrecomputedGram(np.eye(3)), problem_of(np.ones(3)))


def test_normal_equations_beyond_the_limit_are_refused(rng):
    gram = LowRankGram(rng.normal(size=(200, 100)), memory="100KB")
    told = r"^2 dense matrices of 100 x 100 .* need 0\.16 MB but the limit is 0\.1 MB"
    with pytest.raises(MemoryLimitError, match=told):
        Primal().solve(gram, problem_of(np.ones(200)))
    wide = LowRankGram(rng.normal(size=(50, 100)), memory="100KB")
    told = r"^3 dense matrices of 50 x 100 .* need 0\.12 MB but the limit is 0\.1 MB"
    with pytest.raises(MemoryLimitError, match=told):
        Primal().solve(wide, problem_of(np.ones(50)))


def test_features_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="squares of the features overflow; scale the columns"):
        Primal().solve(LowRankGram([[1e200], [2e200]]), problem_of(np.ones(2)))


def test_coefficients_that_overflow_are_refused():
    with pytest.raises(ValueError, match="coefficients overflow at alpha = 1e-310; raise alpha"):
        Primal().solve(LowRankGram(np.zeros((3, 1))), problem_of(np.arange(3.0), 1e-310))


def test_a_ridge_that_is_lost_beside_the_gram_matrix_still_has_an_answer(rng):
    F = rng.normal(size=(40, 3)) * 1e6
    y = rng.normal(size=40)
    with pytest.raises(ValueError, match="singular to working precision"):
        Cholesky().solve(LowRankGram(F), problem_of(y, EPS))
    solution = Primal().solve(LowRankGram(F), problem_of(y, EPS))
    theta, b = exact(F, y, EPS, np.ones(40), True)
    assert_allclose(solution.theta[:, 0], theta, rtol=1e-12)
    assert_allclose(solution.intercept[0], b, rtol=1e-12)
