"""Numbers of new rows far outside of those that a model was fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mercer.cli.fitting.data import Job
from mercer.data.ranges import Outside, Ranges
from mercer.data.stream import Stream, some_rows
from mercer.errors import OutsideRangeWarning
from mercer.kernels import Kernel
from mercer.kernels.columns import read_columns


def ranges_of(job: Job, kernel: Kernel) -> Ranges:
    """Return the ranges of the columns of numbers that a kernel reads of the rows of its fit."""
    # Rows of a stream that are read at a time.
    rows = 1 << 16
    is_stream = isinstance(job.X, Stream)
    found = Ranges.of((block for _, block in job.X.blocks(rows)) if is_stream else [job.X])
    return found.on(read_columns(kernel, some_rows(job.X))) if found.entries else found


@contextmanager
def without_far_warnings() -> Iterator[None]:
    """Have models keep to themselves what the command says of all rows together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideRangeWarning)
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
        """What was found, a line for every column."""
        return [str(found) for found in self._found.values()]
