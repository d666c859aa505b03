"""The reduction of a symmetric matrix for many shifts, native or by its twin."""

from __future__ import annotations

from mercer.native.core import core
from mercer.native.reduced import Array, Reduced


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
