"""The curve of f along one column: its mean over the rows, and its band."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.categories import coded, is_missing
from mercer.data.columns import (
    as_seconds,
    column_names,
    column_values,
    exchanged_column,
    is_table,
    n_rows,
    select_columns,
    stack_rows,
    take_rows,
    with_numbers,
)
from mercer.data.dates import as_dates
from mercer.data.kinds import are_iso_dates
from mercer.explanation.subject import evenly

Array = NDArray[np.float64]
Answer = Callable[[Any], Array]


@dataclass(frozen=True, eq=False)
class Effect:
    """f where one column has one value for all rows, as a function of that value.

    Parameters
    ----------
    column : str
        What the column is called.
    values : array of shape (p,)
        Its values: numbers or dates in ascending order, or categories, the most frequent first.
    mean, low, high : arrays of shape (p,)
        The mean of f over the rows, and between which it is at 80 % of them or more.
    is_ordered : bool
        Whether the values are numbers or dates.
    """

    column: str
    values: NDArray[Any]
    mean: Array
    low: Array
    high: Array
    is_ordered: bool


def effect_of(
    f: Answer, X: Any, place: int, name: str = "", points: int = 32, most_rows: int = 200
) -> Effect | None:
    """Return the effect of a column, or None where it has one value, or is text.

    Parameters
    ----------
    f : function
        Of rows, of which it returns a number each.
    X : rows
        An array or a table; the other columns are those of some of these.
    place : int
        The position of the column.
    name : str
        What it is called.
    points : int
        At how many numbers to look.
    most_rows : int
        The rows that each is averaged over.

    References
    ----------
    J. Friedman (2001), Greedy function approximation: a gradient boosting machine (partial
    dependence).
    A. Goldstein et al. (2015), Peeking inside the black box (the curves of single rows).
    """
    values = _cells(X, place)
    is_number = values.dtype.kind in "fiu"
    # Quantiles of the column between which its curve is drawn.
    ends = (0.01, 0.99)
    if is_number:
        known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        grid = np.unique(np.quantile(known, np.linspace(*ends, points))) if len(known) else known
        donors: NDArray[np.intp] = np.empty(0, np.intp)
    elif values.dtype.kind == "M":
        known = np.flatnonzero(~np.isnat(values))
        order = known[np.argsort(values[known])]
        donors = order[evenly(len(order), points)] if len(order) else order
        grid = values[donors]
    else:
        grid, donors, _ = _levels(name, values)
    if len(grid) < 2:
        return None
    rows = take_rows(X, evenly(n_rows(X), most_rows))
    n, p = n_rows(rows), len(grid)
    many = take_rows(rows, np.tile(np.arange(n), p))
    if is_number:
        asked = with_numbers(many, place, np.repeat(grid, n))
    else:
        asked = exchanged_column(many, place, take_rows(X, np.repeat(donors, n)))
    answers = np.asarray(f(asked), np.float64).reshape(p, n)
    is_ordered = is_number or values.dtype.kind == "M"
    return Effect(name, grid, *_mean_and_band(answers), is_ordered)


def level_effects(f: Answer, X: Any, columns: dict[int, str]) -> dict[int, list[Effect]]:
    """Return how far f is from its mean over all categories of a column, for every target.

    That is so for each row before the mean over rows is taken, so that the band is that of the
    change alone. Columns that hold no categories are left out.

    Parameters
    ----------
    f : function
        Of rows, of which it returns an array of shape (n, targets). It is called once, since to
        read the rows of a table may take longer than to compare them.
    X : rows
        An array or a table.
    columns : dict
        The positions of the columns, and what they are called.
    """
    found = {place: _levels(name, _cells(X, place)) for place, name in columns.items()}
    found = {place: levels for place, levels in found.items() if len(levels.values) > 1}
    if not found:
        return {}
    # Rows over which the change by a category is averaged.
    level_rows = 50
    rows = take_rows(X, evenly(n_rows(X), level_rows))
    n = n_rows(rows)
    asked = [
        exchanged_column(
            take_rows(rows, np.tile(np.arange(n), len(levels.values))),
            place,
            take_rows(X, np.repeat(levels.rows, n)),
        )
        for place, levels in found.items()
    ]
    answers = np.asarray(f(stack_rows(*asked)), np.float64)
    ends = np.cumsum([n_rows(part) for part in asked])[:-1]
    return {
        place: _centred(columns[place], levels, part.reshape(-1, n, answers.shape[1]))
        for (place, levels), part in zip(found.items(), np.split(answers, ends), strict=True)
    }


def _centred(name: str, levels: Levels, answers: Array) -> list[Effect]:
    """Return the effects of categories by answers of shape (categories, rows, targets)."""
    answers = answers - np.einsum("p,pnt->nt", levels.shares, answers)
    mean, low, high = _mean_and_band(answers)
    return [
        Effect(name, levels.values, *lines, False)
        for lines in zip(mean.T, low.T, high.T, strict=True)
    ]


def _mean_and_band(answers: Array) -> tuple[Array, Array, Array]:
    """Return the mean over rows, the second axis, and ends that hold it and most of the rows.

    Where a value matters to few rows, the mean lies outside of what most of them have.
    """
    # Quantiles of the rows between which the band lies.
    tails = (0.1, 0.9)
    mean, (low, high) = answers.mean(axis=1), np.quantile(answers, tails, axis=1)
    return mean, np.minimum(low, mean), np.maximum(high, mean)


class Levels(NamedTuple):
    """The most frequent categories of a column, rows that have them, and their shares."""

    values: NDArray[Any]
    rows: NDArray[np.intp]
    shares: Array


def _cells(X: Any, place: int) -> NDArray[Any]:
    """Return the values of a column: numbers, dates (also as text), or anything else as objects."""
    values = column_values(X)[place][1] if is_table(X) else np.asarray(X)[:, place]
    cells = as_seconds(np.asarray(values))
    if cells.dtype.kind in "OU" and is_table(X):
        words = [word for word in set(cells.tolist()) if not is_missing(word)]
        if words and are_iso_dates(words):
            return as_dates(select_columns(X, [place])).moments
    return cells


def _levels(name: str, values: NDArray[Any], most: int = 12) -> Levels:
    """Return at most so many categories of a column; none of numbers, dates and text."""
    nothing = Levels(np.empty(0, object), np.empty(0, np.intp), np.empty(0))
    if values.dtype.kind in "fiuM":
        return nothing
    codes, levels = coded(name, values.tolist())
    counts = np.bincount(codes, minlength=len(levels))
    known = [k for k in range(len(levels)) if not is_missing(levels[k])]
    if len(known) > len(values) / 2 and len(known) > most:
        return nothing
    often = sorted(known, key=lambda k: -counts[k])[:most]
    _, first = np.unique(codes, return_index=True)
    grid = np.empty(len(often), object)
    grid[:] = [levels[k] for k in often]
    return Levels(grid, first[often], counts[often] / max(counts[often].sum(), 1))


def column_place(X: Any, column: Any) -> int:
    """Return the position of a column that is given by its name or position."""
    names = column_names(X) if is_table(X) else list(range(np.shape(X)[1]))
    if column in names:
        return names.index(column)
    if isinstance(column, int) and 0 <= column < len(names):
        return column
    raise ValueError(f"no column {column!r}; there are {names[:20]}")
