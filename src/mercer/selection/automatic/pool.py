"""The rows that an automatic search draws its samples from, those that are equal as one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import n_rows
from mercer.data.distinct import row_numbers
from mercer.data.stream import Stream

Array = NDArray[np.float64]
Sample = NDArray[np.intp]

# Rows that samples are drawn from, at most: a hundred times as many as are judged are as good as
# all.
POOL = 100_000


def pool_of(X: Any, memory: int, seed: int, least: int) -> Sample | None:
    """Return which of the rows `X` to draw samples from, in order, or None for all of them.

    Parameters
    ----------
    X : rows
        All rows.
    memory : int
        The limit of memory in bytes.
    seed : int
        Seed of the choice.
    least : int
        How many rows of a stream there are, however little memory.
    """
    n, most = n_rows(X), POOL
    # The share of the memory that rows of a stream take at most.
    share = 0.05
    if isinstance(X, Stream):
        most = min(POOL, max(least, int(share * memory / (8 * X.n_columns))))
    if n <= most:
        return np.arange(n) if isinstance(X, Stream) else None
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def distinct_of(X: Any, weights: Array, *beside: NDArray[Any]) -> tuple[Sample, Array]:
    """Return which of the rows `X` stand for those that equal them, in order, and for what weight.

    Rows are equal where what is `beside` them is too; those that weigh nothing are left out.
    """
    keys = np.column_stack([row_numbers(X), *beside, weights > 0.0])
    _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(places.ravel(), weights).astype(np.float64)
    kept = np.flatnonzero(total > 0.0)
    kept = kept[np.argsort(first[kept])]
    return first[kept], total[kept]
