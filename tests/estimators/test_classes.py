"""Labels as numbers with their weights, the same for every classifier."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.estimators import KernelSVC
from mercer.estimators.classes import Labelled
from mercer.kernels import Gaussian

LABELS = np.array(["c", "a", "b", "a", "c", "b"])


def labelled(sample_weight=None, class_weight=None):
    X = np.arange(12.0).reshape(6, 2)
    return Labelled.of(KernelSVC(), Gaussian(1.0), X, LABELS, sample_weight, class_weight)


def test_classes_are_numbered_in_their_order():
    data = labelled()
    assert data.classes.tolist() == ["a", "b", "c"]
    assert data.codes.tolist() == [2, 0, 1, 0, 2, 1]
    assert data.used.all()


def test_a_class_without_weight_is_none_and_its_rows_have_the_number_zero():
    data = labelled([1.0, 0.0, 2.0, 0.0, 3.0, 0.0])
    assert data.classes.tolist() == ["b", "c"]
    assert data.codes.tolist() == [1, 0, 0, 0, 1, 0]
    assert_array_equal(data.used, [True, False, True, False, True, False])


def test_factors_of_classes_are_in_the_weights_and_not_in_the_copies():
    data = labelled([1.0, 1.0, 2.0, 1.0, 1.0, 1.0], {"a": 5.0, "b": 1.0, "c": 0.0})
    assert data.weights.tolist() == [0.0, 5.0, 2.0, 5.0, 0.0, 1.0]
    assert data.copies.tolist() == [1.0, 1.0, 2.0, 1.0, 1.0, 1.0]
    assert data.classes.tolist() == ["a", "b"]


def test_targets_are_a_vector_of_two_classes_and_a_column_each_of_more():
    assert labelled().targets.tolist()[0] == [-1.0, -1.0, 1.0]
    two = labelled(class_weight={"a": 1.0, "b": 1.0, "c": 0.0})
    assert two.targets.tolist() == [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0]


def test_one_class_of_positive_weight_is_refused_by_its_name():
    with pytest.raises(ValueError, match=r"KernelSVC needs at least two classes.*\['a'\]; check"):
        labelled([0.0, 1.0, 0.0, 1.0, 0.0, 0.0])
