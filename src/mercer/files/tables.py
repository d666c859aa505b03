"""Tables from files, whatever their format, and errors that name the file and the line."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mercer.errors import DataFileError

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
# The columns of a FASTA file, and the name of the target of one of svmlight.
FASTA_COLUMNS = ("name", "sequence")
SVMLIGHT_TARGET = "target"


def format_of(path: str) -> str:
    """Return the format of a file by its ending; ``-`` is CSV from standard input."""
    if path == "-":
        return "csv"
    name = Path(path).name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in ENDINGS:
        known = ", ".join(sorted(ENDINGS))
        raise DataFileError(f"{path}: the ending {ending!r} is not known; it is one of {known}")
    return ENDINGS[ending]


def read_table(path: str) -> Any:
    """Return a file as a table of polars.

    Parameters
    ----------
    path : str
        A file of CSV, TSV, Parquet, Arrow, NDJSON, svmlight or FASTA; ``-`` is CSV from standard
        input.
    """
    kind = format_of(path)
    if path != "-" and not Path(path).exists():
        raise DataFileError(f"{path}: there is no such file")
    if path != "-" and Path(path).is_dir():
        raise DataFileError(f"{path} is a folder; give a file")
    table = READERS[kind](path)
    if table.height == 0 or table.width == 0:
        raise DataFileError(f"{path} has no rows of data; the first line of it names the columns")
    return table


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise DataFileError(
            "files of tables are read by polars, which is not installed; install mercer[io]"
        ) from None
    return polars


def _read(path: str, reader: Callable[[], Any]) -> Any:
    """Return what a reader of polars returns, its errors in one line."""
    pl = _polars()
    try:
        return reader()
    except pl.exceptions.NoDataError:
        raise DataFileError(f"{path} is empty") from None
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataFileError(f"{path} cannot be read: {first}") from None


def _delimited(separator: str) -> Callable[[str], Any]:
    def read(path: str) -> Any:
        pl = _polars()
        content = sys.stdin.buffer.read() if path == "-" else _unpacked(path)
        _check_text(path, content)
        _check_header(path, content, separator)
        # Dates stay text, which columns take for dates where it is ISO 8601 and nothing else.
        settings = {"separator": separator, "infer_schema_length": None}
        return _read(path, lambda: pl.read_csv(content, **settings))

    return read


def _unpacked(path: str) -> bytes:
    content = Path(path).read_bytes()
    if not path.lower().endswith(".gz"):
        return content
    import gzip

    try:
        return gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise DataFileError(f"{path} cannot be unpacked: {error}") from None


def _check_text(path: str, content: bytes) -> None:
    """Refuse bytes that are no UTF-8 by the line in which they stand."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataFileError(
            f"{path} is not UTF-8: byte 0x{content[error.start]:02x} in line {line}; convert it, "
            "for instance by iconv -f latin1 -t utf-8"
        ) from None


def _check_header(path: str, content: bytes, separator: str) -> None:
    """Refuse columns of the same name, of which readers would rename one."""
    import csv
    import io

    first = content.decode("utf-8-sig").lstrip("\r\n").partition("\n")[0]
    names = next(csv.reader(io.StringIO(first), delimiter=separator), [])
    if len(names) == 1 and ";" in first:
        raise DataFileError(f"{path} seems to be separated by ';'; separate it by ','")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataFileError(f"{path} has several columns {repeated[0]!r}; rename them")


def _svmlight(path: str) -> Any:
    from sklearn.datasets import load_svmlight_file

    pl = _polars()
    try:
        X, y = load_svmlight_file(path)
    except (ValueError, OSError) as error:
        raise DataFileError(f"{path} cannot be read as svmlight: {error}") from None
    columns = {f"x{j + 1}": X[:, [j]].toarray().ravel() for j in range(X.shape[1])}
    return pl.DataFrame({SVMLIGHT_TARGET: y, **columns})


def _fasta(path: str) -> Any:
    pl = _polars()
    content = _unpacked(path)
    _check_text(path, content)
    names: list[str] = []
    sequences: list[list[str]] = []
    for number, line in enumerate(content.decode("utf-8-sig").splitlines(), 1):
        if line.startswith(">"):
            names.append(line[1:].strip())
            sequences.append([])
        elif line.strip() and not names:
            raise DataFileError(f"{path} is no FASTA: line {number} comes before a line with '>'")
        elif names:
            sequences[-1].append(line.strip())
    texts = ["".join(parts) for parts in sequences]
    return pl.DataFrame(dict(zip(FASTA_COLUMNS, (names, texts), strict=True)))


def _parquet(path: str) -> Any:
    return _read(path, lambda: _polars().read_parquet(path))


def _arrow(path: str) -> Any:
    return _read(path, lambda: _polars().read_ipc(path))


def _ndjson(path: str) -> Any:
    return _read(path, lambda: _polars().read_ndjson(path, infer_schema_length=None))


READERS: dict[str, Callable[[str], Any]] = {
    "arrow": _arrow,
    "csv": _delimited(","),
    "fasta": _fasta,
    "ndjson": _ndjson,
    "parquet": _parquet,
    "svmlight": _svmlight,
    "tsv": _delimited("\t"),
}
