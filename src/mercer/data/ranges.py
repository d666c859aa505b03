"""Ranges of numbers and dates of training rows, their categories, and what others have outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.categories import coded, is_missing, titled_columns
from mercer.data.columns import column_values, is_table, n_rows, select_columns
from mercer.data.dates import as_dates
from mercer.data.distinct import row_numbers
from mercer.data.kinds import ISO_DATE, MICROSECONDS, Kind, column_kinds, kind_of_values

Array = NDArray[np.float64]


# Dates are compared by days since 1970.
DAY = np.timedelta64(1, "D")


class Outside(NamedTuple):
    """Cells of a column that lie far outside of a range: how many, and the farthest."""

    column: str
    cells: int
    value: float
    low: float
    high: float
    are_dates: bool = False

    def __str__(self) -> str:
        many = "1 row with" if self.cells == 1 else f"{self.cells} rows with values such as"
        value, low, high = map(self._said, (self.value, self.low, self.high))
        return f"{self.column!r}, {many} {value} where these have {low} to {high}"

    def _said(self, value: float) -> str:
        return str(np.datetime64(int(np.floor(value)), "D")) if self.are_dates else f"{value:g}"

    def with_more(self, other: Outside) -> Outside:
        """Return these cells and those of other rows together."""
        center = (self.low + self.high) / 2.0
        farthest = max((self.value, other.value), key=lambda value: abs(value - center))
        return self._replace(cells=self.cells + other.cells, value=farthest)


def outside_in_words(found: Sequence[Outside]) -> str:
    """Return what lies far outside of ranges in one sentence: a few columns, and names of more."""
    # Columns that are told of, and others that are named.
    told, named = 3, 10
    names = ", ".join(repr(each.column) for each in found[told : told + named])
    more = f"; also {names}" if names else ""
    rest = len(found) - told - named
    more += f" and {rest} columns more" if rest > 0 else ""
    return (
        "cells far outside of the training rows, where predictions are guesses: column "
        f"{'; '.join(map(str, found[:told]))}{more}"
    )


@dataclass(frozen=True)
class Ranges:
    """The least and the largest value of every column of numbers or dates.

    Parameters
    ----------
    entries : tuple of (str, float, float)
        The name of a column, or its position as text, with its least and its largest number.
    dates : tuple of str
        Those of dates, whose numbers are days since 1970.
    rows : int, optional
        Of how many distinct rows; many where it is not known.
    """

    # Rows from which on a quarter of the width is far.
    many: ClassVar[int] = 24

    entries: tuple[tuple[str, float, float], ...]
    dates: tuple[str, ...] = ()
    rows: int = many

    def __post_init__(self) -> None:
        if not isinstance(self.rows, int) or self.rows < 0:
            raise ValueError(f"ranges are of a number of rows, got {self.rows!r}")
        for name, low, high in self.entries:
            if not isinstance(name, str) or not (np.isfinite([low, high]).all() and low <= high):
                raise ValueError(f"the range of a column is no range: {name!r}, {low} to {high}")
        # Days up to which there are moments in microseconds.
        most = 2**63 / 86_400e6
        days = {name: max(abs(low), abs(high)) for name, low, high in self.entries}
        if not all(days.get(name, np.inf) <= most for name in self.dates):
            raise ValueError(f"columns of dates have ranges of days, and not all of {self.dates}")

    @classmethod
    def of(cls, blocks: Iterable[Any]) -> Ranges:
        """Return the ranges of rows that come in blocks: tables, or arrays of numbers."""
        found: dict[str, tuple[float, float]] = {}
        dates: set[str] = set()
        rows = 0
        for block in blocks:
            rows += _distinct(block)
            for name, values, are_dates in _numbers(block):
                dates |= {name} if are_dates and name not in found else set()
                known = values[np.isfinite(values)]
                if len(known):
                    low, high = found.get(name, (np.inf, -np.inf))
                    found[name] = (min(low, float(known.min())), max(high, float(known.max())))
        entries = tuple((name, *ends) for name, ends in found.items())
        return cls(entries, tuple(sorted(dates & found.keys())), rows)

    def on(self, columns: Iterable[str]) -> Ranges:
        """Return the ranges of some columns alone, by name or position as text."""
        kept = frozenset(columns)
        entries = tuple(entry for entry in self.entries if entry[0] in kept)
        return replace(
            self, entries=entries, dates=tuple(name for name in self.dates if name in kept)
        )

    def outside(self, X: Any) -> list[Outside]:
        """Return the cells of rows that lie outside of a range by more than a quarter of its width.

        Of more than ten columns it is log10(columns) quarters: more cells may be far by chance, and
        with tails that fall like an exponential as few rows are, if they are like these. Of few
        rows it is more, as their range leaves out about 1 / rows of what others have.
        """
        quarters = max(1.0, np.log10(max(len(self.entries), 1)))
        quarters *= max(1.0, self.many / max(self.rows, 1))
        ends = {name: (low, high) for name, low, high in self.entries}
        found = []
        for name, values, are_dates in _numbers(X):
            if name not in ends or are_dates != (name in self.dates):
                continue
            low, high = ends[name]
            far = np.abs(values - (low + high) / 2.0) - (0.5 + 0.25 * quarters) * (high - low)
            # A column of one number has no width, and rounding is not far from it.
            is_far = far > 1e-9 * max(abs(low), abs(high))
            if is_far.any():
                farthest = float(values[int(np.nanargmax(far))])
                found.append(Outside(name, int(is_far.sum()), farthest, low, high, are_dates))
        return found


def _distinct(X: Any) -> int:
    """Return how many rows there are, counting equal ones once where they are few."""
    few, n = 1000, n_rows(X)
    has_keys = is_table(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")
    return n if n > few or not has_keys else int(row_numbers(X).max(initial=-1)) + 1


def _numbers(X: Any) -> Iterator[tuple[str, Array, bool]]:
    """Yield the columns of numbers and dates, by name or position, and whether they are dates."""
    if is_table(X):
        kinds = column_kinds(X)
        for j, (name, values) in enumerate(column_values(X)):
            if kinds[name] is Kind.NUMBERS:
                yield str(name), np.asarray(values, np.float64), False
            elif (moments := _moments(X, j, kinds[name], values)) is not None:
                yield str(name), (moments - np.datetime64(0, "D")) / DAY, True
        return
    array = _array(X)
    for j, values in enumerate(() if array is None else array.T):
        if kind_of_values(values) is Kind.NUMBERS:
            try:
                numbers = values.astype(np.float64)
            except (TypeError, ValueError):
                # Objects of which a later one is no number: whoever reads them says so.
                continue
            yield str(j), numbers, False


def _moments(X: Any, place: int, kind: Kind, values: Any) -> NDArray[np.datetime64] | None:
    """Return the moments of a column of dates, also as text of ISO 8601; None of other columns."""
    if kind is Kind.DATES:
        return as_dates(select_columns(X, [place])).moments
    known = (v for v in values if not is_missing(v))
    # The first text of another kind ends the look at a column of words.
    if kind is not Kind.TEXT or not all(
        isinstance(v, str) and ISO_DATE.fullmatch(v) for v in known
    ):
        return None
    try:
        return np.array([None if is_missing(v) else v for v in values], MICROSECONDS)
    except ValueError:
        # A day that does not exist.
        return None


def _array(X: Any) -> NDArray[Any] | None:
    """Return an array or a list of rows with columns as an array, None of other rows."""
    # Texts are no rows with columns, and an array of them may be large.
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple | np.ndarray):
        try:
            X = np.asarray(X)
        except ValueError:
            # Rows of different lengths, such as lists of tokens.
            return None
    return X if isinstance(X, np.ndarray) and X.ndim == 2 else None


@dataclass(frozen=True)
class Levels:
    """The categories of columns, as texts.

    Parameters
    ----------
    entries : tuple of (str, tuple of str)
        The name of a column, and its categories in order.
    """

    entries: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not all(is_name_with_texts(entry) for entry in self.entries):
            raise ValueError("categories are the name of a column and a tuple of texts")

    @classmethod
    def of(cls, blocks: Iterable[Any], columns: Iterable[str]) -> Levels:
        """Return the categories of some columns of tables that come in blocks."""
        # Categories up to which those of a column are remembered.
        most = 10_000
        found: dict[str, set[str]] = {name: set() for name in sorted(columns)}
        for block in blocks if found else ():
            for name, counts in _counts(block, found):
                found[name].update(counts)
        kept = ((name, tuple(sorted(v))) for name, v in found.items() if len(v) <= most)
        return cls(tuple(kept))


@dataclass(eq=False)
class Unseen:
    """The unseen categories of rows that come in blocks: a few by name, and the rows of all.

    It takes no more memory with more rows, even where every row has a category of its own.

    Parameters
    ----------
    known : Levels
        The categories of the training rows.
    """

    known: Levels
    _rows: dict[str, int] = field(default_factory=dict, init=False)
    _named: dict[str, list[str]] = field(default_factory=dict, init=False)
    _others: dict[str, int] = field(default_factory=dict, init=False)

    def see(self, X: Any) -> None:
        """Count the unseen categories of a table."""
        # Categories that are named.
        most = 3
        known = {name: frozenset(levels) for name, levels in self.known.entries}
        for name, counts in _counts(X, known):
            new = {text: rows for text, rows in counts.items() if text not in known[name]}
            if new:
                self._rows[name] = self._rows.get(name, 0) + sum(new.values())
                named = self._named.setdefault(name, [])
                named.extend(sorted(set(new) - set(named))[: most - len(named)])
                others = sum(rows for text, rows in new.items() if text not in named)
                self._others[name] = self._others.get(name, 0) + others

    @property
    def sentences(self) -> list[str]:
        """What was found, a line for every column."""
        return [self._sentence(name) for name in self._rows]

    def _sentence(self, name: str) -> str:
        rows, others = self._rows[name], self._others[name]
        said = ", ".join(map(repr, self._named[name]))
        more = f" and others in {others} of them" if others else ""
        counted = "1 row has a category" if rows == 1 else f"{rows} rows have categories"
        return (
            f"column {name!r}: {counted} that no training row has, {said}{more}; predictions "
            "there rest on the other columns"
        )


def _counts(X: Any, wanted: Iterable[str]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield columns of a table, each with how many rows have which category."""
    names = frozenset(wanted)
    for title, values in titled_columns(X) if names and is_table(X) else ():
        if str(title) not in names:
            continue
        codes, levels = coded(title, values)
        rows = np.bincount(codes, minlength=len(levels)).tolist()
        counts: dict[str, int] = {}
        for level, count in zip(levels, rows, strict=True):
            if not is_missing(level):
                counts[_text(level)] = counts.get(_text(level), 0) + count
        yield str(title), counts


def _text(level: Any) -> str:
    # A whole number is a float where another cell of its column is missing.
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def is_name_with_texts(entry: Any) -> bool:
    """Whether something is the name of a column and a tuple of texts."""
    if not isinstance(entry, tuple) or len(entry) != 2 or not isinstance(entry[1], tuple):
        return False
    return all(isinstance(text, str) for text in (entry[0], *entry[1]))
