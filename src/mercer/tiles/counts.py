"""Sparse rows side by side: only the columns in use, and small whole numbers as dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix

Array = NDArray[Any]

# Columns up to which a few rows, all entries written out, still fit in the second cache, so that
# the tiles take sparse rows.
TILED_COLUMNS = 2048
# Dense rows of counts pay up to so many bytes.
DENSE_BYTES = 1 << 28
# Rows of counts end in zeros, so that the native loop meets whole vectors only.
PADDING = 32


def are_wide(A: Matrix, B: Matrix) -> bool:
    """Whether both sides are sparse, of so many columns that those without an entry are dropped."""
    # Columns from which on those without an entry are dropped before rows are multiplied.
    wide = 1 << 16
    return sp.issparse(A) and sp.issparse(B) and A.shape[1] > wide


def brought_together(A: Matrix, B: Matrix) -> tuple[Matrix, Matrix]:
    """Return two sides of a comparison, of very many columns, in those that they use.

    One more column stands for all those without an entry, which a product over columns must see.
    """
    if not are_wide(A, B):
        return A, B
    # Imported here because which engine runs is decided after what it runs on.
    from mercer.native.strings import numbered

    is_same = B is A
    count, places = numbered(A.indices if is_same else np.concatenate([A.indices, B.indices]))
    left = _renumbered(A, places[: A.nnz], count)
    return left, left if is_same else _renumbered(B, places[A.nnz :], count)


def _renumbered(M: sp.csr_array, places: NDArray[np.int64], count: int) -> sp.csr_array:
    shape = (M.shape[0], min(count + 1, M.shape[1]))
    return sp.csr_array((M.data, places, M.indptr), shape=shape)


def are_dense(entries: float, n: int, width: float) -> bool:
    """Whether counts of so many columns, so many of n rows not zero, pay as dense rows."""
    # The share of entries from which on they do, a larger one where the tiles take sparse rows.
    share = 1 / 8 if width <= TILED_COLUMNS else 1 / 64
    return entries >= share * n * width


def as_counts(A: Matrix, B: Matrix) -> tuple[Array, Array] | None:
    """Return two sparse sides as dense 16-bit numbers, or None where that loses digits or time."""
    if not all(sp.issparse(M) and M.dtype == np.float64 for M in (A, B)):
        return None
    n, width = A.shape[0] + B.shape[0], A.shape[1]
    if 2 * n * width > DENSE_BYTES or not are_dense(A.nnz + B.nnz, n, width):
        return None
    largest = [_largest_square(M) for M in ((A,) if B is A else (A, B))]
    # By Cauchy's inequality no sum of products is larger than the largest sum of squares.
    if max(largest) > np.iinfo(np.int32).max:
        return None
    left = _dense(A)
    return left, left if B is A else _dense(B)


def _largest_square(M: sp.csr_array) -> float:
    """Return the largest sum of squares of a row, infinite unless all entries are counts."""
    data = M.data
    if data.size == 0:
        return 0.0
    if data.min() < 0 or data.max() > np.iinfo(np.int16).max or (np.rint(data) != data).any():
        return np.inf
    # Zero rows between others repeat a start, which the sums must not take for an entry.
    starts = M.indptr[:-1][np.diff(M.indptr) > 0]
    return float(np.add.reduceat(data * data, starts).max())


def _dense(M: sp.csr_array) -> Array:
    out = np.zeros((M.shape[0], -(-M.shape[1] // PADDING) * PADDING), np.int16)
    out[np.repeat(np.arange(M.shape[0]), np.diff(M.indptr)), M.indices] = M.data
    return out
