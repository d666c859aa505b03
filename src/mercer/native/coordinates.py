"""Dual coordinate descent on explicit features: a pass over the rows, native or by its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.native.core import routines
from mercer.native.smo import Box
from mercer.native.twins import coordinates as coordinates_twin

Array = NDArray[np.float64]

# The least curvature of a coefficient beside the largest, for rows without features.
FLAT = float(np.finfo(np.float64).eps)


class Descent:
    """min 1/2 ||w||^2 + b sum(a) + rho/2 sum(a)^2 - z'a + epsilon |a|_1 in a box, where w = F'a.

    The augmented Lagrangian of sum(a) = 0 with the multiplier b, minimised by dual coordinate
    descent.

    Parameters
    ----------
    F : array or CSR matrix of shape (n, p)
        The features in float64.
    box : Box
        z, the bounds and epsilon.
    squares : array of shape (n,)
        The sum of squares of every row of F.
    rho : float
        The augmented-Lagrangian penalty for sum(a) = 0; zero where the sum is free.
    a : array of shape (n,)
        Where to start; overwritten.
    b : float
        The multiplier of sum(a) = 0, the offset of f.

    Attributes
    ----------
    w : array of shape (p,)
        F'a.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008), A dual coordinate
    descent method for large-scale linear SVM.
    M. R. Hestenes (1969), Multiplier and gradient methods.
    """

    def __init__(self, F: Matrix, box: Box, squares: Array, rho: float, a: Array, b: float) -> None:
        self.box, self.rho, self.a = box, rho, a
        curvature = squares + rho
        self._curvature = np.maximum(curvature, FLAT * curvature.max() or 1.0)
        self._is_sparse = sp.issparse(F)
        self._rows: tuple[NDArray[Any], ...]
        if not self._is_sparse:
            self._rows = (np.ascontiguousarray(F),)
        else:
            most = np.iinfo(np.int32).max
            if F.shape[1] > most:
                raise ValueError(
                    f"F has {F.shape[1]} columns, and at most {most} are told apart; "
                    "leave out those without an entry"
                )
            columns = F.indices.astype(np.int32, copy=False)
            self._rows = (F.data, columns, F.indptr.astype(np.int64, copy=False))
        self.w = np.asarray(F.T @ a, np.float64)
        self._offset = np.array([b + rho * a.sum()])

    @property
    def offset(self) -> float:
        """The offset b + rho sum(a) of f(x) = w'phi(x) + offset that coefficients are moved by."""
        return float(self._offset[0])

    def update_multiplier(self) -> None:
        """Add rho sum(a) to the multiplier b."""
        self._offset[0] += self.rho * self.a.sum()

    def sweep(self, order: NDArray[np.int64]) -> None:
        """Minimise over one coefficient after the other, with w and the offset kept along."""
        box, core = self.box, routines(coordinates_twin)
        run = core.descend_sparse if self._is_sparse else core.descend_dense
        run(
            *self._rows,
            order,
            box.z,
            box.lower,
            box.upper,
            box.epsilon,
            self._curvature,
            self.rho,
            self.a,
            self.w,
            self._offset,
        )
