"""The slow obvious form of the native routines for sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def subsequence(s: Array, t: Array, weights: Array, decay: float) -> float:
    """Return sum_p weights[p - 1] K_p(s, t), K_p the sum over common subsequences of length p.

    Each counts decay^(i_p - i_1) in both sequences.
    """
    D = (s[:, None] == t[None, :]).astype(np.float64)
    matches, total = D, 0.0
    steps_s, steps_t = _decays(len(s), decay), _decays(len(t), decay)
    for p, weight in enumerate(weights):
        if p:
            # A match goes on from all matches above and to the left of it.
            D = matches * (steps_s @ D @ steps_t.T)
        total += weight * D.sum()
    return float(total)


def _decays(n: int, decay: float) -> Array:
    """Return decay^(i - j) for i > j, and zeros above."""
    gaps = np.subtract.outer(np.arange(n), np.arange(n))
    return np.where(gaps > 0, float(decay) ** np.maximum(gaps, 0), 0.0)


def matched_windows(s: Array, t: Array, values: Sequence[int]) -> float:
    """Return the sum over all pairs of windows of values[how many positions are equal]."""
    width = len(values) - 1
    rows, columns = len(s) - width + 1, len(t) - width + 1
    if min(rows, columns) < 1:
        return 0.0
    equal = (s[:, None] == t[None, :]).astype(np.intp)
    counts = sum(equal[p : p + rows, p : p + columns] for p in range(width))
    pairs = np.bincount(np.ravel(counts), minlength=width + 1)
    return float(sum(value * int(n) for value, n in zip(values, pairs, strict=True)))


def count_products(A: Array, B: Array) -> Array:
    """Return a_i'b_j for rows of whole numbers that are not negative."""
    return A.astype(np.float64) @ B.astype(np.float64).T


def run_lengths(codes: Array, starts: Array) -> tuple[Array, Array, Array]:
    """Return every row's distinct codes with their counts, as the three vectors of CSR."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((codes, rows))
    rows, codes = rows[order], codes[order]
    is_new = np.ones(len(codes), bool)
    is_new[1:] = (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1])
    counts = np.diff(np.flatnonzero(np.append(is_new, True)))
    indptr = np.searchsorted(rows[is_new], np.arange(len(starts)))
    return indptr, codes[is_new], counts.astype(np.float64)


def numbered(values: Array) -> tuple[int, Array]:
    """Return how many distinct numbers there are, and for each value which one it is."""
    distinct, places = np.unique(values, return_inverse=True)
    return len(distinct), places
