"""The Householder reflection that takes a direction out of a symmetric matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dger, dsymv, dsyr2

from mercer.native.reduced import Array


@dataclass(frozen=True, eq=False)
class Reflector:
    """The Householder matrix H = I - v v' that takes a unit vector to the first axis, or back."""

    v: Array

    @classmethod
    def of(cls, u: Array) -> Reflector:
        """Return the reflector that takes the unit vector u to plus or minus the first axis."""
        v = u.copy()
        v[0] += np.copysign(1.0, u[0])
        return cls(v / np.sqrt(1.0 + abs(u[0])))

    def apply(self, V: Array) -> Array:
        """Return H V."""
        return np.asarray(V - np.multiply.outer(self.v, self.v @ V))

    def apply_both_sides(self, K: Array) -> None:
        """Replace K by H K H in and above the diagonal, the only part of K that is read."""
        p = dsymv(1.0, K.T, self.v, lower=1)
        p -= 0.5 * (self.v @ p) * self.v
        dsyr2(-1.0, self.v, p, a=K.T, lower=1, overwrite_a=1)

    def apply_to_rows(self, V: Array) -> None:
        """Replace the rows of V by V H."""
        if len(V):
            dger(-1.0, self.v, V @ self.v, a=V.T, overwrite_a=1)
