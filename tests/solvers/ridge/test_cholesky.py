"""The exact solver: accuracy, memory and refusals."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.gram import LowRankGram, PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial, Sigmoid
from mercer.solvers import Cholesky, RidgeProblem, as_solver
from mercer.solvers.ridge.cholesky import is_large
from ridges import EPS, SHAPES, lapack_ratio, problem_of, rows_and_targets

KERNELS = [Gaussian(1.0), Gaussian(1e8), Gaussian(1e-8), Exponential(2.0), Linear(1.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("alpha", [1e-10, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("shape", SHAPES)
def test_residuals_are_those_of_rounding(rng, kernel, alpha, shape):
    X, y = rows_and_targets(rng, shape)
    problem = problem_of(y, alpha, rng.uniform(0.01, 10.0, size=150))
    K = kernel(X)
    try:
        solution = Cholesky().solve(StreamedGram(kernel, X), problem)
    except ValueError as error:
        # Only a ridge that is lost beside K may be refused.
        assert "singular to working precision" in str(error)
        assert alpha / 0.01 < 100 * len(y) * EPS * K.max()
        return
    assert lapack_ratio(K, problem, solution) < 30.0
    assert (
        np.abs(solution.coefficients.sum(axis=0)).max()
        <= 1e-10 * np.abs(solution.coefficients).sum(axis=0).max()
    )


def test_every_kind_of_gram_gives_the_same_solution(rng):
    X = rng.normal(size=(60, 2))
    K = Linear()(X)
    problem = problem_of(rng.normal(size=60), 0.1)
    grams = [
        gram_of(Linear(), X),
        StreamedGram(Linear(), X),
        LowRankGram(X),
        PrecomputedGram(K),
    ]
    solutions = [Cholesky().solve(gram, problem) for gram in grams]
    for other in solutions[1:]:
        assert_allclose(other.coefficients, solutions[0].coefficients, rtol=1e-10, atol=1e-12)
    assert_allclose(PrecomputedGram(K).dense(), K)


def test_every_target_has_the_ridge_given_for_it(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=(50, 4))
    gram = StreamedGram(Gaussian(1.0), X)
    alphas = np.array([1.0, 0.01, 1.0, 10.0])
    together = Cholesky().solve(gram, problem_of(y, alphas))
    for j, alpha in enumerate(alphas):
        alone = Cholesky().solve(gram, problem_of(y[:, j], alpha))
        assert_allclose(together.coefficients[:, [j]], alone.coefficients, rtol=1e-10, atol=1e-12)
        assert_allclose(together.intercept[j], alone.intercept[0], rtol=1e-10)


def test_the_solution_tells_what_it_cost_and_how_good_it_is(rng):
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(50, 2)))
    solution = Cholesky(tol=1e-9).solve(gram, problem_of(rng.normal(size=(50, 3))))
    assert solution.solver == "cholesky in float64"
    assert solution.tolerance == 1e-9
    assert solution.seconds > 0.0
    assert solution.iterations in (0, 1)
    assert solution.residual.shape == solution.radius.shape == (3,)
    assert solution.residual.max() < 1e-14


def test_a_residual_above_the_tolerance_is_refined_once(rng):
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(50, 2)))
    assert Cholesky(tol=1e-300).solve(gram, problem_of(rng.normal(size=50))).iterations == 1


def test_a_target_of_zero_has_no_residual(rng):
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(20, 2)))
    solution = Cholesky().solve(gram, problem_of(np.zeros(20)))
    assert solution.residual.tolist() == [0.0]
    assert not solution.coefficients.any()


def test_the_solver_holds_one_square_matrix(rng):
    n = 1500
    gram = LowRankGram(rng.normal(size=(n, 20)))
    problem = problem_of(rng.normal(size=(n, 3)), [1.0, 2.0, 2.0])
    tracemalloc.start()
    Cholesky().solve(gram, problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n + 30_000_000


def test_a_gram_beyond_the_limit_is_refused(rng):
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(50, 2)), memory="10KB")
    with pytest.raises(MemoryLimitError, match="50 x 50"):
        Cholesky().solve(gram, problem_of(np.ones(50)))


def test_an_indefinite_gram_is_refused_with_coefficients(rng):
    X = rng.normal(size=(40, 2))
    K = Sigmoid(1.0, 0.5)(X)
    with pytest.raises(IndefiniteKernelError, match=r"c'Kc = -.* beyond rounding") as refusal:
        Cholesky().solve(PrecomputedGram(K), problem_of(np.ones(40), 1e-3))
    form = refusal.value.witness
    c = form.coefficients
    assert c.shape == (40,)
    assert_allclose(c @ K @ c, form.value, rtol=1e-10)
    assert form.value < -form.rounding_bound < 0.0
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("alpha", [0.0, 1e-18])
def test_a_semidefinite_gram_is_singular_not_indefinite(rng, alpha):
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    with pytest.raises(ValueError, match="singular to working precision") as refusal:
        Cholesky().solve(StreamedGram(Linear(), X), problem_of(np.ones(60), alpha))
    assert not isinstance(refusal.value, IndefiniteKernelError)
    assert "alpha" in str(refusal.value)


def test_a_factor_that_only_rounding_made_possible_is_refused_at_alpha_zero():
    # K is singular, and its rounded pivots are all positive.
    x = np.array([[1.0], [3.0]])
    K = x @ x.T / 7.0
    K[1, 1] *= 1.0 + 4 * EPS
    with pytest.raises(ValueError, match=r"alpha = 0 needs an invertible Gram matrix.* condition"):
        Cholesky().solve(PrecomputedGram(K), problem_of(np.ones(2), 0.0, fit_intercept=False))


def test_a_kernel_that_overflows_is_refused():
    X = np.array([[1e80], [2e80], [3e80]])
    for rows in (X, X[:1]):
        gram = StreamedGram(Polynomial(degree=3), rows)
        with pytest.raises(ValueError, match="entries that are not finite; scale the columns"):
            Cholesky().solve(gram, problem_of(np.ones(len(rows))))


def test_coefficients_that_overflow_are_refused():
    gram = StreamedGram(Linear(), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="coefficients overflow at alpha = 1e-310; raise alpha"):
        Cholesky().solve(gram, problem_of(np.arange(3.0), 1e-310))


def test_solvers_are_known_by_name_and_as_objects():
    assert as_solver("cholesky") == Cholesky()
    assert as_solver(Cholesky(tol=1e-4)) == Cholesky(tol=1e-4)
    assert as_solver("cholesky", tol=1e-8) == as_solver(Cholesky(), tol=1e-8) == Cholesky(tol=1e-8)


@pytest.mark.parametrize("solver", ["cholesk", None, 3])
def test_an_unknown_solver_is_refused_with_those_that_exist(solver):
    with pytest.raises(ValueError, match=r"one of 'auto', 'banded', .* or a solver object, got"):
        as_solver(solver)


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf, "small", True])
def test_a_tolerance_that_means_nothing_is_refused(tol):
    with pytest.raises(ValueError, match="tol must be a positive finite number or None, got"):
        as_solver("cholesky", tol=tol)


@pytest.mark.parametrize(
    ("share", "tol", "is_above"),
    # Of what rounding explains, and of a tolerance that is far above or far below it.
    [(0.9, 1e-3, False), (1.1, 1e-3, True), (0.9, 1e-30, True)],
)
def test_a_residual_is_large_beyond_rounding_or_the_tolerance(share, tol, is_above):
    a, y = np.array([[3.0], [4.0]]), np.array([[0.0], [2.0]])
    explained = 2 * np.finfo(float).eps * (7.0 * 5.0 + 2.0)
    r = np.array([[0.0], [share * explained]])
    one = RidgeProblem(y, np.ones(1), np.ones(2), fit_intercept=False)
    assert is_large(one, r, a, 7.0, tol) is is_above
    assert not is_large(one, np.zeros((2, 1)), a, 7.0, tol)
    # One target that is above is enough.
    both, two = np.hstack([np.zeros((2, 1)), r]), replace(one, y=np.hstack([y, y]))
    assert is_large(two, both, np.hstack([a, a]), 7.0, tol) is is_above


def test_a_row_of_tiny_weight_makes_no_residual_large():
    a, y, r = np.array([[1.0], [1.0]]), np.array([[1.0], [-1.0]]), np.array([[0.0], [1e-3]])
    for weight, is_above in ((1.0, True), (1e-12, False)):
        one = RidgeProblem(y, np.ones(1), np.array([1.0, weight]), fit_intercept=False)
        # Rounding of a matrix of this size explains the residual in either case.
        assert is_large(one, r, a, 1e16, 1e-6) is is_above


@pytest.mark.parametrize("row", [0, 2])
def test_one_row_alone_shows_that_a_gram_is_indefinite(row):
    K = np.eye(3)
    K[row, row] = -1.0
    with pytest.raises(IndefiniteKernelError, match=r"c'Kc = -1 ") as refusal:
        Cholesky().solve(PrecomputedGram(K), problem_of(np.ones(3), 0.5))
    assert_array_equal(np.abs(refusal.value.witness.coefficients), np.eye(3)[row])
