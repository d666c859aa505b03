"""Two classes at a time: which problems there are, where their coefficients stand, who wins."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return all pairs of classes in the order of scikit-learn."""
    return list(combinations(range(n_classes), 2))


def slot(own: int, other: int) -> int:
    """Return the row of `dual_coef_` that a vector of one class has against another one."""
    return other - 1 if other > own else other


def pair_coefficients(dual_coef: Array, n_support: NDArray[Any]) -> Array:
    """Return the coefficients of every pair's f, of shape (m, pairs), with zeros for the others.

    Parameters
    ----------
    dual_coef : array of shape (n_classes - 1, m)
        Those of every vector against the other classes, in their order.
    n_support : array of shape (n_classes,)
        How many vectors are of each class; those of the first come first.
    """
    n_classes = len(n_support)
    codes = np.repeat(np.arange(n_classes), n_support)
    coefficients = np.zeros((len(codes), len(pairs_of(n_classes))))
    for k, (i, j) in enumerate(pairs_of(n_classes)):
        for own, other in ((i, j), (j, i)):
            mine = codes == own
            coefficients[mine, k] = dual_coef[slot(own, other), mine]
    return coefficients


def pair_scores(by_class: list[Array], intercept: Array) -> Array:
    """Return f + b of every pair, of shape (n, pairs); positive votes for the first class.

    Parameters
    ----------
    by_class : list of arrays of shape (n, n_classes - 1)
        What the vectors of every class add, one column for every other class.
    intercept : array of shape (pairs,)
        b.
    """
    pairs = pairs_of(len(by_class))
    stacked = np.concatenate(by_class, axis=1)
    width = len(by_class) - 1
    first = [i * width + slot(i, j) for i, j in pairs]
    second = [j * width + slot(j, i) for i, j in pairs]
    scores = stacked.take(first, axis=1)
    scores += stacked.take(second, axis=1)
    scores += intercept
    return scores


def clear_winners(
    scores: Array, doubt: Array, n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return who wins most pairs of classes, and whether it wins all of them by more than a doubt.

    Parameters
    ----------
    scores : array of shape (n, pairs)
        Positive for the first class of the pair.
    doubt : array of shape (pairs,)
        How far they may be off.
    n_classes : int
        The number of classes.
    """
    first, second = np.eye(n_classes, dtype=np.float32)[np.array(pairs_of(n_classes)).T]
    wins = (scores > doubt).astype(np.float32) @ first
    wins += (scores < -doubt).astype(np.float32) @ second
    return wins.argmax(axis=1), wins.max(axis=1) == n_classes - 1


def votes_of(scores: Array, n_classes: int) -> Array:
    """Return how many pairs every class wins, for scores of shape (n, pairs)."""
    _, second = np.array(pairs_of(n_classes)).T
    # Sums of sides count a win less the pairs in which a class is the second.
    wins = (scores > 0.0).astype(np.float64) @ _sides(n_classes)
    return np.asarray(wins + np.bincount(second, minlength=n_classes))


def hardest(scores: Array, n_classes: int) -> Array:
    """Return the least score of every class against another one, of shape (n, n_classes).

    It is positive for a class that wins all its pairs, and then for no other.
    """
    least = np.full((len(scores), n_classes), np.inf)
    for score, (i, j) in zip(scores.T, pairs_of(n_classes), strict=True):
        np.minimum(least[:, i], score, out=least[:, i])
        np.minimum(least[:, j], -score, out=least[:, j])
    return least


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
    sums = scores @ _sides(n_classes)
    return np.asarray(votes_of(scores, n_classes) + sums / (3.0 * (np.abs(sums) + 1.0)))


def _sides(n_classes: int) -> Array:
    """Return +1 for the first class of a pair and -1 for the second, of shape (pairs, classes)."""
    first, second = np.array(pairs_of(n_classes)).T
    return np.eye(n_classes)[first] - np.eye(n_classes)[second]
