"""The columns of text of a file: which cells are missing, as one pass over its rows tells."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from mercer.files.form import Form

# What stands for a missing value in every column, spelled so.
MARKS = (
    *("", "NA", "N/A", "n/a", "N.A.", "n.a.", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"),
    *("?", "-", "--", ".", "#VALUE!", "#DIV/0!"),
)
# Marks that may be categories: North America, and what is opposite to +.
REGION, MINUS = ("NA",), ("-", "--")
# What stands for one, in any case, only where all other cells of a column are numbers or dates: a
# house may have a garage of the kind "none".
WORDS = ("none", "nil", "unknown", "missing", "not available", "not known")
AMONG_NUMBERS = (*dict.fromkeys(mark.lower() for mark in MARKS), *WORDS)

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


class Trimmed(NamedTuple):
    """Rows whose columns of text have missing cells instead of marks, and what is known of these.

    Parameters
    ----------
    scan : polars.LazyFrame
        The rows.
    remarks : tuple of str
        What a user should know of them.
    categories : tuple of (str, tuple of str)
        The columns of text, each with the marks that are categories there.
    """

    scan: Any
    remarks: tuple[str, ...]
    categories: tuple[tuple[str, tuple[str, ...]], ...]


def with_missing(scan: Any, form: Form) -> Trimmed:
    """Return a scan whose columns of text have no marks for missing cells, and remarks on them.

    Spaces around cells are left out. ``NA`` is a category where all other cells are capital letters
    too, as codes of countries are, and ``-`` is one where others begin with ``+``. A column that is
    known to be text is read as it was.

    Parameters
    ----------
    scan : polars.LazyFrame
        The rows.
    form : Form
        What is known of their columns.
    """
    known = dict(form.trimmed)
    texts = TextColumns.of(scan, [name for name in form.texts if name not in known])
    counted = texts.counted({name: _marks_of(texts.bare(name)) for name in texts.names})
    changes, remarks, kept = [], [], []
    for name, found in counted.items():
        marks = _Marks(**found)
        categories = known.get(name, marks.categories)
        changes.append(_without(texts.bare(name), categories).alias(name))
        remarks += [f"column {name!r}: {text}" for text in marks.remarks(categories)]
        kept.append((name, categories))
    return Trimmed(scan.with_columns(changes), tuple(remarks), tuple(kept))


def _without(text: Any, kept: tuple[str, ...]) -> Any:
    """Return cells of which marks for missing values are missing, but for some."""
    import polars as pl

    return pl.when(~text.is_in([mark for mark in MARKS if mark not in kept])).then(text)


def _marks_of(text: Any) -> dict[str, Any]:
    """Return what `_Marks` has, by its names."""
    is_mark = text.is_in(MARKS)
    others = text.filter(~is_mark)
    return {
        "marks": (is_mark & ~text.is_in([*REGION, *MINUS])).sum(),
        "mark": text.filter(is_mark & ~text.is_in([*REGION, *MINUS])).first(),
        "regions": text.is_in(REGION).sum(),
        "minuses": text.is_in(MINUS).sum(),
        "are_capitals": others.str.contains("^[A-Z]{2,}$").all() & (others.len() > 0),
        "has_plus": others.str.starts_with("+").any(),
    }


@dataclass(frozen=True)
class _Marks:
    """The marks in the cells of a column of text, and what tells whether some are categories."""

    marks: int
    mark: str | None
    regions: int
    minuses: int
    are_capitals: bool
    has_plus: bool

    @property
    def categories(self) -> tuple[str, ...]:
        """The marks that are categories."""
        return (*(REGION if self.are_capitals else ()), *(MINUS if self.has_plus else ()))

    def remarks(self, categories: tuple[str, ...]) -> list[str]:
        """Return what a user should know of the column, without its name."""
        found, missing, first = [], self.marks, self.mark
        for count, mark, others in (
            (self.regions, REGION[0], "are capital letters too"),
            (self.minuses, MINUS[0], "begin with '+'"),
        ):
            if count and mark in categories:
                verb = "is a category" if count == 1 else "are a category"
                found.append(
                    f"{cells(count)} {mark!r} {verb}, since others {others}; empty such cells if "
                    "they are missing"
                )
            elif count:
                missing, first = missing + count, first or mark
        return [*found, *([of_marks(missing, first)] if missing else [])]


def is_mark(text: Any) -> Any:
    """Return which cells are marks for a missing value among numbers or dates."""
    return text.str.to_lowercase().is_in(AMONG_NUMBERS).fill_null(False)


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
