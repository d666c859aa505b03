"""A fitted function of points on a line, by its values at the training points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer.functions.dual import DualFunction
from mercer.functions.function import Array, Function
from mercer.gram.line.kernels import Line, line_of
from mercer.kernels import Kernel
from mercer.native import chain


@dataclass(frozen=True, eq=False)
class LineFunction(Function):
    """The function of least norm with given values at knots on a line, plus b.

    Between two knots it is straight for min(x, z), and for the exponential kernel at the distances
    u and v from them (f_i sinh(v / l) + f_i+1 sinh(u / l)) / sinh((u + v) / l). Beyond the last
    knot it is constant, or fades as exp(-u / l). A value takes O(log m) steps.

    Parameters
    ----------
    kernel : Kernel
        k = factor k0 + constant, where k0 is min(x, z) or exp(-|x - z| / l) of one column.
    knots : array of shape (m,)
        The distinct training points, ascending.
    coefficients : array of shape (m, targets)
        f at the knots, without the share of a constant that is not in k0.
    level : array of shape (targets,)
        That share, the same everywhere.
    intercept : array of shape (targets,)
        b.
    dual : DualFunction, optional
        The same function as a sum over training rows.
    """

    form: ClassVar[str] = "line"

    kernel: Kernel
    knots: Array
    coefficients: Array
    level: Array
    intercept: Array
    dual: DualFunction | None = None

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        x, values = self._line.positions(X), np.ascontiguousarray(self.coefficients)
        f = chain.interpolate(self.knots, values, self._line.length_scale, self._root, x)
        yield slice(0, len(x)), f + (self.level + self.intercept)

    @cached_property
    def _line(self) -> Line:
        line = line_of(self.kernel)
        if line is None:
            raise ValueError(f"{self.kernel!r} is no kernel of points on a line")
        return line

    @property
    def _root(self) -> float:
        """How far before the first knot min(x, z) plus its constant is zero."""
        if not self._line.is_rooted:
            return np.inf
        return float(self.knots[0]) + self._line.constant / self._line.factor
