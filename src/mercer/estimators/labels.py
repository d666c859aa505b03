"""Labels at an estimator's door: one for every row, and the classes that they name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer.data.checks import check_agreeing, check_targets, refuse_masked
from mercer.data.columns import n_rows

Array = NDArray[Any]


def labels_of(estimator: BaseEstimator, X: Any, y: Any) -> Array:
    """Return the labels of checked rows as a vector."""
    refuse_masked(y, "y")
    is_vector = type(y) is np.ndarray and y.ndim == 1
    labels = y if is_vector else column_or_1d(y, warn=True)
    check_targets(labels)
    assert_all_finite(labels, input_name="y", estimator_name=type(estimator).__name__)
    if not (labels.dtype.kind in "iubU" or _are_texts(labels)):
        check_classification_targets(labels)
    check_agreeing(n_rows(X), labels)
    return np.asarray(labels)


def _are_texts(labels: Array) -> bool:
    """Whether the labels are objects that are all strings."""
    if labels.dtype != object:
        return False
    are_texts = {kind: issubclass(kind, str) for kind in map(type, labels.tolist())}
    if any(are_texts.values()) and not all(are_texts.values()):
        kinds = ", ".join(sorted(kind.__name__ for kind in are_texts))
        raise ValueError(f"y mixes labels of the types {kinds}; make all of them strings")
    return all(are_texts.values())


def coded(labels: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return the classes in order, and which of them every label is."""
    if not _are_texts(labels):
        classes, codes = np.unique(labels, return_inverse=True)
        if labels.dtype.kind in "iu" and 2 * len(classes) > len(labels):
            # Says that so many whole numbers may be meant for a regression.
            check_classification_targets(labels)
        return classes, codes
    # Looked up one by one, as objects take long to be sorted.
    names = labels.tolist()
    present = sorted(set(names))
    number = {name: i for i, name in enumerate(present)}
    return np.array(present, object), np.array([number[name] for name in names], np.intp)
