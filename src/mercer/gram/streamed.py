"""The Gram matrix recomputed in every product, of which nothing is stored."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.data.blocks import MEMORY, row_blocks
from mercer.data.checks import fits_single
from mercer.data.columns import take_rows
from mercer.data.limits.memory import memory_limit
from mercer.gram.gram import Array, Gram, Index, positions
from mercer.kernels import Kernel
from mercer.kernels.validity.rounding import FUNCTION, entry_errors
from mercer.native import describe
from mercer.tiles import Rows, apply, diagonal, evaluate
from mercer.tiles.operands import bind
from mercer.tiles.tile import Opaque


class StreamedGram(Gram):
    """k(x_i, x_j), computed tile by tile whenever it is multiplied.

    Parameters
    ----------
    kernel : Kernel
        k; ``"median"`` is resolved on `X`.
    X : rows or Rows
        An array, CSR matrix or table, or the same with views that other kernels have too.
    memory : int or str, optional
        The limit for `dense`, in bytes or as ``"4GB"``; a share of the free memory by default.
    """

    # Rows at which entries of float32 are tried.
    sample: ClassVar[int] = 8

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        memory: Any = None,
    ) -> None:
        # The rows behind the kernel's views, which a product need not work out again.
        self.data = Rows.of(X)
        if memory is not None:
            self.memory = memory_limit(memory)
        self.kernel = kernel if kernel.is_resolved else kernel.resolved(self.data)
        self.data.check_together(self.kernel.program)
        self.X = self.data.X

    @cached_property
    def shape(self) -> tuple[int, int]:
        return self.data.n, self.data.n

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        # Only the rows behind the kernel's own views tell whether all of them are float32.
        return bind(self.kernel.program, self.data).dtype

    @property
    def has_own_threads(self) -> bool:
        return self.kernel.program.is_arithmetic and describe()["engine"] == "native"

    @cached_property
    def is_proved(self) -> bool:
        return self.kernel.is_proved

    @property
    def entry_error(self) -> float:
        inputs = self.kernel.program.inputs
        is_given = any(isinstance(i, Opaque) and not i.whole for i in inputs)
        return FUNCTION if is_given else super().entry_error

    def errors(self, index: Index) -> Array:
        # Rows of float32 are not those of a formula in float64.
        if self.dtype == np.float32:
            return super().errors(index)
        return entry_errors(self.kernel.program, self.taken(index))

    def part(self, index: Index) -> Gram:
        return StreamedGram(self.kernel, self.taken(index), self.memory)

    def single(self) -> Gram:
        """Return K in float32, of rows in float32 where the engine itself compares them."""
        if self.dtype != np.float32 and self._has_single_rows:
            single = StreamedGram(self.kernel, self.X.astype(np.float32), self.memory)
            if self._is_close(single):
                return single
        return super().single()

    @property
    def _has_single_rows(self) -> bool:
        """Whether the engine itself compares rows, of numbers within the range of float32."""
        has_numbers = (
            isinstance(self.X, np.ndarray) or sp.issparse(self.X)
        ) and self.X.dtype.kind == "f"
        return self.kernel.program.is_arithmetic and has_numbers and fits_single(self.X)

    def _is_close(self, single: StreamedGram) -> bool:
        """Whether rows in float32 can still be told apart, such as those far from zero cannot."""
        sizes = abs(self.X).max(axis=1)
        largest = int(np.argmax(sizes.toarray() if sp.issparse(sizes) else sizes))
        some = np.union1d(largest, np.linspace(0, len(self) - 1, self.sample - 1).astype(np.intp))
        exact = self.rows(some)
        return bool(
            np.abs(single.rows(some) - exact).max() <= self.single_error * np.abs(exact).max()
        )

    def product(self, V: Array) -> Array:
        return apply(self.kernel.program, self.data, None, V)

    def partial_product(self, rows: Index | None, columns: Index, V: Array) -> Array:
        down = self.data if rows is None else self._part_at(rows)
        across = None if rows is columns else self._part_at(columns)
        return apply(self.kernel.program, down, across, V)

    def diagonal(self) -> Array:
        return diagonal(self.kernel.program, self.data).astype(self.dtype, copy=False)

    def rows(self, index: Index) -> Array:
        return evaluate(self.kernel.program, self._part_at(index), self.data)

    def _part_at(self, index: Index) -> Rows:
        return self.data.part(index if isinstance(index, slice) else positions(index, len(self)))

    def between(self, rows: Index, columns: Index) -> Array:
        across = None if rows is columns else self._part_at(columns)
        return evaluate(self.kernel.program, self._part_at(rows), across)

    def taken(self, index: Index) -> Any:
        """Return some of the rows `X`."""
        # A slice of an array is no copy.
        return take_rows(self.X, index if isinstance(index, slice) else positions(index, len(self)))

    def lower(self, dtype: Any) -> Array:
        self.check_room(dtype)
        out = np.empty(self.shape, dtype)
        # Memory that is used again needs not be cleared again, and stays in the caches.
        room = np.empty(max(MEMORY, len(self)), self.dtype)
        for rows in row_blocks(self.shape):
            shape = (rows.stop - rows.start, rows.stop)
            block = room[: shape[0] * shape[1]].reshape(shape)
            some, before = self._part_at(rows), self._part_at(slice(0, rows.stop))
            out[rows, : rows.stop] = evaluate(self.kernel.program, some, before, block)
        return out

    def entries_at(self, X: Any) -> Array:
        return evaluate(self.kernel.program, X, self.data).T

    def fresh(self) -> Array:
        if not self.has_room(8 * self.data.n**2):
            self.check_room(np.float64)
        # They are computed anew whenever they are asked for.
        return np.asarray(evaluate(self.kernel.program, self.data), np.float64)

    def dense(self) -> Array:
        if not self.has_room(8 * self.data.n**2):
            # In float32 they take half of that.
            self.check_room(self.dtype)
        return evaluate(self.kernel.program, self.data)
