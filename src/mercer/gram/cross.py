"""The rectangular matrix between new rows and training rows, for prediction."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.columns import n_rows, take_rows
from mercer.data.memory import memory_limit
from mercer.gram.operator import Array, Index, Operator, check_fits, positions
from mercer.kernels import Kernel
from mercer.tiles import apply, evaluate
from mercer.tiles.operands import bind


class CrossGram(Operator):
    """k(x_i, z_j) of shape (n, m), computed tile by tile whenever it is multiplied.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    X, Z : rows
        Arrays, CSR matrices or tables.
    memory : int, optional
        The limit in bytes for `dense`; by default a share of what is free then.
    """

    def __init__(self, kernel: Kernel, X: Any, Z: Any, memory: int | None = None) -> None:
        self.kernel = kernel
        self.X = X
        self.Z = Z
        self.memory = memory

    @property
    def shape(self) -> tuple[int, int]:
        return n_rows(self.X), n_rows(self.Z)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        # Only the rows behind the kernel's own views tell whether all of them are float32.
        return bind(self.kernel.program, self.X, self.Z).dtype

    @property
    def T(self) -> CrossGram:
        return CrossGram(self.kernel, self.Z, self.X, self.memory)

    def product(self, V: Array) -> Array:
        return apply(self.kernel.program, self.X, self.Z, V)

    def part(self, rows: slice, columns: slice) -> CrossGram:
        """Return the operator of some of the rows `X` and of the rows `Z`."""
        X, Z = take_rows(self.X, rows), take_rows(self.Z, columns)
        return CrossGram(self.kernel, X, Z, self.memory)

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        return evaluate(self.kernel.program, take_rows(self.X, chosen), self.Z)

    def dense(self) -> Array:
        check_fits(self.shape, self.dtype, memory_limit(self.memory))
        return evaluate(self.kernel.program, self.X, self.Z)


def cross_gram(kernel: Kernel, X: Any, Z: Any, memory: Any = None) -> CrossGram:
    """Return the operator k(x_i, z_j) of new rows `X` and training rows `Z`.

    ``cross_gram(k, X, Z) @ a`` are the values at `X` of sum_j a_j k(., z_j). A kernel with
    ``"median"`` is resolved on `Z`, the rows it was fitted to.
    """
    # What is free is not looked up before somebody asks for all entries.
    return CrossGram(kernel.resolved(Z), X, Z, None if memory is None else memory_limit(memory))
