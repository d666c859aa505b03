"""The NumPy twin of the band: T is the diagonal of eigenvalues, Q the eigenvectors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from mercer.native.reduced import Array, NotPositiveError, Reduced, Rows, Shifted
from mercer.native.reflector import Reflector


class Spectrum(Reduced):
    """The eigendecomposition Q'K Q = diag(s).

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, C-contiguous; it is overwritten.
    u : array of shape (n,), optional
        The unit vector that Q is orthogonal to.
    """

    def __init__(self, K: Array, u: Array | None = None) -> None:
        if not np.isfinite(K).all():
            self.s, self.Q = np.full(len(K), np.nan), np.eye(len(K))
        elif u is None:
            self.s, self.Q = eigh(K, lower=False, overwrite_a=True)
        else:
            reflector = Reflector.of(u)
            reflector.apply_both_sides(K)
            self.s, Q = eigh(K[1:, 1:], lower=False)
            self.Q = reflector.apply(np.vstack([np.zeros(len(Q)), Q]))

    def forward(self, V: Array) -> Array:
        return np.asarray(self.Q.T @ V)

    def back(self, C: Array) -> Array:
        return np.asarray(self.Q @ C)

    def shifted(self, alphas: Array) -> ShiftedSpectrum:
        return ShiftedSpectrum(self, alphas)


class ShiftedSpectrum(Shifted):
    """1 / (s + alpha) for every eigenvalue s and every alpha."""

    def __init__(self, spectrum: Spectrum, alphas: Array) -> None:
        shifted = np.add.outer(alphas, spectrum.s)  # (alphas, columns of Q)
        least = len(spectrum.s) * np.finfo(float).eps * np.abs(spectrum.s).max(initial=0.0)
        bad = ~(shifted > np.where(alphas > 0.0, 0.0, least)[:, None]).all(axis=1)
        if bad.any():
            raise NotPositiveError(int(np.flatnonzero(bad)[0]))
        self.Q = spectrum.Q
        self.inverse = 1.0 / shifted

    def solve(self, C: Array) -> Array:
        return np.asarray(self.inverse[:, :, None] * C)

    def traces(self) -> Array:
        return np.asarray(self.inverse.sum(axis=1))

    def diagonals(self) -> Array:
        return np.asarray(self.inverse @ (self.Q * self.Q).T)

    def half(self, position: int, rows: Rows) -> Array:
        return np.asarray((self.Q[rows] * np.sqrt(self.inverse[position])).T)
