"""Rows by their entries: where most of them are zero, the native tiles walk along the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.native import _native
from mercer.tiles.counts import TILED_COLUMNS
from mercer.tiles.operands import Operand
from mercer.tiles.tile import Leaf

Array = NDArray[Any]
# The values, the columns and the starts of the rows.
Entries = tuple[Array, Array, Array]

# An entry takes as long as 2.2 to 3 columns of a dense row, as measured over 30 to 8000 columns in
# either precision: of the vectors that it is multiplied by, nothing stays in registers for other
# rows.
WALK = 3.0
# Columns from which on the tiles take squared distances from inner products: fewer are compared by
# differences in less time.
PRODUCT_FORM_WIDTH = 24
# Rows on the other side that repay a search for the entries of dense rows, and as many of these
# tell whether to begin with it.
SEARCHED_ROWS = 64
# Columns up to which weighted differences of all columns are faster than products of scaled rows by
# SciPy.
WEIGHTED_COLUMNS = 512
# Rows that a panel of columns serves at least, `tile_rows` of the tiles; for more of them it may be
# packed again.
TILE_ROWS = 256
# Squared norms, in units of the length scale, that leave the digits promised to squared distances
# from inner products of rows that are not centred; the tiles see to it strip by strip, by a `reach`
# of the same size.
REACH = {np.dtype(np.float64): 500.0, np.dtype(np.float32): 8.0}


def are_tiled(o: Operand) -> bool:
    """Whether the native tiles take an input with sparse rows, and are faster than SciPy."""
    if not isinstance(o.source, Leaf) or o.is_counted or o.comparison is not None:
        return False
    is_weighted = o.source.kind == "squared_distance" and o.weights is not None
    return bool(o.left.shape[1] <= (WEIGHTED_COLUMNS if is_weighted else TILED_COLUMNS))


class Forms:
    """The rows of one job in the form in which the native tiles take them, each made once.

    Inputs over the same rows so have the same sides, and share what is computed from them.

    Parameters
    ----------
    dtype : dtype
        The precision of the job.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._sides: dict[int, Array | Entries] = {}
        self._entries: dict[int, Entries | None] = {}

    def sides(self, o: Operand) -> tuple[Array | Entries, Array | Entries, Entries | None]:
        """Return both sides of a comparison, and the entries of the left one to walk along.

        There are none if walking is not faster, or would lose digits.
        """
        left, right, walked = self._side(o.left), self._side(o.right), self._walked(o)
        if walked is None or isinstance(right, tuple):
            return left, right, walked
        if right is left:
            return walked, walked, walked
        is_packed_again = o.left.shape[0] > TILE_ROWS
        return left, (self._few_entries(o.right) if is_packed_again else None) or right, walked

    def _side(self, A: Matrix) -> Array | Entries:
        if id(A) not in self._sides:
            is_sparse = sp.issparse(A)
            side = _compressed(A, self.dtype) if is_sparse else np.asarray(A, self.dtype)
            self._sides[id(A)] = side
        return self._sides[id(A)]

    def _few_entries(self, A: Matrix) -> Entries | None:
        """Return the entries of rows, if they are few."""
        if id(A) not in self._entries:
            side = self._side(A)
            if isinstance(side, tuple):
                self._entries[id(A)] = side if _are_few(A) else None
            else:
                self._entries[id(A)] = _gathered(side)
        return self._entries[id(A)]

    def _walked(self, o: Operand) -> Entries | None:
        assert isinstance(o.source, Leaf)
        is_product = o.source.kind in ("dot", "squared_distance") and o.weights is None
        is_repaid = sp.issparse(o.left) or o.right.shape[0] >= SEARCHED_ROWS
        if not is_product or not is_repaid or o.left.shape[1] < PRODUCT_FORM_WIDTH:
            return None
        entries = self._few_entries(o.left)
        if entries is None or o.source.kind == "dot":
            return entries
        # Strips of rows that are too long are compared by differences, which should be rare.
        typical = float(np.dot(entries[0], entries[0])) / o.left.shape[0]
        return entries if 4.0 * o.sensitivity * typical <= REACH[self.dtype] else None


def _compressed(A: sp.csr_array, dtype: np.dtype[Any]) -> Entries:
    columns, starts = A.indices.astype(np.int32, copy=False), A.indptr.astype(np.int64, copy=False)
    return np.asarray(A.data, dtype), columns, starts


def _are_few(A: Matrix) -> bool:
    """Whether so few entries of sparse or dense rows are not zero that walking is faster."""
    count = A.nnz if sp.issparse(A) else np.count_nonzero(A)
    return bool(WALK * count <= A.shape[0] * A.shape[1])


def _gathered(A: Array) -> Entries | None:
    """Return the entries of dense rows, if they are few."""
    n, width = A.shape
    if not _are_few(A[:: max(1, n // SEARCHED_ROWS)]):
        return None
    room = int(n * width / WALK) + width
    values, columns = np.empty(room, A.dtype), np.empty(room, np.int32)
    starts = np.empty(n + 1, np.int64)
    count = _native.gather_entries(A, values, columns, starts)
    return None if count < 0 else (values[:count], columns[:count], starts)
