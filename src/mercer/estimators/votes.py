"""Two classes at a time: which problems there are, where their coefficients stand, who wins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return all pairs of classes in the order of scikit-learn."""
    return list(combinations(range(n_classes), 2))


def slot(own: int, other: int) -> int:
    """Return the row of `dual_coef_` that a vector of one class has against another one."""
    return other - 1 if other > own else other


def pair_scores(by_class: list[Array], intercept: Array) -> Array:
    """Return f + b of every pair, of shape (n, pairs); positive votes for the first class.

    Parameters
    ----------
    by_class : list of arrays of shape (n, n_classes - 1)
        What the vectors of every class add, one column for every other class.
    intercept : array of shape (pairs,)
        b.
    """
    columns = [
        by_class[i][:, slot(i, j)] + by_class[j][:, slot(j, i)] for i, j in pairs_of(len(by_class))
    ]
    return np.column_stack(columns) + intercept


def tally(scores: Array, n_classes: int) -> Array:
    """Return the votes for every class, ties broken by the sums of its scores.

    A sum s adds s / (3 (|s| + 1)), less than a third of a vote.

    Parameters
    ----------
    scores : array of shape (n, pairs)
        Positive for the first class of the pair.
    n_classes : int
        The number of classes.
    """
    votes, sums = (np.zeros((len(scores), n_classes)) for _ in range(2))
    for column, (i, j) in zip(scores.T, pairs_of(n_classes), strict=True):
        wins = column > 0.0
        votes[:, i] += wins
        votes[:, j] += ~wins
        sums[:, i] += column
        sums[:, j] -= column
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))
