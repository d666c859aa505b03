"""Tables of text that are too large to be parsed at every pass, as Parquet in a folder."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, BinaryIO
from weakref import finalize

from mercer.errors import DataFileError

# Bytes from which on a file of text is parsed once, and not by the lazy reader of polars, which
# holds a multiple of what it reads ahead and parses all of it again in every pass.
LARGE = 1 << 26
# Bytes of a piece, of which a few copies are in memory at a time.
PIECE = 1 << 23
# Bytes that a row may take up to the end of its quotes: all that follows one that is never closed
# would be taken into memory.
LONGEST = 1 << 26

# The kinds of the columns of a piece, by name; None where no cell of it says anything.
Kinds = dict[str, Any]


def is_large(path: str | Path) -> bool:
    """Whether a file of text is so large that it is better parsed once."""
    return Path(path).stat().st_size >= LARGE


def pieces_of(path: str | Path, size: int = PIECE) -> Iterator[bytes]:
    """Yield a file of CSV in pieces of whole lines, each with the first line of the file.

    A line may hold line breaks inside quotes: a piece ends where their number is even.

    Parameters
    ----------
    path : str or Path
        The file, unpacked where its name ends in ``.gz``.
    size : int
        About how many bytes a piece has.
    """
    with opened_bytes(path) as file:
        header = _first_line(file, path)
        line = 1 + header.count(b"\n")
        # What follows the last piece, and how many bytes of it are known to hold no whole line.
        rest, searched, is_quoted = bytearray(), 0, False
        while data := file.read(size):
            rest += data
            end = _last_line_end(rest, searched, is_quoted)
            is_quoted ^= _is_odd(rest, searched, len(rest))
            if end:
                yield header + rest[:end]
                line += rest.count(b"\n", 0, end)
                del rest[:end]
            searched = len(rest)
            if is_quoted and searched > LONGEST:
                raise _unclosed(path, line, f"within {LONGEST >> 20} MiB")
        if is_quoted:
            raise _unclosed(path, line, "by the end of the file")
        if rest.strip():
            yield header + rest


def opened_bytes(path: str | Path) -> BinaryIO:
    """Return a file opened for reading, unpacked where its name ends in .gz."""
    if str(path).lower().endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return open(path, "rb")


def _first_line(file: BinaryIO, path: str | Path) -> bytes:
    header, is_quoted = bytearray(), False
    for line in iter(file.readline, b""):
        header += line
        is_quoted ^= _is_odd(line, 0, len(line))
        if is_quoted and len(header) > LONGEST:
            break
        if not is_quoted and header.strip():
            return bytes(header if header.endswith(b"\n") else header + b"\n")
    if is_quoted:
        raise _unclosed(path, 1, "where the names of the columns end")
    return bytes(header)


def _is_odd(data: bytes | bytearray, start: int, end: int) -> bool:
    """Whether a part of some bytes has an odd number of quotes."""
    return data.count(b'"', start, end) % 2 == 1


def _last_line_end(data: bytearray, start: int, is_quoted: bool) -> int:
    """Return how many bytes whole lines take, 0 where the first has no end yet.

    Every byte is looked at once, however many pieces a line takes and whatever its quotes.

    Parameters
    ----------
    data : bytearray
        The bytes from the beginning of a line on.
    start : int
        How many of them hold no whole line.
    is_quoted : bool
        Whether these have an odd number of quotes.
    """
    end = data.rfind(b"\n", start) + 1
    is_inside = is_quoted ^ _is_odd(data, start, end)
    while end and is_inside:
        # Lines end outside of quotes before the last quote at the earliest.
        quote = data.rfind(b'"', start, end)
        if quote < 0:
            return 0
        end = data.rfind(b"\n", start, quote) + 1
        is_inside = _is_odd(data, end, quote)
    return end


def _unclosed(path: str | Path, line: int, where: str) -> DataFileError:
    return DataFileError(
        f"{path} has a quote in line {line} that is not closed {where}; close it, or double it "
        "within a quoted cell"
    )


@dataclass(eq=False)
class ParsedText:
    """A file of CSV that was parsed once, as Parquet in a folder of its own.

    Every column has one kind, that of all its cells, as if the whole file had been looked at before
    it was parsed: a column of whole numbers in which 1.5 comes late is one of numbers, and one in
    which a word does is text, spelled as in the file. The folder goes when this does.

    Parameters
    ----------
    path : str or Path
        The file.
    separator : str
        What stands between cells.
    texts : tuple of str
        Columns that are text, whatever they hold.
    size : int
        About how many bytes are parsed at a time.
    """

    path: str | Path
    separator: str = ","
    texts: tuple[str, ...] = ()
    size: int = PIECE
    folder: Path = field(init=False, repr=False)

    def __post_init__(self) -> None:
        import polars as pl

        self.folder = Path(mkdtemp(prefix="mercer-"))
        finalize(self, rmtree, self.folder, ignore_errors=True)
        known: Kinds = dict.fromkeys(self.texts, pl.String)
        found = []
        for i, piece in enumerate(pieces_of(self.path, self.size)):
            rows, kinds = self._parsed(piece, known)
            known = {name: _joined(known.get(name), kind) for name, kind in kinds.items()}
            self._write(i, rows)
            found.append(kinds)
        final = {name: pl.String if kind is None else kind for name, kind in known.items()}
        if all(kinds == final for kinds in found):
            return
        for i, piece in enumerate(pieces_of(self.path, self.size)):
            if found[i] != final:
                self._write(i, self._read(piece, final, is_open=False))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again: the folder is of this process."""
        return type(self), (self.path, self.separator, self.texts, self.size)

    def scan(self) -> Any:
        """Return the rows as a lazy table of polars."""
        import polars as pl

        return pl.scan_parquet(sorted(self.folder.iterdir()))

    def _parsed(self, piece: bytes, known: Kinds) -> tuple[Any, Kinds]:
        """Return the rows of a piece, by the kinds that are known or else by their cells."""
        import polars as pl

        told = {name: kind for name, kind in known.items() if kind is not None}
        is_known = bool(known) and known.keys() == told.keys() and known.keys() > set(self.texts)
        try:
            rows = self._read(piece, told, not is_known)
        except pl.exceptions.ComputeError:
            rows = self._read(piece, dict.fromkeys(self.texts, pl.String))
            told = dict.fromkeys(self.texts, pl.String)
        kinds = dict(rows.schema)
        for name in kinds:
            if name not in told and rows.get_column(name).null_count() == rows.height:
                kinds[name] = None
        return rows, kinds

    def _read(self, piece: bytes, kinds: Kinds, is_open: bool = True) -> Any:
        """Return the rows of a piece; columns of no known kind have one by all their cells."""
        import polars as pl

        seen = None if is_open else 0
        return pl.read_csv(
            piece, separator=self.separator, infer_schema_length=seen, schema_overrides=kinds
        )

    def _write(self, i: int, rows: Any) -> None:
        # As it is in memory: it is read more often than it is written. A reader holds several
        # groups of rows ahead, which are to be small.
        path, group = self.folder / f"{i:09d}.parquet", 1 << 14
        rows.write_parquet(path, compression="uncompressed", statistics=False, row_group_size=group)


def _joined(one: Any, other: Any) -> Any:
    """Return the kind that cells of two kinds have together."""
    import polars as pl

    if one is None or other is None or one == other:
        return other if one is None else one
    return pl.Float64 if one.is_numeric() and other.is_numeric() else pl.String
