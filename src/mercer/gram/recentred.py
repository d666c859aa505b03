"""A Gram matrix seen from one of its rows."""

from __future__ import annotations

import numpy as np

from mercer.gram.gram import Gram, WrappedGram
from mercer.gram.operator import Array, Index, positions


class RecentredGram(WrappedGram):
    """k(x, z) - k(x, x0) - k(x0, z) + k(x0, x0) for one of the rows as origin x0.

    It has the values of K on coefficients of sum zero, and is positive semi-definite if and only if
    K is so on these. The kernel `mercer.kernels.Recentred` is the same for rows that are at hand.

    Parameters
    ----------
    gram : Gram
        K.
    origin : int
        The number of the row x0.

    References
    ----------
    I. J. Schoenberg (1938), Metric spaces and positive definite functions.
    """

    def __init__(self, gram: Gram, origin: int) -> None:
        super().__init__(gram)
        row = gram.rows([origin])[0].astype(np.float64)
        self.u = row - 0.5 * row[origin]

    def product(self, V: Array) -> Array:
        u = self.u.astype(np.result_type(self.dtype, V.dtype), copy=False)
        return self.gram.product(V) - np.multiply.outer(u, V.sum(axis=0)) - u @ V

    def diagonal(self) -> Array:
        return (self.gram.diagonal() - 2.0 * self.u).astype(self.dtype, copy=False)

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        block = self.gram.rows(chosen) - self.u[chosen, None] - self.u
        return block.astype(self.dtype, copy=False)
