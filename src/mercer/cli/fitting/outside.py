"""Numbers, dates and categories of new rows that those have not which a model was fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mercer.cli.fitting.data import Job
from mercer.data.ranges import Levels, Outside, Ranges, outside_in_words
from mercer.data.stream import Stream, some_rows
from mercer.errors import OutsideRangeWarning, UnknownTextsWarning, UnseenCategoriesWarning
from mercer.kernels import Kernel
from mercer.kernels.columns import columns_of, read_columns


def ranges_of(job: Job) -> Ranges:
    """Return the ranges of numbers and dates of the rows of a fit."""
    return Ranges.of(_blocks(job.X))


def read_ranges(ranges: Ranges, job: Job, kernel: Kernel) -> Ranges:
    """Return those ranges that a kernel reads."""
    return ranges.on(read_columns(kernel, some_rows(job.X))) if ranges.entries else ranges


def levels_of(job: Job, kernel: Kernel) -> Levels:
    """Return the categories of the columns that a kernel compares by them, in the rows of a fit."""
    return Levels.of(_blocks(job.X), columns_of(kernel, "categories"))


def _blocks(X: Any) -> Iterable[Any]:
    # Rows of a stream that are read at a time.
    rows = 1 << 16
    return (block for _, block in X.blocks(rows)) if isinstance(X, Stream) else [X]


@contextmanager
def without_row_warnings() -> Iterator[None]:
    """Have models keep to themselves what the command says of all rows together."""
    with warnings.catch_warnings():
        for category in (OutsideRangeWarning, UnknownTextsWarning, UnseenCategoriesWarning):
            warnings.simplefilter("ignore", category)
        yield


@dataclass(eq=False)
class FarRows:
    """The cells of rows that come in blocks which lie far outside of ranges, by column.

    Parameters
    ----------
    ranges : Ranges
        Those of the training rows.
    """

    ranges: Ranges
    _found: dict[str, Outside] = field(default_factory=dict, init=False)

    def see(self, X: Any) -> None:
        """Count the cells of a table of polars."""
        for new in self.ranges.outside(X):
            old = self._found.get(new.column)
            self._found[new.column] = new if old is None else old.with_more(new)

    @property
    def sentences(self) -> list[str]:
        """What was found, a line for all columns together."""
        return [outside_in_words(list(self._found.values()))] if self._found else []
