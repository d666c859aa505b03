"""The Gram matrix of a kernel with explicit features."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.data.columns import n_rows, take_rows
from mercer.data.layout import narrowed, used_columns
from mercer.data.limits.memory import lacking, memory_limit
from mercer.errors import KernelOverflowError, MemoryLimitError
from mercer.gram.choose import kept_gram_of
from mercer.gram.gram import Array, Gram, Index, check_fits, positions
from mercer.gram.lowrank import LowRankGram
from mercer.kernels import Kernel
from mercer.kernels.features import FormulaMap
from mercer.tiles import Rows

# Bytes for every entry of sparse features: its number and value, sorted, and narrowed to a copy.
ENTRY_BYTES = 48


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
        phi = self.kernel.feature_map
        if phi is not None:
            _check_entries(phi, X, limit)
        p = self.kernel.n_features(X)
        if phi is None or p is None:
            raise ValueError(f"{kernel!r} has no finite features; use gram_of(kernel, X)")
        if not phi.stays_sparse(X):
            check_fits((n_rows(X), p), np.float64, limit)
        F = phi(X)
        if not np.isfinite(F.data if sp.issparse(F) else F).all():
            raise KernelOverflowError(
                f"the features of {kernel!r} overflow on these rows; scale the columns"
            )
        # Of features without end only those in use are kept; these are their columns.
        self.feature_columns = used_columns(F) if phi.is_open(X) else None
        if self.feature_columns is not None:
            F = narrowed(F, self.feature_columns)
        super().__init__(F, memory)

    def part(self, index: Index) -> FeatureGram:
        rows, part = positions(index, len(self)), copy(self)
        part.X, part.F = take_rows(self.X, rows), self.F[rows]
        return part

    def entries_at(self, X: Any) -> Array:
        return self.kernel(X, self.X).T

    def features_at(self, X: Any) -> Matrix:
        return features_at(self.kernel, X, self.feature_columns)

    def entries(self) -> Gram:
        """Return the same matrix with entries that the kernel computes."""
        return kept_gram_of(self.kernel, self.X, self._given)

    def in_use(self) -> FeatureGram:
        """Return the same matrix by columns of sparse features that have an entry, if few do."""
        if not sp.issparse(self.F):
            return self
        needed = ENTRY_BYTES * self.F.nnz
        if needed > self.memory:
            raise MemoryLimitError(
                f"{self.F.nnz} entries of sparse features need "
                f"{lacking(needed, self.memory)}; raise memory= or use fewer rows"
            )
        if self.feature_columns is not None:
            return self
        columns = used_columns(self.F)
        if 2 * len(columns) > self.F.shape[1]:
            return self
        narrow = copy(self)
        narrow.feature_columns = columns
        narrow.F = narrowed(self.F, narrow.feature_columns)
        return narrow


def features_of(kernel: Kernel, X: Any, memory: Any = None) -> FeatureGram | None:
    """Return the Gram matrix by explicit features, or None if the kernel has no finite ones.

    The parameters are those of `FeatureGram`.
    """
    phi = kernel.without_rules().feature_map
    if phi is not None:
        _check_entries(phi, X, memory_limit(memory))
    return None if kernel.n_features(X) is None else FeatureGram(kernel, X, memory)


def open_features_of(kernel: Kernel, X: Any, memory: Any = None) -> FeatureGram | None:
    """Return the Gram matrix by sparse features such as k-grams, or None if there are none.

    Its products take the time that reading the features takes, whatever the number of rows. There
    are none, either, where features do not pay. The parameters are those of `FeatureGram`.
    """
    return FeatureGram(kernel, X, memory) if _pay(kernel, X, memory) else None


def sparse_entries(kernel: Kernel, X: Any, memory: Any = None) -> int | None:
    """Return about how many entries of sparse features are not zero, from some of the rows.

    Such features are k-grams and those of sparse rows. None if there are none, or where they do
    not pay. The parameters are those of `FeatureGram`.
    """
    found = sparse_sizes(kernel, X, memory)
    return None if found is None else found[0]


def sparse_sizes(kernel: Kernel, X: Any, memory: Any = None) -> tuple[int, int] | None:
    """Return what `sparse_entries` does, and how many columns some of the rows have entries in."""
    phi = kernel.without_rules().feature_map
    if phi is None or not phi.stays_sparse(X) or (phi.is_open(X) and not _pay(kernel, X, memory)):
        return None
    # Rows that tell how many entries the features of all have.
    sample = 256
    some = np.linspace(0, n_rows(X) - 1, min(n_rows(X), sample)).astype(np.intp)
    F = phi(take_rows(X, some))
    return int(F.nnz * (n_rows(X) / len(some))), len(used_columns(F))


def features_at(kernel: Kernel, X: Any, columns: NDArray[np.int64] | None = None) -> Matrix:
    """Return phi(X): all features, or those of the columns given in ascending order."""
    phi = kernel.feature_map
    if phi is None:
        raise ValueError(f"{kernel!r} has no finite features")
    F = phi(X)
    if columns is None:
        return F
    return narrowed(F, columns) if sp.issparse(F) else F[:, columns]


def sparse_weights(
    kernel: Kernel, X: Any, a: Array, memory: Any = None
) -> tuple[NDArray[np.int64], Array] | None:
    """Return the weights theta of f(x) = sum_i a_i k(x_i, x) = theta'phi(x), and their columns.

    With them a kernel of k-grams predicts in the time that reading the new rows takes. The columns
    are those of features that occur in some row, in ascending order, and theta has the shape (p,)
    or (p, targets). None if the features are not such that only those in use can be counted, or
    where a new row is sooner compared with all.
    """
    phi = kernel.feature_map
    if phi is None or not _pay(kernel, X, memory):
        return None
    F = phi(X)
    columns = used_columns(F)
    return columns, np.asarray(narrowed(F, columns).T @ a)


def _pay(kernel: Kernel, X: Any, memory: Any) -> bool:
    """Whether a kernel has sparse features such as k-grams that fit, and pay for every new row.

    Windows with gaps have so many if they are wide that to compare them pair by pair is quicker.
    """
    phi = kernel.without_rules().feature_map
    if phi is None or not phi.is_open(X):
        return False
    rows = Rows(X, "X")
    return ENTRY_BYTES * phi.entries(rows) <= memory_limit(memory) and phi.pays(rows)


def _check_entries(phi: FormulaMap, X: Any, limit: int) -> None:
    """Refuse sparse features of more bytes than the limit, before they are counted."""
    entries = phi.entries(Rows(X, "X"))
    if ENTRY_BYTES * entries > limit:
        raise MemoryLimitError(
            f"{entries} sparse features of {n_rows(X)} rows need "
            f"{lacking(ENTRY_BYTES * entries, limit)}; use shorter windows, fewer gaps or fewer "
            "rows"
        )
