"""The columns of text of a file, whose cells are looked at in one pass over its rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

# What stands for a missing value where all other cells of a column are numbers or dates, in any
# case.
MISSING = (
    *("na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "?", "-", "--", "."),
    *("unknown", "missing", "not available", "not known", "#value!", "#div/0!"),
)

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class TextColumns:
    """Rows with columns of text, of which cells are counted.

    Parameters
    ----------
    scan : polars.LazyFrame
        The rows.
    names : tuple of str
        The columns of text that may be something else.
    """

    scan: Any
    names: tuple[str, ...]

    @classmethod
    def of(cls, scan: Any, known: Collection[str]) -> TextColumns:
        """Return the columns of text but for those which are known to be text or otherwise."""
        import polars as pl

        schema = scan.collect_schema()
        names = (n for n, dtype in schema.items() if dtype == pl.String and n not in known)
        return cls(scan, tuple(names))

    def bare(self, name: str) -> Any:
        """Return the cells of a column without spaces around them."""
        import polars as pl

        return pl.col(name).str.strip_chars()

    def counted(self, asked: Mapping[Key, Mapping[str, Any]]) -> dict[Key, dict[str, Any]]:
        """Return what expressions come to, by key and name, all of them in one pass."""
        if not asked:
            return {}
        found = self.scan.select(
            expression.alias(f"{i} {what}")
            for i, expressions in enumerate(asked.values())
            for what, expression in expressions.items()
        )
        row = found.collect(engine="streaming").row(0, named=True)
        return {
            key: {what: row[f"{i} {what}"] for what in expressions}
            for i, (key, expressions) in enumerate(asked.items())
        }


def is_mark(text: Any) -> Any:
    """Return which cells are marks for a missing value."""
    return text.str.to_lowercase().is_in(MISSING).fill_null(False)


def marks_in(text: Any) -> dict[str, Any]:
    """Return expressions of how many cells are such marks, and of the first of them."""
    marks = is_mark(text)
    return {"marks": marks.sum(), "mark": text.filter(marks).first()}


def of_marks(count: int, mark: str | None) -> str:
    """Return what a user should know of marks for missing values."""
    return f"{cells(count)} such as {mark!r} {'counts' if count == 1 else 'count'} as missing"


def cells(count: int) -> str:
    """Return a number of cells in words."""
    return "1 cell" if count == 1 else f"{count} cells"
