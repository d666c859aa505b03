"""What automatic machines say of rows that are unlike those which they were fitted to."""

from __future__ import annotations

from typing import Any

from mercer.data.ranges import Levels, Ranges, Unseen, outside_in_words
from mercer.data.stream import Stream, is_streamed
from mercer.errors import (
    OutsideRangeWarning,
    UnknownTextsWarning,
    UnseenCategoriesWarning,
    warn_caller,
)
from mercer.functions import Function
from mercer.functions.texts import UnknownTexts
from mercer.kernels import Kernel
from mercer.kernels.columns import columns_of, read_columns


def training_ranges(X: Any, kernel: Kernel) -> Ranges | None:
    """Return the ranges of training rows in the columns that a kernel reads.

    Those of a stream would take a pass over a disk, and there are none.
    """
    if isinstance(X, Stream):
        return None
    found = Ranges.of([X])
    return found.on(read_columns(kernel, X)) if found.entries else found


def training_levels(X: Any, kernel: Kernel) -> Levels | None:
    """Return the categories of training rows in the columns that a kernel compares by them.

    As of ranges, there are none of a stream.
    """
    return None if isinstance(X, Stream) else Levels.of([X], columns_of(kernel, "categories"))


def warn_unseen(levels: Levels | None, X: Any) -> None:
    """Warn once of all columns in which rows to predict have categories that are new."""
    if levels is None or X is None or not levels.entries:
        return
    unseen = Unseen(levels)
    unseen.see(X)
    if unseen.sentences:
        warn_caller("; ".join(unseen.sentences), UnseenCategoriesWarning)


def warn_unknown(f: Function, X: Any) -> None:
    """Warn once of all columns in which rows to predict have texts that nothing is known of.

    Those of a stream are not looked at: it would be read twice.
    """
    unknown = UnknownTexts(f)
    if X is not None and not is_streamed(X):
        unknown.see(X)
    if unknown.sentences:
        warn_caller("; ".join(unknown.sentences), UnknownTextsWarning)


def warn_outside(ranges: Ranges | None, X: Any) -> None:
    """Warn once of all columns in which rows to predict are far outside of the ranges."""
    found = [] if ranges is None or X is None else ranges.outside(X)
    if found:
        warn_caller(outside_in_words(found), OutsideRangeWarning)
