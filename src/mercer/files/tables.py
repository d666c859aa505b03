"""Tables in files, whatever their format: read at once, or in blocks where they are large."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import finalize

from mercer.data.stream import Stream
from mercer.data.stream.text import ParsedText, is_large, pieces_of
from mercer.errors import DataFileError
from mercer.files.dates import with_dates
from mercer.files.delimited import check_header, check_lines, in_utf8
from mercer.files.form import OPEN, Form
from mercer.files.numbers import beside_commas, codes_in, with_numbers
from mercer.files.texts import with_missing

# The formats by the ending of a file.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
    ".fna": "fasta",
}
# Rows of a block, where nothing else is said.
ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Table:
    """A table of named columns in a file, which is read when it is asked for.

    Parameters
    ----------
    path : str
        What the user calls it.
    scan : polars.LazyFrame
        Its rows.
    remarks : tuple of str
        What a user should know of how it was read.
    spool : object
        What holds standard input, or large text that was parsed, as long as it is needed.
    by_thousands : tuple of str
        Columns of numbers that were written with points by thousands.
    text : (str, str), optional
        The file that holds the cells as text, and what stands between them.
    dates : tuple of (str, str)
        Columns of dates that are text in the file, each with how they are written.
    trimmed : tuple of (str, tuple of str)
        Columns of text in which marks count as missing, each with those that are categories.
    """

    path: str
    scan: Any
    remarks: tuple[str, ...] = ()
    spool: Any = None
    by_thousands: tuple[str, ...] = ()
    text: tuple[str, str] | None = None
    dates: tuple[tuple[str, str], ...] = ()
    trimmed: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def _file(self) -> str | None:
        return None if self.text is None else self.text[0]

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        with in_one_line(self.path, self._file):
            return list(self.scan.collect_schema().names())

    @cached_property
    def height(self) -> int:
        """The number of rows, by a pass over them."""
        with in_one_line(self.path, self._file):
            return int(self.scan.select(polars().len()).collect(engine="streaming").item())

    def read(self) -> Any:
        """Return all rows as a table of polars in memory."""
        with in_one_line(self.path, self._file):
            return self.scan.collect(engine="streaming")

    def head(self, rows: int = 1000) -> Any:
        """Return the first rows as a table of polars in memory."""
        with in_one_line(self.path, self._file):
            return self.scan.head(rows).collect()

    def blocks(self, columns: list[str] | None = None, rows: int = ROWS) -> Iterator[Any]:
        """Yield some columns of the rows in their order, some at a time, as tables of polars."""
        kept = columns or self.names
        # All cells of a line of text are read: whoever skips some does not see one too many.
        wanted = self.names if format_of(self.path) in ("csv", "tsv") else kept
        batches = self.scan.select(wanted).collect_batches(
            chunk_size=rows, maintain_order=True, lazy=True, engine="streaming"
        )
        with in_one_line(self.path, self._file):
            yield from (batch.select(kept) for batch in batches if batch.height)

    def blocks_as_written(self, rows: int = ROWS) -> Iterator[tuple[Any, Any]]:
        """Yield the blocks of all columns, each with its cells as they stand in the file of text.

        What was read as a number may have been 007 or $79.57.
        """
        assert self.text is not None
        file, separator = self.text
        pl = polars()
        pieces = (
            pl.read_csv(piece, separator=separator, infer_schema=False) for piece in pieces_of(file)
        )
        ahead = next(pieces)
        for block in self.blocks(rows=rows):
            while ahead.height < block.height and (piece := next(pieces, None)) is not None:
                ahead = ahead.vstack(piece)
            if ahead.height < block.height:
                raise self._changed()
            yield block, ahead.head(block.height)
            ahead = ahead.slice(block.height)
        if ahead.height or next(pieces, None) is not None:
            raise self._changed()

    def _changed(self) -> DataFileError:
        return DataFileError(
            f"{self.path} has another number of rows when it is read again; wait until it is "
            "written, or give a copy of it"
        )

    def columns(self, names: list[str]) -> Any:
        """Return some columns of all rows as a table in memory, without holding the others."""
        return polars().concat(self.blocks(names))

    def form(self, columns: list[str]) -> Form:
        """Return how some columns were read, so that other files are read alike."""
        pl, schema = polars(), self.scan.collect_schema()
        words = (pl.String, pl.Categorical, pl.Enum)
        return Form(
            texts=tuple(name for name, dtype in schema.items() if dtype in words),
            numbers=tuple(name for name in columns if schema[name].is_numeric()),
            remarks=self.remarks,
            by_thousands=self.by_thousands,
            dates=tuple(entry for entry in self.dates if entry[0] in columns),
            trimmed=self.trimmed,
        )

    def stream(self, columns: list[str]) -> Stream:
        """Return some columns as rows that estimators read block by block."""
        return Stream(TableSource(self, tuple(columns)), self.height)


@dataclass(frozen=True, eq=False)
class TableSource:
    """The rows of a table on a disk, for a stream.

    Parameters
    ----------
    table : Table
        The table.
    columns : tuple of str
        Those that are read.
    """

    table: Table
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called in an error."""
        return f"the file {self.table.path!r}"

    def blocks(self) -> Iterator[Any]:
        """Yield all rows in order, some at a time."""
        return self.table.blocks(list(self.columns))


def format_of(path: str) -> str:
    """Return the format of a file by its ending; ``-`` is CSV from standard input."""
    if path == "-":
        return "csv"
    ending = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    if ending in (".xlsx", ".xls", ".xlsm", ".ods"):
        raise DataFileError(f"{path} is a workbook, which is not read; export its sheet as CSV")
    if ending not in ENDINGS:
        known = ", ".join(sorted(ENDINGS))
        raise DataFileError(
            f"{path}: no table is read from a file of ending {ending!r}; write it as one of {known}"
        )
    return ENDINGS[ending]


def check_file(path: str) -> None:
    """Refuse what is no file with something in it."""
    if path == "-":
        return
    if not Path(path).exists():
        raise DataFileError(f"{path}: there is no such file; check its name and folder")
    if Path(path).is_dir():
        raise DataFileError(f"{path} is a folder; give a file in it")
    if Path(path).stat().st_size == 0:
        raise DataFileError(f"{path} is empty; its first line should name the columns")


def table_of(path: str, form: Form = OPEN, encoding: str | None = None) -> Table:
    """Return a file of columns with names as a table, after a look at its form.

    Parameters
    ----------
    path : str
        A file of CSV, TSV, Parquet, Arrow or NDJSON; ``-`` is CSV from standard input.
    form : Form
        What is known of its columns.
    encoding : str, optional
        How the bytes of CSV and TSV are text, as Python calls it; by default UTF-8.
    """
    kind = format_of(path)
    check_file(path)
    check_encoding(path, encoding)
    pl = polars()
    with in_one_line(path):
        if kind == "parquet":
            table = Table(path, _with_texts(pl.scan_parquet(path), form))
        elif kind == "arrow":
            table = Table(path, _with_texts(pl.scan_ipc(path), form))
        elif kind == "ndjson":
            scan = pl.scan_ndjson(path, infer_schema_length=None)
            table = Table(path, _with_texts(scan, form))
        else:
            table = _delimited(path, form, encoding)
        is_empty = not table.names or table.height == 0
    if is_empty:
        raise DataFileError(f"{path} has no rows of data; only a first line that names columns")
    return table


def check_encoding(path: str, encoding: str | None) -> None:
    """Refuse an encoding of what is no text in cells, or one that there is not."""
    if encoding is None:
        return
    if format_of(path) not in ("csv", "tsv"):
        raise DataFileError(
            f"an encoding={encoding!r} is for CSV and TSV, and {path} is neither; leave it out"
        )
    try:
        "".encode(encoding)
    except LookupError:
        raise DataFileError(
            f"there is no encoding {encoding!r} of text; such as cp1252, latin-1 or utf-16"
        ) from None


def _separator(path: str) -> str:
    return "\t" if format_of(path) == "tsv" else ","


def polars() -> Any:
    """Return polars, or say how to have it."""
    try:
        import polars
    except ImportError:
        raise DataFileError(
            "files of tables are read by polars, which is not installed; "
            "pip install 'mercer[io]' does it"
        ) from None
    return polars


@contextmanager
def in_one_line(path: str, file: str | None = None) -> Iterator[None]:
    """Turn what polars finds wrong with a file into an error of one line, with the place.

    Parameters
    ----------
    path : str
        What the user calls it.
    file : str, optional
        Where its lines are, if it is one of text.
    """
    pl = polars()
    try:
        yield
    except pl.exceptions.NoDataError:
        raise DataFileError(f"{path} is empty; its first line should name the columns") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        if file is not None:
            check_lines(path, file, _separator(path))
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        kind = format_of(path)
        name = {"parquet": "Parquet", "arrow": "Arrow", "ndjson": "NDJSON"}.get(kind, kind.upper())
        raise DataFileError(
            f"{path} cannot be read as {name}, which its ending says it is: {first}; write it "
            "again, or give it the ending of what it is"
        ) from None


def _with_texts(scan: Any, form: Form) -> Any:
    """Return a scan whose columns are text where those of the form are."""
    pl = polars()
    return scan.with_columns(
        pl.col(name).cast(pl.String)
        for name, dtype in scan.collect_schema().items()
        if name in form.texts and dtype not in (pl.String, pl.Categorical, pl.Enum)
    )


def _delimited(path: str, form: Form, encoding: str | None) -> Table:
    with in_utf8(path, encoding) as copy:
        file = path if copy is None else copy.name
        with in_one_line(path, file):
            table = _parsed(path, file, form)
        if copy is not None:
            # Closed with the table, even where an error keeps both alive in a cycle.
            finalize(table, copy.close)
        return table


def _parsed(path: str, file: str, form: Form) -> Table:
    usual, spool = _separator(path), None
    separator, names = check_header(path, file, usual)
    # Dates of ISO 8601 stay text, which columns take for dates and for nothing else. Kinds
    # are by all rows: whole numbers may be followed by others. What is known to be text is read as
    # it stands, since 07 would be the number 7.
    pl = polars()
    spelt = (*form.texts, *dict(form.dates), *(form.by_thousands if separator == ";" else ()))
    # Spaces around a name are no part of it, unless a model knows it with them.
    known = (*form.texts, *form.numbers, *dict(form.dates), form.target)
    titles = {name: name if name in known else name.strip() for name in names}
    # Rows that say which columns may be codes, of which all rows are looked at later.
    first = pl.scan_csv(file, separator=separator, infer_schema=False).head(100).collect()
    first = first.rename(titles, strict=False)
    spelt += tuple(name for name in codes_in(first) if name not in form.numbers)
    texts = {name: pl.String for name, title in titles.items() if title in spelt}
    if is_large(file):
        spool = ParsedText(file, separator, tuple(texts))
        scan = spool.scan()
    else:
        scan = pl.scan_csv(
            file, separator=separator, infer_schema_length=None, schema_overrides=texts
        )
    scan = scan.rename(titles, strict=False)
    read = with_numbers(path, scan, form, has_commas=separator == ";")
    dated = with_dates(path, read.scan, form)
    trimmed = with_missing(dated.scan, form)
    remarks = (*read.remarks, *dated.remarks, *trimmed.remarks)
    if separator == ";":
        schema = trimmed.scan.collect_schema()
        numbers = {name for name, dtype in schema.items() if dtype.is_numeric()}
        remarks += tuple(beside_commas(first, numbers.difference(read.by_thousands)))
    if separator != usual:
        commas = ", where numbers may have decimal commas" if separator == ";" else ""
        remarks = (f"columns are separated by {separator!r}{commas}", *remarks)
    kinds = (read.by_thousands, (file, separator), dated.formats, trimmed.categories)
    return Table(path, trimmed.scan, remarks, spool, *kinds)
