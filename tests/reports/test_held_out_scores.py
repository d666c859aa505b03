"""Scores at held-out rows, their baselines and intervals."""

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    precision_recall_fscore_support,
    roc_auc_score,
)

from mercer.reports.held_out import (
    Score,
    class_scores,
    classification_scores,
    regression_scores,
)

random = np.random.default_rng(0)


def test_scores_are_those_of_their_formulas():
    y, f = random.normal(size=50), random.normal(size=50)
    r2, rmse, mae = regression_scores(y, f, 0.0, np.ones(50))
    assert r2.value == pytest.approx(1.0 - ((y - f) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert rmse.value == pytest.approx(((y - f) ** 2).mean() ** 0.5)
    assert rmse.baseline == pytest.approx((y**2).mean() ** 0.5)
    assert mae.value == pytest.approx(np.abs(y - f).mean())
    assert not r2.beats_baseline
    codes, P = np.array([0, 1, 1, 0]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [1.0, 0.0]])
    right, fair, loss, area, precision = classification_scores(
        codes, P.argmax(axis=1), P, np.array([0.5, 0.5]), np.ones(4)
    )
    assert right.value == fair.value == 0.75
    assert area.value == precision.value == 1.0 and area.baseline == precision.baseline == 0.5
    assert loss.value == pytest.approx(-np.log([0.9, 0.8, 0.4, 1.0]).mean())


@pytest.mark.parametrize(
    ("low", "high", "is_high", "verdict"),
    [
        (0.6, 0.8, True, "better"),
        (0.4, 0.6, True, "not surely better"),
        (0.2, 0.4, True, "surely worse"),
        (0.6, 0.8, False, "surely worse"),
    ],
)
def test_a_score_is_surely_worse_where_its_whole_interval_is(low, high, is_high, verdict):
    assert Score("s", (low + high) / 2.0, low, high, 0.5, is_high).verdict == verdict


def test_the_area_under_the_roc_curve_is_that_of_scikit_learn():
    second = np.round(random.uniform(size=80), 1)
    codes, w = (random.uniform(size=80) < second).astype(int), random.uniform(size=80)
    P = np.column_stack([1.0 - second, second])
    area = classification_scores(codes, codes, P, np.array([0.5, 0.5]), w)[-2]
    assert area.value == pytest.approx(roc_auc_score(codes, second, sample_weight=w))


def test_rows_without_weight_leave_scores_as_they_are():
    y, f = random.normal(size=20), random.normal(size=20)
    w = (np.arange(20) < 15).astype(float)
    found = regression_scores(y, f, 0.0, w)
    assert found == regression_scores(y[:15], f[:15], 0.0, np.ones(15))


def test_r2_of_three_rows_has_an_interval_of_finite_size():
    y = np.array([1.0, 2.0, 4.0])
    score = regression_scores(y, y + 0.1, 0.0, np.ones(3))[0]
    assert 0.0 <= score.low <= score.high <= 1.0


def test_intervals_of_scores_hold_the_true_score_about_as_often_as_they_say():
    held = 0
    for seed in range(30):
        r = np.random.default_rng(seed)
        y = r.normal(size=200)
        f = y + 0.5 * r.normal(size=200)
        score = regression_scores(y, f, 0.0, np.ones(200))[1]
        held += score.low <= 0.5 <= score.high
    assert 25 <= held <= 30


def test_an_accuracy_of_all_rows_is_not_certain():
    codes = np.arange(100) % 2
    shares = np.array([0.5, 0.5])
    right, fair = classification_scores(codes, codes, None, shares, np.ones(100))
    assert (right.value, right.high) == (1.0, 1.0)
    # The exact interval of 100 of 100.
    assert right.low == pytest.approx(0.9638, abs=1e-4)
    # Of 50 rows of either class.
    assert fair.low == pytest.approx(0.9289, abs=1e-4)
    wrong, _ = classification_scores(codes, 1 - codes, None, shares, np.ones(100))
    assert (wrong.low, wrong.high) == (0.0, pytest.approx(0.0362, abs=1e-4))
    # One row of nearly all the weight tells as much as one row.
    one, _ = classification_scores(codes, codes, None, shares, np.r_[1e9, np.ones(99)])
    assert one.low == pytest.approx(0.025, rel=1e-3)


def test_a_roc_area_of_all_pairs_is_as_sure_as_the_rows_of_the_rarer_class_make_it():
    codes = np.repeat([0, 1], [90, 10])
    second = np.where(codes, 0.9, 0.1)
    shares = np.array([0.9, 0.1])
    for p, ends in ((second, (0.6915, 1.0)), (1.0 - second, (0.0, 0.3085))):
        found = classification_scores(codes, codes, np.c_[1.0 - p, p], shares, np.ones(100))
        # The exact interval of 10 of 10 pairs that have no row in common.
        assert (found[-2].name, found[-2].value) == ("ROC AUC", float(p[-1] > 0.5))
        assert (found[-2].low, found[-2].high) == pytest.approx(ends, abs=1e-4)


def test_recall_precision_and_f1_of_every_class_are_those_of_scikit_learn():
    codes, labels = random.integers(0, 4, 90), random.integers(0, 4, 90)
    found = class_scores(np.array(["a", "b", "c", "d"]), codes, labels)
    precision, recall, f1, rows = precision_recall_fscore_support(codes, labels)
    for i, each in enumerate(found):
        assert (each.label, each.rows, each.named) == ("abcd"[i], rows[i], (labels == i).sum())
        assert (each.precision, each.recall, each.f1) == pytest.approx(
            (precision[i], recall[i], f1[i])
        )
    fair = classification_scores(codes, labels, None, np.full(4, 0.25), np.ones(90))[1]
    assert fair.name == "balanced accuracy"
    assert fair.value == pytest.approx(balanced_accuracy_score(codes, labels))
    assert fair.baseline == 0.25


def test_a_class_that_is_never_named_has_no_precision():
    codes = np.array([0, 0, 1])
    rare = class_scores(np.array(["a", "b"]), codes, np.zeros(3, int))[1]
    assert (rare.recall, rare.f1) == (0.0, 0.0)
    assert np.isnan(rare.precision)
