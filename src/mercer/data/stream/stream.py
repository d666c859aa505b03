"""Rows that are read from the first to the last, some at a time, in every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_names, is_table, n_rows, stack_rows, take_rows

# Numbers of a block, 8 MB, where no other limit says less: rows are read to be made more of.
MOST = 1 << 20


class Source(Protocol):
    """Where rows come from."""

    @property
    def name(self) -> str:
        """What it is called in an error."""

    def blocks(self) -> Iterator[Any]:
        """Yield all rows in order, some at a time, from the first on at every call."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows in blocks, which may be many more than fit into memory.

    It knows how many there are, gives some by ``X[start:stop]`` and ``X.take(index)``, and all by
    `blocks`, each time from a new pass over its source. A pass that finds another number of rows
    than there were is refused.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    n : int
        How many its source has.
    maps : tuple of callable
        What is made of the rows of every block, one after the other.
    index : array of shape (m,), optional
        Which rows of the source count; all by default. `take` has them in any order, and `blocks`
        reads ascending ones alone.
    """

    # Rows that stand for all where a kernel is chosen by what columns hold.
    sample_rows: ClassVar[int] = 10_000

    source: Source
    n: int
    maps: tuple[Callable[[Any], Any], ...] = ()
    index: NDArray[np.integer] | None = None

    def __len__(self) -> int:
        return self.n if self.index is None else len(self.index)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of columns."""
        return len(self), self.n_columns

    def __getitem__(self, rows: slice) -> Any:
        return self.take(np.arange(*rows.indices(len(self))))

    def take(self, index: NDArray[np.intp]) -> Any:
        """Return some rows in memory, in any order, by a pass up to the last of them."""
        index = np.asarray(index, np.intp)
        wanted = index if self.index is None else self.index[index]
        # Those of a part in any order, too, as two classes beside each other are.
        ascending, places = np.unique(wanted, return_inverse=True)
        if len(ascending) == 0:
            return take_rows(self.head, slice(0, 0))
        rows = _together(replace(self, index=ascending)._kept(), len(ascending))
        is_same = len(places) == len(ascending) and bool((np.diff(places) > 0).all())
        return rows if is_same else take_rows(rows, places)

    def part(self, index: NDArray[np.intp]) -> Stream:
        """Return some of the rows as a stream, which is read in blocks if they are ascending."""
        index = np.asarray(index, np.intp)
        return replace(self, index=index if self.index is None else self.index[index])

    def mapped(self, f: Callable[[Any], Any]) -> Stream:
        """Return the rows after a map of blocks to blocks of as many rows."""
        return replace(self, maps=(*self.maps, f))

    def blocks(self, most: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """Yield at most so many rows at a time, and no more than `MOST` numbers of them.

        Blocks are cut alike however the source hands them out. They begin with the row `first`.
        """
        step, start = max(1, min(most, MOST // self.n_columns)), first
        for rows in recut(self._kept(first), step):
            yield slice(start, start + n_rows(rows)), rows
            start += n_rows(rows)

    @cached_property
    def head(self) -> Any:
        """The first block of the source."""
        first = next(iter(self.source.blocks()), None)
        if first is None:
            raise self._changed(0)
        return self._mapped(first)

    @cached_property
    def sample(self) -> Any:
        """Some rows in memory, evenly spaced: what their columns hold is what all hold."""
        return self.take(self.sample_index)

    @property
    def sample_index(self) -> NDArray[np.intp]:
        """Which rows these are."""
        return np.linspace(0, len(self) - 1, min(len(self), self.sample_rows)).astype(np.intp)

    @property
    def n_columns(self) -> int:
        """The number of columns, 1 for rows that are no table."""
        found = columns_of(self.head)
        return max(1, found if isinstance(found, int) else len(found))

    def collected(self) -> Any:
        """Return all rows in memory."""
        return self.take(np.arange(len(self)))

    @property
    def nbytes(self) -> int:
        """About the bytes that all rows take in memory, by those of the first."""
        return 8 * len(self) * self.n_columns

    def read_through(self) -> None:
        """Read all rows once, so that what is wrong with them is refused before work begins."""
        for _ in replace(self, maps=(), index=None)._kept():
            pass

    def _mapped(self, rows: Any) -> Any:
        for f in self.maps:
            rows = f(rows)
        return rows

    def _kept(self, first: int = 0) -> Iterator[Any]:
        """Yield the rows that count from one on after all maps, as the source cuts them."""
        start, kept = 0, None if self.index is None else self.index[first:]
        if kept is not None and not (kept[1:] > kept[:-1]).all():
            raise ValueError("rows of a stream are read in their order; give ascending positions")
        for rows in self.source.blocks():
            stop = start + n_rows(rows)
            if kept is None:
                if stop > first:
                    begun = max(first - start, 0)
                    yield self._mapped(take_rows(rows, slice(begun, None)) if begun else rows)
            else:
                # Of the type of the positions, which would all be copied to another one otherwise.
                left, right = np.searchsorted(kept, np.array([start, stop], kept.dtype))
                if right > left:
                    some = np.asarray(kept[left:right] - start, np.intp)
                    yield self._mapped(rows if right - left == n_rows(rows) else _at(rows, some))
                if right == len(kept):
                    return
            start = stop
        if start != self.n:
            raise self._changed(start)

    def _changed(self, now: int) -> ValueError:
        return ValueError(
            f"{self.source.name} had {self.n} rows when it was first read and has {now} now; it "
            "must give the same rows at every pass"
        )


def _at(rows: Any, index: NDArray[np.intp]) -> Any:
    # A slice is a view, by which all rows of a block stay in memory: few ones are copied.
    is_run = index[-1] - index[0] == len(index) - 1 and 2 * len(index) > n_rows(rows)
    return take_rows(rows, slice(int(index[0]), int(index[-1]) + 1) if is_run else index)


def _together(blocks: Iterator[Any], n: int) -> Any:
    """Return the rows of blocks, n in all, of which numbers are written where they stay."""
    first = next(blocks)
    if n_rows(first) == n:
        return first
    if not isinstance(first, np.ndarray) or first.dtype != np.float64:
        return stack_rows(first, *blocks)
    out, stop = np.empty((n, *first.shape[1:])), 0
    for rows in chain([first], blocks):
        start, stop = stop, stop + len(rows)
        out[start:stop] = rows
    return out


def recut(blocks: Iterable[Any], step: int) -> Iterator[Any]:
    """Yield the rows of blocks in blocks of `step` rows, the last one of what is left."""
    held: list[Any] = []
    missing = step
    for rows in blocks:
        start, n = 0, n_rows(rows)
        while n - start >= missing:
            stop = start + missing
            held.append(rows if (start, stop) == (0, n) else take_rows(rows, slice(start, stop)))
            yield held[0] if len(held) == 1 else stack_rows(*held)
            held, missing, start = [], step, stop
        if start < n:
            held.append(take_rows(rows, slice(start, n)))
            missing -= n - start
    if held:
        yield held[0] if len(held) == 1 else stack_rows(*held)


def columns_of(rows: Any) -> int | list[str]:
    """Return the names of the columns of a table, or how many there are; 1 of a list."""
    if is_table(rows):
        return column_names(rows)
    return int(rows.shape[1]) if len(getattr(rows, "shape", ())) == 2 else 1


def part_of(X: Any, index: NDArray[np.intp]) -> Any:
    """Return some rows, those of a stream as a stream; see `Stream.part` for their order."""
    return X.part(index) if isinstance(X, Stream) else take_rows(X, index)


def some_rows(X: Any) -> Any:
    """Return rows that are in memory: themselves, or of a stream a sample."""
    return X.sample if isinstance(X, Stream) else X
