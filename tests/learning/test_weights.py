"""The weights of the terms of a sum of kernels, learned with their matrices at hand."""

import numpy as np
from numpy.testing import assert_allclose

from mercer import Gaussian, Linear, learn
from mercer.learning.weights import learned_weights
from mercer.solvers import Run
from mercer.solvers.ridge.bordered import RidgeProblem

TERMS = [Gaussian(1.0).on(0), Gaussian(1.0).on(1), Linear().on(2)]


def data(n=120):
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.sin(2.0 * X[:, :1]) + 0.1 * np.random.default_rng(1).normal(size=(n, 1))
    return X, y, RidgeProblem(y, np.ones(1), np.ones(n), True)


def test_terms_that_explain_the_targets_have_the_weight():
    X, _, problem = data()
    weights, alpha = learned_weights(TERMS, X, problem, 60, Run())
    assert weights[0] > 30.0 * max(weights[1:])
    assert 0.0 < alpha < weights[0]


def test_they_are_as_likely_as_those_that_are_learned_term_by_term():
    X, y, problem = data()
    weights, alpha = learned_weights(TERMS, X, problem, 60, Run())
    kernel = sum(c * k for c, k in zip(weights[1:].tolist(), TERMS[1:], strict=True))
    kernel = float(weights[0]) * TERMS[0] + kernel
    again = learn(kernel, X, y, alpha=alpha, max_iter=1)
    held = [1.0 * TERMS[0], 1.0 * TERMS[1], 1.0 * TERMS[2]]
    other = learn(held[0] + held[1] + held[2], X, y, max_iter=60)
    # The other one learns the length scales, too, and is no worse.
    assert again.history[0].value >= other.value - 1e-6
    assert again.history[0].value < other.history[0].value


def test_the_unit_of_the_targets_does_not_say_when_learning_ends():
    X, y, problem = data()
    weights, alpha = learned_weights(TERMS, X, problem, 60, Run())
    scaled = RidgeProblem(2.0**30 * y, problem.alpha, problem.weights, True)
    others, ridge = learned_weights(TERMS, X, scaled, 60, Run())
    assert_allclose(others, weights, rtol=1e-6)
    assert_allclose(ridge, alpha, rtol=1e-6)


def test_without_time_the_weights_are_equal():
    X, _, problem = data(20)
    weights, _ = learned_weights(TERMS, X, problem, 60, Run(1e-9))
    assert_allclose(weights, 1.0 / 3.0)
