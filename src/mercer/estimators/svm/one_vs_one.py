"""Two classes at a time: who wins most pairs, and by how much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.functions.pairs import pairs_of

Array = NDArray[np.float64]


def clear_winners(
    scores: Array, error: Array, n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return who wins most pairs of classes, and whether it wins all by more than the error.

    Parameters
    ----------
    scores : array of shape (n, pairs)
        Positive for the first class of the pair.
    error : array of shape (pairs,)
        How far they may be off.
    n_classes : int
        The number of classes.
    """
    first, second = np.eye(n_classes, dtype=np.float32)[np.array(pairs_of(n_classes)).T]
    wins = (scores > error).astype(np.float32) @ first
    wins += (scores < -error).astype(np.float32) @ second
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
