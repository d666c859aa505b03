"""The ridge path by landmarks against fits that are repeated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian
from mercer.gram import LandmarkGram, landmark_gram
from mercer.solvers import NystromRidge
from mercer.solvers.lowrank.path import LandmarkPath, LandmarkSmoother
from ridges import problem_of

ALPHAS = np.array([0.05, 0.5, 5.0])


@pytest.fixture(params=[(True, True), (True, False), (False, True)], ids=str)
def case(request, rng):
    fit_intercept, weighted = request.param
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, :1]) + 0.2 * rng.normal(size=(40, 2)) + 3.0
    w = rng.uniform(0.3, 3.0, 40) if weighted else np.ones(40)
    gram = landmark_gram(Gaussian(1.0), X, 12)
    return gram, y, w, fit_intercept


def refitted(gram, y, w, fit_intercept, train, at):
    """The predictions at some rows of the fits to others, for every alpha."""
    found = []
    for alpha in ALPHAS:
        part = LandmarkGram(gram.landmarks, gram.X[train])
        problem = problem_of(y[train], alpha, w[train], fit_intercept)
        solution = NystromRidge().solve(part, problem)
        found.append(gram.landmarks(gram.X[at]) @ solution.theta + solution.intercept)
    return np.array(found)


def fits_of(case):
    gram, y, w, fit_intercept = case
    return LandmarkPath(gram, w, fit_intercept).at(y, ALPHAS)


def test_predictions_are_those_of_the_fits(case):
    gram, y, *_ = case
    every = np.arange(40)
    expected = refitted(*case, every, every)
    assert_allclose(fits_of(case).predicted(gram), expected, rtol=1e-8)
    assert_allclose(fits_of(case).residuals(), y - expected, rtol=1e-7, atol=1e-9)


def test_leave_one_out_errors_are_those_of_refits(case):
    y, found = case[1], fits_of(case)
    slow = np.empty((3, 40, 2))
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        slow[:, i] = y[i] - refitted(*case, rest, [i])[:, 0]
    assert_allclose(found.leave_one_out(), slow, rtol=1e-7, atol=1e-9)
    losses = np.average(slow**2, axis=1, weights=case[2])
    assert_allclose(found.losses(), losses, rtol=1e-8)


def test_errors_of_a_fold_are_those_of_a_refit(case):
    test = np.arange(0, 40, 3)
    train = np.setdiff1d(np.arange(40), test)
    slow = case[1][test] - refitted(*case, train, test)
    assert_allclose(fits_of(case).leave_out(test), slow, rtol=1e-7, atol=1e-9)


def test_generalised_cross_validation_is_that_of_the_formula(case):
    gram, y, w, fit_intercept = case
    F, roots = gram.features(), np.sqrt(w)[:, None]
    columns = np.hstack([F, np.ones((40, int(fit_intercept)))]) * roots
    for alpha, found in zip(ALPHAS, fits_of(case).generalised(), strict=True):
        penalty = alpha * np.diag([1.0] * 12 + [0.0] * fit_intercept)
        H = columns @ np.linalg.solve(columns.T @ columns + penalty, columns.T)
        squares = ((roots * y - H @ (roots * y)) ** 2).sum(axis=0)
        assert_allclose(found, (40 / np.trace(np.eye(40) - H)) ** 2 * squares / w.sum(), rtol=1e-8)


def test_features_without_full_rank_leave_the_formula_as_it_is(rng):
    X = rng.normal(size=(5, 2))
    path = LandmarkPath(landmark_gram(Gaussian(0.3), X, 5), np.ones(5), True)
    assert path.spectrum.rank == 4
    columns = np.hstack([path.gram.features(), np.ones((5, 1))])
    H = columns @ np.linalg.solve(columns.T @ columns + np.diag([0.5] * 5 + [0.0]), columns.T)
    expected = (5 / np.trace(np.eye(5) - H)) ** 2 * ((X - H @ X) ** 2).sum(axis=0) / 5
    assert_allclose(path.at(X, np.array([0.5])).generalised()[0], expected, rtol=1e-8)


def test_the_smoother_is_the_fit_as_a_map_of_the_targets(case, rng):
    gram, y, w, fit_intercept = case
    smoother = LandmarkSmoother(LandmarkPath(gram, w, fit_intercept), ALPHAS[1], np.arange(2))
    new = rng.normal(size=(5, 2))
    solution = NystromRidge().solve(gram, problem_of(y, ALPHAS[1], w, fit_intercept))
    expected = gram.landmarks(new) @ solution.theta + solution.intercept
    assert_allclose(smoother.weights(new).T @ y, expected, rtol=1e-8)


def test_the_variance_is_that_of_the_formula_and_what_landmarks_leave(case, rng):
    gram, _, w, fit_intercept = case
    alpha, new = ALPHAS[1], rng.normal(size=(5, 2))
    found = LandmarkSmoother(LandmarkPath(gram, w, fit_intercept), alpha, np.arange(2))
    ones = np.ones((40, int(fit_intercept)))
    F, Z = np.hstack([gram.features(), ones]), np.hstack([gram.landmarks(new), ones[:5]])
    penalty = alpha * np.diag([1.0] * 12 + [0.0] * fit_intercept)
    inverse = np.linalg.inv(F.T @ (w[:, None] * F) + penalty)
    left = 1.0 - (gram.landmarks(new) ** 2).sum(axis=1)
    expected = alpha * np.einsum("ij,jk,ik->i", Z, inverse, Z) + left
    assert_allclose(found.variance(new, np.ones(5)), expected, rtol=1e-8)


def test_least_squares_without_full_rank_is_refused(rng):
    X = rng.normal(size=(5, 2))
    path = LandmarkPath(landmark_gram(Gaussian(0.3), X, 5), np.ones(5), True)
    with pytest.raises(ValueError, match="5 landmarks have the numerical rank 4 on 5 rows"):
        path.at(X, np.array([0.0, 1.0]))


def test_a_row_that_its_fit_follows_whatever_it_is_misses_infinitely_much(rng, monkeypatch):
    X = rng.normal(size=(4, 2))
    fits = LandmarkPath(landmark_gram(Gaussian(1.0), X, 2), np.ones(4), True).at(X[:, :1], [1.0])
    r, free = np.array([[[-1.0], [0.0], [3.0], [2.0]]]), np.array([[0.0, 0.0, 0.0, 0.5]])
    monkeypatch.setattr(type(fits), "_passed", lambda self: iter([(slice(0, 4), r, free)]))
    assert fits.leave_one_out()[0, :, 0].tolist() == [-np.inf, 0.0, np.inf, 4.0]


def test_errors_and_leverages_come_from_one_pass_over_the_rows(case, monkeypatch):
    fits, passes, blocks = fits_of(case), [], LandmarkPath.blocks
    residuals = fits.residuals()

    def count(path, *widths):
        passes.append(1)
        return blocks(path, *widths)

    monkeypatch.setattr(LandmarkPath, "blocks", count)
    errors, free = fits.left_out()
    assert len(passes) == 1
    assert_allclose(errors * free[:, :, None], residuals, rtol=1e-9, atol=1e-11)
