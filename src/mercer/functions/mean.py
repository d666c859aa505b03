"""A fitted function as the weighted mean of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from mercer.data.blocks import blocks_of
from mercer.data.kept import same_rows
from mercer.functions.dual import DualFunction
from mercer.functions.function import Array, Function
from mercer.kernels import Kernel, Sum


@dataclass(frozen=True, eq=False)
class MeanFunction(Function):
    """f(x) = sum_c v_c f_c(x) of functions f_c with kernels k_c.

    It lies in the function space of k = sum_c v_c k_c, where ||f||^2 <= sum_c v_c ||f_c||^2.

    Parameters
    ----------
    parts : tuple of Function
        The f_c, with their offsets, of the same targets.
    weights : array of shape (parts,)
        v, positive, of sum one.

    References
    ----------
    N. Aronszajn (1950), Theory of reproducing kernels (the norm of a sum of kernels).
    """

    form: ClassVar[str] = "mean"
    rows_at_a_time: ClassVar[int] = 1 << 16

    parts: tuple[Function, ...]
    weights: Array

    @cached_property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """K = sum_c v_c k_c, of which the terms are the kernels with their weights."""
        return weighted_kernel([part.kernel for part in self.parts], self.weights)

    @property
    def intercept(self) -> Array:  # type: ignore[override]
        """The mean of the offsets."""
        return self._mean([part.intercept for part in self.parts])

    @property
    def dual(self) -> Self | None:
        """The mean of the parts as sums over training rows, or None where one keeps none."""
        duals = tuple(part.dual for part in self.parts)
        if any(part is None for part in duals):
            return None
        is_same = all(ours is theirs for ours, theirs in zip(duals, self.parts, strict=True))
        return self if is_same else replace(self, parts=duals)

    @property
    def rows(self) -> Any:
        """The training rows; of parts with landmarks, which have their own each, the first's."""
        return self.parts[0].dual.rows

    @property
    def sums(self) -> tuple[tuple[float, DualFunction], ...]:
        """The sums over rows that f is made of, with their weights."""
        return tuple(
            (weight * inner, dual)
            for weight, part in zip(self.weights.tolist(), self.parts, strict=True)
            for inner, dual in part.dual.sums
        )

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        for rows, some in blocks_of(X, 1, self.rows_at_a_time):
            yield rows, self._mean([part(some) for part in self.parts])

    def gradient(self, X: Any) -> Array:
        return self._mean([part.gradient(X) for part in self.parts])

    def row_norms(self) -> Array:
        kept = [part.dual.rows for part in self.parts if part.dual is not None]
        if not all(rows is kept[0] or same_rows(rows, kept[0]) for rows in kept):
            raise ValueError(
                "the parts of the mean have rows of their own, such as landmarks, so that none has "
                "a part in all of it; ask each of its parts"
            )
        squares = [np.square(part.row_norms()) for part in self.parts]
        return np.sqrt(self._mean(squares))

    def _mean(self, values: list[Array]) -> Array:
        total = self.weights[0] * values[0]
        for weight, value in zip(self.weights[1:], values[1:], strict=True):
            total = total + weight * value
        return np.asarray(total)


def weighted_kernel(kernels: list[Kernel], weights: Array) -> Kernel:
    """Return sum_c v_c k_c, one kernel as it is."""
    if len(kernels) == 1:
        return kernels[0]
    return Sum(tuple(v * k for v, k in zip(weights.tolist(), kernels, strict=True)))
