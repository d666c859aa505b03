"""The inverse of a low-rank matrix plus a ridge, which speeds up iterations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# A ridge of fewer units of rounding of F F' is lost in it.
UNITS = 100.0


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
    """

    def __init__(self, F: Array, begun: LowRankInverse | None = None) -> None:
        self.F = F
        k = 0 if begun is None else len(begun.F)
        self._G = np.empty((len(F), len(F)))
        if begun is not None:
            self._G[:k, :k] = begun._G
        self._G[k:, k:] = F[k:] @ F[k:].T
        self._G[k:, :k] = F[k:] @ F[:k].T
        self._G[:k, k:] = self._G[k:, :k].T
        self.alpha = 1.0

    def shift(self, alpha: float) -> None:
        """Take another alpha; one that rounding hides is replaced by the least that it does not."""
        self.alpha = max(alpha, UNITS * EPS * float(np.trace(self._G)), np.finfo(float).tiny)
        while not self._factored():
            self.alpha *= 10.0

    def solve(self, V: Array) -> Array:
        """Return (F'F + alpha I)^-1 V, of shape (n, p)."""
        inner = cho_solve(self._factor, self.F @ V, check_finite=False)
        # BLAS reads the rows of F in their order this way round.
        return (V - (inner.T @ self.F).T) / self.alpha

    def _factored(self) -> bool:
        shifted = self._G.copy()
        shifted.reshape(-1)[:: len(shifted) + 1] += self.alpha
        try:
            self._factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return False
        return True
