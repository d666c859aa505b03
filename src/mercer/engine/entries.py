"""Rows by their entries: where most of them are zero, the native tiles walk along the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.engine import _native
from mercer.engine.operands import Operand
from mercer.engine.tile import Leaf

Array = NDArray[Any]
# The values, the columns and the starts of the rows.
Entries = tuple[Array, Array, Array]

# An entry takes as long as this many columns of a dense row: of the vectors that it is multiplied
# by, nothing stays in registers for other rows.
WALK = 3.0
# Rows on the other side that repay a search for the entries of dense rows, and how many of these
# tell whether to begin with it.
FEW, SAMPLE = 64, 64
# Columns up to which a few rows, all entries written out, still fit in the second cache, and up to
# which comparisons that need all entries are faster by tiles than by SciPy.
WIDEST, WIDEST_DENSE = 8192, 512
# Squared norms, in units of the length scale, that leave the digits promised to squared distances
# from inner products of rows that are not centred.
REACH = {np.dtype(np.float64): 500.0, np.dtype(np.float32): 8.0}


def fits(o: Operand) -> bool:
    """Whether the native tiles take an input with sparse rows, and are faster than SciPy."""
    if _kind(o) == "opaque" or o.is_counted:
        return False
    width = o.left.shape[1]
    return width <= WIDEST_DENSE or (_can_walk(o) and width <= WIDEST and _is_short(o.left))


def side(A: Matrix, dtype: np.dtype[Any]) -> Array | Entries:
    """Return one side of a comparison as the native tiles take it."""
    if not sp.issparse(A):
        return np.asarray(A, dtype)
    columns, starts = A.indices.astype(np.int32, copy=False), A.indptr.astype(np.int64, copy=False)
    return np.asarray(A.data, dtype), columns, starts


def walked(o: Operand, left: Array | Entries, dtype: np.dtype[Any]) -> Entries | None:
    """Return the entries of the left rows, if walking along them is faster and loses no digits."""
    if not _can_walk(o):
        return None
    if isinstance(left, tuple):
        entries = left if _is_short(o.left) else None
    else:
        entries = _entries(left) if o.right.shape[0] >= FEW else None
    if entries is None or _kind(o) == "dot":
        return entries
    # Strips of rows that are too long are compared by differences, which should be rare.
    typical = float(np.dot(entries[0], entries[0])) / max(o.left.shape[0], 1)
    return entries if 4.0 * o.sensitivity * typical <= REACH[dtype] else None


def _can_walk(o: Operand) -> bool:
    """Whether an input comes from inner products."""
    return _kind(o) in ("dot", "squared_distance") and o.weights is None


def _kind(o: Operand) -> str:
    return o.source.kind if isinstance(o.source, Leaf) else "opaque"


def _is_short(A: Matrix) -> bool:
    """Whether few enough of the entries of sparse or dense rows are not zero."""
    count = A.nnz if sp.issparse(A) else np.count_nonzero(A)
    return WALK * count <= A.shape[0] * A.shape[1]


def _entries(A: Array) -> Entries | None:
    """Return the entries of dense rows, if they are few."""
    n, width = A.shape
    if not _is_short(A[:: max(1, n // SAMPLE)]):
        return None
    room = int(n * width / WALK) + width
    values, columns = np.empty(room, A.dtype), np.empty(room, np.int32)
    starts = np.empty(n + 1, np.int64)
    count = _native.gather_entries(A, values, columns, starts)
    return None if count < 0 else (values[:count], columns[:count], starts)
