"""The temperature that makes scores probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from mercer.solvers.logistic.temperature import smoothed_targets, temperature


def problem(rng, n=60, classes=3, signal=1.0):
    codes = rng.integers(0, classes, size=n)
    scores = rng.normal(size=(n, classes))
    scores[np.arange(n), codes] += signal
    weights = rng.integers(0, 4, size=n).astype(float)
    return scores, codes, weights


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_it_has_the_largest_likelihood(rng, classes):
    scores, codes, weights = problem(rng, classes=classes)
    targets = smoothed_targets(codes, weights, classes)

    def loss(T):
        return -weights @ (targets * log_softmax(T * scores, axis=1)).sum(axis=1)

    best = minimize_scalar(loss, bounds=(1e-3, 20.0), method="bounded", options={"xatol": 1e-9})
    assert_allclose(temperature(scores, targets, weights), best.x, rtol=1e-5)


def test_targets_of_two_classes_are_those_of_lin_lin_and_weng():
    codes, weights = np.array([0, 1, 1, 1]), np.array([1.0, 1.0, 2.0, 0.5])
    targets = smoothed_targets(codes, weights, 2)
    assert_allclose(targets[0], [2 / 3, 1 / 3])
    assert_allclose(targets[1:], np.tile([1 / 5.5, 4.5 / 5.5], (3, 1)))


def test_targets_are_probabilities_that_near_one_as_rows_add_up(rng):
    codes = rng.integers(0, 5, size=40)
    for n in (1.0, 1e6):
        targets = smoothed_targets(codes, np.full(40, n), 5)
        assert_allclose(targets.sum(axis=1), 1.0)
        assert (targets.argmax(axis=1) == codes).all()
    assert targets.max(axis=1).min() > 1.0 - 1e-6


def test_a_whole_weight_is_that_many_rows(rng):
    scores, codes, weights = problem(rng)
    again = weights.astype(int)
    weighted = temperature(scores, smoothed_targets(codes, weights, 3), weights)
    codes, scores = codes.repeat(again), scores.repeat(again, axis=0)
    ones = np.ones(len(codes))
    assert_allclose(temperature(scores, smoothed_targets(codes, ones, 3), ones), weighted)


def test_scores_without_a_mistake_are_not_worth_infinitely_much(rng):
    scores, codes, weights = problem(rng, signal=50.0)
    T = temperature(scores, smoothed_targets(codes, weights, 3), weights)
    assert 0.01 < T < 1.0


@pytest.mark.parametrize("factor", [-1.0, 1e-200, 1e200])
def test_it_is_positive_and_in_proportion_for_any_scores(rng, factor):
    scores, codes, weights = problem(rng)
    targets = smoothed_targets(codes, weights, 3)
    T = temperature(factor * scores, targets, weights)
    assert 0.0 < T < np.inf
    if factor > 0:
        assert_allclose(T * factor, temperature(scores, targets, weights), rtol=1e-9)


def test_rows_that_say_nothing_do_not_count(rng):
    scores, codes, weights = problem(rng)
    targets = smoothed_targets(codes, weights, 3)
    more = np.vstack([scores, np.full((1, 3), np.inf)])
    T = temperature(more, np.vstack([targets, targets[:1]]), np.append(weights, 1.0))
    assert temperature(scores, targets, weights) == T
    assert temperature(np.zeros((4, 2)), np.full((4, 2), 0.5), np.ones(4)) == 1.0


def test_a_row_without_weight_is_no_unit_of_the_scores():
    scores, wrong = np.array([[4.0, -4.0], [-4.0, 4.0]]), np.eye(2)[::-1]
    more = np.vstack([scores, 100.0 * scores[:1]]), np.vstack([wrong, wrong[:1]])
    weights = np.array([1.0, 1.0, 0.0])
    assert temperature(*more, weights) == temperature(scores, wrong, weights[:2])


def test_scores_that_tell_the_opposite_are_worth_a_thousandth_and_certain_ones_a_million():
    scores = np.array([[4.0, -4.0], [-4.0, 4.0]])
    right, wrong = np.eye(2), np.eye(2)[::-1]
    weights = np.ones(2)
    # In units of the largest score.
    assert_allclose(temperature(scores, wrong, weights), 1e-3 / 4.0)
    assert_allclose(temperature(scores, right, weights), 1e6 / 4.0)
    level = np.full((2, 2), 0.5)
    assert_allclose(temperature(scores, level, weights), 1e-3 / 4.0)


def test_targets_of_several_classes_share_what_is_left():
    targets = smoothed_targets(np.array([0, 1, 1]), np.array([1.0, 2.0, 1.0]), 3)
    assert_allclose(targets[0], [2 / 3, 1 / 6, 1 / 6])
    assert_allclose(targets[1], [0.1, 4 / 5, 0.1])
