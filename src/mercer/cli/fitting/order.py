"""Whether the rows of a file are in an order of time, and which of them are the last ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import LOOKED_AT
from mercer.data.kinds import are_iso_dates
from mercer.errors import DataFileError
from mercer.kernels.tables.roles import is_time_name

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TimeOrder:
    """The order in time of rows.

    Parameters
    ----------
    column : str or None
        The column that has their times, None for rows as they stand in the file.
    ranks : array of shape (n,)
        The place of the time of every row among all times, NaN where it is missing.
    times : polars.Series, optional
        All times in ascending order.
    """

    # The rank correlation with the number of the row from which on rows are in the order of a
    # column, and the times that there are at least.
    nearly: ClassVar[float] = 0.95
    least_times: ClassVar[int] = 10

    column: str | None
    ranks: Array
    times: Any = None

    @classmethod
    def of(cls, series: Any) -> TimeOrder:
        """Return that of a column of polars."""
        ranks = series.rank("dense").cast(float).fill_null(float("nan")).to_numpy()
        return cls(series.name, np.asarray(ranks, float), series.drop_nulls().unique().sort())

    @cached_property
    def agreement(self) -> float:
        """The rank correlation of time and the number of the row, without its sign."""
        from scipy.stats import spearmanr

        known = ~np.isnan(self.ranks)
        if known.mean() < self.nearly or len(np.unique(self.ranks[known])) < self.least_times:
            return 0.0
        return abs(float(spearmanr(self.ranks[known], np.flatnonzero(known))[0]))

    @property
    def is_that_of_the_rows(self) -> bool:
        """Whether rows stand in the file as time goes, or the other way round, but for a few."""
        return self.agreement >= self.nearly

    @property
    def may_be(self) -> bool:
        """Whether it may be that of more rows, of which these are the first."""
        return self.is_that_of_the_rows or len(self.times) < self.least_times

    def part(self, index: Array) -> TimeOrder:
        """Return the order of some rows."""
        return replace(self, ranks=self.ranks[index])

    def last(self, share: float) -> Array:
        """Return which rows are the last ones, about so many of them; none if all are at one time.

        Rows of the same time stay together, and those without a time are no last ones.
        """
        known = self.ranks[~np.isnan(self.ranks)]
        times, counts = np.unique(known, return_counts=True)
        if len(times) < 2:
            return np.zeros(0, np.intp)
        later = counts.sum() - np.cumsum(counts)[:-1]
        cut = times[int(np.argmin(np.abs(later - share * len(self.ranks))))]
        return np.flatnonzero(self.ranks > cut)

    def since(self, rows: Array) -> str:
        """Say which rows some last ones are."""
        if self.column is None:
            return "the last rows of the file"
        first = self.times[int(self.ranks[rows].min()) - 1]
        return f"the last rows by {self.column!r}, from {first} on"


def time_columns(table: Any) -> list[str]:
    """Return the columns of a table of polars that hold dates, as such or as ISO 8601."""
    import polars as pl

    found = []
    for series in table.get_columns():
        is_text = series.dtype == pl.String
        texts = series.head(LOOKED_AT).drop_nulls().to_list() if is_text else []
        if series.dtype in (pl.Date, pl.Datetime) or are_iso_dates(texts):
            found.append(series.name)
    return found


def likely_times(first: Any) -> list[str]:
    """Return the columns that may tell the order of a table, of which only the first rows are read.

    They are those of dates, and of numbers that are called like times and in order there, or that
    change too slowly to say.
    """
    # Columns of numbers that are read at most: each takes memory for all rows.
    most = 3
    numbers = [order for order in map(TimeOrder.of, _named_like_times(first)) if order.may_be]
    return [*time_columns(first), *(str(order.column) for order in numbers[:most])]


def _named_like_times(table: Any) -> list[Any]:
    """Return the columns of numbers of a table of polars that are called like times."""
    return [s for s in table.get_columns() if s.dtype.is_numeric() and is_time_name(s.name)]


def time_order(
    table: Any, n: int, path: str, asked: str | None, is_needed: bool
) -> TimeOrder | None:
    """Return the order in time of the rows of a table, or None if it has no column that tells it.

    Parameters
    ----------
    table : polars.DataFrame
        The columns that may tell it, which may be none.
    n : int
        The number of rows.
    path : str
        The file, for errors.
    asked : str, optional
        The column that the user names.
    is_needed : bool
        Whether rows as they stand are in an order of time where no column has times.
    """
    dates = time_columns(table)
    if asked is not None:
        series = table.get_column(asked)
        if asked not in dates and not _is_ordered(series):
            raise DataFileError(
                f"{path}: the column {asked!r} holds neither dates nor numbers, and has no order "
                "of time; write times as 2024-12-31 or 2024-12, or number them"
            )
        order = TimeOrder.of(series)
        if len(order.times) < 2:
            raise DataFileError(f"{path}: the column {asked!r} has one value; rows have no order")
        return order
    orders = [TimeOrder.of(s) for s in (*table.select(dates), *_named_like_times(table))]
    first = max(orders, key=lambda order: order.agreement, default=None)
    if first is not None and first.is_that_of_the_rows:
        return first
    if is_needed and len(dates) > 1:
        listed = ", ".join(map(repr, dates))
        raise DataFileError(f"{path} has several columns of dates, {listed}; name one by --time")
    if dates:
        return orders[0]
    return TimeOrder(None, np.arange(n, dtype=float)) if is_needed else None


def _is_ordered(series: Any) -> bool:
    """Whether a column of polars ascends with time, as numbers and text like 2024-05 do."""
    import polars as pl

    if series.dtype != pl.String:
        return bool(series.dtype.is_numeric() or series.dtype.is_temporal())
    known = series.drop_nulls()
    return known.str.len_chars().n_unique() == 1 and known.str.contains(r"^\d{4}\D").all()


def likeness_of_neighbours(y: Array, is_classes: bool) -> float:
    """Return how much alike the targets of rows beside each other are, 0 if not beyond chance.

    It is the rank correlation of numbers, and Cohen's kappa of classes. Rows that are sorted by the
    target are alike for no other reason, and count as 0.

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales.
    """
    # Rows that are looked at, the first ones; deviations beyond which it is no chance; rows, and
    # the share of these that a sorted target may change at.
    most, deviations, least = 100_000, 6.0, 20
    y = y[:most]
    n = len(y)
    if n < least:
        return 0.0
    levels, codes = np.unique(y, return_inverse=True)
    if len(levels) < 2:
        # Of a sorted target the first rows may all have the same.
        return 0.0
    if is_classes:
        shares = np.bincount(codes) / n
        changes = int((codes[1:] != codes[:-1]).sum())
        by_chance = float(shares @ shares)
        is_sorted = changes < 2 * len(shares)
        found = 1.0 - (changes / (n - 1)) / (1.0 - by_chance)
    else:
        is_sorted = abs(_correlation(codes, np.arange(n))) > 0.99
        found = _correlation(codes[1:], codes[:-1])
    return 0.0 if is_sorted or found * np.sqrt(n) < deviations else found


def _correlation(a: Array, b: Array) -> float:
    return 0.0 if np.ptp(a) == 0 or np.ptp(b) == 0 else float(np.corrcoef(a, b)[0, 1])


def remark_on_neighbours(y: Array, is_classes: bool) -> Iterable[str]:
    """Yield what to know of rows that were held out at random, if neighbours are alike."""
    found = likeness_of_neighbours(y, is_classes)
    # The likeness from which on it is worth a line.
    much = 0.3
    if found >= much:
        name = "kappa" if is_classes else "correlation"
        yield (
            f"The targets of neighbouring rows are alike ({name} {found:.2f}): if rows are in an "
            "order of time or of groups, scores of rows held out at random flatter; hold out the "
            "last rows by --test-split time, or whole groups by --groups COLUMN."
        )
