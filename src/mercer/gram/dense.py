"""Gram matrices held in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.blocks import row_blocks
from mercer.gram.gram import Array, Gram, Index, positions
from mercer.gram.wrapped import PartOfGram, WrappedGram


class DenseGram(Gram):
    """A Gram matrix that lies in memory, read-only.

    Parameters
    ----------
    matrix : array of shape (n, n)
        K, symmetric.
    memory : int, optional
        The limit in bytes for further copies of it; that of the source by default.
    source : Gram, optional
        The Gram matrix that computed the entries, if there is more to be known of it.
    """

    @classmethod
    def of(cls, gram: Gram) -> DenseGram:
        """Return all entries of a Gram matrix, held: in float32 if they are, else in float64."""
        return cls(gram.dense(), source=gram)

    def __init__(
        self, matrix: Array, memory: int | None = None, source: Gram | None = None
    ) -> None:
        self._matrix = matrix.view()
        self._matrix.flags.writeable = False
        if memory is not None:
            self.memory = memory
        self.source = self._limited_like = source

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self._matrix.shape
        return n, m

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._matrix.dtype

    @property
    def held_bytes(self) -> int:
        return self.dense_bytes

    @property
    def is_proved(self) -> bool:
        return self.source is not None and self.source.is_proved

    @property
    def entry_error(self) -> float:
        return super().entry_error if self.source is None else self.source.entry_error

    def errors(self, index: Index) -> Array:
        return super().errors(index) if self.source is None else self.source.errors(index)

    def entries_at(self, X: Any) -> Array:
        return super().entries_at(X) if self.source is None else self.source.entries_at(X)

    @property
    def stored(self) -> tuple[Array, Array | None]:
        return self._matrix, None

    def part(self, index: Index) -> Gram:
        rows = positions(index, len(self._matrix))
        source = None if self.source is None else PartOfGram(self.source, rows)
        return DenseGram(self._matrix[np.ix_(rows, rows)], self.memory, source)

    def product(self, V: Array) -> Array:
        dtype = np.result_type(self.dtype, V.dtype)
        if dtype == self.dtype == np.float64 and V.ndim == 2:
            # K is symmetric, and BLAS is twice as fast with few rows than with few columns.
            return (np.ascontiguousarray(V.T, dtype) @ self._matrix).T
        if dtype == self.dtype:
            return self._matrix @ V.astype(dtype, copy=False)
        # Converted block by block: NumPy would make a second matrix of twice the size.
        out = np.empty(V.shape, dtype)
        for rows in row_blocks(self.shape):
            out[rows] = self._matrix[rows].astype(dtype) @ V
        return out

    def diagonal(self) -> Array:
        return self._matrix.diagonal()

    def rows(self, index: Index) -> Array:
        return self._matrix[positions(index, len(self._matrix))]

    def between(self, rows: Index, columns: Index) -> Array:
        n = len(self._matrix)
        down = positions(rows, n)
        if isinstance(columns, slice):
            return self._matrix[down][:, columns]
        return self._matrix[np.ix_(down, positions(columns, n))]

    def lower(self, dtype: Any) -> Array:
        self.check_room(dtype)
        out = np.empty(self.shape, dtype)
        for rows in row_blocks(self.shape):
            out[rows, : rows.stop] = self._matrix[rows, : rows.stop]
        return out

    def dense(self) -> Array:
        return self._matrix


class CopiedGram(WrappedGram):
    """K, of which a copy in float32 is held that all its parts share.

    Parameters
    ----------
    gram : Gram
        K.
    copy : array of shape (n, n)
        All entries of K in float32.
    """

    def __init__(self, gram: Gram, copy: Array) -> None:
        super().__init__(gram)
        self.copy = DenseGram(copy, gram.memory)
        self._diagonal = gram.diagonal()

    @property
    def is_proved(self) -> bool:
        return self.gram.is_proved

    @property
    def entry_error(self) -> float:
        return self.gram.entry_error

    def errors(self, index: Index) -> Array:
        return self.gram.errors(index)

    def single(self) -> Gram:
        return self.copy

    def product(self, V: Array) -> Array:
        return self.gram.product(V)

    def partial_product(self, rows: Index | None, columns: Index, V: Array) -> Array:
        return self.gram.partial_product(rows, columns, V)

    def diagonal(self) -> Array:
        return self._diagonal

    def rows(self, index: Index) -> Array:
        return self.gram.rows(index)

    def between(self, rows: Index, columns: Index) -> Array:
        return self.gram.between(rows, columns)

    def dense(self) -> Array:
        return self.gram.dense()


def with_copy(gram: Gram) -> Gram:
    """Return K with its entries in float32 beside it, if they are not held already and fit."""
    single = gram.single()
    # The largest copy that is made of entries: of more rows many are never looked at.
    largest_copy = 2 << 30
    if gram.held_bytes or single.dense_bytes > min(largest_copy, gram.memory):
        return gram
    return CopiedGram(gram, single.dense())
