"""Thresholds of the rarer of two classes, against scikit-learn and against counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score

from mercer.reports.held_out import classification_scores
from mercer.reports.thresholds import average_precision, rarer, thresholds


@pytest.mark.parametrize("digits", [1, 6])
def test_average_precision_is_that_of_scikit_learn_also_with_ties_and_weights(digits, rng):
    is_one, weights = rng.random(300) < 0.1, rng.random(300)
    p = np.clip(rng.normal(0.3 + 0.3 * is_one, 0.2), 0, 1).round(digits)
    ranks = np.unique(p, return_inverse=True)[1]
    for w in (np.ones(300), weights):
        expected = average_precision_score(is_one, p, sample_weight=w)
        assert_allclose(average_precision(ranks, is_one, w), expected, rtol=1e-12)


def test_average_precision_of_rows_without_the_class_is_no_number():
    assert np.isnan(average_precision(np.arange(3), np.zeros(3, bool), np.ones(3)))


def test_thresholds_count_what_is_flagged():
    p = np.array([0.005, 0.03, 0.03, 0.2, 0.45, 0.6, 0.97, 0.985])
    is_one = np.array([False, False, True, False, False, True, False, True])
    found = {each.threshold: each[1:] for each in thresholds(p, is_one, np.ones(8))}
    assert found[0.01] == (7 / 8, 3 / 7, 1.0)
    assert found[0.05] == (5 / 8, 2 / 5, 2 / 3)
    assert found[0.5] == (3 / 8, 2 / 3, 2 / 3)
    assert found[0.7] == (2 / 8, 1 / 2, 1 / 3)
    assert np.isnan(found[0.99][1])
    # 0.1 and 0.2 flag the rows that 0.05 does, 0.6 those of 0.5, and 0.8 those of 0.7.
    assert sorted(found) == [0.01, 0.05, 0.3, 0.5, 0.7, 0.99]


def test_weights_count_as_that_many_rows(rng):
    p, is_one, counts = rng.random(40), rng.random(40) < 0.4, rng.integers(1, 4, 40)
    repeated = np.repeat(p, counts), np.repeat(is_one, counts)
    weighed = {t.threshold: t[1:] for t in thresholds(p, is_one, counts.astype(float))}
    for each in thresholds(*repeated, np.ones(counts.sum())):
        assert_allclose(each[1:], weighed[each.threshold], rtol=1e-12)


@pytest.mark.parametrize(("shares", "one"), [([0.9, 0.1], 1), ([0.1, 0.9], 0), ([0.5, 0.5], 1)])
def test_scores_have_the_average_precision_of_the_rarer_class(shares, one, rng):
    assert rarer(np.array(shares)) == one
    codes = (rng.random(200) < 0.3).astype(int)
    second = np.clip(rng.normal(0.3 + 0.3 * codes, 0.2), 0.01, 0.99)
    p = np.column_stack([1 - second, second])
    found = classification_scores(codes, p.argmax(axis=1), p, np.array(shares), np.ones(200))
    (score,) = [each for each in found if each.name == "average precision"]
    assert_allclose(score.value, average_precision_score(codes == one, p[:, one]), rtol=1e-12)
    assert score.low < score.value < score.high
    assert_allclose(score.baseline, np.mean(codes == one), rtol=1e-12)
