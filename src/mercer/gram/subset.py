"""A Gram matrix made of some of the entries of a matrix that is held."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.gram import Gram
from mercer.gram.operator import Array, Index, check_fits, positions


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
