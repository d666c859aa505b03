"""The spectral solver: the answers of the factor, and every ridge from one decomposition."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.gram import LowRankGram, PrecomputedGram, StreamedGram
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial, Sigmoid
from mercer.solvers import Cholesky, Eigen
from mercer.solvers.ridge.eigen import Spectrum, _check_positive
from ridges import EPS, SHAPES, lapack_ratio, problem_of, rows_and_targets

KERNELS = [Gaussian(1.0), Gaussian(1e8), Gaussian(1e-8), Exponential(2.0), Linear(1.0)]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [60, 3, 2, 1])
def test_it_gives_the_answers_of_the_factor(rng, fit_intercept, n):
    X, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 4)) + 5.0
    weights = rng.uniform(0.1, 3.0, size=n)
    problem = problem_of(y, [0.01, 1.0, 0.01, 100.0], weights, fit_intercept)
    gram = StreamedGram(Gaussian(1.0), X)
    eigen, cholesky = Eigen().solve(gram, problem), Cholesky().solve(gram, problem)
    assert_allclose(eigen.coefficients, cholesky.coefficients, rtol=1e-8, atol=1e-11)
    assert_allclose(eigen.intercept, cholesky.intercept, rtol=1e-10, atol=1e-12)
    sizes = np.linalg.norm(np.sqrt(weights)[:, None] * y, axis=0)
    assert (eigen.residual * problem.sizes / sizes).max() < 1e-13
    assert (eigen.radius < 1e-10).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("alpha", [1e-10, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("shape", SHAPES)
def test_residuals_are_those_of_rounding(rng, kernel, alpha, shape):
    X, y = rows_and_targets(rng, shape, 100)
    problem = problem_of(y, alpha, rng.uniform(0.01, 10.0, size=100))
    K = kernel(X)
    try:
        solution = Eigen().solve(StreamedGram(kernel, X), problem)
    except ValueError as error:
        # Only a ridge that is lost beside K may be refused.
        assert "singular to working precision" in str(error)
        assert alpha / 0.01 < 100 * len(y) * EPS * K.max()
        return
    a = solution.coefficients
    assert lapack_ratio(K, problem, solution) < 30.0
    assert (np.abs(a.sum(axis=0)) <= 1e-10 * np.abs(a).sum(axis=0)).all()


def test_the_spectrum_is_that_of_the_centred_weighted_matrix(rng):
    K, weights = Gaussian(1.0)(rng.normal(size=(20, 2))), rng.uniform(0.1, 3.0, size=20)
    unit = np.sqrt(weights / weights.sum())
    P = np.eye(20) - np.outer(unit, unit)
    centred = P @ (np.sqrt(weights)[:, None] * K * np.sqrt(weights)) @ P
    spectrum = Spectrum.of(PrecomputedGram(K), weights, True)
    assert spectrum.s.shape == (19,)
    assert_allclose(spectrum.s, np.linalg.eigvalsh(centred)[1:], atol=1e-13)


def test_without_a_ridge_it_interpolates(rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    gram = StreamedGram(Exponential(1.0), X)
    for fit_intercept in (True, False):
        solution = Eigen().solve(gram, problem_of(y, 0.0, fit_intercept=fit_intercept))
        fitted = gram @ solution.coefficients + solution.intercept
        assert_allclose(fitted, y, atol=1e-10)
        assert np.isinf(solution.radius).all()


@pytest.mark.parametrize("alpha", [0.0, 1e-18])
def test_a_semidefinite_gram_is_singular_not_indefinite(rng, alpha):
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    with pytest.raises(ValueError, match="singular to working precision") as refusal:
        Eigen().solve(StreamedGram(Linear(), X), problem_of(np.ones(60), alpha))
    assert not isinstance(refusal.value, IndefiniteKernelError)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_indefinite_gram_is_refused_with_coefficients(rng, fit_intercept):
    K = Sigmoid(1.0, 0.5)(rng.normal(size=(40, 2)))
    problem = problem_of(np.ones(40), 1e-3, rng.uniform(0.5, 2.0, size=40), fit_intercept)
    with pytest.raises(IndefiniteKernelError, match=r"c'Kc = -.* beyond rounding") as refusal:
        Eigen().solve(PrecomputedGram(K), problem)
    form = refusal.value.witness
    assert_allclose(form.coefficients @ K @ form.coefficients, form.value, rtol=1e-10)
    assert form.value < -form.rounding_bound < 0.0


def test_a_ridge_that_outweighs_a_negative_eigenvalue_is_enough(rng):
    K = Sigmoid(1.0, 0.5)(rng.normal(size=(40, 2)))
    problem = problem_of(rng.normal(size=40), 1.0 - np.linalg.eigvalsh(K)[0])
    eigen = Eigen().solve(PrecomputedGram(K), problem)
    cholesky = Cholesky().solve(PrecomputedGram(K), problem)
    assert_allclose(eigen.coefficients, cholesky.coefficients, rtol=1e-9, atol=1e-12)


def test_an_offset_needs_positive_values_for_vectors_of_sum_zero_only(rng):
    # Minus a distance has one negative direction, which vectors of sum zero do not take.
    x = rng.normal(size=(30, 1))
    K, y = -np.abs(x - x.T), rng.normal(size=30)
    solution = Eigen().solve(PrecomputedGram(K), problem_of(y, 0.1))
    assert_allclose(solution.coefficients.sum(), 0.0, atol=1e-12)
    rest = y - K @ solution.coefficients[:, 0] - 0.1 * solution.coefficients[:, 0]
    assert_allclose(rest, solution.intercept[0], atol=1e-12)
    with pytest.raises(IndefiniteKernelError):
        Eigen().solve(PrecomputedGram(K), problem_of(y, 0.1, fit_intercept=False))


def test_a_target_of_zero_has_no_residual(rng):
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(20, 2)))
    solution = Eigen().solve(gram, problem_of(np.zeros(20)))
    assert solution.residual.tolist() == [0.0]
    assert not solution.coefficients.any()


def test_a_residual_above_the_tolerance_is_refined_once(rng):
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(50, 2)))
    problem = problem_of(rng.normal(size=50))
    assert Eigen(tol=1e-300).solve(gram, problem).iterations == 1


def test_it_holds_three_square_matrices_and_says_so_beforehand(rng):
    n = 700
    F, problem = rng.normal(size=(n, 5)), problem_of(rng.normal(size=(n, 2)), [1.0, 2.0])
    tracemalloc.start()
    Eigen().solve(LowRankGram(F), problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 8 * n * n + 2_000_000
    told = r"3 dense matrices of 700 x 700 .* need 0\.0118 GB but the limit is 7\.84 MB"
    with pytest.raises(MemoryLimitError, match=told):
        Eigen().solve(LowRankGram(F, memory=2 * 8 * n * n), problem)


def test_a_kernel_that_overflows_is_refused():
    X = np.array([[1e80], [2e80], [3e80]])
    with pytest.raises(ValueError, match="entries that are not finite; scale the columns"):
        Eigen().solve(StreamedGram(Polynomial(degree=3), X), problem_of(np.ones(3)))


def test_coefficients_that_overflow_are_refused():
    gram = StreamedGram(Linear(), np.full((3, 1), 1e-155))
    with pytest.raises(ValueError, match="overflow at alpha = 1e-310; raise alpha"):
        Eigen().solve(gram, problem_of(np.arange(3.0), 1e-310))


def spectrum_of(s, vectors=None, roots=None):
    n = len(s)
    vectors = np.eye(n) if vectors is None else vectors
    return Spectrum(np.array(s), vectors, np.ones(n) if roots is None else roots, None)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_lowest_vector_has_the_lowest_form_for_its_weighted_size(rng, fit_intercept):
    A = rng.normal(size=(7, 7))
    K, weights = A + A.T, rng.uniform(0.5, 2.0, size=7)
    spectrum = Spectrum.of(PrecomputedGram(K), weights, fit_intercept)
    c = spectrum.lowest()
    assert_allclose(c @ K @ c, spectrum.s[0])
    assert_allclose((c**2 / weights).sum(), 1.0)
    if fit_intercept:
        assert_allclose(c.sum(), 0.0, atol=1e-13)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_spectrum_solves_the_bordered_system(rng, fit_intercept):
    K = Gaussian(1.0)(rng.normal(size=(8, 2)))
    weights, alpha = rng.uniform(0.5, 2.0, size=8), np.array([0.1, 3.0])
    y = rng.normal(size=(8, 2))
    a = Spectrum.of(PrecomputedGram(K), weights, fit_intercept).solve(alpha, y)
    m = int(fit_intercept)
    for t in range(2):
        A = K + np.diag(alpha[t] / weights)
        matrix = np.block([[A, np.ones((8, m))], [np.ones((m, 8)), np.zeros((m, m))]])
        assert_allclose(a[:, t], np.linalg.solve(matrix, np.append(y[:, t], [0.0] * m))[:8])


@pytest.mark.parametrize(("low", "is_taken"), [(2.0, True), (0.5, False)])
def test_a_spectrum_is_positive_beyond_rounding_of_its_largest_value(low, is_taken):
    gram = PrecomputedGram(np.eye(2))
    spectrum = spectrum_of([low * EPS, 1.0])
    if is_taken:
        _check_positive(spectrum, np.zeros(1), gram)
        _check_positive(spectrum, np.array([1e-3, 5.0]), gram)
    else:
        with pytest.raises(ValueError, match="reciprocal condition number 1e-16"):
            _check_positive(spectrum, np.array([5.0, 0.0]), gram)
    with pytest.raises(ValueError, match="reciprocal condition number 0"):
        _check_positive(spectrum_of([0.0, 0.0]), np.zeros(1), gram)


def test_a_step_of_refinement_takes_away_what_the_first_answer_missed(rng, monkeypatch):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    gram, problem = StreamedGram(Gaussian(1.0), X), problem_of(y, 0.1)
    exact, solve = Eigen().solve(gram, problem), Spectrum.solve
    monkeypatch.setattr(Spectrum, "solve", lambda *given: 0.99 * solve(*given))
    refined = Eigen().solve(gram, problem)
    assert refined.iterations == 1
    # A hundredth is missed at first, and a hundredth of that after a step.
    assert_allclose(refined.coefficients, (1.0 - 1e-4) * exact.coefficients, rtol=1e-7)
