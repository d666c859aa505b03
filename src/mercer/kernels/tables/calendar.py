"""The map of dates to numbers: how long ago, and where in the year, the week and the day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.dates import Dates, as_dates
from mercer.data.moments import Moments
from mercer.data.stream import Stream
from mercer.kernels import domains
from mercer.kernels.maps import MEAN, REFUSE, InputMap
from mercer.tiles import Rows

Array = NDArray[Any]

TIME, YEAR, WEEK, DAY = PARTS = ("time", "year", "week", "day")


@dataclass(frozen=True)
class Calendar(InputMap):
    """Dates as numbers: the time in units of its spread, and the phases of year, week and day.

    The time is (t - mean) / scale in days since 1970, and a phase the point (cos 2 pi p, sin 2 pi
    p) on a circle, where p is the part of the year, of the week from Monday, or of the day that
    has gone by: the 31st of December is next to the 1st of January. Without numbers it takes them
    from the rows that the kernel is fitted to, and of the phases those that tell something there:
    that differ, in dates that span at least one period. Estimators weigh the rows.

    It reads one column: of dates, of dates with times, of times of the day, which have a phase
    of the day alone, or of text that says them as ISO 8601 does. Dates with a time zone are read
    on the clock of the zone that they were fitted to, whichever zone later ones are given in.

    Parameters
    ----------
    parts : tuple of {"time", "year", "week", "day"}
        What becomes of a date, by default what tells something.
    mean : float, optional
        The mean of the time, in days since 1970-01-01.
    scale : float, optional
        Its standard deviation in days, positive.
    zone : str, optional
        The time zone of the clock, "" for dates without one.
    missing : {"refuse", "mean"}
        Whether a missing date is an error that names it, or stands at the mean time and the
        middle of every circle, with 1 in a last column that is 0 for all others.

    Examples
    --------
    >>> from mercer import Calendar, Gaussian
    >>> print(Gaussian(1.0).after(Calendar(("time", "week"))).on("day"))
    gaussian(length_scale=1.0).after(calendar(parts=['time', 'week'])).on(day)
    """

    domain: ClassVar[str] = "dates"
    is_discrete: ClassVar[bool] = True

    parts: tuple[str, ...] = domains.several_of(*PARTS)
    mean: float | None = domains.optional_real()
    scale: float | None = domains.optional_positive()
    zone: str | None = domains.optional_text()
    missing: str = domains.choice(REFUSE, MEAN)

    @property
    def is_resolved(self) -> bool:
        known = (self.mean, self.scale, self.zone)
        return bool(self.parts) and all(value is not None for value in known)

    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        if self.is_resolved:
            return self
        rows = Rows.of(X).X
        # One column fits into memory, as targets do.
        dates = as_dates(rows.collected() if isinstance(rows, Stream) else rows, self.zone)
        days = _days(dates)
        known = ~np.isnan(days)
        weights = weights[known] if weights is not None else None
        mean, scale = Moments.of(days[known, None], weights).scales()
        return type(self)(
            self.parts or _telling(dates, days[known]),
            float(mean[0]) if self.mean is None else self.mean,
            float(scale[0]) if self.scale is None else self.scale,
            dates.zone,
            self.missing,
        )

    def without_rules(self) -> Calendar:
        # Whatever the zone is, dates have the same form.
        return self if self.is_resolved else Calendar(self.parts or PARTS, 0.0, 1.0, None, MEAN)

    def __call__(self, X: Any) -> Array:
        if not self.parts or self.mean is None or self.scale is None:
            raise ValueError("calendar() has no numbers yet; resolve it on rows: k.resolved(X)")
        dates = as_dates(X, self.zone)
        days = _days(dates)
        is_missing = np.isnan(days)
        if is_missing.any() and self.missing == REFUSE:
            row = int(np.flatnonzero(is_missing)[0])
            raise ValueError(
                f"{dates.title} has a missing date at row {row}; fill it or drop the row, or use "
                "Calendar(missing='mean'), which gives it a place"
            )
        columns = [(days - self.mean) / self.scale] if TIME in self.parts else []
        for part in self.parts:
            if part != TIME:
                angle = 2.0 * np.pi * _phase(part, dates, days)
                columns += [np.cos(angle), np.sin(angle)]
        columns = [np.where(is_missing, 0.0, column) for column in columns]
        return np.column_stack([*columns, is_missing] if self.missing == MEAN else columns)

    def as_latex(self, x: str) -> str:
        """Return the mapped row as a formula."""
        return rf"\operatorname{{calendar}}({x})"


def telling_parts(dates: Dates) -> tuple[str, ...]:
    """Return the parts of dates that differ and come back, and the time."""
    days = _days(dates)
    return _telling(dates, days[~np.isnan(days)])


def _telling(dates: Dates, days: Array) -> tuple[str, ...]:
    if not dates.has_dates:
        return (DAY,)
    span = float(np.ptp(days)) if len(days) else 0.0
    known = Dates(dates.title, dates.moments[~np.isnat(dates.moments)])
    found = []
    # Days of a period, and of the steps in which a phase must differ to be used.
    periods = {YEAR: (365.2425, 30.0), WEEK: (7.0, 1.0), DAY: (1.0, 1.0 / 1440.0)}
    for part, (period, step) in periods.items():
        steps = np.floor(_phase(part, known, days) * period / step + 0.5 * (part == DAY))
        if span >= period and len(np.unique(steps)) > 1:
            found.append(part)
    return (TIME, *found)


def _days(dates: Dates) -> Array:
    """Return moments as days since 1970, NaN where one is missing."""
    days = dates.moments.astype("M8[D]")
    rest = (dates.moments - days) / np.timedelta64(1, "D")
    whole = np.where(np.isnat(days), np.nan, days.astype(np.int64))
    return np.asarray(whole + rest, np.float64)


def _phase(part: str, dates: Dates, days: Array) -> Array:
    """Return how much of its period has gone by at each moment, from 0 to 1."""
    if part == WEEK:
        # The first of January 1970 was a Thursday.
        return np.mod(days + 3.0, 7.0) / 7.0
    if part == DAY:
        return np.mod(days, 1.0)
    start = dates.moments.astype("M8[Y]")
    end = start + np.timedelta64(1, "Y")
    gone, whole = (moment - start.astype("M8[us]") for moment in (dates.moments, end))
    return np.asarray(gone / whole, np.float64)
