"""Cutting rows into blocks: how large they are, and what goes through them one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scipy.sparse import issparse

from mercer.data.columns import is_matrix, is_table, n_columns, n_rows, take_rows
from mercer.data.limits.deadline import check
from mercer.data.stream.stream import Stream

# How many numbers a block has, by where it is to stay.
# 128 kB: several arrays of such a block stay in the cache of a core between elementwise steps.
CACHE = 1 << 14
# 2 MB: an operand of a matrix product, which is read many times while the other one goes by.
PANEL = 1 << 18
# 8 MB: what goes through memory once; Python between two blocks takes no time beside it.
MEMORY = 1 << 20
# 128 MB: what makes all else be read again for every block, so that these are to be few.
LARGE = 1 << 24


def row_blocks(
    shape: tuple[int, int], entries: int | None = None, first: int = 0
) -> Iterator[slice]:
    """Yield slices of rows that hold about this many entries each, at least one row.

    Before each of several blocks the clock is looked at, see `mercer.data.limits.deadline`.

    Parameters
    ----------
    shape : (int, int)
        The number of rows, and of entries in each.
    entries : int, optional
        One of the sizes above, `MEMORY` by default.
    first : int
        The row to begin with, where an earlier block has ended.
    """
    n, m = shape
    step = max(1, (entries or MEMORY) // max(m, 1))
    for start in range(first, n, step):
        if n - first > step:
            check()
        yield slice(start, min(start + step, n))


def blocks_of(
    X: Any, width: int, entries: int | None = None, first: int = 0
) -> Iterator[tuple[slice, Any]]:
    """Yield some rows of `X` at a time, with where they stand; all of them are not copied.

    Parameters
    ----------
    X : rows
        An array, CSR matrix, table or list, or a stream, which is read in one pass.
    width : int
        How many numbers are made of each row.
    entries, first : int, optional
        As for `row_blocks`.
    """
    if isinstance(X, Stream):
        for rows, some in X.blocks(max(1, (entries or MEMORY) // max(width, 1)), first):
            check()
            yield rows, some
        return
    n = n_rows(X)
    if first == 0 < n <= (entries or MEMORY) // max(width, 1):
        # All at once: nothing is copied, and there is no block between which to look at a clock.
        yield slice(0, n), X
        return
    for rows in row_blocks((n, width), entries, first):
        yield rows, take_rows(X, rows)


def narrow_blocks(X: Any, most: int | None = None) -> Iterator[tuple[slice, Any]]:
    """Yield some rows of `X` at a time where no more is made of a row than numbers like its own.

    Maps of a kernel copy the rows of a block a few times over, so that it is by their columns that
    blocks are cut, as those of a stream are.

    Parameters
    ----------
    X : rows
        As for `blocks_of`.
    most : int, optional
        The rows of a block at most.
    """
    # Rows of a block at least: whatever it meets is looked at again for every block.
    least = 1 << 10
    width = 1
    if is_table(X) or is_matrix(X):
        entries = X.nnz if issparse(X) else n_rows(X) * n_columns(X)
        width = -(-entries // max(n_rows(X), 1))
    width = min(width, MEMORY // least)
    yield from blocks_of(X, width if most is None else max(width, -(-MEMORY // most)))


def half_blocks(n: int, entries: int | None = None) -> Iterator[tuple[slice, slice]]:
    """Yield the pairs of row blocks on and above the diagonal of an (n, n) matrix.

    Before every pair the clock is looked at. `entries` is that of `row_blocks`.
    """
    step = max(1, int((entries or MEMORY) ** 0.5))
    cuts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    for i, rows in enumerate(cuts):
        for columns in cuts[i:]:
            check()
            yield rows, columns
