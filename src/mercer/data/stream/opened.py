"""Rows, targets and weights as an estimator is given them, with what is on a disk as a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.columns import is_table, n_rows, stack_rows
from mercer.data.stream.files import ARRAY, FileSource, checked_path
from mercer.data.stream.sources import ArraySource, IteratorSource, column, without
from mercer.data.stream.stream import Stream


def is_streamed(X: Any) -> bool:
    """Whether rows are not in memory: a stream, the path of a file, or a function of blocks."""
    return isinstance(X, Stream | str | Path) or (callable(X) and not hasattr(X, "shape"))


def opened(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights, the rows of a file or an iterator as a stream.

    Targets and weights are in memory. They may be columns of a table or file by name, which are
    then no part of the rows, and targets may come with the blocks.

    Parameters
    ----------
    X : rows
        As an estimator takes them; the path of a file; or a function that returns an iterator of
        blocks X or (X, y), a new one at every call.
    y : array or str, optional
        The targets, or the name of their column.
    sample_weight : float, array or str, optional
        The weights, or the name of their column.
    """
    named = {"y": y, "sample_weight": sample_weight}
    aside = tuple(name for name in named.values() if isinstance(name, str))
    if not is_streamed(X):
        if aside and is_table(X):
            y, sample_weight = (column(X, v) if isinstance(v, str) else v for v in named.values())
            return without(X, aside), y, sample_weight
        return X, y, sample_weight
    stream, columns, targets = _stream(X, aside)
    if targets is not None and y is not None:
        raise ValueError("X gives pairs (X, y), and y was given as well; leave one of them out")
    y, sample_weight = (columns[v] if isinstance(v, str) else v for v in named.values())
    return stream, y if targets is None else targets, sample_weight


def stream_of(X: Any) -> Any:
    """Return rows to predict at, those of a file or an iterator as a stream."""
    return _stream(X, ())[0] if is_streamed(X) else X


def _stream(X: Any, aside: tuple[str, ...]) -> tuple[Stream, dict[str, Any], Any]:
    """Return a stream, with the columns that are no part of it, and the targets of pairs."""
    if isinstance(X, Stream):
        return X, {}, None
    if callable(X):
        return _of_iterator(IteratorSource(X, aside))
    path = checked_path(X)
    if path.suffix.lower() == ARRAY:
        array = np.load(path, mmap_mode="r")
        return Stream(ArraySource(array, f"X, the file {str(path)!r},"), len(array)), {}, None
    source = FileSource(path, aside)
    n, found = source.counted()
    return _filled(Stream(source, n)), found, None


def _of_iterator(source: IteratorSource) -> tuple[Stream, dict[str, Any], Any]:
    n = 0
    parts: dict[str, list[Any]] = {name: [] for name in source.aside}
    targets: list[Any] = []
    for rows, y in source.pairs():
        if (y is not None) != (len(targets) > 0) and n > 0:
            raise ValueError(f"{source.name} gives some blocks with y and some without, at row {n}")
        if y is not None:
            if n_rows(y) != n_rows(rows):
                raise ValueError(
                    f"{source.name} gave {n_rows(rows)} rows with {n_rows(y)} targets at row {n}; "
                    "they must agree"
                )
            targets.append(np.asarray(y))
        for name, values in parts.items():
            values.append(column(rows, name))
        n += n_rows(rows)
    columns = {name: np.concatenate(values) for name, values in parts.items() if values}
    return _filled(Stream(source, n)), columns, stack_rows(*targets) if targets else None


def _filled(X: Stream) -> Stream:
    if len(X) == 0:
        raise ValueError(f"{X.source.name} has 0 rows; at least one is needed")
    return X
