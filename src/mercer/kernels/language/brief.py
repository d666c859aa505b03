"""Kernels and values in the length that an error, a warning or a proof has room for."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NUMBER, _NUMBERS = re.compile(r"[^][, ]+"), re.compile(r"\[[^][()'\"]*\]")
_ROW, _ROWS = re.compile(r"\[[^][]+\]"), re.compile(r"\[(?:\[[^][]*\](?:, )?)+\]")
_STANDARDIZE = re.compile(r"standardize\(mean=\[(\d+) numbers\], scale=\[\d+ numbers\]\)")
_COLUMN = re.compile(rf"(?<=[( ])(?:{_QUOTED}|[^(), ]+)")
_ON = re.compile(rf"\.on\((?:{_QUOTED}|[^()'\"])*\)")
# Calls with keywords, which methods such as `on` have none of.
_ARGUMENTS = re.compile(rf"\b([a-z]\w*)\(\w+=(?:{_QUOTED}|[^()'\"])*\)")
# Texts in quotes, and the places between calls, factors and terms.
_ENDS = re.compile(rf"({_QUOTED})|(?=\.(?:after|on)\()| (?=[+*] )")

# What `brief` leaves of what it shortens, and what trees of kernels do.
_SHORTENED = re.compile(r"\b\d+ (?:numbers|rows|columns)[\])]|\.\.\.|…")


def brief(expression: str, line: int = 100) -> str:
    """Return the text of a kernel on one line; one that is long says what it leaves out.

    Lists become their lengths, as in ``gaussian(...).after(standardize(40 columns))``, then
    arguments become dots, and what is still longer than a `line` is cut. ``str(k)`` has all of it.
    """
    if len(expression) <= line:
        return expression
    text = without_lists(expression)
    if len(text) > line:
        text = _ARGUMENTS.sub(r"\1(...)", text)
    return text if len(text) <= line else f"{text[: line - 3]}..."


def without_lists(expression: str) -> str:
    """Return the text of a kernel with the lengths of its lists in place of long ones."""
    text = _NUMBERS.sub(lambda found: _counted(found[0], _NUMBER, "[{} numbers]"), expression)
    text = _ROWS.sub(lambda found: _counted(found[0], _ROW, "[{} rows]"), text)
    text = _STANDARDIZE.sub(r"standardize(\1 columns)", text)
    return _ON.sub(lambda found: _counted(found[0], _COLUMN, ".on({} columns)"), text)


def in_lines(expression: str, line: int) -> list[str]:
    """Return the text of a kernel in lines of about so many characters, broken where calls end."""
    ends = [found.start() for found in _ENDS.finditer(expression) if not found[1]]
    lines = [""]
    for start, end in pairwise([0, *ends, len(expression)]):
        piece = expression[start:end]
        if lines[-1] and len(lines[-1]) + len(piece) > line:
            lines.append(f"  {piece.lstrip()}")
        else:
            lines[-1] += piece
    return lines


def is_shortened(text: str) -> bool:
    """Whether an expression has what `brief` writes in place of what it leaves out."""
    return bool(_SHORTENED.search(re.sub(_QUOTED, "''", text)))


def _counted(text: str, item: re.Pattern[str], words: str) -> str:
    """Return a list as it is if it has few items, else in words that say how many."""
    count = len(item.findall(text))
    # Entries of a list that are written out where not all of them fit.
    entries_written_out = 3
    return text if count <= entries_written_out else words.format(count)


def shown(value: Any, most: int = 80) -> str:
    """Return a value as an error names it: in one line, and cut where it is longer than that."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:
        # Python spells no whole number of more than 4300 digits.
        return f"a value of type {type(value).__name__} with too many digits to print"
    return text if len(text) <= most else f"{text[: most - 3]}..."
