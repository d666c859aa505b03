"""Columns of text that spell numbers: with marks for missing ones, by thousands, money, percent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mercer.errors import DataFileError
from mercer.files.form import Form
from mercer.files.texts import TextColumns, cells, is_mark, marks_in, of_marks

# Signs of money, of which a column has one at most, before the numbers or behind them.
MONEY = ("$", "€", "£", "¥")
SIGN = f"[{''.join(MONEY)}]"
# Numbers by thousands, with the point or the comma before the decimals.
POINT = r"(?:(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)"
COMMA = r"(?:(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d*)?|,\d+)"
# Numbers by thousands or with three decimals: other cells of their column tell.
OPEN = r"^[-+]?[1-9]\d{0,2}[.,]\d{3}$"
# Digits that nobody writes for a number: 01067.
CODE = r"^0\d+$"


class Read(NamedTuple):
    """Rows whose columns of text that spell numbers are numbers, and what is known of these.

    Parameters
    ----------
    scan : polars.LazyFrame
        The rows.
    remarks : tuple of str
        What a user should know of them.
    by_thousands : tuple of str
        Columns of numbers with points by thousands.
    """

    scan: Any
    remarks: tuple[str, ...] = ()
    by_thousands: tuple[str, ...] = ()


def with_numbers(path: str, scan: Any, form: Form, has_commas: bool) -> Read:
    """Return a scan whose columns of text that spell numbers are numbers, and remarks on them.

    A column is one of numbers if all cells are, or are marks for missing ones. Numbers may be by
    thousands (1,234), have a sign of money, all the same one, or a sign of percent, all of them:
    33% is 33. Digits with a zero before them in every cell are codes, and text. Of other columns
    that are numbers but for a few cells a remark names the first such cell; it is refused in one
    that is known to be of numbers. Where decimals follow a comma, 1.234,5 tells that 4.967 in the
    same column is by thousands too.

    Parameters
    ----------
    path : str
        The file, for errors.
    scan : polars.LazyFrame
        Its rows.
    form : Form
        What is known of its columns.
    has_commas : bool
        Whether decimals follow a comma.
    """
    texts = TextColumns.of(scan, (*form.texts, *dict(form.dates)))
    columns = {
        name: _Cells(texts.bare(name), has_commas, name in form.by_thousands)
        for name in texts.names
    }
    # Columns of words are told by their first rows: to look at all cells of millions takes long.
    first = TextColumns(scan.head(10_000), texts.names)
    looked = first.counted({name: column.words() for name, column in columns.items()})
    for name, found in looked.items():
        if name not in form.numbers and _are_words(**found):
            del columns[name]
    remarks, changes, by_thousands = [], [], []
    counted = texts.counted({name: column.counts() for name, column in columns.items()})
    # A second look at columns in which one cell tells how points of others are meant.
    proven = {
        name: replace(columns[name], by_thousands=True)
        for name, found in counted.items()
        if found["thousand"] and found["point"] and not found["decimals"]
    }
    columns |= proven
    counted |= texts.counted({name: column.counts() for name, column in proven.items()})
    for name, found in counted.items():
        contents = _Contents(has_commas, **found)
        is_known = name in form.numbers
        if is_known and (contents.words or contents.mixture):
            raise DataFileError(
                f"{path}: the column {name!r} has {contents.word!r} in row {contents.row}, and was "
                "numbers in the rows that the model was fitted to; mend that cell or leave it empty"
                if contents.words
                else f"{path}: the column {name!r} {contents.mixture}; write all numbers alike"
            )
        are_codes = contents.are_codes and not is_known
        if (contents.numbers or is_known) and not (contents.words or contents.mixture or are_codes):
            changes.append(columns[name].value().alias(name))
            by_thousands += [name] if contents.thousand else []
        told = [contents.of_codes()] if are_codes else contents.remarks()
        remarks += [f"column {name!r}{text}" for text in told]
    return Read(scan.with_columns(changes), tuple(remarks), tuple(by_thousands))


def codes_in(rows: Any) -> list[str]:
    """Return the columns of a table of text all cells of which are codes, as far as it goes."""
    return [
        series.name
        for series in rows.get_columns()
        if len(known := series.drop_nulls()) and known.str.contains(CODE).all()
    ]


def beside_commas(rows: Any, numbers: Collection[str]) -> list[str]:
    """Return remarks on columns of a table of text that may have points by thousands.

    A column of numbers such as 4.967, all of three digits behind the point, is read with decimals;
    where other columns have decimal commas, thousands may be meant.

    Parameters
    ----------
    rows : polars.DataFrame
        The first rows of a file with a separator of ``;``.
    numbers : collection of str
        The columns that all rows are read as numbers of, with the point before decimals.
    """
    found, commas = [], []
    for series in rows.get_columns():
        cells = series.drop_nulls().str.strip_chars()
        commas += cells.filter(cells.str.contains(r"^[-+]?\d+,\d+$")).head(1).to_list()
        if series.name not in numbers:
            continue
        pointed = cells.filter(cells.str.contains(r"^[-+]?\d[\d.]*$") & cells.str.contains("[.]"))
        has_words = len(cells) > cells.str.contains(r"^[-+]?[\d.]+$").sum()
        if len(pointed) and pointed.str.contains(OPEN).all() and not has_words:
            found.append((series.name, pointed[0]))
    return [
        f"column {name!r}: {cell!r} is read as {float(cell):g}, and {commas[0]!r} elsewhere has a "
        "decimal comma; write it without the point if it is by thousands"
        for name, cell in (found if commas else [])
    ]


def is_word(text: Any) -> Any:
    """Return which cells are neither numbers, with decimals in any way, nor marks for missing ones.

    Parameters
    ----------
    text : polars.Expr
        Cells of text.
    """
    bare = text.str.strip_chars()
    return _Cells(bare, has_commas=False).is_word() & _Cells(bare, has_commas=True).is_word()


def _are_words(numbers: int, words: int) -> bool:
    """Whether a column is one of words, and not of numbers among which words are mistakes."""
    # Words up to which they are mistakes among twice as many numbers, and the numbers that there
    # are for each of more.
    few, most = 5, 9
    is_nearly = words <= few and numbers > 2 * words
    return words > 0 and not is_nearly and numbers < most * words


@dataclass(frozen=True)
class _Cells:
    """Expressions of polars on the cells of a column, without spaces around them."""

    text: Any
    has_commas: bool
    # Whether points are known to be by thousands where decimals follow a comma.
    by_thousands: bool = False

    def plain(self) -> Any:
        import polars as pl

        if not self.has_commas:
            return self.text.cast(pl.Float64, strict=False)
        number = self.text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        return pl.when(~self._has(".")).then(number) if self.by_thousands else number

    def _has(self, sign: str) -> Any:
        return self.text.str.contains(sign, literal=True)

    def dressed(self) -> Any:
        """Numbers by thousands or with a sign, where they are no plain ones."""
        import polars as pl

        body = COMMA if self.has_commas else POINT
        form = rf"^[-+]?{SIGN}?\s?[-+]?{body}\s?(?:%|{SIGN})?$"
        bare = self.text.str.replace_all("[.]" if self.has_commas else ",", "")
        bare = bare.str.replace(",", ".", literal=True) if self.has_commas else bare
        bare = bare.str.replace_all(rf"[%\s{SIGN[1:]}", "").cast(pl.Float64, strict=False)
        return pl.when(self.plain().is_null() & self.text.str.contains(form)).then(bare)

    def number(self) -> Any:
        import polars as pl

        return pl.coalesce(self.plain(), self.dressed())

    def is_word(self) -> Any:
        return self.number().is_null() & self.text.is_not_null() & ~is_mark(self.text)

    def value(self) -> Any:
        import polars as pl

        return pl.when(~is_mark(self.text)).then(self.number())

    def words(self) -> dict[str, Any]:
        """Return how many cells are numbers and how many are words."""
        return {"numbers": self.value().is_not_null().sum(), "words": self.is_word().sum()}

    def counts(self) -> dict[str, Any]:
        """Return what `_Contents` has, by its names."""
        import polars as pl

        is_number = self.value().is_not_null()
        signs = [
            (is_number & self.text.str.contains(sign, literal=True)).any().cast(pl.UInt32)
            for sign in MONEY
        ]
        is_percent = is_number & self.text.str.ends_with("%")
        is_dressed = self.dressed().is_not_null()
        has_point, has_comma = is_number & self._has("."), is_number & self._has(",")
        by_thousands = is_dressed & has_point if self.has_commas else pl.lit(False)
        is_open = self.text.str.contains(OPEN)
        return {
            **self.words(),
            "codes": self.text.str.contains(CODE).sum(),
            "code": self.text.filter(self.text.str.contains(CODE)).first(),
            "dressed": (is_number & is_dressed).sum(),
            "example": self.text.filter(is_dressed).first(),
            "means": self.dressed().drop_nulls().first(),
            "percents": is_percent.fill_null(False).sum(),
            "signs": pl.sum_horizontal(*signs),
            "thousand": self.text.filter(by_thousands).first(),
            "point": self.text.filter(self.plain().is_not_null() & has_point).first(),
            "decimals": self.text.filter(self.plain().is_not_null() & has_point & ~is_open).first(),
            "comma": self.text.filter(has_comma).first(),
            "are_open": ~((has_point | has_comma) & ~is_open).any(),
            **marks_in(self.text),
            "row": self.is_word().arg_true().first() + 1,
            "word": self.text.filter(self.is_word()).first(),
        }


@dataclass(frozen=True)
class _Contents:
    """What the cells of a column are: how many, and the first of each kind."""

    # Whether decimals follow a comma.
    has_commas: bool
    numbers: int
    codes: int
    code: str | None
    dressed: int
    example: str | None
    means: float | None
    percents: int
    signs: int
    thousand: str | None
    point: str | None
    decimals: str | None
    comma: str | None
    are_open: bool
    marks: int
    mark: str | None
    words: int
    row: int | None
    word: str | None

    @property
    def are_codes(self) -> bool:
        """Whether all cells are digits with a zero before them, as in a postal code, or marks."""
        return 0 < self.codes == self.numbers and not self.words

    def of_codes(self) -> str:
        """Return what a user should know of a column of codes, without its name."""
        verb = "is a code" if self.codes == 1 else "are codes"
        return (
            f": {cells(self.codes)} such as {self.code!r}, with a zero before the digits, {verb} "
            "and no number; the column is text"
        )

    @property
    def mixture(self) -> str:
        """What keeps numbers from being compared with each other, if anything does."""
        if 0 < self.percents < self.numbers:
            return "has a sign of percent behind some numbers and none behind others"
        if self.thousand and self.decimals:
            thousand, decimals = self.thousand, self.decimals
            return f"has points by thousands ({thousand!r}) and before decimals ({decimals!r})"
        if self.comma and self.point and (self.has_commas or self.are_open):
            return f"has {self.comma!r} and {self.point!r}, of which one is by thousands"
        return "has several signs of money" if self.signs > 1 else ""

    def remarks(self) -> list[str]:
        """Return what a user should know of the column, without its name."""
        if self.words:
            if _are_words(self.numbers, self.words):
                return []
            more = f", nor are {cells(self.words - 1)} more" if self.words > 1 else ""
            return [
                f" is text, for {self.word!r} in row {self.row} is no number{more}; mend or empty "
                "such cells if it should be numbers"
            ]
        if self.numbers and self.mixture:
            return [f" is text, for it {self.mixture}; write all alike if it should be numbers"]
        found = []
        if self.dressed:
            found.append(
                f": {cells(self.dressed)} such as {self.example!r}, which is read as "
                f"{self.means:.10g}, {'is a number' if self.dressed == 1 else 'are numbers'}"
            )
        if self.marks and self.numbers:
            found.append(f": {of_marks(self.marks, self.mark)}")
        return found
