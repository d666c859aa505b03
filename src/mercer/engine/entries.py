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

# An entry takes as long as 2.2 to 3 columns of a dense row, as measured over 30 to 8000 columns in
# either precision: of the vectors that it is multiplied by, nothing stays in registers for other
# rows. Fewer columns are compared by differences in less time.
WALK, NARROW = 3.0, 24
# Rows on the other side that repay a search for the entries of dense rows, and how many of these
# tell whether to begin with it.
FEW, SAMPLE = 64, 64
# Columns up to which a few rows, all entries written out, still fit in the second cache, and up to
# which weighted differences of all columns are faster than products of scaled rows by SciPy.
WIDEST, WIDEST_WEIGHTED = 2048, 512
# Rows for which a panel of columns serves; for more of them it is packed again.
TILE_ROWS = 256
# Squared norms, in units of the length scale, that leave the digits promised to squared distances
# from inner products of rows that are not centred.
REACH = {np.dtype(np.float64): 500.0, np.dtype(np.float32): 8.0}


def are_tiled(o: Operand) -> bool:
    """Whether the native tiles take an input with sparse rows, and are faster than SciPy."""
    if not isinstance(o.source, Leaf) or o.is_counted:
        return False
    is_weighted = o.source.kind == "squared_distance" and o.weights is not None
    return bool(o.left.shape[1] <= (WIDEST_WEIGHTED if is_weighted else WIDEST))


def sides(
    o: Operand, dtype: np.dtype[Any]
) -> tuple[Array | Entries, Array | Entries, Entries | None]:
    """Return both sides of a comparison as the native tiles take them, and the rows to walk along.

    These are the entries of the left side, if walking along them is faster and loses no digits.
    """
    left = _side(o.left, dtype)
    right = left if o.right is o.left else _side(o.right, dtype)
    walked = _walked(o, left, dtype)
    if walked is None or isinstance(right, tuple):
        return left, right, walked
    if right is left:
        return walked, walked, walked
    again = o.left.shape[0] > TILE_ROWS
    return left, (_entries(right) if again else None) or right, walked


def _side(A: Matrix, dtype: np.dtype[Any]) -> Array | Entries:
    if not sp.issparse(A):
        return np.asarray(A, dtype)
    columns, starts = A.indices.astype(np.int32, copy=False), A.indptr.astype(np.int64, copy=False)
    return np.asarray(A.data, dtype), columns, starts


def _walked(o: Operand, left: Array | Entries, dtype: np.dtype[Any]) -> Entries | None:
    assert isinstance(o.source, Leaf)
    is_product = o.source.kind in ("dot", "squared_distance") and o.weights is None
    if not is_product or o.left.shape[1] < NARROW:
        return None
    entries: Entries | None
    if isinstance(left, tuple):
        entries = left if _are_few(o.left) else None
    else:
        entries = _entries(left) if o.right.shape[0] >= FEW else None
    if entries is None or o.source.kind == "dot":
        return entries
    # Strips of rows that are too long are compared by differences, which should be rare.
    typical = float(np.dot(entries[0], entries[0])) / o.left.shape[0]
    return entries if 4.0 * o.sensitivity * typical <= REACH[dtype] else None


def _are_few(A: Matrix) -> bool:
    """Whether so few entries of sparse or dense rows are not zero that walking is faster."""
    count = A.nnz if sp.issparse(A) else np.count_nonzero(A)
    return bool(WALK * count <= A.shape[0] * A.shape[1])


def _entries(A: Array) -> Entries | None:
    """Return the entries of dense rows, if they are few."""
    n, width = A.shape
    if not _are_few(A[:: max(1, n // SAMPLE)]):
        return None
    room = int(n * width / WALK) + width
    values, columns = np.empty(room, A.dtype), np.empty(room, np.int32)
    starts = np.empty(n + 1, np.int64)
    count = _native.gather_entries(A, values, columns, starts)
    return None if count < 0 else (values[:count], columns[:count], starts)
