"""Small tables for people: aligned text, HTML, or a data frame of pandas."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any


def as_text(header: Sequence[str], rows: Iterable[Sequence[Any]], width: int = 40) -> str:
    """Return rows under a header as lines of aligned columns, numbers to the right.

    Parameters
    ----------
    header, rows : sequence of str, sequences of values
        What stands above the columns, and in them.
    width : int
        Characters of a cell that are printed.
    """
    table = [list(row) for row in rows]
    cells = [list(header), *([_cut(_spelled(value), width) for value in row] for row in table)]
    is_number = [
        bool(table) and all(row[j] == "" or _is_number(row[j]) for row in table)
        for j in range(len(header))
    ]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def in_room(header: Sequence[str], rows: Sequence[Sequence[Any]], line: int) -> str:
    """Return `as_text` in lines of so many characters: its longest cells are cut if need be."""
    # Characters of a cell that are left at least.
    least = 20
    longest = max(len(_spelled(cell)) for row in rows for cell in row)
    over = max(map(len, as_text(header, rows, longest).splitlines())) - line
    return as_text(header, rows, max(least, longest - max(over, 0)))


def as_html(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows under a title and a header as an HTML table."""
    # Characters of a cell that are shown: a page has more room than a terminal.
    most = 200
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    cells = ([_cut(_spelled(value), most) for value in row] for row in rows)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in cells
    )
    return (
        f"<table><caption>{html.escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def as_frame(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """Return rows as a data frame of pandas, which has to be installed."""
    import narwhals as nw

    table = list(rows)
    columns = {name: [row[j] for row in table] for j, name in enumerate(header)}
    return nw.from_dict(columns, backend="pandas").to_native()


def in_four_digits(value: float) -> str:
    """Return a number in four digits, of which thousands and millions are written out: 91,760."""
    # With 0 added, zero has no sign.
    rounded = float(f"{value + 0.0:.4g}")
    return f"{rounded:,.0f}" if 1e4 <= abs(rounded) < 1e9 else f"{rounded:.4g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _spelled(value: Any) -> str:
    if _is_number(value) and not isinstance(value, int):
        return in_four_digits(float(value))
    text = value if isinstance(value, str) else str(value)
    return text.replace("\n", "\\n")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
