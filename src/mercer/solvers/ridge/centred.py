"""The factor of a matrix that is positive semi-definite on vectors of sum zero only."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr2

from mercer.gram import Gram, centre
from mercer.solvers.ridge.triangles import EPS, TwoTriangles

Array = NDArray[np.float64]

# m 1' + 1 m' = N SWAP N' with N = (1, m).
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


class CentredTriangles(TwoTriangles):
    """K above the diagonal, and the factor of A_c = K - m 1' - 1 m' + diag(d) on and below it.

    The m of `CentredGram` makes A_c positive definite if K is positive semi-definite on vectors of
    sum zero. A = K + diag(d) itself, which has at most one negative eigenvalue, is solved with two
    more right-hand sides: A^-1 = A_c^-1 - Z (N'Z + SWAP)^-1 Z' with N = (1, m) and Z = A_c^-1 N.
    Solutions and products are those of A; its inverse and condition are not worked out.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, float64, C-contiguous. It is overwritten.
    """

    name: ClassVar[str] = "cholesky of the centred matrix in float64"

    def __init__(self, K: Array) -> None:
        super().__init__(K)
        # Entries that are not finite fail the factor.
        with np.errstate(over="ignore", invalid="ignore"):
            self._m = centre(K.mean(axis=0), self.diagonal)
            # Columns of one size: 1 m' is (s 1) (m / s)'.
            s = np.sqrt(np.abs(self._m).max()) or 1.0
            self._N = np.column_stack([np.full(len(K), s), self._m / s])

    @property
    def largest(self) -> float:
        return float((self.diagonal - 2.0 * self._m).max())

    def _decomposed(self) -> int:
        # LAPACK does not notice entries that are no numbers.
        if not np.isfinite(self._m).all():
            return len(self)
        dsyr2(-1.0, np.ones(len(self)), self._m, a=self._square, lower=True, overwrite_a=True)
        if order := super()._decomposed():
            return order
        self._Z = self._solved(self._N)
        self._C = self._N.T @ self._Z + SWAP
        # A itself may be singular: where d is minus the negative eigenvalue of K.
        is_regular = np.linalg.cond(self._C) * len(self) * EPS < 1.0
        return 0 if is_regular else len(self)

    def solve(self, V: Array) -> Array:
        return self._solved(V) - self._Z @ np.linalg.solve(self._C, self._Z.T @ V)

    def negative_direction(self, order: int) -> Array:
        """Return a unit vector v of sum zero with v'Av <= 0, if `factor` found K_c indefinite."""
        v = super().negative_direction(order)
        centred = v - v.mean()
        norm = np.linalg.norm(centred)
        return np.asarray(centred / norm if norm > 0.0 else v)

    def _beside(self, p: int) -> Array:
        return super()._beside(p) - self._m[:p] - self._m[p]


def triangles_of(gram: Gram) -> TwoTriangles:
    """Return the entries of a Gram matrix in the form that has a factor."""
    return (CentredTriangles if gram.is_conditional else TwoTriangles)(gram.fresh())
