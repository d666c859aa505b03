"""A symmetric matrix reduced for many shifts, K = Q T Q' across a direction: natively or not."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from mercer.native.core import core

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class NotPositiveError(ArithmeticError):
    """T + alpha is not positive definite, or not finite.

    Parameters
    ----------
    position : int
        Which of the alphas it was.
    """

    def __init__(self, position: int) -> None:
        super().__init__(f"T + alpha is not positive definite for alpha number {position}")
        self.position = position


class Reduced(ABC):
    """A symmetric K of shape (n, n) seen across a unit vector u: Q'K Q = T, Q'Q = I, Q'u = 0.

    Q has n - 1 columns, or n without u. T is narrow, so that (T + alpha)^-1 costs little for any
    alpha, and Q (T + alpha)^-1 Q' is the inverse of K + alpha on all that is orthogonal to u.
    """

    @abstractmethod
    def forward(self, V: Array) -> Array:
        """Return Q'V."""

    @abstractmethod
    def back(self, C: Array) -> Array:
        """Return Q C."""

    @abstractmethod
    def shifted(self, alphas: Array) -> Shifted:
        """Return (T + alpha)^-1 for every alpha, or raise `NotPositiveError`."""


class Shifted(ABC):
    """(T + alpha)^-1 for every alpha of a vector of them."""

    @abstractmethod
    def solve(self, C: Array) -> Array:
        """Return (T + alpha)^-1 C, of shape (alphas, columns of Q, columns of C)."""

    @abstractmethod
    def traces(self) -> Array:
        """Return the traces of (T + alpha)^-1, of shape (alphas,)."""

    @abstractmethod
    def diagonals(self) -> Array:
        """Return the diagonals of Q (T + alpha)^-1 Q', of shape (alphas, n)."""

    @abstractmethod
    def half(self, position: int, rows: Rows) -> Array:
        """Return Z with Z'Z the block of Q (T + alpha)^-1 Q' at some rows, for one alpha."""


def reduce(K: Array, u: Array | None = None) -> Reduced:
    """Return K = Q T Q' with T narrow, and Q orthogonal to the unit vector `u` if it is given.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, C-contiguous, float64. It is overwritten.
    u : array of shape (n,), optional
        The unit vector.
    """
    # Imported here because LAPACK is slow to import and evaluating a kernel does without.
    from mercer.native.twins.spectrum import Spectrum

    if core() is None:
        return Spectrum(K, u)
    from mercer.native.band import Band, blas

    return Spectrum(K, u) if blas() is None else Band(K, u)
