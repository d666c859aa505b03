"""Maps of rows that a kernel may carry, fitted to the training rows and kept as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.categories import is_missing
from mercer.data.checks import Matrix, check_finite, check_not_infinite
from mercer.data.kinds import numbers_of
from mercer.data.limits.memory import gigabytes, memory_limit
from mercer.data.moments import moments_of, sparse_moments
from mercer.data.sequences import sequence_rows
from mercer.data.stream import Stream
from mercer.errors import MemoryLimitError
from mercer.kernels import domains
from mercer.kernels.language import printing
from mercer.kernels.params import Parametric
from mercer.tiles import Rows

Array = NDArray[Any]

# What a map may do about a missing value.
REFUSE, MEAN = "refuse", "mean"


@dataclass(frozen=True)
class Received:
    """The map of rows to the form in which functions of users take them.

    Lists and tables of numbers become arrays, and all else stays as it is.
    """

    def __call__(self, X: Any) -> Any:
        return numbers_of(X)

    def pullback(self, X: Any, V: Array) -> Array:
        """Return J(x)'v, which is v."""
        return V

    def as_latex(self, x: str) -> str:
        """Return the row itself."""
        return x


@dataclass(frozen=True)
class InputMap(Parametric, ABC):
    """A map of rows to rows of which the parameters may come from data.

    A frozen dataclass that prints as the expression language reads it.
    """

    # What it reads of a row, as kernels say it.
    domain: ClassVar[str] = "numbers"

    @property
    def is_resolved(self) -> bool:
        """Whether every parameter is known, as those are that do not follow from rows."""
        return True

    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        """Return the map with parameters from weighted rows `X`, itself if they are known.

        They may be `Rows`, of which what is known is not read again.
        """
        return self

    @abstractmethod
    def __call__(self, X: Any) -> Any:
        """Return the rows `X`, mapped."""

    def __str__(self) -> str:
        return printing.changed(self)

    def check(self, rows: Rows) -> None:
        """Refuse rows with a cell that it cannot map."""
        self.resolved(rows.X)(rows.X)

    def without_rules(self) -> InputMap:
        """Return a map to rows of the same form that needs no data."""
        return self


@dataclass(frozen=True)
class NumberMap(InputMap):
    """A map of rows of numbers, of which the columns of a table are read once."""

    @property
    def takes_gaps(self) -> bool:
        """Whether a missing number is no error."""
        return False

    @abstractmethod
    def mapped(self, rows: Rows) -> Any:
        """Return the rows, mapped."""

    def __call__(self, X: Any) -> Any:
        return self.mapped(Rows(X, "X"))

    def check(self, rows: Rows) -> None:
        self.mapped(rows) if self.is_resolved else self._numbers(rows)

    def _numbers(self, rows: Rows) -> Matrix:
        """Return rows as a matrix, with NaN where a number is missing if that is no error."""
        matrix, titles = rows.floats
        check = check_not_infinite if self.takes_gaps else check_finite
        check(matrix, rows.name, titles)
        return matrix


@dataclass(frozen=True)
class AsNumbers(NumberMap):
    """The rows themselves, as a matrix of numbers, with 0 for missing ones."""

    @property
    def takes_gaps(self) -> bool:
        return True

    def mapped(self, rows: Rows) -> Any:
        matrix = self._numbers(rows)
        return matrix if sp.issparse(matrix) else np.where(np.isnan(matrix), 0.0, matrix)

    def pullback(self, X: Any, V: Array) -> Array:
        """Return J(x)'v: v, and zero by what is missing."""
        matrix = self._numbers(Rows(X, "X"))
        return V if sp.issparse(matrix) else np.where(np.isnan(matrix)[:, :, None], 0.0, V)


@dataclass(frozen=True)
class Project(NumberMap):
    """A linear map of the rows: x -> R x.

    The squared distance behind it is (x - z)'M (x - z) with the metric M = R'R.

    Parameters
    ----------
    R : matrix of shape (p, columns)
        Kept as a tuple of rows.

    Examples
    --------
    >>> from mercer import Gaussian, Project
    >>> print(Gaussian(2.0).after(Project([[1.0, -1.0]])))
    gaussian(length_scale=2.0).after(project(R=[[1.0, -1.0]]))
    """

    R: tuple[tuple[float, ...], ...] = domains.matrix()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.R or not self.R[0] or len({len(row) for row in self.R}) != 1:
            raise ValueError("Project: R must have rows of the same length, at least one of each")

    def mapped(self, rows: Rows) -> Array:
        matrix, R = self._numbers(rows), np.array(self.R)
        if matrix.shape[1] != R.shape[1]:
            raise ValueError(
                f"Project: R has {R.shape[1]} columns but the rows have {matrix.shape[1]}; they "
                "must agree"
            )
        return np.asarray(matrix @ R.T, dtype=matrix.dtype)

    def pullback(self, X: Any, V: Array) -> Array:
        """Return J(x)'v = R'v."""
        return np.asarray(np.einsum("pk,npt->nkt", np.array(self.R), V))

    def as_latex(self, x: str) -> str:
        """Return R x as a formula."""
        return f"R {x}"


@dataclass(frozen=True)
class FillMissing(InputMap):
    """Texts or lists of tokens, with the same text wherever one is missing, by default none.

    Text without a character has no parts to compare, so that a normalised kernel of sequences is 0
    between it and every row: a missing text says nothing, for or against.

    Parameters
    ----------
    value : str
        The text in place of a missing one.

    Examples
    --------
    >>> from mercer import FillMissing, Words
    >>> print(Words().after(FillMissing()).on("note"))
    words(normalize=True).after(fill_missing()).on(note)
    """

    domain: ClassVar[str] = "sequences"
    is_discrete: ClassVar[bool] = True

    value: str = domains.text("")

    def __call__(self, X: Any) -> list[Any]:
        return [self.value if is_missing(row) else row for row in sequence_rows(X)]

    def as_latex(self, x: str) -> str:
        """Return the mapped row as a formula."""
        return x


@dataclass(frozen=True)
class Standardize(NumberMap):
    """Every column in units of its own spread: x_j -> (x_j - mean_j) / scale_j.

    Without numbers it takes them from the rows that the kernel is fitted to: the mean and the
    standard deviation (over n, not n - 1) of what is known of each column. A column that is
    constant has the scale 1, so that it becomes zero. Estimators weigh the rows by their sample
    weights.

    Sparse rows become dense, unless the mean stays.

    Parameters
    ----------
    mean : tuple of float
        The means, one for each column.
    scale : tuple of float
        The scales, positive, one for each column.
    missing : {"refuse", "mean"}
        Whether a missing number (NaN, None, null) is an error that names it, or stands at the
        mean of its column. Then further columns come after all others, with 1 where a number is
        missing and 0 elsewhere.
    indicators : tuple of int, optional
        The positions of the columns that have such a further one, by default those in which a
        number is missing among the rows that the kernel is fitted to. Elsewhere a missing number
        stands at the mean, and nothing tells it from one that is there.
    with_mean : bool
        Whether the mean is taken off. Without it sparse rows stay sparse, and distances are the
        same.

    Examples
    --------
    >>> from mercer import Gaussian, Standardize
    >>> print(Gaussian(2.0).after(Standardize()).on("age", "bmi"))
    gaussian(length_scale=2.0).after(standardize()).on(age, bmi)
    """

    mean: tuple[float, ...] = domains.numbers(())
    scale: tuple[float, ...] = domains.positives(())
    missing: str = domains.choice(REFUSE, MEAN)
    indicators: tuple[int, ...] | None = domains.optional_positions()
    with_mean: bool = domains.truth(True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.mean) != len(self.scale):
            raise ValueError(
                f"Standardize: mean has {len(self.mean)} entries and scale {len(self.scale)}; "
                "give one of each per column, or neither to take them from the training rows"
            )
        if self.indicators is not None and self.missing == REFUSE:
            raise ValueError(
                f"Standardize: indicators={self.indicators!r} are for missing='mean', got "
                f"missing={self.missing!r}"
            )
        if self.mean and max(self.indicators or (0,)) >= len(self.mean):
            raise ValueError(
                f"Standardize: indicators must be below {len(self.mean)}, the number of columns, "
                f"got {self.indicators!r}"
            )

    @property
    def takes_gaps(self) -> bool:
        return self.missing == MEAN

    @cached_property
    def is_resolved(self) -> bool:
        return len(self.mean) > 0 and (self.missing == REFUSE or self.indicators is not None)

    @property
    def only_fills(self) -> bool:
        """Whether it puts missing numbers at the means, and leaves all others as they are."""
        return self.missing == MEAN and not self.with_mean and set(self.scale) == {1.0}

    @property
    def n_columns(self) -> int | None:
        """The number of columns of the rows it maps, if it is known."""
        return len(self.mean) or None

    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        if self.is_resolved:
            return self
        rows = Rows.of(X)
        if self._stays_sparse(rows.X):
            mean, scale = sparse_moments(self._numbers(rows), weights)
            return replace(self, mean=tuple(mean.tolist()), scale=tuple(scale.tolist()))
        is_stream = isinstance(rows.X, Stream)
        found = moments_of(
            rows.X.mapped(self._doubles) if is_stream else self._doubles(rows), weights
        )
        mean, scale = found.scales()
        changes: dict[str, Any] = {}
        if not self.mean:
            changes |= {"mean": tuple(mean.tolist()), "scale": tuple(scale.tolist())}
        if self.missing == MEAN and self.indicators is None:
            changes["indicators"] = tuple(np.flatnonzero(found.has_gaps).tolist())
        return replace(self, **changes)

    def without_rules(self) -> InputMap:
        return self if self.is_resolved else AsNumbers()

    def mapped(self, rows: Rows) -> Any:
        if not self.is_resolved:
            raise ValueError("standardize() has no numbers yet; resolve it on rows: k.resolved(X)")
        is_sparse = self._stays_sparse(rows.X)
        matrix = self._numbers(rows) if is_sparse else self._dense(rows)
        if matrix.shape[1] != len(self.mean):
            raise ValueError(
                f"Standardize was fitted to {len(self.mean)} columns, got {matrix.shape[1]}; "
                "both must have the same columns"
            )
        if is_sparse:
            return sp.csr_array(matrix @ sp.diags_array(1.0 / np.array(self.scale)))
        centre = np.array(self.mean) if self.with_mean else 0.0
        found = (matrix - centre) / np.array(self.scale)
        if self.missing == MEAN:
            is_gap = np.isnan(matrix)
            found[is_gap] = (
                0.0 if self.with_mean else (np.array(self.mean) / self.scale)[np.nonzero(is_gap)[1]]
            )
            found = np.column_stack([found, is_gap[:, list(self.indicators or ())]])
        return np.asarray(found, dtype=matrix.dtype)

    def pullback(self, X: Any, V: Array) -> Array:
        """Return J(x)'v: v_j / scale_j, and zero by what is missing."""
        slopes = V[:, : len(self.scale)] / np.array(self.scale)[:, None]
        if self.missing == MEAN:
            slopes[np.isnan(self._dense(Rows(X, "X")))] = 0.0
        return np.asarray(slopes)

    def as_latex(self, x: str) -> str:
        """Return the mapped row as a formula."""
        return rf"\operatorname{{standardize}}({x})"

    def _stays_sparse(self, X: Any) -> bool:
        return sp.issparse(X) and not self.with_mean and self.missing == REFUSE

    def _doubles(self, X: Any) -> Array:
        return self._dense(Rows.of(X)).astype(np.float64, copy=False)

    def _dense(self, rows: Rows) -> Array:
        matrix = self._numbers(rows)
        if not sp.issparse(matrix):
            return np.asarray(matrix)
        needed, limit = matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize, memory_limit()
        if needed > limit:
            raise MemoryLimitError(
                f"Standardize moves zero, so that sparse rows become dense: {gigabytes(needed)}, "
                f"but the limit is {gigabytes(limit)}; use Standardize(with_mean=False)"
            )
        return np.asarray(matrix.toarray())
