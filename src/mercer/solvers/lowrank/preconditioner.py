"""The inverse of a low-rank matrix plus a ridge by the identity of Woodbury, a preconditioner."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dgemv
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer.data.blocks import row_blocks
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]


class LowRankInverse:
    """(F'F + alpha I)^-1 V = (V - F'(G + alpha I)^-1 F V) / alpha with G = F F' of shape (k, k).

    G serves every alpha; another alpha costs k^3 / 3 multiplications. Nothing is divided by an
    eigenvalue of G, so that F may be as rank deficient as it likes.

    Parameters
    ----------
    F : array of shape (k, n)
        The factor.
    begun : LowRankInverse, optional
        The inverse for the first rows of the same F, of which G is continued.

    References
    ----------
    M. Woodbury (1950), Inverting modified matrices.
    """

    # Multiplications of a product between two looks at the clock.
    multiplied: ClassVar[int] = 1 << 32
    # A ridge of fewer units of rounding of F F' is lost in it.
    units: ClassVar[float] = 100.0

    def __init__(self, F: Array, begun: LowRankInverse | None = None) -> None:
        self.F = F
        k = 0 if begun is None else len(begun.F)
        self._G = np.empty((len(F), len(F)))
        if begun is not None:
            self._G[:k, :k] = begun._G
        # The products of SciPy, as all others here: the threads of two libraries hinder each other.
        for rows in row_blocks((len(F) - k, F.size), self.multiplied):
            part, before = slice(k + rows.start, k + rows.stop), slice(0, k + rows.stop)
            self._G[part, before] = dgemm(1.0, F[before].T, F[part].T, trans_a=True).T
            self._G[before, part] = self._G[part, before].T
        self.alpha = 1.0

    def shift(self, alpha: float) -> None:
        """Take another alpha; one that rounding hides is replaced by the least that it does not."""
        self.alpha = max(alpha, self.units * EPS * float(np.trace(self._G)), np.finfo(float).tiny)
        while not self._factored():
            self.alpha *= 10.0

    def image(self, V: Array) -> Array:
        """Return F V, of shape (k, p)."""
        # BLAS has a faster product for one column, and none without rows.
        if V.shape[1] == 1 and len(self.F):
            return np.asarray(dgemv(1.0, self.F.T, V[:, 0], trans=1)[:, None])
        return np.asarray(dgemm(1.0, self.F.T, V, trans_a=True))

    def solve(self, V: Array, image: Array | None = None) -> Array:
        """Return (F'F + alpha I)^-1 V, of shape (n, p); `image` is F V where it is known."""
        image = self.image(V) if image is None else image
        # LAPACK takes no matrix without rows.
        inner = dpotrs(self._factor, image, lower=True)[0] if len(image) else image
        return np.asarray(dgemm(-1.0 / self.alpha, self.F.T, inner, 1.0 / self.alpha, V))

    def _factored(self) -> bool:
        shifted = self._G.copy()
        shifted.reshape(-1)[:: len(shifted) + 1] += self.alpha
        self._factor, order = dpotrf(shifted.T, lower=True, clean=False, overwrite_a=True)
        return bool(order == 0)
