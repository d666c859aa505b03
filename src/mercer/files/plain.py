"""Values of Python that JSON has no form for, as texts.

Such values are the classes of labels and the categories of columns: dates, times of the day,
decimal numbers, bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from mercer.errors import ModelFileError


def text_of(value: Any) -> dict[str, str] | None:
    """Return a value as a node of its kind and text, or None where there is none for it."""
    if type(value) is float and not math.isfinite(value):
        return {"float": repr(value)}
    # Whole numbers that JSON readers keep.
    whole = 2**53
    if type(value) is int and abs(value) > whole:
        return {"int": hex(value)}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if type(value) is date:
        return {"date": value.isoformat()}
    # Those of pandas may have nanoseconds, which no datetime has.
    if isinstance(value, datetime) and not getattr(value, "nanosecond", 0):
        return {"datetime": value.isoformat()}
    # Of one with a zone nothing is known before there is a day.
    if type(value) is time and value.tzinfo is None:
        return {"time": value.isoformat()}
    if type(value) is timedelta:
        return {"timedelta": f"{value.days} {value.seconds} {value.microseconds}"}
    if type(value) is Decimal:
        return {"decimal": str(value)}
    return None


def value_of(kind: str, text: Any) -> Any:
    """Return the value of a text of some kind, which is one of `READERS`."""
    # Characters of a number or a date; a longer one would take long to read.
    longest = 400
    if not isinstance(text, str) or (kind != "bytes" and len(text) > longest):
        raise ModelFileError(f"a {kind} is written as {text!r:.40}")
    try:
        return READERS[kind](text)
    except (ValueError, OverflowError, InvalidOperation):
        raise ModelFileError(f"a {kind} is written as {text!r:.40}") from None


def _float(text: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError(text)
    return float(text)


def _timedelta(text: str) -> timedelta:
    days, seconds, microseconds = map(int, text.split(" "))
    return timedelta(days, seconds, microseconds)


READERS: dict[str, Callable[[str], Any]] = {
    "float": _float,
    "int": lambda text: int(text, 0),
    "bytes": bytes.fromhex,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": _timedelta,
    "decimal": Decimal,
}
