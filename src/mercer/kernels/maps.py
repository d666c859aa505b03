"""Maps of rows that a kernel may carry, fitted to the training rows and kept as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.data.memory import gigabytes, memory_limit
from mercer.errors import MemoryLimitError
from mercer.kernels import domains, printing
from mercer.kernels.params import Parametric

Array = NDArray[Any]


@dataclass(frozen=True)
class InputMap(Parametric, ABC):
    """A map of rows to rows of which the parameters may come from data.

    A frozen dataclass that prints as the expression language reads it.
    """

    @property
    @abstractmethod
    def is_resolved(self) -> bool:
        """Whether every parameter is known."""

    @abstractmethod
    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        """Return the map with parameters from weighted rows `X`, itself if they are known."""

    @abstractmethod
    def __call__(self, X: Any) -> Any:
        """Return the rows `X`, mapped."""

    def without_rules(self) -> InputMap:
        """Return a map to rows of the same form that needs no data."""
        return self if self.is_resolved else AsNumbers()


@dataclass(frozen=True)
class AsNumbers(InputMap):
    """The rows themselves, as a matrix of numbers."""

    @property
    def is_resolved(self) -> bool:
        return True

    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        return self

    def __call__(self, X: Any) -> Any:
        return as_matrix(X)


@dataclass(frozen=True)
class Standardize(InputMap):
    """Every column in units of its own spread: x_j -> (x_j - mean_j) / scale_j.

    Without numbers it takes them from the rows that the kernel is fitted to: the mean and the
    standard deviation (over n, not n - 1) of each column. A column that is constant has the scale
    1, so that it becomes zero. Estimators weigh the rows by their sample weights.

    Sparse rows become dense.

    Parameters
    ----------
    mean : tuple of float
        The means, one for each column.
    scale : tuple of float
        The scales, positive, one for each column.

    Examples
    --------
    >>> from mercer import Gaussian, Standardize
    >>> print(Gaussian(2.0).after(Standardize()).on("age", "bmi"))
    gaussian(length_scale=2.0).after(standardize()).on(age, bmi)
    """

    mean: tuple[float, ...] = domains.numbers(())
    scale: tuple[float, ...] = domains.positives(())

    def __post_init__(self) -> None:
        domains.check_fields(self)
        if len(self.mean) != len(self.scale):
            raise ValueError(
                f"Standardize: mean has {len(self.mean)} entries and scale {len(self.scale)}; "
                "give one of each per column, or neither to take them from the training rows"
            )

    @property
    def is_resolved(self) -> bool:
        return len(self.mean) > 0

    @property
    def n_columns(self) -> int | None:
        """The number of columns of the rows it maps, if it is known."""
        return len(self.mean) or None

    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        if self.is_resolved:
            return self
        matrix = _dense(X).astype(np.float64, copy=False)
        if len(matrix) == 0:
            width = matrix.shape[1]
            return type(self)((0.0,) * width, (1.0,) * width)
        low, high = matrix.min(axis=0), matrix.max(axis=0)
        # In units of the largest entry, so that no square leaves the range of numbers.
        unit = np.maximum(np.abs(low), np.abs(high))
        unit[unit == 0.0] = 1.0
        scaled = matrix / unit
        mean = np.average(scaled, axis=0, weights=weights)
        spread = np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=weights))
        mean, scale = mean * unit, spread * unit
        constant = (low == high) | (scale < np.finfo(np.float64).tiny)
        mean, scale = np.where(low == high, low, mean), np.where(constant, 1.0, scale)
        return type(self)(tuple(mean.tolist()), tuple(scale.tolist()))

    def __call__(self, X: Any) -> Array:
        if not self.is_resolved:
            raise ValueError("standardize() has no numbers yet; resolve it on rows: k.resolved(X)")
        matrix = _dense(X)
        if matrix.shape[1] != len(self.mean):
            raise ValueError(
                f"Standardize was fitted to {len(self.mean)} columns, got {matrix.shape[1]}; "
                "both must have the same columns"
            )
        rows = (matrix - np.array(self.mean)) / np.array(self.scale)
        return np.asarray(rows, dtype=matrix.dtype)

    def as_latex(self, x: str) -> str:
        """Return the mapped row as a formula."""
        return rf"\operatorname{{standardize}}({x})"

    def __str__(self) -> str:
        return printing.call(self) if self.is_resolved else "standardize()"


def _dense(X: Any) -> Array:
    matrix = as_matrix(X)
    if not sp.issparse(matrix):
        return np.asarray(matrix)
    needed, limit = matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize, memory_limit()
    if needed > limit:
        raise MemoryLimitError(
            f"Standardize moves zero, so that sparse rows become dense: {gigabytes(needed)}, but "
            f"the limit is {gigabytes(limit)}; scale the columns without it"
        )
    return np.asarray(matrix.toarray())
