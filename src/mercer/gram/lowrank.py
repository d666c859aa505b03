"""The Gram matrix of explicit features."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.checks import Matrix, as_matrix
from mercer.data.limits.memory import memory_limit
from mercer.gram.gram import Array, Gram, Index, check_fits, positions


class LowRankGram(Gram):
    """F F', of which only the features F are stored.

    Parameters
    ----------
    F : array of shape (n, r)
        One row of features per row of data.
    memory : int or str, optional
        The limit for `dense`, in bytes or as ``"4GB"``; a share of the free memory by default.
    """

    def __init__(self, F: Any, memory: Any = None) -> None:
        if memory is not None:
            self.memory = memory_limit(memory)
        self.F = as_matrix(F, "F")

    @property
    def shape(self) -> tuple[int, int]:
        n = self.F.shape[0]
        return n, n

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.F.dtype)

    @property
    def is_proved(self) -> bool:
        return True

    @property
    def is_structured(self) -> bool:
        return True

    def features(self) -> Matrix:
        return self.F

    def part(self, index: Index) -> LowRankGram:
        return LowRankGram(self.F[positions(index, len(self))], self.memory)

    def product(self, V: Array) -> Array:
        return np.asarray(self.F @ (self.F.T @ V))

    def diagonal(self) -> Array:
        # What overflows is infinite, which a solver refuses.
        with np.errstate(over="ignore"):
            return np.asarray((self.F * self.F).sum(axis=1))

    def rows(self, index: Index) -> Array:
        return _filled(self.F[positions(index, len(self))] @ self.F.T)

    def between(self, rows: Index, columns: Index) -> Array:
        down, across = positions(rows, len(self)), positions(columns, len(self))
        return _filled(self.F[down] @ self.F[across].T)

    def partial_product(self, rows: Index | None, columns: Index, V: Array) -> Array:
        across = positions(columns, len(self))
        down = slice(None) if rows is None else positions(rows, len(self))
        return np.asarray(self.F[down] @ (self.F[across].T @ V))

    def dense(self) -> Array:
        check_fits(self.shape, self.dtype, self.memory)
        return _filled(self.F @ self.F.T)


def _filled(K: Any) -> Array:
    return K if isinstance(K, np.ndarray) else K.toarray()
