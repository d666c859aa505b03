"""The layout of arrays in memory, checked once, before native code follows pointers and indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

# What to do about index arrays that were changed by hand, or damaged in a file.
REBUILD = "build it again from the rows, columns and values of its entries"


def plain(array: Array) -> Array:
    """Return an array aligned, in native byte order and with strides of whole entries.

    Nothing is copied without need. What needs it are views of structured arrays and of bytes, and
    arrays that were written by another machine.
    """
    is_whole = all(stride % array.itemsize == 0 for stride in array.strides)
    if is_whole and array.flags.aligned and array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))


def as_csr(X: Any, name: str) -> sp.csr_array:
    """Return a sparse matrix in canonical CSR form, its entries in float32 or float64.

    Its vectors are contiguous and native, its columns sorted, and none occurs twice in a row.
    """
    if X.dtype not in (np.float32, np.float64):
        # Before the format: SciPy converts neither float16 nor foreign byte orders.
        X = X.astype(np.float64)
    matrix = sp.csr_array(X)
    if X.format != "csr":
        # Lists of lists are checked as what they become.
        check_entries(matrix, name)
    # This matrix is our own, its vectors may still be those of the caller.
    matrix.data = _contiguous(matrix.data)
    matrix.indices, matrix.indptr = _whole(matrix.indices), _whole(matrix.indptr)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def used_columns(*matrices: Any) -> NDArray[np.int64]:
    """Return the columns in which some matrix may have an entry, in ascending order.

    They are those stored of a sparse matrix and all of a dense one.
    """
    parts = [_used(M) if sp.issparse(M) else np.arange(M.shape[1]) for M in matrices]
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))


def _used(M: sp.csr_array) -> NDArray[np.int64]:
    if M.shape[1] > M.nnz:
        # Nothing may be of the size of the columns, of which there may be more than memory.
        return np.unique(M.indices).astype(np.int64, copy=False)
    used = np.zeros(M.shape[1], bool)
    used[M.indices] = True
    return np.flatnonzero(used)


def narrowed(M: sp.csr_array, columns: NDArray[np.int64]) -> sp.csr_array:
    """Return these columns of a matrix, given in ascending order; entries in others are dropped.

    Where none are given there is one without an entry.
    """
    places = np.searchsorted(columns, M.indices)
    kept = places < len(columns)
    kept[kept] = columns[places[kept]] == M.indices[kept]
    indptr = M.indptr
    if not kept.all():
        indptr = np.concatenate([[0], np.cumsum(kept)])[M.indptr]
    parts = (M.data[kept], places[kept], indptr)
    return sp.csr_array(parts, shape=(M.shape[0], max(len(columns), 1)))


def check_entries(X: Any, name: str) -> None:
    """Refuse a sparse matrix whose index vectors lead out of it, naming row and column.

    SciPy checks those that it makes, and trusts those that are assigned or loaded. Anything that is
    no sparse matrix passes.
    """
    if not sp.issparse(X) or X.ndim != 2:
        return
    if X.format in ("csr", "csc", "bsr"):
        _check_compressed(X, name)
    elif X.format == "coo":
        _check_lengths(name, values=X.data, rows=X.row, columns=X.col)
        for index in (X.row, X.col):
            _check_whole(index, name)
        _check_inside(X.row, X.col, X.shape, name)
    elif X.format == "dia":
        _check_lengths(name, diagonals=X.data, offsets=X.offsets)
    elif X.format == "lil":
        for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
            _check_lengths(f"row {row} of {name}", columns=columns, values=values)


def _check_compressed(X: Any, name: str) -> None:
    """Refuse CSR, CSC and blocks of CSR, of which `starts` and `index` are those of blocks."""
    starts, index = X.indptr, X.indices
    line, other = ("column", "row") if X.format == "csc" else ("row", "column")
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    blocks = (X.shape[0] // height, X.shape[1] // width)
    lines, others = blocks[::-1] if X.format == "csc" else blocks
    for vector in (starts, index):
        _check_whole(vector, name)
    _check_lengths(name, values=X.data, indices=index)
    if len(starts) != lines + 1:
        raise ValueError(
            f"{name} has an indptr of {len(starts)} numbers for {lines} {line}s, and needs "
            f"{lines + 1}; {REBUILD}"
        )
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if len(falls) or starts[0] != 0 or starts[-1] > len(index):
        first = int(falls[0]) if len(falls) else 0 if starts[0] != 0 else lines - 1
        begin, end = (int(start) for start in starts[first : first + 2])
        raise ValueError(
            f"{name} has a damaged indptr: the entries of {line} {first * height} begin at {begin} "
            f"and end at {end}, among {len(index)}; {REBUILD}"
        )
    used = index[: starts[-1]]
    if used.size and not 0 <= used.min() <= used.max() < others:
        bad = int(np.flatnonzero((used < 0) | (used >= others))[0])
        first = int(np.searchsorted(starts, bad, side="right")) - 1
        place = {line: first * height, other: int(used[bad]) * width}
        raise ValueError(_outside(name, place["row"], place["column"], X.shape))


def _check_inside(rows: Array, columns: Array, shape: tuple[int, int], name: str) -> None:
    for index, size in ((rows, shape[0]), (columns, shape[1])):
        if index.size and not 0 <= index.min() <= index.max() < size:
            bad = int(np.flatnonzero((index < 0) | (index >= size))[0])
            raise ValueError(_outside(name, int(rows[bad]), int(columns[bad]), shape))


def _outside(name: str, row: int, column: int, shape: tuple[int, int]) -> str:
    return (
        f"{name} has an entry at row {row}, column {column}, outside of its shape {shape}; "
        f"{REBUILD}"
    )


def _check_whole(index: Array, name: str) -> None:
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise ValueError(
            f"{name} has an index vector of dtype {index.dtype} and shape {index.shape}; it must "
            f"be a vector of whole numbers: {REBUILD}"
        )


def _check_lengths(name: str, **vectors: Any) -> None:
    if len({len(vector) for vector in vectors.values()}) > 1:
        found = " but ".join(f"{len(vector)} {what}" for what, vector in vectors.items())
        raise ValueError(f"{name} has {found}; there must be as many of each: {REBUILD}")


def _whole(index: Array) -> Array:
    index = _contiguous(index)
    return index if index.dtype in (np.int32, np.int64) else index.astype(np.int64)


def _contiguous(vector: Array) -> Array:
    return np.ascontiguousarray(plain(vector))
