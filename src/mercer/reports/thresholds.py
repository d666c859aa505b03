"""The rarer of two classes, named from one probability on or another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# The probabilities that are tried, closer to each other where few rows are of a class.
TRIED = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


class Threshold(NamedTuple):
    """What comes of flagging the rows whose probability of a class is at least `threshold`.

    `flagged` is the share of all rows that are, `precision` the share of these that are of the
    class, not a number if there are none, and `recall` the share of the rows of the class that are
    flagged.
    """

    threshold: float
    flagged: float
    precision: float
    recall: float


def rarer(shares: Array) -> int:
    """Return which of two classes is rarer, the second one if none is."""
    return int(shares[1] <= shares[0])


def thresholds(probabilities: Array, is_one: Array, weights: Array) -> list[Threshold]:
    """Return what comes of thresholds that flag different rows, in ascending order.

    Parameters
    ----------
    probabilities : array of shape (n,)
        Those of a class.
    is_one : array of bool of shape (n,)
        Which rows are of it.
    weights : array of shape (n,)
        The weights of the rows.
    """
    found: dict[int, Threshold] = {}
    for least in TRIED:
        flagged = probabilities >= least
        some, hits = weights[flagged].sum(), weights[flagged & is_one].sum()
        # Of thresholds that flag the same rows the one that is told is 0.5, or else the first.
        count = int(flagged.sum())
        if count in found and least != 0.5:
            continue
        found[count] = Threshold(
            least,
            float(some / weights.sum()),
            float(hits / some) if some > 0.0 else float("nan"),
            float(hits / weights[is_one].sum()),
        )
    return sorted(found.values())


def average_precision(ranks: Array, is_one: Array, weights: Array) -> float:
    """Return the mean of the precisions over the recalls that every threshold adds.

    Rows of one rank are flagged together. Where a sample has no row of the class it is not a
    number.

    Parameters
    ----------
    ranks : array of int of shape (n,)
        The order of the rows by the probability of the class, from 0 on.
    is_one : array of bool of shape (n,)
        Which rows are of it.
    weights : array of shape (n,)
        The weights of the rows.

    References
    ----------
    J. Davis, M. Goadrich (2006), The relationship between precision-recall and ROC curves.
    """
    added, flagged = (
        np.bincount(ranks, weights * of)[::-1] for of in (is_one, np.ones(len(ranks)))
    )
    total = added.sum()
    if total == 0.0:
        return float("nan")
    precision = np.cumsum(added) / np.maximum(np.cumsum(flagged), np.finfo(float).tiny)
    return float(added @ precision / total)
