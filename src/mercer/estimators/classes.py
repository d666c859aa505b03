"""Classes as numbers: the labels that name them, their signs, weights, and those that have any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer.data.categories import is_missing
from mercer.data.checks import check_agreeing, check_no_gaps, refuse_masked
from mercer.data.columns import n_rows
from mercer.estimators.validation import check_given, checked_unlabelled, checked_weights
from mercer.kernels import Kernel
from mercer.tiles import Rows

Array = NDArray[np.float64]
Labels = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Training rows with their classes as numbers and their weights, checked.

    A row of zero weight is as good as absent, and so is a class that has no others.

    Parameters
    ----------
    rows : Rows
        All training rows.
    classes : array
        The classes of the rows of positive weight, in order.
    codes : array of shape (n,)
        The class of every row by its number, 0 where it has no weight.
    weights : array of shape (n,)
        w, with the factors of the classes.
    copies : array of shape (n,)
        How many equal rows every row stands for: w as it was given.
    """

    rows: Rows
    classes: Labels
    codes: NDArray[np.intp]
    weights: Array
    copies: Array

    @classmethod
    def of(
        cls,
        estimator: BaseEstimator,
        kernel: Kernel,
        X: Any,
        y: Any,
        sample_weight: Any,
        class_weight: Any = None,
    ) -> Labelled:
        """Return what an estimator is fitted to, and note the columns on it.

        Parameters
        ----------
        estimator : estimator
            Whose `fit` it is.
        kernel : Kernel
            What reads the rows.
        X, y, sample_weight
            As given to `fit`.
        class_weight
            As in `class_weighted`.
        """
        rows, given, classes = checked_classification(estimator, kernel, X, y)
        copies = checked_weights(sample_weight, len(given))
        weights = class_weighted(copies, class_weight, given, classes)
        present = present_classes(estimator, given, weights, classes)
        codes = np.where(weights > 0.0, np.searchsorted(present, given), 0)
        return cls(rows, classes[present], codes, weights, copies)

    @classmethod
    def more(
        cls,
        estimator: Any,
        rows: Rows,
        y: Any,
        classes: Any,
        sample_weight: Any,
        before: Array | float = 0.0,
    ) -> Labelled:
        """Return checked rows of one more call of `partial_fit`, among the classes of the first.

        Parameters
        ----------
        estimator : estimator
            Who learns; it knows its classes after the first call.
        rows
            The rows, checked.
        y, classes, sample_weight
            As given to `partial_fit`.
        before
            As in `class_weighted`.
        """
        known = getattr(estimator, "classes_", None)
        named = known_classes(classes) if known is None else same_classes(classes, known)
        codes = checked_codes(estimator, rows.X, y, named)
        copies = checked_weights(sample_weight, len(codes))
        weights = class_weighted(copies, estimator.class_weight, codes, named, before)
        return cls(rows, named, codes, weights, copies)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which rows have weight."""
        return self.weights > 0.0

    @property
    def targets(self) -> Array:
        """The classes as targets of a regression, 1 or -1: of shape (n,) if two, else (n, m)."""
        signs = one_against_rest(self.codes, len(self.classes))
        return signs[:, 0] if len(self.classes) == 2 else signs


def checked_classification(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any
) -> tuple[Rows, NDArray[np.intp], Labels]:
    """Return training rows, the class of each by its number, and the classes in order."""
    rows = checked_unlabelled(estimator, kernel, X)
    labels = labels_of(estimator, rows.X, y)
    classes, codes = coded(labels)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes, got 1 class: "
            f"{classes.tolist()[0]!r} in all {len(labels)} rows"
        )
    return rows, codes, classes


def present_classes(
    estimator: BaseEstimator, codes: NDArray[np.intp], weights: Array, classes: Labels
) -> NDArray[np.intp]:
    """Return the numbers of the classes of positive weight, of which two are needed."""
    present = np.unique(codes[weights > 0.0])
    if len(present) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes of positive weight, got "
            f"{classes[present].tolist()!r}; check sample_weight and class_weight"
        )
    return present


def labels_of(estimator: BaseEstimator, X: Any, y: Any) -> Labels:
    """Return the labels of checked rows as a vector."""
    are_arrays = type(X) is type(y) is np.ndarray and X.shape[:1] == y.shape
    if are_arrays and y.dtype.kind in "iub":
        return np.asarray(y)
    check_given(estimator, y)
    refuse_masked(y, "y")
    is_vector = type(y) is np.ndarray and y.ndim == 1
    labels = y if is_vector else column_or_1d(y, warn=True)
    check_no_gaps(labels)
    assert_all_finite(labels, input_name="y", estimator_name=type(estimator).__name__)
    if not (labels.dtype.kind in "iubU" or _are_texts(labels)):
        check_classification_targets(labels)
    check_agreeing(n_rows(X), labels)
    return np.asarray(labels)


def _are_texts(labels: Labels) -> bool:
    """Whether the labels are objects that are all strings."""
    if labels.dtype != object:
        return False
    are_texts = {kind: issubclass(kind, str) for kind in map(type, labels.tolist())}
    if any(are_texts.values()) and not all(are_texts.values()):
        row = next((i for i, label in enumerate(labels) if is_missing(label)), None)
        if row is not None:
            raise ValueError(f"y holds {labels[row]} at row {row}; drop such rows or fill them in")
        kinds = ", ".join(sorted(kind.__name__ for kind in are_texts))
        raise ValueError(f"y mixes labels of the types {kinds}; make all of them strings")
    return all(are_texts.values())


def coded(labels: Labels) -> tuple[Labels, NDArray[np.intp]]:
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


def class_weighted(
    weights: Array,
    class_weight: Any,
    codes: NDArray[np.intp],
    classes: NDArray[Any],
    before: Array | float = 0.0,
) -> Array:
    """Return the weights of the rows times those of their classes.

    Parameters
    ----------
    weights : array of shape (n,)
        w, one for each row.
    class_weight : None, dict or "balanced"
        None is 1 for each class; ``"balanced"`` is sum(w) / (classes * w of the class), so that a
        row of weight 2 counts like two rows.
    codes : array of shape (n,)
        The class of each row by its number.
    classes : array
        The classes in order.
    before : array of shape (classes,), optional
        What the rows of each class weighed that were seen before, of a stream.
    """
    if class_weight is None:
        return weights
    if class_weight == "balanced":
        totals = before + np.bincount(codes, weights, len(classes))
        # A class without weight has no rows that count, and is none of the classes.
        present = totals > 0
        factors = totals.sum() / (present.sum() * np.where(present, totals, 1.0))
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not (np.isfinite(factors) & (factors >= 0)).all():
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}")
    return weights * factors[codes]


def one_against_rest(codes: NDArray[np.intp], classes: int) -> Array:
    """Return 1 for the rows of a class and -1 for the rest, of shape (n, problems).

    Two classes are one problem, in which the second is 1; more are a problem each.
    """
    if classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)


def decided(scores: Array) -> NDArray[np.intp]:
    """Return which class every row is of: of two by the sign of its score, else of the largest."""
    return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def refuse_balanced(class_weight: Any) -> None:
    """Refuse factors that need all rows at once, which `partial_fit` never has."""
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} needs all rows at once; give partial_fit "
            "a dict of weights"
        )


def known_classes(classes: Any) -> NDArray[Any]:
    """Return the classes named in the first call of `partial_fit`, in order."""
    if classes is None:
        raise ValueError(
            "classes must be passed on the first call to partial_fit; name all that there will be"
        )
    known = np.unique(classes)
    if len(known) < 2:
        raise ValueError(f"classes must name at least two classes, got {known.tolist()}")
    return known


def same_classes(classes: Any, known: NDArray[Any]) -> NDArray[Any]:
    """Return the classes known from the first call, where a later one names no others."""
    if classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(
            f"classes must be those of the first call, {known.tolist()}, "
            f"got {np.unique(classes).tolist()}"
        )
    return known


def checked_codes(estimator: BaseEstimator, X: Any, y: Any, classes: Array) -> NDArray[np.intp]:
    """Return the numbers of the labels of checked rows among known classes in order."""
    labels = labels_of(estimator, X, y)
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(
            f"y holds {unknown.tolist()[0]!r}, which is none of the classes {classes.tolist()} "
            "of the first call; name all classes there"
        )
    return np.searchsorted(classes, labels)
