"""The categories that columns have in training rows, and those of other rows that are new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.data.categories import coded, is_missing, titled_columns
from mercer.data.columns import is_table


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
        if not all(_is_entry(entry) for entry in self.entries):
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


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, tuple) or len(entry) != 2 or not isinstance(entry[1], tuple):
        return False
    return all(isinstance(text, str) for text in (entry[0], *entry[1]))
