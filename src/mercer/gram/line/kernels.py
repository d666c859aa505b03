"""Kernels of one column that make a chain of its points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import as_matrix, check_not_negative
from mercer.kernels import (
    After,
    Columns,
    Constant,
    Exponential,
    Kernel,
    Laplacian,
    Scaled,
    Sobolev,
    Sum,
)
from mercer.tiles.rows import NON_NEGATIVE


@dataclass(frozen=True)
class Line:
    """The kernel factor * k0 + constant, where k0 is min(x, z) or exp(-|x - z| / length_scale).

    Parameters
    ----------
    length_scale : float
        Infinite for min(x, z), between the points of which f is linear.
    factor : float
        Positive.
    constant : float
        Not negative.
    views : tuple of kernels
        Those that select or map what k0 reads, the outermost first.
    """

    length_scale: float
    factor: float = 1.0
    constant: float = 0.0
    views: tuple[Kernel, ...] = ()

    @property
    def is_rooted(self) -> bool:
        """Whether k0 is min(x, z), which ties f to zero at x = 0 and nowhere else."""
        return np.isinf(self.length_scale)

    def column(self, X: Any) -> NDArray[Any] | None:
        """Return the column of the rows `X` that k0 reads; None if it reads several."""
        for view in self.views:
            X = view.inputs(X)
        if getattr(X, "ndim", None) == 2 and X.shape[1] != 1:
            return None
        matrix = as_matrix(X)
        if matrix.shape[1] != 1:
            return None
        if self.is_rooted:
            check_not_negative(matrix, NON_NEGATIVE["minimum"])
        return (matrix.toarray() if sp.issparse(matrix) else matrix)[:, 0]

    def only_column(self, X: Any) -> NDArray[Any]:
        """Return the column of the rows `X` that k0 reads, or refuse rows with several."""
        column = self.column(X)
        if column is None:
            raise ValueError("the kernel reads one column, and these rows have several")
        return column

    def positions(self, X: Any) -> NDArray[np.float64]:
        """Return where the rows `X` lie on the line."""
        return np.ascontiguousarray(self.only_column(X), np.float64)


def line_of(kernel: Kernel) -> Line | None:
    """Return the kernel as a multiple of k0 plus a constant, if it is one."""
    # A subclass may have another formula.
    if type(kernel) is Sobolev:
        return Line(np.inf)
    if type(kernel) is Exponential or type(kernel) is Laplacian:
        return _with_scale(kernel.length_scale)
    if isinstance(kernel, Columns | After):
        line = line_of(kernel.kernel)
        return line and replace(line, views=(kernel, *line.views))
    if isinstance(kernel, Scaled):
        return _times(line_of(kernel.kernel), kernel.factor)
    if isinstance(kernel, Sum):
        return _sum(kernel.terms)
    return None


def _with_scale(scale: float | tuple[float, ...] | str) -> Line | None:
    if isinstance(scale, tuple):
        return Line(scale[0]) if len(scale) == 1 else None
    # A scale that the data are to tell is any number until then.
    return Line(1.0 if isinstance(scale, str) else scale)


def _times(line: Line | None, factor: float) -> Line | None:
    if line is None or factor * line.factor == 0.0:
        return None
    return replace(line, factor=factor * line.factor, constant=factor * line.constant)


def _sum(terms: tuple[Kernel, ...]) -> Line | None:
    constants = [c for term in terms if (c := _constant(term)) is not None]
    lines = [line_of(term) for term in terms if _constant(term) is None]
    if len(lines) != 1 or lines[0] is None or any(c < 0.0 for c in constants):
        return None
    return replace(lines[0], constant=lines[0].constant + sum(constants))


def _constant(term: Kernel) -> float | None:
    if isinstance(term, Scaled):
        value = _constant(term.kernel)
        return None if value is None else term.factor * value
    return term.value if isinstance(term, Constant) else None
