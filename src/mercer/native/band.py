"""The native reduction: T is a band, by Householder reflections that run as matrix products."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.linalg.cython_blas import __pyx_capi__ as published

from mercer.native import _native
from mercer.native.core import cpu_level, thread_count
from mercer.native.reduced import Array, NotPositiveError, Reduced, Rows, Shifted
from mercer.native.reflector import Reflector

WIDTH = _native.band_width


@functools.cache
def blas() -> tuple[Any, ...] | None:
    """Return the matrix products of SciPy's BLAS, or None where their integers are not C's."""
    capsules = tuple(published[name] for name in ("dgemm", "dsymm", "dsyr2k"))
    # A capsule carries its signature.
    return capsules if all("void (char *, char *, int *" in repr(c) for c in capsules) else None


class Band(Reduced):
    """The reduction to a band: 4/3 n^3 multiplications and additions, and as many again for Q.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, C-contiguous; it is overwritten by the reflectors.
    u : array of shape (n,), optional
        The unit vector that Q is orthogonal to.

    References
    ----------
    C. Bischof, B. Lang, X. Sun (2000), A framework for symmetric band reduction.
    """

    def __init__(self, K: Array, u: Array | None = None) -> None:
        self.n = len(K)
        self.reflector = None if u is None else Reflector.of(u)
        if self.reflector is not None:
            self.reflector.apply_both_sides(K)
        self._packed = K if u is None else K[1:, 1:]
        self._tau = np.zeros(len(self._packed))
        _native.band_reduce(self._packed, self._tau, blas(), cpu_level())
        self.T = _band_of(self._packed)

    @functools.cached_property
    def transposed(self) -> Array:
        """Q', of shape (columns of Q, n)."""
        Q = np.zeros((len(self.T), self.n))
        inner = Q if self.reflector is None else Q[:, 1:]
        np.fill_diagonal(inner, 1.0)
        _native.band_apply(self._packed, self._tau, blas(), inner, forward=False, growing=True)
        if self.reflector is not None:
            self.reflector.apply_to_rows(Q)
        return Q

    def forward(self, V: Array) -> Array:
        if "transposed" in self.__dict__:
            return np.asarray(self.transposed @ V)
        return self._applied(V if self.reflector is None else self.reflector.apply(V)[1:], True)

    def back(self, C: Array) -> Array:
        if "transposed" in self.__dict__:
            return np.asarray(self.transposed.T @ C)
        V = self._applied(C, False)
        if self.reflector is None:
            return V
        return self.reflector.apply(np.vstack([np.zeros((1, V.shape[1])), V]))

    def shifted(self, alphas: Array) -> ShiftedBand:
        return ShiftedBand(self, alphas)

    def _applied(self, V: Array, forward: bool) -> Array:
        # The native routine works on columns: of the transpose these are the rows.
        columns = np.array(V.T, order="C")
        _native.band_apply(self._packed, self._tau, blas(), columns, forward, growing=False)
        return columns.T


class ShiftedBand(Shifted):
    """The factors L D L' = T + alpha for every alpha."""

    def __init__(self, band: Band, alphas: Array) -> None:
        n = len(band.T)
        self.band = band
        self.factors = np.empty((len(alphas), n, WIDTH + 1))
        failed = np.zeros(len(alphas), np.int64)
        # Without a shift a pivot has to stand out from the rounding errors of the reduction.
        rounding = n * np.finfo(float).eps * np.abs(band.T[:, 0]).max(initial=0.0)
        least = np.where(alphas > 0.0, 0.0, rounding)
        _native.band_factor(band.T, alphas.copy(), least, self.factors, failed, thread_count())
        if failed.any() or not np.isfinite(band.T).all():
            raise NotPositiveError(int(failed.argmax()))

    def solve(self, C: Array) -> Array:
        x = np.empty((len(self.factors), C.shape[1], len(C)))
        x[:] = C.T
        _native.band_solve(self.factors, x, thread_count())
        return np.swapaxes(x, 1, 2)

    def traces(self) -> Array:
        out = np.empty(len(self.factors))
        _native.band_traces(self.factors, out, thread_count())
        return out

    def diagonals(self) -> Array:
        out = np.empty((len(self.factors), self.band.n))
        _native.band_diagonals(self.factors, self.band.transposed, out, thread_count(), cpu_level())
        return out

    def half(self, position: int, rows: Rows) -> Array:
        Z = np.ascontiguousarray(self.band.transposed[:, rows])
        _native.band_halves(self.factors[position], Z, thread_count(), cpu_level())
        return Z


def _band_of(packed: Array) -> Array:
    """Return the band by columns: T[k, j] is the entry j below the diagonal in column k."""
    n = len(packed)
    T = np.zeros((n, WIDTH + 1))
    for j in range(min(n, WIDTH + 1)):
        T[: n - j, j] = packed.diagonal(j)
    return T
