"""Parts of a Gram matrix: some of its rows and columns, fewer of its digits."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from mercer.data.blocks import row_blocks
from mercer.data.checks import fits_single
from mercer.data.columns import take_rows
from mercer.gram.dense import HeldGram
from mercer.gram.gram import ENTRIES_AT_A_TIME, Gram, WrappedGram
from mercer.gram.operator import Array, Index, check_fits, positions
from mercer.gram.streamed import StreamedGram, is_precomputed
from mercer.gram.subset import ChosenGram
from mercer.tiles import apply
from mercer.tiles.engine import engine

# The largest copy that is made of entries: of more rows many are never looked at.
LARGEST_COPY = 2 << 30
# Rows at which entries of float32 are tried, and how far they may be off beside the largest entry.
SAMPLE, CLOSE = 8, 1e-5
# The share of the memory that dense copies of sparse rows may take.
ROOM = 0.1


class PartOfGram(Gram):
    """K at some of its rows and the same columns.

    Parameters
    ----------
    gram : Gram
        K.
    index : array of shape (m,)
        The rows.
    """

    def __init__(self, gram: Gram, index: Array) -> None:
        self.gram = gram
        self.index = index
        self.memory = gram.memory

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), len(self.index)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.gram.dtype

    @property
    def is_proved(self) -> bool:
        return self.gram.is_proved

    @property
    def entry_error(self) -> float:
        return self.gram.entry_error

    def errors(self, index: Index) -> Array:
        return self.gram.errors(self.at(index))

    def product(self, V: Array) -> Array:
        return partial_product(self.gram, self.index, self.index, V)

    def diagonal(self) -> Array:
        return self.gram.diagonal()[self.index]

    def at(self, index: Index) -> Array:
        """Return which rows of K some of these are."""
        return self.index[positions(index, len(self))]

    def rows(self, index: Index) -> Array:
        return self.gram.between(self.at(index), self.index)

    def between(self, rows: Index, columns: Index) -> Array:
        return self.gram.between(self.at(rows), self.at(columns))

    def dense(self) -> Array:
        check_fits(self.shape, self.dtype, self.memory)
        return self.rows(slice(None))


class CopiedGram(PartOfGram):
    """K at some of its rows, of which a copy in float32 is held that all such parts share.

    Parameters
    ----------
    gram : Gram
        K.
    index : array of shape (m,)
        The rows.
    copy : array of shape (n, n)
        All entries of K in float32.
    entries : array of shape (n,)
        All entries on its diagonal.
    """

    def __init__(self, gram: Gram, index: Array, copy: Array, entries: Array) -> None:
        super().__init__(gram, index)
        self.copy = copy
        self.entries = entries

    def diagonal(self) -> Array:
        return self.entries[self.index]

    @cached_property
    def is_all(self) -> bool:
        """Whether these are all rows of K, in their order."""
        return len(self) == len(self.gram) and bool((np.diff(self.index) == 1).all())

    def rows(self, index: Index) -> Array:
        return self.gram.rows(index) if self.is_all else super().rows(index)

    def dense(self) -> Array:
        return (self.gram if self.is_all else part_of(self.gram, self.index)).dense()


class RoundedGram(WrappedGram):
    """K with entries that are rounded to float32 as they are handed out.

    Parameters
    ----------
    gram : Gram
        K in float64.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    @property
    def held_bytes(self) -> int:
        # What is held are not these entries: `dense` makes them anew.
        return 0

    def product(self, V: Array) -> Array:
        return self.gram.product(V)

    def diagonal(self) -> Array:
        return self.gram.diagonal().astype(np.float32)

    def rows(self, index: Index) -> Array:
        return self.gram.rows(index).astype(np.float32)

    def between(self, rows: Index, columns: Index) -> Array:
        return self.gram.between(rows, columns).astype(np.float32)

    def dense(self) -> Array:
        check_fits(self.shape, self.dtype, self.memory)
        out = np.empty(self.shape, np.float32)
        for rows in row_blocks(self.shape, ENTRIES_AT_A_TIME):
            out[rows] = self.gram.rows(rows)
        return out


def part_of(gram: Gram, index: Array) -> Gram:
    """Return K at some of its rows and the same columns, held if K is."""
    if isinstance(gram, CopiedGram):
        return CopiedGram(gram.gram, gram.index[index], gram.copy, gram.entries)
    if isinstance(gram, ChosenGram):
        return ChosenGram(gram.matrix, gram.index[index], gram.memory)
    if isinstance(gram, HeldGram):
        return HeldGram(gram.dense()[np.ix_(index, index)], gram.memory)
    if _is_plain(gram):
        return StreamedGram(gram.kernel, take_rows(gram.X, index), gram.memory)
    return PartOfGram(gram, index)


def in_single(gram: Gram) -> Gram:
    """Return K in float32, of rows in float32 where the engine itself compares them.

    It is refused where the numbers of float32 end before its entries do.
    """
    if isinstance(gram, CopiedGram):
        return ChosenGram(gram.copy, gram.index, gram.memory)
    if gram.dtype == np.float32:
        return gram
    if _is_plain(gram) and _fits_single(gram):
        single = StreamedGram(gram.kernel, gram.X.astype(np.float32), gram.memory)
        if _is_close(single, gram):
            return single
    diagonal = gram.diagonal()
    if not fits_single(diagonal):
        raise ValueError(
            f"k(x, x) is up to {np.abs(diagonal).max():.2g} on these rows, and working sets are "
            "solved in float32, which ends at 3.4e+38; scale the columns"
        )
    return RoundedGram(gram)


def _fits_single(gram: StreamedGram) -> bool:
    """Whether the engine itself compares rows, of numbers within the range of float32."""
    is_compared = gram.kernel.program.is_arithmetic and _has_numbers(gram.X)
    return is_compared and fits_single(gram.X)


def _is_close(single: StreamedGram, gram: StreamedGram) -> bool:
    """Whether rows in float32 can still be told apart, such as those far from zero cannot."""
    sizes = abs(gram.X).max(axis=1)
    largest = int(np.argmax(sizes.toarray() if sp.issparse(sizes) else sizes))
    some = np.union1d(largest, np.linspace(0, len(gram) - 1, SAMPLE - 1).astype(np.intp))
    exact = gram.rows(some)
    return bool(np.abs(single.rows(some) - exact).max() <= CLOSE * np.abs(exact).max())


def with_copy(gram: Gram) -> Gram:
    """Return K with its entries in float32 beside it, if they are not held already and fit."""
    gram = with_dense_rows(gram)
    single = in_single(gram)
    if gram.held_bytes or single.dense_bytes > min(LARGEST_COPY, gram.memory):
        return gram
    return CopiedGram(gram, np.arange(len(gram)), single.dense(), gram.diagonal())


def with_dense_rows(gram: Gram) -> Gram:
    """Return K over dense rows, if its rows are sparse and dense ones are compared faster."""
    if not _is_plain(gram):
        return gram
    X = dense_rows(gram.X, gram.memory)
    return gram if X is gram.X else StreamedGram(gram.kernel, X, gram.memory)


def dense_rows(X: Any, memory: int) -> Any:
    """Return sparse rows as an array, if that is compared faster and is not large."""
    if not sp.issparse(X) or X.shape[0] * X.shape[1] * X.dtype.itemsize > ROOM * memory:
        return X
    n, width = X.shape
    return X.toarray() if X.nnz > engine().dense_share(width) * n * width else X


def partial_product(gram: Gram, rows: Index | None, columns: Index, V: Array) -> Array:
    """Return the sums over some columns j of K_ij V_j at some rows i, or at all if they are None.

    Parameters
    ----------
    gram : Gram
        K.
    rows, columns : index
        Which; the same object for both takes half of the work.
    V : array of shape (columns,) or (columns, p)
        The factors.
    """
    if isinstance(gram, CopiedGram) and gram.is_all:
        return partial_product(gram.gram, rows, columns, V)
    if isinstance(gram, CopiedGram):
        chosen = gram.at(columns)
        others = chosen if rows is columns else gram.at(slice(None) if rows is None else rows)
        return partial_product(gram.gram, others, chosen, V)
    down = slice(None) if rows is None else rows
    if _is_plain(gram):
        right = None if rows is columns else gram.taken(columns)
        return apply(gram.kernel.program, gram.taken(down), right, V)
    across = positions(columns, len(gram))
    n = len(positions(down, len(gram)))
    out = np.zeros((n, *V.shape[1:]))
    for block in row_blocks((len(across), n), ENTRIES_AT_A_TIME):
        out += gram.between(across[block], down).T @ V[block]
    return out


def _is_plain(gram: Gram) -> TypeGuard[StreamedGram]:
    """Whether the entries are those of a kernel on rows that can be taken one by one."""
    return type(gram) is StreamedGram and not is_precomputed(gram.kernel)


def _has_numbers(X: Any) -> bool:
    return (isinstance(X, np.ndarray) or sp.issparse(X)) and X.dtype.kind == "f"
