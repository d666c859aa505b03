"""The equations of a landmark model: what a pass over all rows measures of an answer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import landmark_gram
from mercer.kernels import Gaussian
from mercer.solvers.lowrank.equations import LandmarkEquations
from mercer.solvers.rounding import EPS, LAMBDA, UNITS
from ridges import problem_of


def case(rng, fit_intercept, n=60, m=15):
    X = rng.normal(size=(n, 2))
    y, weights = rng.normal(size=(n, 2)) + 5.0, rng.uniform(0.3, 3.0, n)
    gram = landmark_gram(Gaussian(1.0), X, m)
    return LandmarkEquations.of(gram, problem_of(y, [0.1, 2.0], weights, fit_intercept))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_point_has_the_residuals_and_the_gradient_of_the_features_written_out(fit_intercept, rng):
    equations = case(rng, fit_intercept)
    problem, F, w = equations.problem, equations.gram.features(), equations.problem.weights
    theta = rng.normal(size=(F.shape[1], 2))
    point = equations.at(theta)
    r = problem.y - F @ theta
    b = w @ r / w.sum() if fit_intercept else np.zeros(2)
    assert_allclose(point.b, b, rtol=1e-9, atol=1e-12)
    assert_allclose(point.r, r - b, rtol=1e-9, atol=1e-9)
    expected = F.T @ (w[:, None] * (r - b)) - problem.alpha * theta
    assert_allclose(point.g, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_start_is_the_point_at_zero(fit_intercept, rng):
    equations = case(rng, fit_intercept)
    expected = equations.at(np.zeros((equations.gram.landmarks.n_features, 2)))
    for found, value in zip(equations.start(), expected, strict=True):
        assert_allclose(found, value, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_what_rounding_hides_is_that_of_the_product_and_of_the_ridge(fit_intercept, rng):
    equations = case(rng, fit_intercept)
    gram, weights, y = equations.gram, equations.problem.weights, equations.problem.y
    theta = rng.normal(size=(gram.landmarks.n_features, 2))
    c, factor = gram.landmarks.coefficients(theta), gram.landmarks.factor
    index, F = gram.sample
    trace = len(y) * np.mean([weights[i] * f @ f for i, f in zip(index, F, strict=True)])
    for t, alpha in enumerate((0.1, 2.0)):
        # An entry of K_nm is at most the root of two diagonal entries, and so is its rounding.
        size = np.sqrt(sum((factor[j] @ factor[j]) * c[j, t] ** 2 for j in range(len(c))))
        expected = LAMBDA * size * np.sqrt(trace) + np.sqrt(alpha) * np.linalg.norm(theta[:, t])
        assert_allclose(equations.at(theta).hidden[t], UNITS * EPS * expected)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_largest_eigenvalue_is_about_that_of_the_weighted_features(fit_intercept, rng):
    equations = case(rng, fit_intercept)
    F, w = equations.gram.features(), equations.problem.weights
    Z = F - F.mean(axis=0) if fit_intercept else F
    largest = np.linalg.eigvalsh(Z.T @ (w[:, None] * Z))[-1]
    assert 0.5 * largest <= equations._largest() <= 1.1 * largest
