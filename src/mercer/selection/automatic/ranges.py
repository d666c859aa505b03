"""What automatic machines say of rows far outside of those that they were fitted to."""

from __future__ import annotations

from typing import Any

from mercer.data.ranges import Ranges
from mercer.data.stream import Stream
from mercer.errors import OutsideRangeWarning, warn_caller
from mercer.kernels import Kernel
from mercer.kernels.columns import read_columns


def training_ranges(X: Any, kernel: Kernel) -> Ranges | None:
    """Return the ranges of training rows in the columns that a kernel reads.

    Those of a stream would take a pass over a disk, and there are none.
    """
    if isinstance(X, Stream):
        return None
    found = Ranges.of([X])
    return found.on(read_columns(kernel, X)) if found.entries else found


def warn_outside(ranges: Ranges | None, X: Any) -> None:
    """Warn once of all columns in which rows to predict are far outside of the ranges."""
    found = [] if ranges is None or X is None else ranges.outside(X)
    if found:
        # Columns that are named.
        most = 3
        more = f"; and {len(found) - most} columns more" if len(found) > most else ""
        warn_caller("; ".join(map(str, found[:most])) + more, OutsideRangeWarning)
