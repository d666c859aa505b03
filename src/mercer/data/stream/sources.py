"""Where the rows of a stream come from: arrays on a disk, iterators of blocks, checked rows."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_names, is_table, n_rows, select_columns, table_column
from mercer.data.stream.stream import MOST, Source, columns_of


@dataclass(frozen=True, eq=False)
class ArraySource:
    """The rows of an array, which may be a memory map of any type of numbers.

    Parameters
    ----------
    array : array of shape (n, d)
        The rows.
    """

    array: NDArray[Any]
    name: str = "X"

    def blocks(self) -> Iterator[Any]:
        step = max(1, MOST // max(1, self.array.shape[-1]))
        for start in range(0, len(self.array), step):
            yield np.asarray(self.array[start : start + step])
            _leave(self.array)


def _leave(array: NDArray[Any]) -> None:
    """Have a memory map hold no page that was read: a pass would end with all of the file there.

    Pages are read again where they are asked for. What was written to a copy on write would be
    lost, and its pages stay.
    """
    if not isinstance(array, np.memmap) or array.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap):
        owner.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, eq=False)
class IteratorSource:
    """The blocks of an iterator that a function makes anew for every pass.

    Parameters
    ----------
    factory : callable
        factory() -> iterator of X or of pairs (X, y).
    aside : tuple of str
        The columns of tables that are no part of X.
    """

    factory: Callable[[], Any]
    aside: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"X, an iterator of {getattr(self.factory, '__qualname__', 'blocks')}()"

    def blocks(self) -> Iterator[Any]:
        for rows, _ in self.pairs():
            yield without(rows, self.aside)

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """Yield the blocks as they come, with their targets or None."""
        blocks = self.factory()
        if not hasattr(blocks, "__iter__"):
            raise ValueError(
                f"{self.name} returned {type(blocks).__name__}; it must return an iterator of "
                "blocks X or (X, y)"
            )
        first, columns = 0, None
        for block in blocks:
            is_pair = isinstance(block, tuple)
            if is_pair and len(block) != 2:
                raise ValueError(
                    f"{self.name} gave a tuple of {len(block)}; blocks are X or pairs (X, y)"
                )
            rows, y = block if is_pair else (block, None)
            columns = columns_of(rows) if columns is None else columns
            if columns_of(rows) != columns:
                raise ValueError(
                    f"{self.name} gave the columns {columns_of(rows)} in the block from row "
                    f"{first} on, and {columns} before it; all blocks must have the same columns"
                )
            if n_rows(rows):
                yield rows, y
            first += n_rows(rows)


@dataclass(frozen=True, eq=False)
class CheckedSource:
    """The rows of another source, each block checked as it comes.

    Parameters
    ----------
    source : Source
        The other one.
    check : callable
        check(rows, first) -> rows, where `first` is the number of the first row among all.
    """

    source: Source
    check: Callable[[Any, int], Any]

    @property
    def name(self) -> str:
        return self.source.name

    def blocks(self) -> Iterator[Any]:
        first = 0
        for rows in self.source.blocks():
            yield self.check(rows, first)
            first += n_rows(rows)


def without(rows: Any, names: tuple[str, ...]) -> Any:
    """Return a table without some of its columns."""
    if not names:
        return rows
    return select_columns(rows, [name for name in column_names(rows) if name not in names])


def column(rows: Any, name: str) -> NDArray[Any]:
    """Return a column of a table by name, or refuse rows that have none."""
    if not is_table(rows):
        raise ValueError(
            f"{name!r} names a column, and X is no table but {type(rows).__name__}; give an array"
        )
    select_columns(rows, [name])
    return np.asarray(table_column(rows, name))
