"""A Gram matrix with all its entries in float32 beside it, for problems on parts of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.gram import Gram, WrappedGram
from mercer.gram.operator import Array, Index, check_fits, positions


class CopiedGram(WrappedGram):
    """K as it is, and a copy of its entries in float32 that is computed once and held.

    Parameters
    ----------
    gram : Gram
        K.
    copy : array of shape (m, m)
        The entries of all rows in float32.
    index : array of shape (n,)
        Which of them are those of K.
    """

    def __init__(self, gram: Gram, copy: Array, index: Array) -> None:
        super().__init__(gram)
        self.copy = copy
        self.index = index

    def product(self, V: Array) -> Array:
        return self.gram.product(V)

    def diagonal(self) -> Array:
        return self.gram.diagonal()

    def rows(self, index: Index) -> Array:
        return self.gram.rows(index)

    def between(self, rows: Index, columns: Index) -> Array:
        return self.gram.between(rows, columns)

    def dense(self) -> Array:
        return self.gram.dense()


class ChosenGram(Gram):
    """Some rows and the same columns of a matrix that is held, not copied until asked for.

    Parameters
    ----------
    matrix : array of shape (m, m)
        The entries of all rows.
    index : array of shape (n,)
        Those that are chosen.
    memory : int
        The limit in bytes for copies.
    """

    def __init__(self, matrix: Array, index: Array, memory: int) -> None:
        self.matrix = matrix
        self.index = index
        self.memory = memory

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), len(self.index)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    @property
    def is_all(self) -> bool:
        """Whether all rows are chosen, in their order."""
        return len(self.index) == len(self.matrix) and bool((np.diff(self.index) == 1).all())

    def product(self, V: Array) -> Array:
        return self.dense() @ V

    def diagonal(self) -> Array:
        return self.matrix.diagonal()[self.index]

    def rows(self, index: Index) -> Array:
        return self.matrix[np.ix_(self.index[positions(index, len(self))], self.index)]

    def dense(self) -> Array:
        check_fits(self.shape, self.dtype, self.memory)
        return self.rows(slice(None))
