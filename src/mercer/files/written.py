"""Tables written in blocks to a file that takes its place when it is whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from mercer.data.replaced import check_replaceable, unwritten
from mercer.errors import DataFileError
from mercer.files.tables import format_of, polars

# The formats that are appended to block by block; of the others blocks are put together in the end.
LINES = ("csv", "tsv", "ndjson")
WRITTEN = (*LINES, "parquet", "arrow")


class Writer(Protocol):
    """What takes tables of polars, one after the other."""

    def __call__(self, block: Any) -> None:
        """Write the rows of a block after those before it."""


def check_output(path: str) -> None:
    """Refuse a file that no table can be written to, before any work is done."""
    try:
        kind = format_of(path)
    except DataFileError:
        kind = ""
    if kind not in WRITTEN or path.lower().endswith(".gz"):
        raise DataFileError(
            f"{path} cannot be written: a table goes to .csv, .tsv, .parquet, .arrow or .ndjson"
        )
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise DataFileError(
            f"{path} cannot be written: there is no folder {target.parent}; make it first"
        )
    try:
        check_replaceable(target)
    except OSError as error:
        raise _refusal(path, error) from None


@contextmanager
def table_writer(path: str, separator: str | None = None) -> Iterator[Writer]:
    """Give a function that writes blocks; the file has its name once all are written.

    Until then, and if anything fails, what was there before is unchanged.

    Parameters
    ----------
    path : str
        The file; its ending says which format it has.
    separator : str, optional
        What stands between cells of text, if not what is usual.
    """
    check_output(path)
    target, kind = Path(path).resolve(), format_of(path)
    of_body: OSError | None = None
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            whole = Path(folder, target.name)
            with open(whole, "wb") if kind in LINES else nullcontext() as file:
                write = (
                    _parts_writer(folder) if file is None else lines_writer(file, kind, separator)
                )
                try:
                    yield _refusing(write, path)
                except OSError as error:
                    # What the caller does beside writing, such as reading, has errors of its own.
                    of_body = error
                    raise
                if file is not None:
                    file.flush()
                    os.fsync(file.fileno())
            if kind not in LINES:
                _put_together(folder, whole, kind)
            os.replace(whole, target)
    except OSError as error:
        if error is of_body:
            raise
        raise _refusal(path, error) from None


def _refusing(write: Writer, path: str) -> Writer:
    """Return a writer that says of which file it is that it cannot be written."""

    def checked(block: Any) -> None:
        try:
            write(block)
        except OSError as error:
            raise _refusal(path, error) from None

    return checked


def _refusal(path: str, error: OSError) -> DataFileError:
    return DataFileError(unwritten(Path(path), error))


def lines_writer(file: Any, kind: str, separator: str | None = None) -> Writer:
    """Return a writer of lines to an open file of bytes: CSV, TSV or NDJSON."""
    is_first, between = True, separator or ("," if kind == "csv" else "\t")

    def write(block: Any) -> None:
        nonlocal is_first
        if kind == "ndjson":
            text = block.write_ndjson()
        else:
            text = block.write_csv(include_header=is_first, separator=between)
        is_first = False
        file.write(text.encode("utf-8"))

    return write


def has_decimal_commas(table: Any, cells: Any) -> bool:
    """Whether some column of numbers was written with decimal commas.

    Parameters
    ----------
    table, cells : polars.DataFrame
        Rows of a file as they were read, and as they are written.
    """
    return any(
        bool(written.str.contains(r"^\s*[-+]?\d+,\d+\s*$").any())
        for read, written in zip(table.get_columns(), cells.get_columns(), strict=True)
        if read.dtype.is_float()
    )


def decimal_commas(table: Any) -> Any:
    """Return a table whose numbers are text with decimal commas."""
    pl = polars()
    return table.with_columns(
        pl.col(name).cast(pl.String).str.replace(".", ",", literal=True)
        for name, dtype in table.schema.items()
        if dtype.is_float()
    )


def _parts_writer(folder: str) -> Writer:
    count = 0

    def write(block: Any) -> None:
        nonlocal count
        block.write_parquet(Path(folder, f"part-{count:09d}.parquet"))
        count += 1

    return write


def _put_together(folder: str, whole: Path, kind: str) -> None:
    pl = polars()
    parts = sorted(Path(folder).glob("part-*.parquet"))
    scan = pl.scan_parquet(parts)
    try:
        scan.sink_parquet(whole) if kind == "parquet" else scan.sink_ipc(whole)
    except pl.exceptions.PolarsError as error:
        raise OSError(str(error).strip().partition("\n")[0]) from None
