"""Text that spells numbers or dates, as files that were read without their types hold it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# Numbers with a point or a comma, by thousands or not, with a sign of money or percent or without;
# no codes such as "007" or "01067".
NUMBER = re.compile(
    r"\s*[-+]?[$€£¥]?\s?(?:(?:0|[1-9]\d*)(?:[.,]\d*)?|[.,]\d+|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"
    r"|[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?)(?:[eE][-+]?\d+)?\s*[%$€£¥]?\s*"
)
# The year first or last, with a time of the day and a zone or without.
DATE = re.compile(
    r"\s*(?:\d{4}([-/.])\d{1,2}\1\d{1,2}"
    r"|(?P<first>\d{1,2})([-/.])(?P<second>\d{1,2})\3(?:\d{4}|\d{2}))"
    r"(?:[T ]\s*\d{1,2}:\d{2}.*)?\s*"
)


def spelled(words: Sequence[Any]) -> str:
    """Return what different texts spell, by an example, and what to do; "" of other text."""
    # The share of different values that says what was meant, where others are marks such as "n/a".
    meant_share = 0.9
    for what, pattern in (("numbers", NUMBER), ("dates", DATE)):
        found = [w for w in words if isinstance(w, str) and pattern.fullmatch(w)]
        if not found or len(found) < meant_share * len(words):
            continue
        known = set(found)
        mark = next((w for w in words if w not in known), None)
        beside = "" if mark is None else f" and {mark!r:.30}"
        gaps = "" if mark is None else ", missing where there is none,"
        how, use = _of_numbers(found) if what == "numbers" else _of_dates(found)
        return (
            f"holds {what} as text, such as {found[0]!r:.30}{beside}; make {what} of it{how}{gaps} "
            f"to have them compared by {use}"
        )
    return ""


def _of_numbers(texts: Sequence[str]) -> tuple[str, str]:
    return (" with decimal points" if any("," in text for text in texts) else "", "size")


def _of_dates(texts: Sequence[str]) -> tuple[str, str]:
    found = [match for match in map(DATE.fullmatch, texts) if match and match["first"]]
    if not found:
        return "", "time"
    first, second = (max(int(match[part]) for match in found) for part in ("first", "second"))
    order = "the day first" if first > 12 else "the month first" if second > 12 else ""
    return (f" ({order})" if order else " (the day or the month first, as you know)"), "time"
