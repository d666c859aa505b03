"""Dual coordinate descent on explicit features: a pass over the rows, native or by its twin."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import MEMORY, row_blocks
from mercer.data.checks import Matrix
from mercer.native.core import core, cpu_level, routines
from mercer.native.lapack import one_blas_thread
from mercer.native.smo import Box
from mercer.native.threads import in_threads
from mercer.native.twins import coordinates as coordinates_twin

Array = NDArray[np.float64]
Result = TypeVar("Result")


class SharedRows:
    """F - 1 c' at some rows of an array F that several problems share, of which none is copied.

    Products are computed in the precision of F on all threads, and summed in float64 in the order
    of the blocks.

    Parameters
    ----------
    F : array of shape (n, p)
        The features in float32 or float64.
    where : array of shape (m,)
        Which rows of F.
    is_centred : bool
        Whether c is the mean of these rows; else it is zero.
    """

    def __init__(self, F: NDArray[Any], where: NDArray[np.int64], is_centred: bool) -> None:
        self.F, self.where = F, where
        self.shape = (len(where), F.shape[1])
        self.size = len(where) * F.shape[1]
        self.centre = np.zeros(F.shape[1])
        if is_centred:
            self.centre = self.transposed(np.ones(len(where))) / len(where)

    def __matmul__(self, w: Array) -> Array:
        """Return (F - 1 c') w."""
        return self._plain(w) - self.centre @ w

    def transposed(self, a: Array) -> Array:
        """Return (F - 1 c')'a."""
        a = a.astype(self.F.dtype)
        found = -float(a.sum()) * self.centre
        for part in self._of_blocks(lambda some, block: block.T @ a[some]):
            found += part
        return found

    @cached_property
    def shift(self) -> Array:
        """F c."""
        return self._plain(self.centre) if self.centre.any() else np.zeros(len(self.where))

    @cached_property
    def squares(self) -> Array:
        """The sum of squares of every row of F - 1 c'."""
        parts = self._of_blocks(lambda _, block: np.einsum("ij,ij->i", block, block))
        found = self.centre @ self.centre - 2.0 * self.shift + np.concatenate(parts)
        return np.maximum(found, 0.0)

    def _plain(self, w: Array) -> Array:
        """Return F w."""
        w = w.astype(self.F.dtype)
        return np.concatenate(self._of_blocks(lambda _, block: block @ w)).astype(np.float64)

    def _of_blocks(self, run: Callable[[slice, NDArray[Any]], Result]) -> list[Result]:
        """Return what `run` makes of some of the rows at a time, by where they stand here."""

        def on_block(some: slice) -> Result:
            rows = self.where[some]
            is_run = rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all()
            # A view where they stand side by side in F.
            return run(some, self.F[rows[0] : rows[-1] + 1] if is_run else self.F[rows])

        # Threads of the BLAS would wait for each other at every block.
        with one_blas_thread():
            return in_threads(on_block, list(row_blocks(self.shape, MEMORY)))


class Descent:
    """min 1/2 ||w||^2 + b sum(a) + rho/2 sum(a)^2 - z'a + epsilon |a|_1 in a box, where w = F'a.

    The augmented Lagrangian of sum(a) = 0 with the multiplier b, minimised by dual coordinate
    descent.

    Parameters
    ----------
    F : array, CSR matrix or SharedRows of shape (n, p)
        The features; an array or CSR matrix in float64.
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

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008), A dual coordinate
    descent method for large-scale linear SVM.
    M. R. Hestenes (1969), Multiplier and gradient methods.
    """

    def __init__(
        self,
        F: Matrix | SharedRows,
        box: Box,
        squares: Array,
        rho: float,
        a: Array,
        b: float,
    ) -> None:
        self.box, self.rho, self.a = box, rho, a
        curvature = squares + rho
        # The least curvature of a coefficient beside the largest, for rows without features.
        flat = float(np.finfo(np.float64).eps)
        self._curvature = np.maximum(curvature, flat * curvature.max() or 1.0)
        self._is_sparse, n = sp.issparse(F), F.shape[0]
        self._rows: tuple[Any, ...]
        self._centre, self._shift = np.zeros(1), np.zeros(n)
        if not isinstance(F, SharedRows) and self._is_sparse:
            most = np.iinfo(np.int32).max
            if F.shape[1] > most:
                raise ValueError(
                    f"F has {F.shape[1]} columns, and at most {most} are told apart; "
                    "leave out those without an entry"
                )
            columns = F.indices.astype(np.int32, copy=False)
            self._rows = (F.data, columns, F.indptr.astype(np.int64, copy=False))
            self._sums = np.asarray(F.T @ a, np.float64)
        else:
            if isinstance(F, SharedRows):
                self._centre, self._shift = F.centre, F.shift
            else:
                F = SharedRows(np.ascontiguousarray(F), np.arange(n), False)
            self._rows = (F.F, F.where, cpu_level() if core() else "")
            self._sums = F.transposed(a) + a.sum() * self._centre
        # b + rho sum(a), sum(a), and a'F c for the centre c.
        self._kept = np.array([b + rho * a.sum(), a.sum(), a @ self._shift])

    @property
    def w(self) -> Array:
        """F'a, of the rows less their centre."""
        return np.asarray(self._sums - self._kept[1] * self._centre)

    @property
    def offset(self) -> float:
        """The offset b + rho sum(a) of f(x) = w'phi(x) + offset that coefficients are moved by."""
        return float(self._kept[0])

    def state(self) -> dict[str, Array]:
        """Return what the next sweep begins from."""
        return {"iterate": self.a, "sums": self._sums, "kept": self._kept}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.a, self._sums, self._kept = state["iterate"], state["sums"], state["kept"]

    def update_multiplier(self) -> None:
        """Add rho sum(a) to the multiplier b."""
        self._kept[0] += self.rho * self.a.sum()

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
            self._shift,
            float(self._centre @ self._centre),
            self.a,
            self._sums,
            self._kept,
        )
