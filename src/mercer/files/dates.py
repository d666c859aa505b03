"""Columns of text that spell dates in one order of day, month and year, which their cells tell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from mercer.errors import DataFileError
from mercer.files.form import Form
from mercer.files.texts import TextColumns, is_mark, marks_in, of_marks

# The orders in which dates are written beside that of ISO 8601, by the parts in them.
ORDERS = {"dmY": "the day first", "mdY": "the month first", "Ymd": "the year first"}
WRITTEN = re.compile(
    r"(?:\d{1,2}(?P<sign>[-/.])\d{1,2}(?P=sign)\d{4}|\d{4}(?P<mark>[/.])\d{1,2}(?P=mark)\d{1,2})"
    r"(?P<clock> \d{1,2}:\d{2}(?P<seconds>:\d{2})?)?"
)


class Dated(NamedTuple):
    """Rows whose columns of text that spell dates are dates, and what is known of these.

    Parameters
    ----------
    scan : polars.LazyFrame
        The rows.
    remarks : tuple of str
        What a user should know of them.
    formats : tuple of (str, str)
        Columns that were text, each with how its dates are written, as `strftime` says it.
    """

    scan: Any
    remarks: tuple[str, ...] = ()
    formats: tuple[tuple[str, str], ...] = ()


def with_dates(path: str, scan: Any, form: Form) -> Dated:
    """Return a scan whose columns of text that spell dates are dates, and remarks on them.

    A column is one of dates if all cells are, or are marks for missing ones, in one order of day,
    month and year and in no other: 30/01/2020 tells that the day is first in all of its column, and
    3/4/2020 alone tells nothing. In a column that is known to be of dates what is none is refused,
    and dates of ISO 8601 are understood too.

    Parameters
    ----------
    path : str
        The file, for errors.
    scan : polars.LazyFrame
        Its rows.
    form : Form
        What is known of its columns.
    """
    known = dict(form.dates)
    texts = TextColumns.of(scan, form.texts)
    columns = {name: _Cells(texts.bare(name), name in known) for name in texts.names}
    firsts = texts.counted({name: {"first": column.first()} for name, column in columns.items()})
    tried = [
        (name, format)
        for name, found in firsts.items()
        for format in ([known[name]] if name in known else _formats(found["first"]))
    ]
    counted = texts.counted(
        {(name, format): columns[name].counts(format) for name, format in tried}
    )
    contents = {key: _Contents(**found) for key, found in counted.items()}
    formats, remarks = [], []
    for name in dict(tried):
        fitting = [f for n, f in tried if n == name and not contents[n, f].others]
        if name in known and not fitting:
            others = contents[name, known[name]]
            raise DataFileError(
                f"{path}: the column {name!r} has {others.other!r} in row {others.row}, and was "
                f"dates with {_order(known[name])} in the rows that the model was fitted to; write "
                "that cell like them or leave it empty"
            )
        if len(fitting) == 1:
            formats.append((name, fitting[0]))
            order = "" if name in known else f"dates with {_order(fitting[0])}"
            told = contents[name, fitting[0]].remark(order, firsts[name]["first"])
            remarks += [f"column {name!r}: {told}"] if told else []
    changes = [columns[name].dates(format).alias(name) for name, format in formats]
    return Dated(scan.with_columns(changes), tuple(remarks), tuple(formats))


def _formats(text: str | None) -> list[str]:
    """Return the ways in which a text may be a date that is not of ISO 8601."""
    written = WRITTEN.fullmatch(text or "")
    if written is None:
        return []
    clock = (" %H:%M:%S" if written["seconds"] else " %H:%M") if written["clock"] else ""
    orders = ("Ymd",) if written["mark"] else ("dmY", "mdY")
    sign = written["mark"] or written["sign"]
    return [sign.join(f"%{part}" for part in order) + clock for order in orders]


def _order(format: str) -> str:
    return ORDERS["".join(re.findall("%([dmY])", format))]


@dataclass(frozen=True)
class _Cells:
    """Expressions of polars on the cells of a column, without spaces around them."""

    text: Any
    # Whether dates may also be written as ISO 8601 has it.
    or_iso: bool

    def first(self) -> Any:
        """Return the first cell that holds something."""
        return self.text.filter(self.text.is_not_null() & ~is_mark(self.text)).first()

    def dates(self, format: str) -> Any:
        """Return the cells as dates, or as moments where they have a time of the day."""
        import polars as pl

        clock = format[len("%d/%m/%Y") :]
        iso = [f"%Y-%m-%d{clock}", f"%Y-%m-%d{clock.replace(' ', 'T')}"] if self.or_iso else []
        return pl.coalesce(self._parsed(way) for way in [format, *iso])

    def _parsed(self, format: str) -> Any:
        import polars as pl

        # Years of fewer digits are none, which the parser would take.
        digits = {"%Y": r"\d{4}", ".": "[.]"}
        form = re.sub("%Y|[.]|%.", lambda part: digits.get(part[0], r"\d{1,2}"), format)
        kind = pl.Datetime("us") if "%H" in format else pl.Date()
        parsed = self.text.str.strptime(kind, format, strict=False)
        return pl.when(self.text.str.contains(f"^{form}$")).then(parsed)

    def counts(self, format: str) -> dict[str, Any]:
        """Return what `_Contents` has, by its names."""
        is_other = self.dates(format).is_null() & self.text.is_not_null() & ~is_mark(self.text)
        return {
            **marks_in(self.text),
            "others": is_other.sum(),
            "row": is_other.arg_true().first() + 1,
            "other": self.text.filter(is_other).first(),
        }


@dataclass(frozen=True)
class _Contents:
    """What the cells of a column are, taken for dates of a format."""

    marks: int
    mark: str | None
    others: int
    row: int | None
    other: str | None

    def remark(self, order: str, example: str | None) -> str:
        """Return what is to be said: the order of dates, if it was not known, and of marks."""
        shown = f"{order}, such as {example!r}" if order else ""
        gaps = of_marks(self.marks, self.mark) if self.marks else ""
        return "; ".join(text for text in (shown, gaps) if text)
