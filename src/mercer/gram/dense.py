"""Gram matrices held in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.blocks import row_blocks
from mercer.gram.gram import Gram
from mercer.gram.operator import Array, Index, check_fits, positions
from mercer.gram.streamed import StreamedGram
from mercer.kernels import Kernel

# Entries converted at a time when a float32 matrix meets float64 vectors: 8 MB.
ENTRIES_AT_A_TIME = 1 << 20


class HeldGram(Gram):
    """A Gram matrix that lies in memory, read-only.

    Parameters
    ----------
    matrix : array of shape (n, n)
        K, symmetric.
    memory : int
        The limit in bytes for further copies of it.
    source : Gram, optional
        The Gram matrix that computed the entries, if there is more to be known of it.
    """

    def __init__(self, matrix: Array, memory: int, source: Gram | None = None) -> None:
        self._matrix = matrix.view()
        self._matrix.flags.writeable = False
        self.memory = memory
        self.source = source

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
    def is_conditional(self) -> bool:
        return self.source is not None and self.source.is_conditional

    @property
    def is_proved(self) -> bool:
        return self.source is not None and self.source.is_proved

    @property
    def entry_error(self) -> float:
        return super().entry_error if self.source is None else self.source.entry_error

    def errors(self, index: Index) -> Array:
        return super().errors(index) if self.source is None else self.source.errors(index)

    def product(self, V: Array) -> Array:
        dtype = np.result_type(self.dtype, V.dtype)
        if dtype == self.dtype == np.float64 and V.ndim == 2:
            # K is symmetric, and BLAS is twice as fast with few rows than with few columns.
            return (np.ascontiguousarray(V.T, dtype) @ self._matrix).T
        if dtype == self.dtype:
            return self._matrix @ V.astype(dtype, copy=False)
        # Converted block by block: NumPy would make a second matrix of twice the size.
        out = np.empty(V.shape, dtype)
        for rows in row_blocks(self.shape, ENTRIES_AT_A_TIME):
            out[rows] = self._matrix[rows].astype(dtype) @ V
        return out

    def diagonal(self) -> Array:
        return self._matrix.diagonal()

    def rows(self, index: Index) -> Array:
        return self._matrix[positions(index, len(self))]

    def between(self, rows: Index, columns: Index) -> Array:
        down = positions(rows, len(self))
        if isinstance(columns, slice):
            return self._matrix[down][:, columns]
        return self._matrix[np.ix_(down, positions(columns, len(self)))]

    def lower(self, dtype: Any) -> Array:
        check_fits(self.shape, dtype, self.memory)
        out = np.empty(self.shape, dtype)
        for rows in row_blocks(self.shape, ENTRIES_AT_A_TIME):
            out[rows, : rows.stop] = self._matrix[rows, : rows.stop]
        return out

    def dense(self) -> Array:
        return self._matrix


class DenseGram(HeldGram):
    """k(x_i, x_j) evaluated once, half of it, and held: float32 if the rows are, else float64.

    Parameters
    ----------
    kernel : Kernel
        k; ``"median"`` is resolved on `X`.
    X : rows
        An array, CSR matrix or table.
    memory : int or str, optional
        The limit, in bytes or as ``"4GB"``; a share of the free memory by default.
    """

    def __init__(self, kernel: Kernel, X: Any, memory: Any = None) -> None:
        source = StreamedGram(kernel, X, memory)
        super().__init__(source.dense(), source.memory, source)
        self.kernel = source.kernel
        self.X = X
