"""How much every column matters, and the directions in which f moves most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from mercer.data.columns import (
    as_seconds,
    column_values,
    exchanged_column,
    is_table,
    n_rows,
    stack_rows,
    take_rows,
)
from mercer.explanation.scales import ranked_columns
from mercer.explanation.subject import Subject

Array = NDArray[np.float64]

# Rows at which the gradient is taken, and the entries of gradients that this may make: the mean
# over so many rows is known to a few hundredths.
GRADIENTS, ENTRIES = 500, 1 << 23
# Rows whose cells are exchanged with those of others.
EXCHANGED = 200
# Quantiles between which an effect is at most rows.
TAILS = (0.1, 0.9)
# Directions that are told, and the share of the squared gradient below which one is noise.
DIRECTIONS, LEAST_SHARE = 3, 0.01


@dataclass(frozen=True, eq=False)
class Importance:
    """The importance of columns from the changes of f that they cause.

    A column of numbers has the changes s_j df/dx_j at some rows, where s_j is its deviation: how
    far f moves with one deviation of it. Any other column (categories, dates, text, numbers that
    the kernel reads by their ranks) has the changes (f(x') - f(x)) / sqrt(2) where its cell is that
    of another row. Both have the root mean square |w_j| s_j for f(x) = w'x, and are compared.

    Parameters
    ----------
    subject : Subject
        f and rows.

    References
    ----------
    I. Sobol and S. Kucherenko (2009), Derivative based global sensitivity measures.
    M. Jansen (1999), Analysis of variance designs for model output (exchanged cells).
    P. Constantine, E. Dow and Q. Wang (2014), Active subspace methods in theory and practice.
    """

    subject: Subject

    @cached_property
    def slopes(self) -> Array | None:
        """s_j df/dx_j, of shape (rows, columns, targets), or None where there is no derivative."""
        s = self.subject
        width = max(1, len(s.columns) * s.function.n_targets)
        rows = s.sample(min(GRADIENTS, max(1, ENTRIES // width)))
        try:
            gradient = s.gradient(rows)
        except ValueError:
            # Of a Python function no derivative is known; exchanged cells need none.
            return None
        return np.asarray(gradient * deviations(s.rows)[:, None])

    @cached_property
    def changes(self) -> list[Array]:
        """The changes of f by every column, each of shape (some rows, targets)."""
        places = range(len(self.subject.columns))
        others = [j for j in places if not self.is_slope(j)]
        exchanged = dict(zip(others, self._exchanged(others), strict=True))
        slopes = self.slopes
        return [exchanged[j] if slopes is None or j in exchanged else slopes[:, j] for j in places]

    @cached_property
    def sizes(self) -> Array:
        """The root mean square of the changes by every column, over rows and targets."""
        squares = [float(np.mean(change**2)) if change.size else 0.0 for change in self.changes]
        return np.sqrt(squares)

    @cached_property
    def ranked(self) -> set[int]:
        """The columns that the kernel reads by their ranks."""
        return ranked_columns(self.subject.kernel, self.subject.rows)

    def is_slope(self, j: int) -> bool:
        """Whether the changes by a column have a sign: they are those of a growing number."""
        return j not in self.ranked and self.slopes is not None and bool(self.slopes[:, j].any())

    def rank_slope(self, j: int) -> float:
        """Return how far f moves with one deviation of the normal score of a column.

        The slope of the line through the origin that is nearest to f(x') - f(x) over the difference
        of the scores, where x' has the cell of another row; of one target.
        """
        rows = self.subject.sample(EXCHANGED)
        values = as_seconds(np.asarray(column_values(rows)[j][1] if is_table(rows) else rows[:, j]))
        scores = ndtri(rankdata(values, nan_policy="omit") / (len(values) + 1.0))
        steps = scores[_others(len(scores))] - scores
        known = np.isfinite(steps)
        squares = float(np.sum(steps[known] ** 2))
        change = np.sqrt(2.0) * self.changes[j][:, 0]
        return float(np.sum(steps[known] * change[known]) / squares) if squares else 0.0

    def directions(self) -> tuple[Array, Array]:
        """Return the shares of the squared gradient and the directions, (columns, directions).

        These are the first eigenvalues and eigenvectors of the mean of g g', the average gradient
        outer product, for the gradients g in deviations of the columns. Where some are read by
        their ranks there are none.
        """
        slopes = self.slopes
        if slopes is None or not slopes.any() or self.ranked:
            return np.empty(0), np.empty((len(self.subject.columns), 0))
        G = np.moveaxis(slopes, 1, 2).reshape(-1, slopes.shape[1])
        _, s, V = np.linalg.svd(G, full_matrices=False)
        shares = s**2 / np.sum(s**2)
        kept = int(np.sum(shares[:DIRECTIONS] >= LEAST_SHARE))
        V = V[:kept]
        # The sign of a direction is that in which f grows on average.
        grows = np.where(G.mean(axis=0) @ V.T < 0.0, -1.0, 1.0)
        return shares[:kept], (V * grows[:, None]).T

    def _exchanged(self, places: list[int]) -> Iterable[Array]:
        """Return (f(x') - f(x)) / sqrt(2) of columns, x' with the cell of another row in one."""
        s = self.subject
        if sp.issparse(s.rows) or not places:
            # Of sparse rows all is read as numbers: a column without a slope has no effect.
            return [np.zeros((1, len(s.targets)))] * len(places)
        rows = s.sample(EXCHANGED)
        others = take_rows(rows, _others(n_rows(rows)))
        # All at once, since to read the rows of a table may take longer than to compare them.
        asked = stack_rows(rows, *(exchanged_column(rows, j, others) for j in places))
        f, *changed = np.split(s.values(asked), len(places) + 1)
        return [(values - f) / np.sqrt(2.0) for values in changed]


def _others(n: int) -> NDArray[np.intp]:
    """Return the row whose cell each of `n` rows is given."""
    return np.random.default_rng(0).permutation(n)


def deviations(rows: Any) -> Array:
    """Return the standard deviation of every column, of missing numbers and text as 1."""
    if is_table(rows):
        arrays = [as_seconds(np.asarray(values)) for _, values in column_values(rows)]
        return np.array([_deviation(values) for values in arrays])
    if sp.issparse(rows):
        mean, squares = (np.asarray(M.mean(axis=0)).ravel() for M in (rows, rows.multiply(rows)))
        return np.sqrt(np.maximum(squares - mean**2, 0.0))
    matrix = np.asarray(rows)
    if matrix.dtype.kind in "fiub":
        return np.array([_deviation(column) for column in matrix.T])
    return np.ones(matrix.shape[1])


def _deviation(values: NDArray[Any]) -> float:
    if values.dtype.kind not in "fiub":
        return 1.0
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    return float(np.std(known, dtype=np.float64)) if len(known) else 0.0


def quantiles(changes: Array) -> tuple[float, float]:
    """Return between which numbers most changes are."""
    low, high = np.quantile(changes, TAILS)
    return float(low), float(high)
