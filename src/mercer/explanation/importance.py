"""How much every column matters, and the directions in which f moves most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

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
from mercer.errors import MemoryLimitError
from mercer.explanation.scales import ranked_columns
from mercer.explanation.subject import Subject

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Importance:
    """The importance of columns from the changes of f that they cause.

    A column has the changes f(x') - f(x) where its cell is that of another row, which sum the
    gradient of f along the way from one to the other: how far f moves with the spread of the
    column, whatever units its numbers have, and alike for numbers, categories, dates and text. They
    are counted in units in which their root mean square is |w_j| s_j for f(x) = w'x, where s_j is
    the deviation of the column, of its normal scores where the kernel reads it by its ranks.

    Slopes at single rows s_j df/dx_j would have it too, but are endless where f steps, or where a
    column is seen by its ranks and many rows have nearly the same number. They tell directions.
    Where there are too many columns to exchange all, as there are in sparse rows, they tell those
    that have slopes and are not seen by their ranks.

    Parameters
    ----------
    subject : Subject
        f and rows.

    References
    ----------
    M. Jansen (1999), Analysis of variance designs for model output (exchanged cells).
    I. Sobol and S. Kucherenko (2009), Derivative based global sensitivity measures.
    P. Constantine, E. Dow and Q. Wang (2014), Active subspace methods in theory and practice.
    """

    # Rows at which the gradient is taken, and the entries of gradients that this may make: the mean
    # over so many rows is known to a few hundredths.
    gradients: ClassVar[int] = 500
    entries: ClassVar[int] = 1 << 23
    # Directions that are told, and the share of the squared gradient below which one is noise.
    most_directions: ClassVar[int] = 3
    least_share: ClassVar[float] = 0.01
    # The importance of the first column with slopes, beside that of the first of all, from which
    # on directions are told.
    least_part: ClassVar[float] = 0.1
    # Rows whose cells are exchanged with those of others, at least and at most, and the
    # multiplications that this may take: about a second of one core.
    least_exchanged: ClassVar[int] = 20
    most_exchanged: ClassVar[int] = 500
    work: ClassVar[float] = 4e9
    # Cells of rows with an exchanged cell that are held at once.
    held: ClassVar[int] = 1 << 23
    # How much longer slopes may be than the changes of f with the spread of a column. Those of
    # waves are, and those of steps, or of ranks where many rows have nearly the same number, have
    # no end.
    steepest: ClassVar[float] = 3.0

    subject: Subject

    @cached_property
    def slopes(self) -> Array | None:
        """s_j df/dx_j, of shape (rows, columns, targets), or None where there is no derivative."""
        s = self.subject
        width = max(1, len(s.columns) * s.function.n_targets)
        rows = s.sample(min(self.gradients, max(1, self.entries // width)))
        try:
            gradient = s.gradient(rows)
        except MemoryLimitError:
            raise
        except ValueError:
            # Of a Python function no derivative is known; exchanged cells need none.
            return None
        return np.asarray(gradient * deviations(s.rows)[:, None])

    @cached_property
    def changes(self) -> list[Change]:
        """The changes of f by every column."""
        count, chosen = len(self.subject.columns), self._exchangeable()
        slopes = np.zeros((1, count, 1)) if self.slopes is None else self.slopes
        # As if every number had grown by one deviation.
        found = [Change(slopes[:, j], np.ones(len(slopes)), 1.0) for j in range(count)]
        for j, change in zip(chosen, self._exchanged(chosen), strict=True):
            found[j] = change
        return found

    @cached_property
    def sizes(self) -> Array:
        """The root mean square of the changes by every column, over rows and targets."""
        return np.array([change.size for change in self.changes])

    def is_slope(self, j: int) -> bool:
        """Whether the changes by a column have a sign: they are those of a growing number."""
        return self.slopes is not None and bool(self.slopes[:, j].any())

    def directions(self) -> tuple[Array, Array]:
        """Return the shares of the squared gradient and the directions, (columns, directions).

        These are the first eigenvalues and eigenvectors of the mean of g g', the average gradient
        outer product, for the gradients g in deviations of the columns. Slopes of steps, which are
        longer than f moves, are shortened to no more than `steepest` times that. A direction is
        told if its share is more than that of unrelated gradients of equal length, the edge of the
        spectrum of Marchenko and Pastur, and none where other columns, such as texts, are what
        moves f.

        References
        ----------
        V. Marchenko and L. Pastur (1967), Distribution of eigenvalues for some sets of random
        matrices.
        """
        slopes = self.slopes
        if slopes is None or not slopes.any():
            return np.empty(0), np.empty((len(self.subject.columns), 0))
        G = np.moveaxis(slopes, 1, 2).reshape(-1, slopes.shape[1])
        lengths = np.sqrt(np.mean(G**2, axis=0))
        most = self.steepest * self.sizes
        G = G * np.divide(most, lengths, out=np.ones_like(lengths), where=lengths > most)
        squares, V = _strongest(G, self.most_directions)
        total = float(np.sum(G**2))
        if not total > 0.0:
            return np.empty(0), np.empty((len(V), 0))
        shares = squares / total
        sloped = slopes.any(axis=(0, 2))
        p = int(sloped.sum())
        edge = (1.0 + np.sqrt(p / len(G))) ** 2 / p if p > 1 else 0.0
        is_led = self.sizes[sloped].max() >= self.least_part * self.sizes.max()
        kept = int(np.sum(shares >= max(self.least_share, edge))) if is_led else 0
        # The sign of a direction is that in which f grows on average.
        grows = np.where(G.mean(axis=0) @ V[:, :kept] < 0.0, -1.0, 1.0)
        return shares[:kept], V[:, :kept] * grows

    def _exchangeable(self) -> list[int]:
        """Return the columns whose cells are exchanged: all, or those that slopes do not tell."""
        s = self.subject
        if sp.issparse(s.rows):
            return []
        every = range(len(s.columns))
        if self.slopes is None or self._rows_in_work(len(every)) >= self.least_exchanged:
            return list(every)
        # A column that is constant changes nothing, whatever reads it.
        is_told = self.slopes.any(axis=(0, 2)) | (deviations(s.rows) == 0.0)
        ranked = ranked_columns(s.kernel, s.rows)
        return [j for j in every if j in ranked or not is_told[j]]

    def _rows_in_work(self, columns: int) -> float:
        """Return at how many rows so many columns are exchanged in the work allowed."""
        s = self.subject
        return self.work / ((columns + 1) * max(len(s.columns), 8) * n_rows(s.rows))

    def _exchanged(self, chosen: Sequence[int]) -> list[Change]:
        """Return the changes of f where each of some columns has the cells of other rows."""
        if not chosen:
            return []
        s = self.subject
        work = self._rows_in_work(len(chosen))
        count = int(np.clip(work, self.least_exchanged, self.most_exchanged))
        sample, random = s.sample(count), np.random.default_rng(0)
        n = n_rows(sample)
        # Each of few rows has the cells of several others, as one long move would tell the effect.
        times = max(1, count // n)
        rows = take_rows(sample, np.tile(np.arange(n), times))
        exchanged = np.concatenate([random.permutation(n) for _ in range(times)])
        others, f = take_rows(rows, exchanged), s.values(rows)
        cells, units = _numbers(rows), deviations(s.rows)
        for j in ranked_columns(s.kernel, s.rows):
            cells[:, j], units[j] = _scores(cells[:, j]), 1.0
        moves = cells[exchanged] - cells
        # Many at once, since to read the rows of a table may take longer than to compare them.
        step = max(1, self.held // max(1, n_rows(rows) * len(s.columns)))
        found: list[Change] = []
        for first in range(0, len(chosen), step):
            some = chosen[first : first + step]
            asked = stack_rows(*(exchanged_column(rows, j, others) for j in some))
            for j, values in zip(some, np.split(s.values(asked), len(some)), strict=True):
                found.append(Change(values - f, moves[:, j], float(units[j])))
        return found


@dataclass(frozen=True, eq=False)
class Change:
    """How f changes where a column has other cells.

    Parameters
    ----------
    values : array of shape (rows, targets)
        The changes of f.
    moves : array of shape (rows,)
        Those of the column; NaN where it holds no numbers, or one is missing.
    unit : float
        The deviation of what moves.
    """

    # Quantiles between which an effect is at 80 % of the rows.
    tails: ClassVar[tuple[float, float]] = (0.1, 0.9)

    values: Array
    moves: Array
    unit: float

    @property
    def size(self) -> float:
        """The root mean square of the changes, for moves as long as the column is wide.

        Of two rows at random the cells are sqrt(2) deviations apart.
        """
        known = self.moves[np.isfinite(self.moves)]
        length = float(np.sqrt(np.mean(known**2))) if len(known) else 0.0
        share = self.unit / length if length > 0.0 else np.sqrt(0.5)
        return share * float(np.sqrt(np.mean(self.values**2))) if self.values.size else 0.0

    def effect(self) -> tuple[float, float, float]:
        """Return the change by one deviation of a number, and between which it is at 80 % of rows.

        It is the slope of least squares of the changes over the moves, and the ends are quantiles
        of the slopes of single rows, of which each counts alike; of those whose cell moves.
        """
        is_moved = np.isfinite(self.moves) & (self.moves != 0.0)
        if not is_moved.any():
            return 0.0, 0.0, 0.0
        values, moves = self.values[is_moved, 0], self.moves[is_moved]
        effect = self.unit * float(moves @ values / (moves @ moves))
        low, high = np.quantile(self.unit * values / moves, self.tails, method="inverted_cdf")
        # The effect is the mean of these slopes with the squares of the moves as weights, so that
        # few long moves may take it beyond them.
        return effect, min(float(low), effect), max(float(high), effect)


def _strongest(G: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of G'G, and the eigenvectors as columns.

    They are those of G G' where G has fewer rows than columns: with G G'u = s u the vector G'u has
    the length sqrt(s), and G'G (G'u) = s G'u.
    """
    if len(G) >= G.shape[1]:
        squares, V = np.linalg.eigh(G.T @ G)
        return np.maximum(squares[: -count - 1 : -1], 0.0), V[:, : -count - 1 : -1]
    squares, U = np.linalg.eigh(G @ G.T)
    squares, V = np.maximum(squares[: -count - 1 : -1], 0.0), G.T @ U[:, : -count - 1 : -1]
    lengths = np.linalg.norm(V, axis=0)
    return squares, V / np.where(lengths > 0.0, lengths, 1.0)


def _scores(values: Array) -> Array:
    """Return the normal scores of numbers by their ranks; missing ones stay so."""
    known = np.count_nonzero(np.isfinite(values))
    return np.asarray(ndtri(rankdata(values, nan_policy="omit") / (known + 1.0)))


def _numbers(rows: Any) -> Array:
    """Return the cells that are numbers, of shape (rows, columns), and NaN for the others."""
    arrays = (
        [np.asarray(values) for _, values in column_values(rows)]
        if is_table(rows)
        else list(np.asarray(rows).T)
    )
    return np.column_stack(
        [
            values.astype(np.float64)
            if values.dtype.kind in "fiub"
            else np.full(len(values), np.nan)
            for values in arrays
        ]
    )


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
