"""The ranges of the columns of numbers, and numbers of other rows that lie far outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_values, is_table
from mercer.data.kinds import Kind, column_kinds, kind_of_values

Array = NDArray[np.float64]


class Outside(NamedTuple):
    """Cells of a column that lie far outside of a range: how many, and the farthest."""

    column: str
    cells: int
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        many = "1 row has a number" if self.cells == 1 else f"{self.cells} rows have numbers"
        return (
            f"column {self.column!r}: {many} far outside of the training rows, {self.value:g} "
            f"where these have {self.low:g} to {self.high:g}; predictions there are guesses"
        )

    def with_more(self, other: Outside) -> Outside:
        """Return these cells and those of other rows together."""
        center = (self.low + self.high) / 2.0
        farthest = max((self.value, other.value), key=lambda value: abs(value - center))
        return self._replace(cells=self.cells + other.cells, value=farthest)


@dataclass(frozen=True)
class Ranges:
    """The least and the largest number of every column of numbers.

    Parameters
    ----------
    entries : tuple of (str, float, float)
        The name of a column, or its position as text, with its least and its largest number.
    """

    entries: tuple[tuple[str, float, float], ...]

    def __post_init__(self) -> None:
        for name, low, high in self.entries:
            if not isinstance(name, str) or not (np.isfinite([low, high]).all() and low <= high):
                raise ValueError(f"the range of a column is no range: {name!r}, {low} to {high}")

    @classmethod
    def of(cls, blocks: Iterable[Any]) -> Ranges:
        """Return the ranges of rows that come in blocks: tables, or arrays of numbers."""
        found: dict[str, tuple[float, float]] = {}
        for block in blocks:
            for name, values in _numbers(block):
                known = values[np.isfinite(values)]
                if len(known):
                    low, high = found.get(name, (np.inf, -np.inf))
                    found[name] = (min(low, float(known.min())), max(high, float(known.max())))
        return cls(tuple((name, *ends) for name, ends in found.items()))

    def on(self, columns: Iterable[str]) -> Ranges:
        """Return the ranges of some columns alone, by name or position as text."""
        kept = frozenset(columns)
        return Ranges(tuple(entry for entry in self.entries if entry[0] in kept))

    def outside(self, X: Any) -> list[Outside]:
        """Return the cells of rows that lie farther outside of a range than it is wide."""
        ends = {name: (low, high) for name, low, high in self.entries}
        found = []
        for name, values in _numbers(X):
            if name not in ends:
                continue
            low, high = ends[name]
            far = np.abs(values - (low + high) / 2.0) - 1.5 * (high - low)
            # A column of one number has no width, and rounding is not far from it.
            is_far = far > 1e-9 * max(abs(low), abs(high))
            if is_far.any():
                farthest = float(values[int(np.nanargmax(far))])
                found.append(Outside(name, int(is_far.sum()), farthest, low, high))
        return found


def _numbers(X: Any) -> Iterator[tuple[str, Array]]:
    """Yield the columns of numbers of a table, an array or a list of rows, by name or position."""
    if is_table(X):
        kinds = column_kinds(X)
        for name, values in column_values(X):
            if kinds[name] is Kind.NUMBERS:
                yield str(name), np.asarray(values, np.float64)
        return
    array = _array(X)
    for j, values in enumerate(() if array is None else array.T):
        if kind_of_values(values) is Kind.NUMBERS:
            try:
                numbers = values.astype(np.float64)
            except (TypeError, ValueError):
                # Objects of which a later one is no number: whoever reads them says so.
                continue
            yield str(j), numbers


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
