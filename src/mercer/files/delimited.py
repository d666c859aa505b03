"""Text with a cell after the other in its lines: its encoding, its header, and lines to mend."""

from __future__ import annotations

import codecs
import csv
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any

from mercer.data.stream.text import PIECE, opened_bytes
from mercer.errors import DataFileError


@contextmanager
def in_utf8(path: str, encoding: str | None) -> Iterator[Any]:
    """Give an open file with the text of another one in UTF-8, or None if that has it.

    Standard input is copied too: what it holds is read more than once. The copy is closed if the
    context ends with an error, and else by who was given it.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.
    encoding : str, optional
        How its bytes are text, as Python calls it; by default UTF-8.
    """
    is_utf8 = encoding is None or codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    if is_utf8 and path != "-":
        yield None
        return
    copy = tempfile.NamedTemporaryFile(suffix=".csv")  # noqa: SIM115
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else opened_bytes(path) as content:
            _copy(path, content, copy, None if is_utf8 else encoding)
        yield copy
    except BaseException:
        copy.close()
        raise


def _copy(path: str, content: Any, copy: Any, encoding: str | None) -> None:
    """Copy bytes as they are, or their text in UTF-8 if they have another encoding."""
    decoder = codecs.getincrementaldecoder(encoding or "latin-1")()
    line = 1
    try:
        for piece in chain(iter(lambda: content.read(PIECE), b""), [b""]):
            text = piece if encoding is None else decoder.decode(piece, not piece).encode()
            copy.write(text)
            line += text.count(b"\n")
    except UnicodeError as error:
        what = str(error)
        if isinstance(error, UnicodeDecodeError):
            what = f"byte 0x{error.object[error.start]:02x}"
            line += error.object[: error.start].count(b"\n")
        raise DataFileError(
            f"{path} is not {encoding}: {what} in line {line}; give the encoding that it has"
        ) from None
    except (OSError, EOFError) as error:
        raise DataFileError(f"{path} cannot be unpacked: {error}") from None
    copy.flush()
    if copy.tell() == 0:
        name = "standard input" if path == "-" else path
        raise DataFileError(f"{name} is empty; its first line should name the columns")


def decoded(path: str, line: bytes, number: int) -> str:
    """Return a line as text, or refuse bytes that are no UTF-8."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        is_utf16 = number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        how = "encoding='utf-16'" if is_utf16 else "encoding='cp1252' if it is of Windows"
        raise DataFileError(
            f"{path} is not UTF-8: byte 0x{line[error.start]:02x} in line {number}; read it with "
            f"{how}, or convert it"
        ) from None


def check_header(path: str, file: str, separator: str) -> tuple[str, list[str]]:
    """Return the separator and the names of a header; refuse columns of the same name."""
    with opened_bytes(file) as content:
        lines = (line for line in iter(content.readline, b"") if line.strip())
        try:
            first = decoded(path, next(lines, b""), 1).strip("\r\n")
        except (OSError, EOFError) as error:
            raise DataFileError(f"{path} cannot be unpacked: {error}") from None
    if "\0" in first:
        raise DataFileError(f"{path} is no text: its first line holds a zero byte")
    names = _fields(first, separator)
    if len(names) == 1 and separator == ",":
        separator = next((mark for mark in ";\t|" if mark in first), separator)
        names = _fields(first, separator)
    counts = Counter(name.strip() for name in names)
    repeated = next((name for name, count in counts.items() if count > 1), None)
    if repeated is not None:
        raise DataFileError(
            f"{path} has {counts[repeated]} columns of the name {repeated!r}; rename them in its "
            "first line"
        )
    return separator, names


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader(io.StringIO(line), delimiter=separator), [])


def check_lines(path: str, file: str, separator: str) -> None:
    """Refuse the first line that is no UTF-8, has more cells than the header or an open quote.

    Parameters
    ----------
    path : str
        What the user calls the file.
    file : str
        Where its lines are.
    separator : str
        What usually stands between its cells.
    """
    separator, _ = check_header(path, file, separator)
    with opened_bytes(file) as content:
        texts = (decoded(path, line, i) for i, line in enumerate(content, 1))
        rows = csv.reader(texts, delimiter=separator, strict=True)
        width, read = len(next(rows, [])), rows.line_num
        try:
            for row in rows:
                read = rows.line_num
                if len(row) > width:
                    raise DataFileError(
                        f"{path} has {len(row)} cells in line {read} and {width} in the first "
                        "line; quote cells that hold the separator"
                    )
        except csv.Error as error:
            raise DataFileError(
                f"{path} has a quote in line {read + 1} that is not closed where its cell ends "
                f"({error}); close it, or double it within a cell"
            ) from None
