"""Columns by their ranks: a map to the scores of a normal distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri

from mercer.data.stream import Stream
from mercer.kernels import domains
from mercer.kernels.maps import AsNumbers, InputMap, NumberMap
from mercer.tiles import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NormalScores(NumberMap):
    """Every column by the ranks of its values: x_j -> Phi^-1(F_j(x_j)) with their distribution F_j.

    Skewed columns and outliers become normal, and what a monotone function of a column says is said
    by its scores as well. Quantiles of the rows that the kernel is fitted to stand for F_j, with
    straight lines between them; beyond the first and the last the score stays what it is there.

    Parameters
    ----------
    knots : tuple of tuples of float
        The quantiles of each column at (i + 1/2) / p, in ascending order. By default up to 64 of
        the rows that the kernel is fitted to.

    References
    ----------
    B. van der Waerden (1952), Order tests for the two-sample problem and their power.

    Examples
    --------
    >>> from mercer import Gaussian, NormalScores
    >>> print(Gaussian(2.0).after(NormalScores()).on("age", "income"))
    gaussian(length_scale=2.0).after(normal_scores()).on(age, income)
    """

    # Quantiles of a column that are kept: with more a fit follows single rows, with fewer it does
    # not follow a skewed distribution.
    most_knots: ClassVar[int] = 64

    knots: tuple[tuple[float, ...], ...] = domains.matrix(())

    def __post_init__(self) -> None:
        super().__post_init__()
        for j, column in enumerate(self.knots):
            if np.any(np.diff(column) < 0.0):
                raise ValueError(
                    f"NormalScores: the knots of column {j} must be in ascending order"
                )

    @property
    def is_resolved(self) -> bool:
        return len(self.knots) > 0

    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        if self.is_resolved:
            return self
        rows = Rows.of(X)
        if isinstance(rows.X, Stream):
            # Quantiles need rows side by side, and some of them tell them to two digits.
            weights = None if weights is None else weights[rows.X.sample_index]
            rows = Rows(rows.X.sample, "X")
        matrix = self._dense(rows)
        if not matrix.size:
            return self
        n = min(self.most_knots, len(matrix))
        levels = (np.arange(n) + 0.5) / n
        w = np.ones(len(matrix)) if weights is None else weights
        columns = (weighted_quantiles(column, w, levels) for column in matrix.T)
        return replace(self, knots=tuple(tuple(column.tolist()) for column in columns))

    def without_rules(self) -> InputMap:
        return self if self.is_resolved else AsNumbers()

    def mapped(self, rows: Rows) -> Array:
        matrix = self._checked(rows)
        found = [np.interp(x, *_line(k)) for x, k in zip(matrix.T, self.knots, strict=True)]
        return np.column_stack(found).astype(matrix.dtype, copy=False)

    def pullback(self, X: Any, V: Array) -> Array:
        """Return J(x)'v: v_j times the slope of the line on which x_j is."""
        matrix = self._checked(Rows(X, "X"))
        slopes = [_slopes(x, *_line(k)) for x, k in zip(matrix.T, self.knots, strict=True)]
        return np.asarray(V * np.column_stack(slopes)[:, :, None])

    def as_latex(self, x: str) -> str:
        """Return the mapped row as a formula."""
        return rf"\Phi^{{-1}}(F({x}))"

    def _checked(self, rows: Rows) -> Array:
        if not self.is_resolved:
            raise ValueError("normal_scores() has no knots yet; resolve it on rows: k.resolved(X)")
        matrix = self._dense(rows)
        if matrix.shape[1] != len(self.knots):
            raise ValueError(
                f"NormalScores was fitted to {len(self.knots)} columns, got {matrix.shape[1]}; "
                "both must have the same columns"
            )
        return matrix

    def _dense(self, rows: Rows) -> Array:
        matrix = self._numbers(rows)
        return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def weighted_quantiles(values: Array, weights: Array, levels: Array) -> Array:
    """Return the quantiles of weighted values: whole weights count equal ones."""
    order = np.argsort(values, kind="stable")
    # The share of the weight up to the middle of every value.
    ends = np.cumsum(weights[order])
    places = (ends - 0.5 * weights[order]) / ends[-1]
    return np.asarray(np.interp(levels, places, values[order]))


def score_lines(scores: NormalScores) -> list[tuple[Array, Array]]:
    """Return the line of every column: its distinct knots in ascending order, and their scores."""
    return [_line(knots) for knots in scores.knots]


@lru_cache(maxsize=4096)
def _line(knots: tuple[float, ...]) -> tuple[Array, Array]:
    """Return the distinct knots of a column, and their scores: equal ones have the mean score."""
    scores = ndtri((np.arange(len(knots)) + 0.5) / len(knots))
    distinct, places = np.unique(knots, return_inverse=True)
    return distinct, np.bincount(places, scores) / np.bincount(places)


def _slopes(x: Array, knots: Array, scores: Array) -> Array:
    """Return the slopes at points of the line through knots; at a knot that of the line before."""
    if len(knots) < 2:
        return np.zeros_like(x)
    rise = np.diff(scores) / np.diff(knots)
    place = np.searchsorted(knots, x)
    inside = (place > 0) & (place < len(knots))
    return np.where(inside, rise[np.clip(place - 1, 0, len(rise) - 1)], 0.0)
