"""A Gram matrix that is valid on coefficients of sum zero, made valid on all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.gram.gram import Gram, WrappedGram
from mercer.gram.operator import Array, Index, check_fits, positions


class CentredGram(WrappedGram):
    """K - m 1' - 1 m', which has the values of K on coefficients of sum zero.

    It is P K P + t 1 1' with P = I - 1 1'/n and t = |tr(P K P)| / n, or 1 where that is zero, so
    positive semi-definite if and only if K is on coefficients of sum zero. Where an offset b is
    fitted freely, and keeps 1'a = 0, both have the same coefficients a, and b of K is less by m'a.

    Parameters
    ----------
    gram : Gram
        K.
    """

    def __init__(self, gram: Gram) -> None:
        super().__init__(gram)
        self.m = centre(gram @ np.ones(len(gram)) / len(gram), gram.diagonal())

    def product(self, V: Array) -> Array:
        m = self.m.astype(np.result_type(self.dtype, V.dtype), copy=False)
        return self.gram.product(V) - np.multiply.outer(m, V.sum(axis=0)) - m @ V

    def diagonal(self) -> Array:
        return self._rounded(self.gram.diagonal() - 2.0 * self.m)

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        return self._rounded(self.gram.rows(chosen) - self.m[chosen, None] - self.m)

    def dense(self) -> Array:
        K = self.gram.dense()
        if not K.flags.writeable:
            check_fits(self.shape, self.dtype, self.memory)
            K = K.copy()
        m = self._rounded(self.m)
        K -= m
        K -= m[:, None]
        return K

    def _rounded(self, values: Array) -> Array:
        return values.astype(self.dtype, copy=False)


class RootedGram(CentredGram):
    """k(x, z) - k(x, x0) - k(x0, z) + k(x0, x0) for one of the rows as root x0.

    It has the values of K on coefficients of sum zero, as `CentredGram` has, and is positive
    semi-definite if and only if K is so on them; but every entry takes the row of the root alone.

    Parameters
    ----------
    gram : Gram
        K.
    root : int
        The number of the row x0.

    References
    ----------
    I. J. Schoenberg (1938), Metric spaces and positive definite functions.
    """

    def __init__(self, gram: Gram, root: int) -> None:
        WrappedGram.__init__(self, gram)
        row = gram.rows([root])[0].astype(np.float64)
        self.m = row - 0.5 * row[root]


def centre(means: NDArray[Any], diagonal: NDArray[Any]) -> NDArray[np.float64]:
    """Return the m of `CentredGram` from the means of the rows and the diagonal of K."""
    # Entries that are not finite fail the factor.
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.mean(means)
        # Negative for no K that is valid on coefficients of sum zero; zero for equal rows.
        t = abs(np.mean(diagonal) - mean) or 1.0
        return np.asarray(means - 0.5 * (mean + t), np.float64)


def centred(gram: Gram) -> Gram:
    """Return what to solve with under an offset: K, or K centred where it is valid only there."""
    return CentredGram(gram) if gram.is_conditional else gram
