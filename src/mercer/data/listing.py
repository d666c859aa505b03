"""Small tables for people: aligned text, HTML, or a data frame of pandas."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any


def as_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows under a header as lines of aligned columns, numbers to the right."""
    table = [list(row) for row in rows]
    cells = [list(header), *([_spelled(value) for value in row] for row in table)]
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


def as_html(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows under a title and a header as an HTML table."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(_spelled(value))}</td>' for value in row)}</tr>"
        for row in rows
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
    text = text.replace("\n", "\\n")
    # Characters of a cell that are printed.
    cell_width = 40
    return text if len(text) <= cell_width else f"{text[: cell_width - 1]}…"
