"""Ridge regression by landmarks against the slow formula of the same model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian
from mercer.errors import KernelOverflowError
from mercer.gram import gram_of, landmark_gram
from mercer.solvers import NystromRidge, Run
from mercer.solvers.lowrank.equations import LandmarkEquations
from mercer.solvers.lowrank.normal import Inverse, block_sums
from mercer.solvers.lowrank.sketched import sums_of
from ridges import problem_of


def case(rng, n=60, m=15, targets=2):
    X = rng.normal(size=(n, 2))
    y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(n, targets)) + 5.0
    return landmark_gram(Gaussian(1.0), X, m), y


def slow(gram, problem):
    """theta and b by the dense normal equations with a column of ones without penalty."""
    F = np.column_stack([gram.features(), np.ones(len(gram))[:, None]])
    F = F if problem.fit_intercept else F[:, :-1]
    W, penalty = np.diag(problem.weights), np.ones(F.shape[1])
    penalty[gram.landmarks.n_features :] = 0.0
    found = [
        np.linalg.solve(F.T @ W @ F + alpha * np.diag(penalty), F.T @ W @ y)
        for alpha, y in zip(problem.alpha, problem.y.T, strict=True)
    ]
    theta = np.column_stack(found)
    m = gram.landmarks.n_features
    return theta[:m], theta[m] if problem.fit_intercept else np.zeros(theta.shape[1])


@pytest.mark.parametrize("alpha", [0.1, [0.1, 2.0], 0.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_answer_is_that_of_the_dense_normal_equations(fit_intercept, weighted, alpha, rng):
    gram, y = case(rng)
    weights = rng.uniform(0.3, 3.0, len(y)) if weighted else None
    problem = problem_of(y, alpha, weights, fit_intercept)
    found = NystromRidge().solve(gram, problem)
    theta, b = slow(gram, problem)
    assert_allclose(found.theta, theta, rtol=1e-8, atol=1e-9)
    assert_allclose(found.intercept, b, rtol=1e-8, atol=1e-9)
    assert (found.residual < 1e-10).all()


@pytest.mark.parametrize("alpha", [0.1, 0.0])
def test_the_coefficients_are_those_of_the_kernel_of_the_landmarks(alpha, rng):
    gram, y = case(rng)
    found = NystromRidge().solve(gram, problem_of(y, alpha))
    assert_allclose(gram.features().T @ found.coefficients, found.theta, rtol=1e-7, atol=1e-9)
    assert_allclose(found.coefficients.sum(axis=0), 0.0, atol=1e-9)


def test_features_in_float32_are_refined_to_the_tolerance(rng, monkeypatch):
    monkeypatch.setattr(NystromRidge, "worth", 0.0)
    gram, y = case(rng)
    problem = problem_of(y, 0.1)
    single = np.asarray(gram.features(), np.float32).astype(float)
    assert not np.array_equal(single, gram.features())
    found = NystromRidge(tol=1e-9).solve(gram, problem)
    assert found.iterations > 0
    assert_allclose(found.theta, slow(gram, problem)[0], rtol=1e-5, atol=1e-6)
    assert (found.residual <= 1e-9).all()


@pytest.mark.parametrize("alpha", [1e-9, 1.0])
def test_features_are_in_float32_where_the_ridge_is_not_lost_in_their_rounding(alpha, rng):
    gram, y = case(rng)
    equations = LandmarkEquations.of(gram, problem_of(y, alpha))
    assert equations.allow_single() == (alpha == 1.0)


def test_landmarks_that_nearly_depend_on_each_other_are_not_for_float32(rng):
    X = rng.normal(size=(40, 2))
    gram = landmark_gram(Gaussian(50.0), X, 40)
    equations = LandmarkEquations.of(gram, problem_of(X[:, 0], 10.0))
    assert not equations.allow_single()


def test_blocks_add_up_to_all_rows(rng):
    F, y, w = rng.normal(size=(20, 4)), rng.normal(size=(20, 2)), rng.uniform(1.0, 2.0, 20)
    parts = [block_sums(F[s].copy(), y[s], w[s], None) for s in (slice(0, 7), slice(7, 20))]
    total = parts[0] + parts[1]
    assert_allclose(np.triu(total.G), np.triu(F.T @ (w[:, None] * F)))
    assert_allclose(total.Fy, F.T @ (w[:, None] * y))
    assert_allclose((total - parts[1]).F1, F[:7].T @ w[:7])


def test_centred_sums_are_those_of_centred_features(rng):
    F, y, w = rng.normal(size=(20, 4)) + 3.0, rng.normal(size=(20, 2)), rng.uniform(1.0, 2.0, 20)
    y -= w @ y / w.sum()
    sums = block_sums(F.copy(), y, w, np.full(4, 2.5)).centred()
    Z = F - w @ F / w.sum()
    assert_allclose(np.triu(sums.G), np.triu(Z.T @ (w[:, None] * Z)))
    assert_allclose(sums.Fy, Z.T @ (w[:, None] * y))


@pytest.mark.parametrize("alpha", [[0.5, 0.5], [0.5, 2.0]])
def test_the_inverse_serves_every_ridge(alpha, rng):
    F, g = rng.normal(size=(9, 4)), rng.normal(size=(4, 2))
    found = Inverse(np.triu(F.T @ F), np.array(alpha))(g)
    for t in range(2):
        assert_allclose(found[:, t], np.linalg.solve(F.T @ F + alpha[t] * np.eye(4), g[:, t]))


def test_least_squares_without_full_rank_is_refused(rng):
    X = rng.normal(size=(5, 2))
    gram = landmark_gram(Gaussian(0.3), X, 5)
    with pytest.raises(ValueError, match="alpha = 0 leaves the equations of 5 landmarks on 5 rows"):
        NystromRidge().solve(gram, problem_of(X[:, 0], 0.0))


def test_a_gap_that_is_no_number_is_refused_and_not_certified(rng, monkeypatch):
    X = rng.normal(size=(40, 3))
    gram = landmark_gram(Gaussian(1.0), X, 40)
    nothing = np.full(1, np.nan)
    monkeypatch.setattr(LandmarkEquations, "_hidden", lambda *_: nothing)
    with pytest.raises(KernelOverflowError, match=r"the coefficients overflow at alpha = 0\.1"):
        NystromRidge().solve(gram, problem_of(X[:, 0], 0.1))


def test_coefficients_that_overflow_are_refused_by_the_least_ridge_that_is_one(rng):
    X = rng.normal(size=(40, 2))
    gram, y = landmark_gram(Gaussian(1.0), X, 5), 1e10 * rng.normal(size=(40, 3))
    with pytest.raises(KernelOverflowError, match="the coefficients overflow at alpha = 1e-300;"):
        NystromRidge().solve(gram, problem_of(y, [0.0, 1e-300, 1e-299]))


def test_a_matrix_without_landmarks_is_refused(rng):
    X = rng.normal(size=(5, 2))
    with pytest.raises(ValueError, match="needs a Gram matrix by landmarks"):
        NystromRidge().solve(gram_of(Gaussian(1.0), X), problem_of(X[:, 0]))


def test_the_radius_is_the_gap_beside_the_root_of_the_ridge_and_bounds_the_distance(
    rng, monkeypatch
):
    monkeypatch.setattr(NystromRidge, "worth", 0.0)
    gram, y = case(rng)
    problem = problem_of(y, [0.1, 2.0])
    found = NystromRidge(tol=1e-2, max_iter=0).solve(gram, problem)
    gap = found.residual * problem.sizes
    assert (gap > 1e-9).all()
    assert_allclose(found.radius, gap / np.sqrt([0.1, 2.0]))
    distance = np.linalg.norm(found.theta - slow(gram, problem)[0], axis=0)
    assert (distance <= found.radius).all()
    assert (NystromRidge().solve(gram, problem_of(y, 0.0)).radius == np.inf).all()


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_conjugate_gradients_come_as_near_as_they_say(
    fit_intercept, weighted, targets, rng, monkeypatch
):
    # A poor preconditioner, with which there is something to do.
    monkeypatch.setattr("mercer.solvers.lowrank.sketched.SUMS", (2,))
    X = rng.normal(size=(400, 2))
    y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(400, targets)) + 5.0
    gram = landmark_gram(Gaussian(0.5), X, 25, "uniform")
    weights = rng.uniform(0.3, 3.0, 400) if weighted else None
    problem = problem_of(y, 0.1, weights, fit_intercept)
    found = NystromRidge(tol=1e-6, is_sketched=True).solve(gram, problem)
    theta, b = slow(gram, problem)
    F = gram.features()
    missed = F @ (found.theta - theta) + found.intercept - b
    assert found.iterations > 2
    assert (found.residual <= 1e-6).all()
    assert (np.sqrt(problem.weights @ missed**2) <= 2.0 * found.residual * problem.sizes).all()


def test_conjugate_gradients_serve_a_ridge_for_every_target(rng):
    X = rng.normal(size=(400, 2))
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    gram = landmark_gram(Gaussian(0.5), X, 25, "uniform")
    problem = problem_of(y, [0.1, 5.0])
    found = NystromRidge(tol=1e-6, is_sketched=True).solve(gram, problem)
    assert_allclose(found.theta, slow(gram, problem)[0], atol=1e-4)


def test_conjugate_gradients_end_when_they_are_told_to_and_say_how_far_they_are(rng):
    X = rng.normal(size=(400, 2))
    gram = landmark_gram(Gaussian(0.3), X, 60, "uniform")
    problem = problem_of(np.sign(X[:, 0]), 1e-3)
    solver = NystromRidge(tol=1e-8, is_sketched=True)
    found = solver.solve(gram, problem, Run(progress=lambda step, value: step >= 1))
    assert found.iterations == 1
    assert found.residual[0] > 1e-8
    assert "a callback ended the iteration" in found.advice


def test_landmarks_that_nearly_depend_on_each_other_are_solved_directly(rng):
    X = rng.normal(size=(40, 2))
    gram = landmark_gram(Gaussian(5.0), X, 40)
    problem = problem_of(X[:, 0], 0.1)
    found = NystromRidge(is_sketched=True).solve(gram, problem)
    assert np.array_equal(found.theta, NystromRidge().solve(gram, problem).theta)


@pytest.mark.parametrize("is_sketched", [False, True])
def test_passes_end_when_they_gain_no_more(is_sketched, rng, monkeypatch):
    gram, y = case(rng, targets=1)
    measured = []

    def at(equations, theta, plain=LandmarkEquations.at):
        measured.append(theta)
        return plain(equations, theta)

    monkeypatch.setattr(LandmarkEquations, "at", at)
    monkeypatch.setattr(NystromRidge, "most_rounds", 100)
    NystromRidge(tol=1e-300, is_sketched=is_sketched).solve(gram, problem_of(y, 0.1))
    # One at the beginning, a few that gain, and one that does not.
    assert 2 <= len(measured) <= 8


def test_equations_in_float64_are_refined_to_rounding_whatever_is_asked_for(rng, monkeypatch):
    def rough(inverse, g, plain=Inverse.__call__):
        return 1.001 * plain(inverse, g)

    monkeypatch.setattr(Inverse, "__call__", rough)
    gram, y = case(rng)
    problem = problem_of(y, 0.1)
    found = NystromRidge(tol=0.1).solve(gram, problem)
    assert found.iterations > 1
    assert_allclose(found.theta, slow(gram, problem)[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scale", [2.0, 4.0])
def test_landmarks_that_nearly_depend_on_each_other_are_iterated_to_a_coarse_tolerance(scale, rng):
    X = rng.normal(size=(600, 2))
    gram = landmark_gram(Gaussian(scale), X, 40, "uniform")
    pivots = gram.landmarks.factor.diagonal() ** 2
    assert pivots.min() < 1e-5
    problem = problem_of(np.sin(X[:, 0]) + 0.1 * rng.normal(size=600), 0.1)
    found = NystromRidge(is_sketched=True).solve(gram, problem)
    theta, b = slow(gram, problem)
    missed = gram.features() @ (found.theta - theta) + found.intercept - b
    assert (found.residual <= 1e-3).all()
    assert (np.linalg.norm(missed, axis=0) <= 2e-3 * problem.sizes).all()


def test_more_rows_for_a_landmark_have_more_sums_as_far_as_they_fit():
    assert sums_of(40_000, 10_000) == 0
    assert sums_of(40_000, 3000) == 2
    assert sums_of(40_000, 2000) == 4
    assert sums_of(1_000_000, 2000) == 16
    assert sums_of(1_000_000, 2000, memory=600e6) == 4
    assert sums_of(1_000_000, 2000, memory=1e6) == 2


@pytest.mark.parametrize("is_sketched", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_without_time_to_measure_there_is_a_model_and_no_certificate(
    is_sketched, fit_intercept, rng, monkeypatch
):
    gram, y = case(rng)
    problem = problem_of(y, 0.1, None, fit_intercept)
    exact = NystromRidge(1e-9, is_sketched=is_sketched).solve(gram, problem)
    monkeypatch.setattr(Run, "measured", lambda run, measure: None)
    found = NystromRidge(1e-9, is_sketched=is_sketched).solve(gram, problem)
    assert np.isinf(found.residual).all()
    assert np.isinf(found.radius).all()
    # One round of conjugate gradients gains what entries in float32 allow.
    off = np.linalg.norm(found.theta - exact.theta)
    assert off <= 1e-4 * np.linalg.norm(exact.theta)
    assert_allclose(found.intercept, exact.intercept, rtol=1e-4)


@pytest.mark.parametrize("tol", [1e-2, NystromRidge.coarse, 0.99 * NystromRidge.coarse, 1e-9])
def test_a_coarse_tolerance_takes_smaller_pivots_for_even(tol, rng, monkeypatch):
    gram, y = case(rng)
    seen, plain = [], LandmarkEquations.of
    monkeypatch.setattr(
        LandmarkEquations, "of", lambda *given: seen.append(given[2:]) or plain(*given)
    )
    NystromRidge(tol=tol).solve(gram, problem_of(y, 0.1))
    assert (seen[0] == (NystromRidge.coarse_pivot,)) is (tol >= NystromRidge.coarse)


def test_few_rows_beside_their_landmarks_are_counted_without_sums():
    # With a sixth of a cubed landmark for steps without sums these take less than two sums.
    assert sums_of(400, 400) == 0
    assert sums_of(600, 400) == 2
