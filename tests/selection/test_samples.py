"""Rows taken by what they hold."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.kernels import Linear, Precomputed, Spectrum
from mercer.selection.samples import (
    distinct_rows,
    first_of_classes,
    shuffled,
    stratified_parts,
    trained_classes,
)


def test_equal_rows_with_equal_labels_are_one():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0]])
    numbers = distinct_rows(Linear(), X, np.array([0, 0, 0, 1]))
    assert numbers[0] == numbers[2]
    assert len(set(numbers.tolist())) == 3
    assert sorted(set(numbers.tolist())) == [0, 1, 2]
    apart = distinct_rows(Linear(), X, np.zeros(4, int), np.array([1.0, 1.0, 2.0, 2.0]))
    assert len(set(apart.tolist())) == 3


def test_texts_are_told_apart_and_other_sequences_and_finished_matrices_count_as_distinct():
    codes = np.zeros(3, int)
    assert len(set(distinct_rows(Spectrum(2), ["ab", "cd", "ab"], codes).tolist())) == 2
    mixed = [["a", "b"], "cd", ["a", "b"]]
    assert distinct_rows(Spectrum(2), mixed, codes).tolist() == [0, 1, 2]
    assert distinct_rows(Precomputed(), np.ones((3, 3)), codes).tolist() == [0, 1, 2]


def test_a_random_order_keeps_equal_rows_together_and_does_not_depend_on_places(rng):
    numbers = np.array([2, 0, 1, 2, 0])
    order = shuffled(numbers, 4)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    walked = numbers[order]
    assert (np.diff(walked) != 0).sum() == 2
    mixed = rng.permutation(5)
    assert_array_equal(numbers[mixed][shuffled(numbers[mixed], 4)], walked)
    orders = {tuple(numbers[shuffled(numbers, seed)]) for seed in range(20)}
    assert len(orders) == 6


def test_the_first_rows_of_every_class_are_taken_as_many_as_asked_for():
    order, codes = np.array([4, 2, 0, 3, 1]), np.array([1, 0, 0, 1, 1])
    assert first_of_classes(order, codes, np.array([1, 2])).tolist() == [2, 4, 0]
    assert first_of_classes(order, codes, np.array([9, 0])).tolist() == [2, 1]


def test_every_fold_has_a_row_of_each_class_to_train_on():
    order, codes = np.array([4, 2, 0, 3, 1]), np.array([1, 0, 0, 1, 1])
    pairs = [(np.array([0, 1, 3]), np.array([2, 4])), (np.array([1, 2, 4]), np.array([0, 3]))]
    # Of rows 0, 1, 3 the first of each class in the order are 1 and 0; of 1, 2, 4 they are 2 and 4.
    assert trained_classes(order, codes, pairs).tolist() == [0, 1, 2, 4]


@pytest.mark.parametrize("count", [2, 3])
def test_rows_of_every_class_are_dealt_out_in_turn(rng, count):
    codes = rng.integers(0, 3, size=20)
    order = rng.permutation(20)
    parts = stratified_parts(order, codes, count)
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(20))
    for i, (train, test) in enumerate(parts):
        assert sorted([*train, *test]) == list(range(20))
        for c in range(3):
            members = [row for row in order if codes[row] == c]
            assert sorted(members[i::count]) == [row for row in test if codes[row] == c]
