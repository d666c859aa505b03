"""A fitted function as a sum over training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import blocks_of
from mercer.data.checks import fits_single
from mercer.data.columns import n_columns, n_rows
from mercer.functions.function import Array, Function, read_only
from mercer.kernels import Kernel
from mercer.tiles import Tile, apply
from mercer.tiles.derivative import input_gradient


@dataclass(frozen=True, eq=False)
class DualFunction(Function):
    """f(x) = sum_i a_i k(x_i, x) + b, of rows x_i and coefficients a_i.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        The x_i: an array, CSR matrix, table or list; of a finished Gram matrix its rows and
        columns at the training rows that count.
    coefficients : array of shape (m, targets)
        a.
    intercept : array of shape (targets,)
        b.
    columns : array of shape (m,), optional
        Where the x_i stand among all training rows, if new rows are those of a finished matrix,
        which has a column for each of these.
    """

    form: ClassVar[str] = "dual"
    # What new rows are compared with is read again for all of these, so that they are many.
    rows_at_a_time: ClassVar[int] = 1 << 16
    # Training rows at which both precisions are compared, half of them those of largest entries.
    compared_rows: ClassVar[int] = 64

    kernel: Kernel
    rows: Any
    coefficients: Array
    intercept: Array
    columns: NDArray[np.intp] | None = None

    @property
    def dual(self) -> Self:
        return self

    @property
    def by_target(self) -> Array:
        """The coefficients of every target, of shape (m, targets)."""
        return self.coefficients

    @property
    def sums(self) -> tuple[tuple[float, DualFunction], ...]:
        """The sums over rows that f is made of, with their weights: itself."""
        return ((1.0, self),)

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        for rows, some in blocks_of(X, 1, self.rows_at_a_time):
            yield rows, self._sums(some) + self.intercept

    def _sums(self, X: Any) -> Array:
        """Return K(X, rows) a."""
        if len(self.coefficients) == 0:
            return np.zeros((n_rows(X), self.n_targets))
        values = apply(self.kernel.program, self.compared(X), self.rows, self.coefficients)
        return np.asarray(values, np.float64)

    def gradient(self, X: Any) -> Array:
        if self.kernel.is_precomputed:
            raise ValueError(
                "f of a finished Gram matrix has no gradient: its rows are no points; fit it to "
                "rows and a kernel"
            )
        self._check_columns(X)
        seen, a = self.compared(X), self.by_target
        if len(a) == 0:
            return np.zeros((n_rows(X), n_columns(X), self.n_targets))
        return input_gradient(self.kernel.lower(Tile()), seen, self.rows, a)

    def row_norms(self) -> Array:
        squares = np.sum(self.by_target**2, axis=1)
        return np.asarray(np.sqrt(squares * np.abs(self.kernel.diagonal(self.rows))))

    def compared(self, X: Any) -> Any:
        """Return new rows in the form in which they are compared with the x_i."""
        return X if self.columns is None else X[:, self.columns]

    @cached_property
    def feature_weights(self) -> Array | None:
        """The c = sum_i a_i phi(x_i) of f(x) = c'phi(x) + b, by one pass over the rows.

        None where the kernel has no finite features that are known, or too many.
        """
        phi = self.kernel.feature_map
        if phi is None or phi.is_open(self.rows) or self.kernel.n_features(self.rows) is None:
            return None
        return np.asarray(read_only(phi.transposed(self.rows, self.by_target)))

    def in_single(self, X: Any) -> Self | None:
        """Return the same function with rows in float32, if the engine compares them and `X` so."""
        are_arrays = isinstance(X, np.ndarray) and isinstance(self.rows, np.ndarray)
        if (
            not are_arrays
            or X.dtype != np.float64
            or self.kernel.is_precomputed
            or not self.kernel.program.is_arithmetic
            or not (fits_single(X) and fits_single(self.rows))
        ):
            return None
        return replace(self, rows=self.rows.astype(np.float32))

    @cached_property
    def single_error(self) -> Array:
        """How far `in_single` is off at a sample of the rows, the most for every target."""
        single, half = self.in_single(self.rows), min(self.compared_rows // 2, len(self.rows))
        if single is None:
            raise ValueError(f"{self.kernel!r:.100} is not compared in float32 on these rows")
        largest = np.argpartition(np.abs(self.rows).max(axis=1), -half)[-half:]
        sample = np.union1d(largest, np.linspace(0, len(self.rows) - 1, half).astype(np.intp))
        error = self(self.rows[sample]) - single(single.rows[sample])
        return np.asarray(np.abs(error).max(axis=0))
