"""Messages of the library in the words of the command: its options, and rows as a file has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mercer.errors import DataFileError

# What the library advises in Python, and what a user of the command does instead.
ADVICE = (
    (
        r"impute or drop such rows first, or give them a place by the kernel 'auto' or "
        r"Standardize\(missing='mean'\)",
        "fill such cells or drop such rows (fit --missing impute, or --missing drop), fit without "
        "--kernel, or with one that gives them a place, "
        "\"gaussian.after(standardize(missing='mean'))\"",
    ),
    (
        r"fill it or drop the row, or use Match\(missing='own-category'\), to which missing values "
        r"are equal",
        "fill such cells or drop such rows (fit --missing impute, or --missing drop), fit without "
        "--kernel, or with match(missing='own-category')",
    ),
    (r"; or use solver='nystrom'", ""),
    (
        r"; use solver='\w+' to be exact, or choose n_landmarks",
        "; a longer --time-limit (or --memory, where that is short) allows more of them, or an "
        "exact fit",
    ),
)
# Arguments by name, with their values if there are some, and texts in quotes.
WRITTEN = re.compile(
    r"\b(?P<name>time_limit|memory|encoding)="
    r"(?:'(?P<text>[^']*)'|(?P<number>[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+|\w*))|(?!\w))"
    r"|\b(?P<alone>time_limit)\b"
    r"|(?<!\w)'[^']*'"
    r'|"[^"]*"'
)


def in_options(text: str) -> str:
    """Return a message with options of the command in place of arguments of Python."""
    for pattern, instead in ADVICE:
        text = re.sub(pattern, instead, text)
    return WRITTEN.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    """Return an argument as an option; what is in quotes stays, as a name of a column."""
    name = found["name"] or found["alone"]
    if name is None:
        return found[0]
    value = found["text"] or found["number"]
    return f"--{name.replace('_', '-')}" + (f" {value}" if value else "")


@contextmanager
def rows_of_file(path: str, row_of: Callable[[int], int]) -> Iterator[None]:
    """Have errors in this context name the file, and rows by their numbers in it.

    Arrays are counted from 0 and the rows of a file from 1, the first one below its header.

    Parameters
    ----------
    path : str
        The file.
    row_of : callable
        The number in the file, counted from 0, of a row of the array.
    """
    try:
        yield
    except DataFileError:
        raise
    except ValueError as error:
        found, count = re.subn(
            r"\bat row (\d+)\b", lambda m: f"in row {row_of(int(m[1])) + 1}", str(error)
        )
        if count == 0:
            raise
        raise DataFileError(f"{path}: {found}") from error
