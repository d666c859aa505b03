"""Residuals of rows left out of a landmark model, at some of its rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian
from mercer.gram import landmark_gram
from mercer.solvers import NystromRidge
from mercer.solvers.lowrank.sampled import sampled_residuals
from mercer.solvers.ridge.held_out import leave_one_out
from ridges import problem_of


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [[0.1, 2.0], 0.0])
def test_with_all_rows_in_the_sample_they_are_those_of_leave_one_out(rng, fit_intercept, alpha):
    X = rng.normal(size=(60, 2))
    gram = landmark_gram(Gaussian(1.0), X, 15)
    y, w = rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, 60)
    problem = problem_of(y, alpha, w, fit_intercept)
    fit = NystromRidge().solve(gram, problem)
    found = sampled_residuals(gram, problem, fit.theta, fit.intercept)
    assert_allclose(found, leave_one_out(gram, problem).residuals, rtol=1e-6, atol=1e-8)


def test_a_sample_of_many_rows_tells_their_spread(rng, monkeypatch):
    monkeypatch.setattr("mercer.gram.landmarks.SAMPLE", 200)
    X = rng.normal(size=(1000, 2))
    gram = landmark_gram(Gaussian(1.0), X, 30)
    problem = problem_of(np.sin(X[:, :1]) + 0.3 * rng.normal(size=(1000, 1)), 0.1)
    fit = NystromRidge().solve(gram, problem)
    found = sampled_residuals(gram, problem, fit.theta, fit.intercept)
    exact = leave_one_out(gram, problem).residuals[gram.sample[0]]
    assert found.shape == (200, 1)
    levels = [0.5, 0.8, 0.9, 0.95]
    assert_allclose(np.quantile(abs(found), levels), np.quantile(abs(exact), levels), rtol=0.02)
