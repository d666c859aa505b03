"""Rows of a file: Parquet, CSV, Arrow and NDJSON by polars, and arrays of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mercer.data.stream.stream import MOST
from mercer.data.stream.text import ParsedText, is_large

# The readers of polars, by how a file's name ends.
READERS = {
    ".parquet": "scan_parquet",
    ".pq": "scan_parquet",
    ".csv": "scan_csv",
    ".tsv": "scan_csv",
    ".arrow": "scan_ipc",
    ".feather": "scan_ipc",
    ".ipc": "scan_ipc",
    ".ndjson": "scan_ndjson",
    ".jsonl": "scan_ndjson",
}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
ARRAY = ".npy"


@dataclass(frozen=True, eq=False)
class FileSource:
    """The rows of a table in a file, as tables of polars.

    Parameters
    ----------
    path : Path
        The file; how its name ends says what it is.
    aside : tuple of str
        The columns that are no part of X.
    """

    path: Path
    aside: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"X, the file {str(self.path)!r},"

    @cached_property
    def _parsed(self) -> ParsedText | None:
        """A large file of text, parsed once and not in every pass."""
        ending = self.path.suffix.lower()
        if READERS[ending] != "scan_csv" or not is_large(self.path):
            return None
        _polars(self.path)
        with _Refusals(self.path):
            return ParsedText(self.path, SEPARATORS[ending])

    def _scan(self) -> Any:
        return _scan(self.path) if self._parsed is None else self._parsed.scan()

    def blocks(self) -> Iterator[Any]:
        scan = self._scan()
        names = [name for name in _names(self.path, scan) if name not in self.aside]
        step = max(1, MOST // max(1, len(names)))
        batches = scan.select(names).collect_batches(
            chunk_size=step, maintain_order=True, lazy=True, engine="streaming"
        )
        with _Refusals(self.path):
            for rows in batches:
                if len(rows):
                    yield rows

    def counted(self) -> tuple[int, dict[str, Any]]:
        """Return the number of rows, and the columns that are no part of X."""
        scan = self._scan()
        names = _names(self.path, scan)
        for missing in (name for name in self.aside if name not in names):
            known = ", ".join(map(repr, names[:20]))
            raise ValueError(f"no column {missing!r} in {str(self.path)!r}; it has {known}")
        with _Refusals(self.path):
            n = int(scan.select(_polars(self.path).len()).collect(engine="streaming").item())
            if not self.aside:
                return n, {}
            found = scan.select(list(self.aside)).collect(engine="streaming")
        return n, {name: found.get_column(name).to_numpy() for name in self.aside}


def checked_path(path: str | Path) -> Path:
    """Return the path of a file that can be read, or refuse it."""
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in READERS and ending != ARRAY:
        known = ", ".join([*READERS, ARRAY])
        raise ValueError(
            f"X is the text {str(path)!r:.80}, which is no path to a file of rows; such names end "
            f"in {known}"
        )
    if not file.is_file():
        raise FileNotFoundError(f"X is the path {str(path)!r}, and there is no such file")
    return file


def _scan(path: Path) -> Any:
    ending = path.suffix.lower()
    options: dict[str, Any] = {}
    if ending in SEPARATORS:
        options["separator"] = SEPARATORS[ending]
    if READERS[ending] in ("scan_csv", "scan_ndjson"):
        # Kinds by all rows: whole numbers may be followed by others.
        options["infer_schema_length"] = None
    return getattr(_polars(path), READERS[ending])(path, **options)


def _polars(path: Path) -> Any:
    try:
        import polars
    except ImportError:
        raise ImportError(
            f"reading {str(path)!r} needs polars; install it with pip install 'mercer[io]'"
        ) from None
    return polars


def _names(path: Path, scan: Any) -> list[str]:
    with _Refusals(path):
        return list(scan.collect_schema().names())


class _Refusals:
    """A context in which what polars finds wrong with a file becomes one line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, _polars(self.path).exceptions.PolarsError):
            found = str(error).strip().partition("\n")[0]
            raise ValueError(f"{str(self.path)!r} could not be read: {found}") from None
