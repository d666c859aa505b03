"""Columns of dates, times of day and ISO text as moments, in microseconds."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from mercer.data.categories import is_missing
from mercer.data.columns import column_names, is_table, table_series
from mercer.data.kinds import ISO_DATE, MICROSECONDS

OFFSET = re.compile(r"(?:UTC)?([+-])([0-9]{2}):?([0-9]{2})")


@dataclass(frozen=True, eq=False)
class Dates:
    """Moments as a clock shows them: ``moments[i]`` in microseconds, NaT where one is missing.

    `title` says which column they are. `zone` is the time zone of the clock, "" if the dates have
    none. Times without a date are those of 1970-01-01, and `has_dates` is False.
    """

    title: str
    moments: NDArray[np.datetime64]
    zone: str = ""
    has_dates: bool = True


def as_dates(X: Any, zone: str | None = None) -> Dates:
    """Return the rows `X`, one column of dates or times, as moments.

    Parameters
    ----------
    X : rows
        A table of one column, or a list or array: of dates, of times of the day, of dates with
        times, or of text that says either as ISO 8601 does, "2024-02-29 18:30".
    zone : str, optional
        The zone whose clock to read, "" for dates without one; by default that of the dates.
    """
    title, column = _column(X)
    if not isinstance(column, np.ndarray):
        own = column.dtype.time_zone
        _check_zone(title, own, zone)
        there = column.dt.convert_time_zone(zone or own).dt.replace_time_zone(None)
        return Dates(title, there.to_numpy().astype(MICROSECONDS), zone or own)
    if column.dtype.kind == "M":
        _check_zone(title, "", zone)
        return Dates(title, column.astype(MICROSECONDS))
    return _from_objects(title, column.tolist(), zone)


def _column(X: Any) -> tuple[str, Any]:
    """Return the title and the values of one column: a series with a time zone, or an array."""
    if not is_table(X):
        array = np.asarray(X) if isinstance(X, np.ndarray) else np.array(list(X), object)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise ValueError(
                f"calendar reads one column of dates, got an array of shape {array.shape}; select "
                "one with .on(0)"
            )
        return "X", array
    names = column_names(X)
    if len(names) != 1:
        raise ValueError(
            f"calendar reads one column of dates, and this table has {len(names)}; select one with "
            ".on('name')"
        )
    title = f"column {names[0]!r}"
    if isinstance(X, dict):
        return title, _column(X[names[0]])[1]
    (series,) = table_series(X)
    has_zone = getattr(series.dtype, "time_zone", None) is not None
    return title, series if has_zone else np.asarray(series.to_numpy())


def _from_objects(title: str, values: list[Any], zone: str | None) -> Dates:
    known = [(i, value) for i, value in enumerate(values) if not is_missing(value)]
    own = next((str(v.tzinfo) for _, v in known if getattr(v, "tzinfo", None) is not None), "")
    _check_zone(title, own, zone)
    clock = clock_of(zone or own) if own else None
    moments = np.full(len(values), np.datetime64("NaT"), MICROSECONDS)
    for i, value in known:
        moments[i] = _moment(title, i, value, clock)
    has_dates = not known or not all(isinstance(value, dt.time) for _, value in known)
    return Dates(title, moments, (zone or own) if own else "", has_dates)


def _moment(title: str, row: int, value: Any, clock: dt.tzinfo | None) -> Any:
    if isinstance(value, dt.time):
        return np.datetime64(dt.datetime.combine(dt.date(1970, 1, 1), value.replace(tzinfo=None)))
    if isinstance(value, dt.datetime) and (value.tzinfo is None) == (clock is None):
        return np.datetime64(value.astimezone(clock).replace(tzinfo=None) if clock else value)
    is_plain = type(value) is dt.date or isinstance(value, np.datetime64)
    if clock is None and (is_plain or (isinstance(value, str) and ISO_DATE.fullmatch(value))):
        try:
            return np.datetime64(value).astype(MICROSECONDS)
        except ValueError:
            pass
    is_text = isinstance(value, str)
    how = "; mercer.read_table(X, like=model) reads text as a model's rows were" if is_text else ""
    raise ValueError(
        f"{title} holds {value!r:.60} at row {row}, which is no date like the others; make all of "
        f"them dates, with a time zone or without{how}"
    )


def _check_zone(title: str, own: str, wanted: str | None) -> None:
    """Refuse dates on the clock of some zone for a kernel of dates without one, and conversely."""
    if wanted is None or bool(own) == bool(wanted):
        return
    has, needs = (f"the time zone {own}", "none") if own else ("no time zone", wanted)
    raise ValueError(
        f"{title} has dates with {has} and the kernel was fitted to dates with {needs}; give both "
        "the same, by tz_localize in pandas or replace_time_zone in polars"
    )


def clock_of(zone: str) -> dt.tzinfo:
    """Return the clock of a time zone, by its name or by its distance from UTC."""
    offset = OFFSET.fullmatch(zone)
    if offset is not None:
        sign = -1 if offset[1] == "-" else 1
        return dt.timezone(sign * dt.timedelta(hours=int(offset[2]), minutes=int(offset[3])))
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(
            f"no time zone {zone!r} is known on this machine; convert the dates to 'UTC', or "
            "install tzdata"
        ) from None
