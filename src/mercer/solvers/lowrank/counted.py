"""A preconditioner of the normal equations of landmarks, by the landmarks themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemv, ssyr, strsv

from mercer.features.landmarks import clear
from mercer.native.lapack import cholesky, square_of_factor
from mercer.native.threads import in_threads

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountedInverse:
    """(L'VL - L'v v'L / 1'v + alpha I)^-1 in float32, where L are the features of the landmarks.

    A landmark stands for v_j rows, which are thought to be where it is; V is diagonal. The second
    term counts features from their mean. As L is triangular it takes a third of the work of a
    Cholesky factor to form, and another to factor, where a sum over other rows takes several times
    as much.

    Parameters
    ----------
    factor : array of shape (m, m)
        The Cholesky factor in the lower triangle, counted along columns, in float32.

    References
    ----------
    A. Rudi, L. Carratino and L. Rosasco (2017), Falkon: an optimal large scale kernel method.
    """

    factor: NDArray[np.float32]

    @classmethod
    def of(cls, L: Array, v: Array, alpha: float, is_centred: bool) -> CountedInverse | None:
        """Return it for landmarks of a factor L, or None where float32 has too few digits."""
        G, roots = np.empty(L.shape, np.float32, order="F"), np.sqrt(v)[:, None]
        # Columns that a thread scales at a time.
        some = 512
        size = float(np.sqrt((v * np.einsum("ij,ij->i", L, L)).max()))

        def scale(j: int) -> None:
            below, columns = slice(j, None), slice(j, j + some)
            part = G[below, columns]
            np.multiply(L[below, columns], roots[below], out=part, casting="same_kind")
            clear(part.T, size)

        in_threads(scale, range(0, len(L), some))
        square_of_factor(G)
        if is_centred:
            # The product of SciPy: the threads of two libraries hinder each other.
            mean = (dgemv(1.0, L, v, trans=1) / np.sqrt(v.sum())).astype(np.float32)
            G = ssyr(-1.0, mean, lower=1, a=G, overwrite_a=1)
        G[np.diag_indices(len(G))] += np.float32(alpha)
        return cls(G) if cholesky(G, lower=True) == 0 else None

    def __call__(self, g: Array) -> Array:
        """Return its product with vectors of shape (m, targets)."""
        # Scaled, since residuals may be beyond what float32 holds.
        size = np.maximum(np.abs(g).max(axis=0), np.finfo(float).tiny)
        return np.stack([self._solved(v) for v in (g / size).T], axis=1) * size

    def _solved(self, v: Array) -> Array:
        # LAPACK's two systems for one column take four times as long.
        half = strsv(self.factor, v.astype(np.float32), lower=1)
        return np.asarray(strsv(self.factor, half, lower=1, trans=1), np.float64)
