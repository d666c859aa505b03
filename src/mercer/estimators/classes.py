"""Weights of classes, and the classes that have any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

Array = NDArray[np.float64]


def class_weighted(
    weights: Array, class_weight: Any, codes: NDArray[np.intp], classes: NDArray[Any]
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
    """
    if class_weight is None:
        return weights
    if class_weight == "balanced":
        totals = np.bincount(codes, weights, len(classes))
        # A class without weight has no rows that count, whatever its factor.
        factors = weights.sum() / (len(classes) * np.where(totals > 0, totals, 1.0))
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not (np.isfinite(factors) & (factors >= 0)).all():
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}")
    return weights * factors[codes]


def present_classes(
    estimator: Any, weights: Array, codes: NDArray[np.intp], classes: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[Any]]:
    """Return which rows count, the class of each of these by its number, and their classes.

    A row of zero weight is as good as absent, and so is a class that has no others.
    """
    used = weights > 0.0
    present, numbers = np.unique(codes[used], return_inverse=True)
    if len(present) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes of positive weight, got "
            f"{classes[present].tolist()!r}; check sample_weight and class_weight"
        )
    return used, numbers, classes[present]
