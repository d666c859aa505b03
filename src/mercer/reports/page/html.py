"""The pieces that sections are made of, with all that users wrote as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from mercer.data.listing import in_four_digits


def section(title: str, *parts: str) -> str:
    """Return a section, or nothing where it has no parts."""
    body = "".join(part for part in parts if part)
    if not body:
        return ""
    name = title.lower().replace(" ", "-")
    return f'<section id="{name}"><h2>{escape(title)}</h2>{body}</section>'


def paragraph(text: str) -> str:
    """Return text as a paragraph."""
    return f"<p>{prose(text)}</p>" if text else ""


def prose(text: str) -> str:
    """Return text in which options such as --data are not broken after their hyphens."""
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r'<span class="line">\g<0></span>', escape(text))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows under a header; numbers stand to the right."""
    listed = [list(row) for row in rows]
    right = [bool(listed) and all(_is_number(row[j]) for row in listed) for j in range(len(header))]
    head = "".join(
        f'<th class="number">{escape(name)}</th>' if is_right else f"<th>{escape(name)}</th>"
        for name, is_right in zip(header, right, strict=True)
    )
    top = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in listed)
    return f'<div class="scroll"><table>{top}<tbody>{body}</tbody></table></div>'


def cell(value: Any) -> str:
    """Return a cell of a table: a number to the right, ready markup as it is, or text."""
    if isinstance(value, Markup):
        return f"<td>{value}</td>"
    if _is_number(value):
        return f'<td class="number">{number(value)}</td>'
    text = str(value)
    # Characters of a cell that are shown, of one that is not broken, such as a date, and of one
    # that is not to be a narrow tower of words on a telephone.
    most, short, long = 200, 14, 24
    kind = ' class="line"' if len(text) <= short else ' class="long"' if len(text) > long else ""
    return f"<td{kind}>{escape(text if len(text) <= most else text[: most - 1] + '…')}</td>"


def number(value: Any) -> str:
    """Return a number in four digits; nothing where it is missing."""
    if isinstance(value, int | np.integer):
        return str(value)
    return "" if np.isnan(value) else in_four_digits(value).replace("-", "−")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def bar(share: float) -> Markup:
    """Return a bar of some share of the width of its cell, in another colour if it is negative."""
    width = 100.0 * float(np.clip(abs(share), 0.0, 1.0))
    kind = "bar less" if share < 0.0 else "bar"
    return Markup(f'<span class="{kind}"><span style="width:{width:.1f}%"></span></span>')


def beside(*parts: str) -> str:
    """Return parts beside each other, where there is room."""
    kept = [f"<div>{part}</div>" for part in parts if part]
    return f'<div class="pair">{"".join(kept)}</div>' if kept else ""


def figures(*plots: tuple[Any, str]) -> str:
    """Return pictures with what is to be seen on them; those that are None are left out."""
    found = [
        f"<figure>{plot}<figcaption>{escape(text)}</figcaption></figure>"
        for plot, text in plots
        if plot is not None
    ]
    return f'<div class="plots">{"".join(found)}</div>' if found else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
