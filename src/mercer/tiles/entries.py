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
from mercer.tiles.sparse import REACH as DOUBLE_REACH
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
# Squared norms, in units of the length scale, that leave the digits promised to squared distances
# from inner products; the tiles see to it strip by strip, by a `reach` of the same size.
REACH = {np.dtype(np.float64): DOUBLE_REACH, np.dtype(np.float32): 8.0}


def are_tiled(o: Operand) -> bool:
    """Whether the native tiles take an input with sparse rows, and are faster than SciPy."""
    if not isinstance(o.source, Leaf) or o.is_counted or o.comparison is not None:
        return False
    is_weighted = o.source.kind == "squared_distance" and o.weights is not None
    # Columns up to which weighted differences of all columns are faster than products of scaled
    # rows by SciPy.
    weighted_columns = 512
    return bool(o.left.shape[1] <= (weighted_columns if is_weighted else TILED_COLUMNS))


def compressed(A: sp.csr_array, dtype: np.dtype[Any]) -> Entries:
    """Return the entries of sparse rows, in the types of the native tiles."""
    columns, starts = A.indices.astype(np.int32, copy=False), A.indptr.astype(np.int64, copy=False)
    return np.asarray(A.data, dtype), columns, starts


def are_few(A: Matrix) -> bool:
    """Whether so few entries of sparse or dense rows are not zero that walking is faster."""
    count = A.nnz if sp.issparse(A) else np.count_nonzero(A)
    return bool(WALK * count <= A.shape[0] * A.shape[1])


def gathered(A: Array) -> Entries | None:
    """Return the entries of dense rows, if they are few."""
    n, width = A.shape
    if not are_few(A[:: max(1, n // SEARCHED_ROWS)]):
        return None
    room = int(n * width / WALK) + width
    values, columns = np.empty(room, A.dtype), np.empty(room, np.int32)
    starts = np.empty(n + 1, np.int64)
    count = _native.gather_entries(A, values, columns, starts)
    return None if count < 0 else (values[:count], columns[:count], starts)
