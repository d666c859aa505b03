"""Which rows are held out, by what a splitter says and among rows of positive weight."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneGroupOut, LeaveOneOut

from mercer.selection.splits import Splits, splits_or_none

X, Y = np.zeros((9, 1)), np.arange(9.0)


def listed(pairs):
    return [(train.tolist(), test.tolist()) for train, test in pairs]


def test_leaving_out_every_row_needs_no_list():
    splits = Splits.of(LeaveOneOut(), X, Y, None, 9)
    assert splits.pairs is None
    assert splits.tested.tolist() == list(range(9))
    assert [test.tolist() for test in splits.tests] == [list(range(9))]
    assert splits.scored_folds is None
    assert splits.are_single
    assert splits.on(np.array([1, 4])).n == 2


def test_folds_follow_each_other_in_the_rows_tested():
    splits = Splits.of(KFold(4), X, Y, None, 9)
    assert splits.sizes.tolist() == [3, 2, 2, 2]
    assert splits.tested.tolist() == list(range(9))
    assert [test.tolist() for test in splits.tests] == [[0, 1, 2], [3, 4], [5, 6], [7, 8]]
    assert list(splits.scored_folds) == [0, 1, 2, 3]
    assert splits.are_complements
    assert not splits.are_single


def test_folds_of_one_row_are_single_only_where_all_others_train():
    assert Splits.of(KFold(9), X, Y, None, 9).are_single
    some = [(np.arange(3), np.array([5])), (np.arange(3), np.array([6]))]
    assert not Splits(9, some).are_single


@pytest.mark.parametrize(
    ("train", "test", "is_complement"),
    [
        ([0, 1], [2], True),
        ([0], [2], False),
        ([0, 1, 2], [2], False),
        # Three rows in all, of which one is named twice and one not at all.
        ([0, 0], [2], False),
    ],
)
def test_a_pair_is_of_complements_if_every_row_is_on_one_side(train, test, is_complement):
    assert Splits(3, [(np.array(train), np.array(test))]).are_complements is is_complement


def test_masks_of_rows_are_row_numbers():
    test = np.arange(9) < 2
    splits = Splits.of([(~test, test)], X, Y, None, 9)
    assert listed(splits.pairs) == [([2, 3, 4, 5, 6, 7, 8], [0, 1])]


def test_some_rows_are_numbered_anew_and_folds_without_a_test_row_are_dropped():
    splits = Splits.of(KFold(3), X, Y, None, 9)
    some = splits.on(np.array([0, 1, 7, 8]))
    assert some.n == 4
    assert listed(some.pairs) == [([2, 3], [0, 1]), ([0, 1], [2, 3])]
    assert list(some.scored_folds) == [0, 2]
    assert list(some.on(np.array([2, 3, 0])).scored_folds) == [0, 2]
    assert splits.on(np.arange(9)) is splits


def test_a_pooled_split_has_no_fold_with_a_score_of_its_own():
    pairs = [(np.array([0, 1]), np.array([2]))]
    assert Splits(3, pairs, is_pooled=True).scored_folds is None
    assert list(Splits(3, pairs, numbers=[5]).scored_folds) == [5]
    assert list(Splits(3, pairs).scored_folds) == [0]


def test_folds_that_test_nothing_or_train_on_nothing_are_refused():
    splits = Splits.of(KFold(3), X, Y, None, 9)
    with pytest.raises(ValueError, match="leaves no row of positive weight to train on"):
        splits.on(np.array([0, 1]))
    with pytest.raises(ValueError, match="holds out no row of positive weight"):
        Splits(9, [(np.arange(4), np.array([5]))]).on(np.arange(4))


def test_a_ridge_is_chosen_by_rows_left_out_by_folds_or_by_generalised_cross_validation():
    for scoring in (None, "r2"):
        single = splits_or_none("loo", scoring, X, Y, None)
        assert (single.n, single.pairs) == (9, None)
    assert splits_or_none("gcv", None, X, Y, None) is None
    assert len(splits_or_none(3, "r2", X, Y, None).pairs) == 3
    groups = np.arange(9) // 3
    grouped = splits_or_none(LeaveOneGroupOut(), None, X, Y, groups)
    assert listed(grouped.pairs)[1] == ([0, 1, 2, 6, 7, 8], [3, 4, 5])


def test_what_no_rows_are_held_out_by_is_refused():
    for word in ("cv", "other"):
        with pytest.raises(ValueError, match=f"cv must be 'loo', 'gcv', a number .* got '{word}'"):
            splits_or_none(word, None, X, Y, None)
    with pytest.raises(ValueError, match="cv='gcv' predicts no held-out rows that scoring could"):
        splits_or_none("gcv", "r2", X, Y, None)
