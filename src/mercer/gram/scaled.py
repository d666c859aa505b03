"""The Gram matrix of a kernel whose rows are weighted."""

from __future__ import annotations

import numpy as np

from mercer.gram.gram import Gram, WrappedGram
from mercer.gram.operator import Array, Index, check_fits, positions


class ScaledGram(WrappedGram):
    """diag(f) K diag(f), with entries f_i k(x_i, x_j) f_j.

    Parameters
    ----------
    gram : Gram
        K.
    factors : array of shape (n,)
        f.
    """

    def __init__(self, gram: Gram, factors: Array) -> None:
        super().__init__(gram)
        self.factors = factors

    def product(self, V: Array) -> Array:
        f = self.factors if V.ndim == 1 else self.factors[:, None]
        return np.asarray(f * self.gram.product(f * V))

    def diagonal(self) -> Array:
        return np.asarray(self.factors**2 * self.gram.diagonal())

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        return np.asarray(self.factors[chosen, None] * self.gram.rows(chosen) * self.factors)

    def dense(self) -> Array:
        check_fits(self.shape, np.float64, self.memory)
        return np.asarray(self.factors[:, None] * self.gram.dense() * self.factors)
