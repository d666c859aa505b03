"""The finite features that a kernel has by its formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.data.layout import narrowed, used_columns
from mercer.features.map import FeatureMap
from mercer.kernels import Kernel


@dataclass(frozen=True, eq=False)
class ExplicitMap(FeatureMap):
    """phi with phi(x)'phi(z) = k(x, z) exactly: monomials, columns or k-grams.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters and finite features.
    width : int
        The number of features.
    columns : array of shape (p,), optional
        Which features, in ascending order, where there is one for all that might occur, such as
        every k-gram; None is all of them.
    """

    kernel: Kernel
    width: int
    columns: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> ExplicitMap:
        """Return the map for rows such as `X`, of k-grams and the like those that occur in it."""
        k = kernel.resolved(X)
        phi, width = k.feature_map, k.n_features(X)
        if phi is None or width is None:
            raise ValueError(
                f"{kernel!r} has no finite features that are known, or too many; use landmarks"
            )
        columns = used_columns(phi(X)) if phi.is_open(X) else None
        return cls(k, width if columns is None else len(columns), columns)

    @property
    def n_features(self) -> int:
        return self.width

    @property
    def is_exact(self) -> bool:
        return True

    def of_block(self, X: Any, dtype: Any = np.float64) -> Matrix:
        phi = self.kernel.feature_map
        assert phi is not None
        F = phi(X)
        if self.columns is not None:
            F = narrowed(F, self.columns) if sp.issparse(F) else F[:, self.columns]
        return F.astype(dtype, copy=False)
