"""Rows of any source: tables, and files without one such as sparse rows of svmlight, and FASTA."""

from __future__ import annotations

import io
import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.stream.text import opened_bytes
from mercer.errors import DataFileError
from mercer.files.dates import with_dates
from mercer.files.delimited import decoded
from mercer.files.form import ATTRIBUTE, OPEN, Form
from mercer.files.numbers import with_numbers
from mercer.files.tables import (
    ROWS,
    Table,
    check_encoding,
    check_file,
    format_of,
    polars,
    table_of,
)
from mercer.files.texts import with_missing

# The columns of a FASTA file, and the name of the target of one of svmlight.
FASTA_COLUMNS = ("name", "sequence")
SVMLIGHT_TARGET = "target"


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The rows of a file of svmlight.

    Parameters
    ----------
    path : str
        The file.
    X : CSR matrix of shape (n, d)
        The rows.
    y : array of shape (n,)
        The numbers that the lines begin with.
    first_index : {0, 1}
        The index of the first column.
    """

    path: str
    X: Any
    y: NDArray[np.float64]
    first_index: int

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.y)


def read_table(source: Any, like: Any = None, encoding: str | None = None) -> Any:
    """Return a file, or a table with columns of text, as a table of polars that the command reads.

    In CSV, TSV and the text of a table what spells numbers (``$1,234.50``, ``33%``, ``N/A`` among
    numbers) becomes numbers, dates such as ``30/01/2020`` become dates where the cells of their
    column allow one order of day, month and year, and marks such as ``n/a`` are missing cells. What
    was read so, or looks like a number or a date and stays text, is told to the logger ``mercer``.

    Parameters
    ----------
    source : str, path or table
        A file of CSV, TSV (also ``.gz``), Parquet, Arrow, NDJSON or FASTA; or a table of pandas,
        polars or pyarrow, whose other columns stay as they are.
    like : str, path or estimator, optional
        The file of the training rows, or a model that `mercer fit` made of it: new rows are read in
        the same way, and not by what these alone look like. A row with ``03/04/2020`` does not say
        which number is the month.
    encoding : str, optional
        How the bytes of a file of CSV or TSV are text, such as ``"cp1252"``; by default UTF-8.
        `like` may be of another one.
    """
    form = OPEN if like is None else _form_like(like)
    if not isinstance(source, str | PathLike):
        return _read_texts(source, form)
    rows = _named_columns(str(source), form, encoding)
    _tell(str(source), rows.remarks)
    return rows.read()


def _form_like(like: Any) -> Form:
    """Return how the columns were read of a file, or of the one that a model was fitted to."""
    if isinstance(like, str | PathLike):
        table = _named_columns(str(like), OPEN)
        return table.form(table.names)
    form = getattr(like, ATTRIBUTE, None)
    if not isinstance(form, Form):
        raise DataFileError(
            f"this {type(like).__name__} was not fitted by the command and does not know how its "
            "file was read; give that file, read_table(new, like='train.csv')"
        )
    return form


def _named_columns(path: str, form: Form, encoding: str | None = None) -> Table:
    rows = opened_rows(path, form, encoding)
    if isinstance(rows, SparseRows):
        raise DataFileError(
            f"{path} is svmlight, whose columns have no names; read it by "
            "sklearn.datasets.load_svmlight_file"
        )
    return rows


def _read_texts(X: Any, form: Form) -> Any:
    """Return a table whose columns of text are read as those of a file."""
    import narwhals as nw

    polars()
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise DataFileError(
            f"a file or a table of pandas, polars or pyarrow is read, got {type(X).__name__}"
        ) from None
    except nw.exceptions.DuplicateError:
        name = Counter(map(str, X.columns)).most_common(1)[0][0]
        raise DataFileError(f"the table has several columns {name!r}; rename them") from None
    try:
        table = frame.to_polars()
    except (TypeError, ValueError) as error:
        raise _mixture(frame, error) from None
    name = "the table"
    numbers = with_numbers(name, table.lazy(), form, has_commas=False)
    dates = with_dates(name, numbers.scan, form)
    texts = with_missing(dates.scan, form)
    _tell(name, (*numbers.remarks, *dates.remarks, *texts.remarks))
    return texts.scan.collect()


def _mixture(frame: Any, error: Exception) -> DataFileError:
    """Return the error of the first column of objects that are not of one kind."""
    for column in frame.iter_columns():
        try:
            column.to_polars()
        except (TypeError, ValueError):
            kinds = {type(cell).__name__ for cell in column if cell is not None}
            return DataFileError(
                f"the table: the column {column.name!r} has cells of the kinds "
                f"{', '.join(sorted(kinds))}; make them alike, or all of them text by "
                f"X[{column.name!r}].astype('string')"
            )
    return DataFileError(f"the table cannot be read: {error}")


def _tell(name: str, remarks: Iterable[str]) -> None:
    for remark in remarks:
        logging.getLogger("mercer").info("%s: %s", name, remark)


def opened_rows(path: str, form: Form = OPEN, encoding: str | None = None) -> Table | SparseRows:
    """Return a file of any format: columns with names, or sparse rows.

    Parameters
    ----------
    path : str
        CSV, TSV, Parquet, Arrow, NDJSON, svmlight or FASTA; ``-`` is CSV from standard input.
    form : Form
        What is known of its columns.
    encoding : str, optional
        How the bytes of CSV and TSV are text, as Python calls it; by default UTF-8.
    """
    kind = format_of(path)
    if kind not in ("svmlight", "fasta"):
        return table_of(path, form, encoding)
    check_file(path)
    check_encoding(path, encoding)
    blocks = list(row_blocks(path, form=form))
    if not blocks:
        raise DataFileError(f"{path} has no rows of data")
    if kind == "fasta":
        return Table(path, polars().concat(blocks).lazy())
    width = max(X.shape[1] for X, _ in blocks)
    for X, _ in blocks:
        X.resize(X.shape[0], width)
    rows = sp.vstack([X for X, _ in blocks], format="csr")
    first_index = form.first_index
    if first_index is None:
        # Blocks have their columns from 0 on where it is open what the first one is.
        first_index = 0 if (rows.indices == 0).any() else 1
        rows = rows[:, first_index:]
    return SparseRows(path, rows, np.concatenate([y for _, y in blocks]), first_index)


def row_blocks(path: str, rows: int = ROWS, form: Form = OPEN) -> Iterator[Any]:
    """Yield the rows of a file in their order, some at a time.

    Tables of polars, and of svmlight pairs of a CSR matrix and the numbers before it. The
    parameters are those of `opened_rows`, and the number of rows of a block.
    """
    kind = format_of(path)
    if kind not in ("svmlight", "fasta"):
        yield from table_of(path, form).blocks(rows=rows)
        return
    check_file(path)
    try:
        yield from (_fasta(path, rows) if kind == "fasta" else _svmlight(path, rows, form))
    except (OSError, EOFError, zlib.error) as error:
        raise DataFileError(f"{path} cannot be read: {error}") from None


def _svmlight(path: str, rows: int, form: Form) -> Iterator[tuple[Any, Any]]:
    from sklearn.datasets import load_svmlight_file

    settings: dict[str, Any] = {
        "n_features": form.n_features,
        "zero_based": form.first_index != 1,
    }
    with opened_bytes(path) as content:
        first = 1
        # Lines of comments are counted like others, so that an error names the right ones.
        while lines := list(islice(content, rows)):
            if any(line.split(b"#")[0].strip() for line in lines):
                try:
                    X, y = load_svmlight_file(io.BytesIO(b"".join(lines)), **settings)
                except (ValueError, OverflowError) as error:
                    raise _refusal(path, lines, first, settings, error) from None
                yield X, y
            first += len(lines)


def _refusal(
    path: str, lines: list[bytes], first: int, settings: dict[str, Any], error: Exception
) -> DataFileError:
    """Return the error of the first line that is no row of svmlight."""
    from sklearn.datasets import load_svmlight_file

    for number, line in enumerate(lines, first):
        try:
            load_svmlight_file(io.BytesIO(line), **settings)
        except (ValueError, OverflowError) as found:
            text = line.decode("utf-8", "replace").strip()
            if "Invalid index 0" in str(found):
                return DataFileError(
                    f"{path} has an index 0 in line {number}, {text[:40]!r}, and the rows that the "
                    "model was fitted to begin at 1; add 1 to all indices, or fit to rows with a 0"
                )
            return DataFileError(
                f"{path} is no svmlight in line {number}, {text[:40]!r}: {found}; lines are a "
                "number and pairs such as 3:0.5 in ascending order"
            )
    return DataFileError(f"{path} cannot be read as svmlight: {error}")


def _fasta(path: str, rows: int) -> Iterator[Any]:
    pl = polars()
    records = _records(path)
    for record in records:
        some = chain([record], islice(records, rows - 1))
        yield pl.DataFrame(list(some), schema=list(FASTA_COLUMNS), orient="row")


def _records(path: str) -> Iterator[tuple[str, str]]:
    """Yield the names and sequences of a FASTA file."""
    name: str | None = None
    parts: list[str] = []
    with opened_bytes(path) as content:
        for number, line in enumerate(content, 1):
            text = decoded(path, line, number).strip()
            if text.startswith(">"):
                if name is not None:
                    yield name, "".join(parts)
                name, parts = text[1:].strip(), []
            elif text and name is None:
                raise DataFileError(
                    f"{path} is no FASTA: line {number} comes before the first with '>'"
                )
            else:
                parts.append(text)
    if name is not None:
        yield name, "".join(parts)
