"""Classes as numbers: their signs, their weights, and those that have any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

Array = NDArray[np.float64]


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


def present_classes(
    estimator: Any, weights: Array, codes: NDArray[np.intp], classes: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[Any]]:
    """Return which rows count, the class of each of these by its number, and their classes.

    A row of zero weight is as good as absent, and so is a class that has no others.
    """
    used = weights > 0.0
    counts = np.bincount(codes[used], minlength=len(classes))
    present = np.flatnonzero(counts)
    numbers = (np.cumsum(counts > 0) - 1)[codes[used]]
    if len(present) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes of positive weight, got "
            f"{classes[present].tolist()!r}; check sample_weight and class_weight"
        )
    return used, numbers, classes[present]
