"""The Gram matrix of a kernel with explicit features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data.columns import n_rows
from mercer.data.memory import memory_limit
from mercer.gram.lowrank import LowRankGram
from mercer.gram.operator import Array, check_fits
from mercer.kernels import Kernel


class FeatureGram(LowRankGram):
    """k(x_i, x_j) = F F' by the finite features F = phi(X) of the kernel.

    Parameters
    ----------
    kernel : Kernel
        k, with finite features; ``"columns"`` is resolved on `X`.
    X : rows
        An array, CSR matrix or table.
    memory : int or str, optional
        The limit for `F` and for `dense`, in bytes or as ``"4GB"``; a share of the free memory by
        default.
    """

    def __init__(self, kernel: Kernel, X: Any, memory: Any = None) -> None:
        limit = memory_limit(memory)
        self.kernel = kernel.resolved(X)
        self.X = X
        phi, p = self.kernel.feature_map, self.kernel.n_features(X)
        if phi is None or p is None:
            raise ValueError(f"{kernel} has no finite features; use gram_of(kernel, X)")
        if not phi.stays_sparse(X):
            check_fits((n_rows(X), p), np.float64, limit)
        F = phi(X)
        if not np.isfinite(F.data if sp.issparse(F) else F).all():
            raise ValueError(f"the features of {kernel} overflow on these rows; scale the columns")
        super().__init__(F, limit)


def features_of(kernel: Kernel, X: Any, memory: Any = None) -> FeatureGram | None:
    """Return the Gram matrix by explicit features, or None if the kernel has no finite ones.

    The parameters are those of `FeatureGram`.
    """
    if kernel.n_features(X) is None:
        return None
    return FeatureGram(kernel, X, memory)


def feature_product(kernel: Kernel, X: Any, theta: Array) -> Array:
    """Return phi(X) theta, the values at the rows `X` of the function theta'phi(x)."""
    phi = kernel.feature_map
    if phi is None:
        raise ValueError(f"{kernel} has no finite features")
    return phi.product(X, theta)
