"""The criteria of learning, and their derivatives by every entry of K and by alpha."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import gram_of
from mercer.kernels import Gaussian
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.ridge.evidence import left_out_error, restricted_likelihood
from mercer.solvers.ridge.held_out import leave_one_out

CRITERIA = [restricted_likelihood, left_out_error]


@pytest.fixture(
    params=[(1, True), (2, True), (2, False), (0, True)],
    ids=["one", "two", "without offset", "codes of classes"],
)
def problem(request, rng):
    targets, fit_intercept = request.param
    y, weights = rng.normal(size=(9, targets)) + 3.0, rng.uniform(0.5, 2.0, 9)
    y = y if targets else codes(rng.permutation(9) % 3, 3)
    return RidgeProblem(y, np.array([0.3]), weights, fit_intercept)


def codes(classes, n):
    return np.where(classes[:, None] == np.arange(n), 1.0, -1.0)


@pytest.fixture
def K(points):
    return Gaussian(1.5)(points(9))


def at_alpha(problem, alpha):
    return RidgeProblem(problem.y, np.array([alpha]), problem.weights, problem.fit_intercept)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_derivative_by_the_entries_is_that_of_the_value(criterion, problem, K, rng):
    D = rng.normal(size=K.shape)
    D, step = D + D.T, 1e-6
    up, down = (criterion(K + side * D, problem).value for side in (step, -step))
    found = criterion(K.copy(), problem)
    assert_allclose(found.G, found.G.T, rtol=1e-12, atol=1e-14)
    assert (found.G * D).sum() == pytest.approx((up - down) / (2.0 * step), rel=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_derivative_by_alpha_is_that_of_the_value(criterion, problem, K):
    step = 1e-6
    up, down = (criterion(K.copy(), at_alpha(problem, 0.3 + side)).value for side in (step, -step))
    assert criterion(K.copy(), problem).by_alpha == pytest.approx(
        (up - down) / (2.0 * step), rel=1e-6
    )


def test_the_error_left_out_is_that_of_fits_without_the_row(problem, points):
    gram = gram_of(Gaussian(1.5), points(9))
    e = leave_one_out(gram, RidgeProblem(*_of_all_targets(problem))).residuals
    mean = (problem.weights[:, None] * e**2).sum() / (problem.weights.sum() * e.shape[1])
    expected = 0.5 * e.size * np.log(mean)
    assert left_out_error(gram.dense().copy(), problem).value == pytest.approx(expected)


def _of_all_targets(problem):
    alpha = np.full(problem.y.shape[1], problem.alpha[0])
    return problem.y, alpha, problem.weights, problem.fit_intercept


def test_the_restricted_likelihood_is_that_of_contrasts(rng, points):
    K, y, alpha = Gaussian(1.5)(points(7)), rng.normal(size=(7, 1)), 0.2
    found = restricted_likelihood(K.copy(), RidgeProblem(y, np.array([alpha]), np.ones(7), True))
    # Any basis of the contrasts, here the orthonormal complement of the ones.
    C = np.linalg.svd(np.ones((1, 7)))[2][1:]
    V = C @ (K + alpha * np.eye(7)) @ C.T
    z = C @ y[:, 0]
    scale = z @ np.linalg.solve(V, z) / 6.0
    # 1'A^-1 1 det A = det(CAC') 1'1.
    expected = 0.5 * (6.0 * np.log(scale) + np.linalg.slogdet(V)[1] + np.log(7.0))
    assert found.value == pytest.approx(expected)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_unit_of_kernel_and_ridge_together_is_no_matter(criterion, problem, K):
    one, other = criterion(K.copy(), problem), criterion(7.0 * K, at_alpha(problem, 2.1))
    assert other.value == pytest.approx(one.value)
    assert (one.G * K).sum() + 0.3 * one.by_alpha == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_matrix_that_is_not_positive_definite_has_no_value(criterion, problem):
    assert criterion(-np.eye(9), problem) is None
    assert criterion(np.full((9, 9), np.nan), problem) is None


@pytest.mark.parametrize("criterion", CRITERIA)
def test_constant_targets_have_no_value(criterion, K):
    assert criterion(K.copy(), RidgeProblem(np.zeros((9, 1)), np.ones(1), np.ones(9), True)) is None


def test_codes_of_classes_have_one_variance(rng, points):
    K, y, alpha = Gaussian(1.5)(points(9)), codes(np.arange(9) % 4, 4), 0.2
    found = restricted_likelihood(K.copy(), RidgeProblem(y, np.array([alpha]), np.ones(9), True))
    A = K + alpha * np.eye(9)
    ones, inverse = np.ones((9, 1)), np.linalg.inv(A)
    B = inverse - inverse @ ones @ ones.T @ inverse / inverse.sum()
    scale = np.trace(y.T @ B @ y) / (4 * 8.0)
    each = 0.5 * (8.0 * np.log(scale) + np.linalg.slogdet(A)[1] + np.log(inverse.sum()))
    assert found.value == pytest.approx(4 * each)


def test_a_class_that_is_told_exactly_does_not_make_noise_of_the_others_likely(rng):
    # One row is alone in its class, and unlike all others by the kernel; of the rest the kernel
    # tells nothing. With a variance of its own that class is the likelier the less the ridge is.
    K = np.ones((40, 40))
    K[0, 1:] = K[1:, 0] = 0.0
    classes = np.concatenate([[0], 1 + rng.permutation(39) % 2])
    y = codes(classes, 3)
    large, small = (
        restricted_likelihood(K.copy(), RidgeProblem(y, np.array([alpha]), np.ones(40), True)).value
        for alpha in (1.0, 1e-6)
    )
    assert small > large
