"""An explanation as a table: for people, for loops, for pandas and for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.listing import as_frame, as_html, as_text, in_room
from mercer.explanation.kgrams import KgramWeights

Array = NDArray[np.float64]

TITLES = {
    "column": "columns, by how far f moves with one deviation of them",
    "direction": "directions in which f moves, with their share of the squared gradient",
    "category": "categories, by how far f is from its mean over all of them",
    "k-gram": "k-grams and words, the strongest of either sign",
}


# What follows a title where a change is told with its spread.
SPREAD = (
    "\n(effect: the mean change of f with its sign; from low to high: that change in 80% of rows)"
)


class Row(NamedTuple):
    """A row of an explanation.

    Parameters
    ----------
    kind : str
        ``"column"``, ``"direction"``, ``"category"`` or ``"k-gram"``.
    column : str, int or None
        The column by name or position; None for directions, and where rows are texts themselves.
    part : object
        The category, the k-gram, or the direction as a sum of columns.
    importance : float
        How much it matters, without a sign: of a column in units of f, of a direction its share.
    effect : float
        The mean change of f, with its sign: by one deviation of the column, or by the part.
    low, high : float
        Between which that change is at 80 % of the rows or more; the mean is in between.
    length_scale : float
        The learned length scale of the column in units of its deviation: short if it matters.
    target : object
        What the value of f speaks for; None where it is for all of them together.
    """

    kind: str
    column: Any
    part: Any
    importance: float
    effect: float
    low: float
    high: float
    length_scale: float
    target: Any


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a model has learned, as one table: columns first, by their importance.

    It prints for a person, is iterated by `Row`, and `to_pandas` makes a data frame of it.

    Parameters
    ----------
    columns, directions, categories : tuple of Row
        The rows of each kind, the most important first.
    vectors : array of shape (columns, directions)
        The directions, of unit length in deviations of the columns.
    kgrams : KgramWeights or None
        The weights of k-grams and words, where the kernel counts some.
    notes : tuple of str
        What the reader should know.
    """

    columns: tuple[Row, ...]
    directions: tuple[Row, ...]
    categories: tuple[Row, ...]
    vectors: Array
    kgrams: KgramWeights | None
    notes: tuple[str, ...]

    def __len__(self) -> int:
        grams = 0 if self.kgrams is None else len(self.kgrams)
        return len(self.columns) + len(self.directions) + len(self.categories) + grams

    def __iter__(self) -> Iterator[Row]:
        yield from self.columns
        yield from self.directions
        yield from self.categories
        for weight in self.kgrams or ():
            yield kgram_row(weight)

    def to_pandas(self) -> Any:
        """Return all rows as a data frame of pandas."""
        return as_frame(Row._fields, self)

    def to_text(self, line: int | None = None) -> str:
        """Return all of it for a person, in lines of so many characters if that is given."""
        tables = [_in_lines(note, line) for note in self.notes]
        for kind, table in self._tables():
            title = _in_lines(_title(kind, table[0]), line)
            if kind == "direction":
                # Sums of columns are longer than cells.
                rows = (f"{row.importance:6.1%}  {row.part}" for row in self.directions)
                text = "\n".join(_in_lines(row, line, 8) for row in rows)
            else:
                text = as_text(*table) if line is None else in_room(*table, line)
            tables.append(f"{title}\n{text}")
        return "\n\n".join(tables)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return notes + "".join(
            as_html(_title(kind, table[0]), *table) for kind, table in self._tables()
        )

    def _tables(self) -> Iterator[tuple[str, tuple[list[str], list[tuple[Any, ...]]]]]:
        """Yield what is printed of each kind: a header and rows, without columns that are empty."""
        for kind, rows in (
            ("column", self.columns),
            ("direction", self.directions),
            ("category", self.categories),
            ("k-gram", self._shown_kgrams()),
        ):
            if rows:
                yield kind, _shown(rows)

    def _shown_kgrams(self, of_sign: int = 10) -> tuple[Row, ...]:
        """Return the strongest k-grams of either sign, at most so many of each."""
        if self.kgrams is None:
            return ()
        return tuple(kgram_row(weight) for weight in self.kgrams.strongest(of_sign))


def _in_lines(text: str, line: int | None, indent: int = 0) -> str:
    """Return the lines of a text, each in as many as it needs, all but the first indented."""
    if line is None:
        return text
    further = " " * indent
    return "\n".join(fill(each, line, subsequent_indent=further) for each in text.splitlines())


def column_title(column: Any) -> str:
    """Return what a column is called: its name, or its position where it has none."""
    return f"column {column}" if isinstance(column, int) else str(column)


def _title(kind: str, header: list[str]) -> str:
    return TITLES[kind] + (SPREAD if "low" in header else "")


def kgram_row(weight: Any) -> Row:
    """Return the weight of a k-gram as a row."""
    size, no = abs(weight.weight), float("nan")
    return Row("k-gram", weight.column, weight.gram, size, weight.weight, no, no, no, weight.target)


def _shown(rows: tuple[Row, ...], most: int = 20) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the header and the cells to print: fields that tell nothing are left out.

    Of other kinds than k-grams at most so many rows are shown.
    """
    told = [
        name
        for name in Row._fields[1:]
        if any(not _is_empty(getattr(row, name)) for row in rows)
        and not (name == "target" and len({row.target for row in rows}) == 1)
        and not (name == "importance" and rows[0].kind in ("category", "k-gram"))
    ]
    is_kgram = rows[0].kind == "k-gram"
    cells = [
        tuple(_cell(name, getattr(row, name), is_kgram) for name in told)
        for row in (rows if is_kgram else rows[:most])
    ]
    if not is_kgram and len(rows) > most:
        cells.append((f"and {len(rows) - most} more", *([""] * (len(told) - 1))))
    return [name.replace("_", " ") for name in told], cells


def _cell(name: str, value: Any, is_kgram: bool) -> Any:
    if is_kgram and name == "part":
        return repr(value)
    if _is_empty(value):
        return ""
    return column_title(value) if name == "column" else value


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and np.isnan(value))
