"""Missing cells of rows, and groups of rows that miss the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.categories import is_missing
from mercer.data.columns import column_values, is_table, n_rows

Gaps = NDArray[np.bool_]
Index = NDArray[np.intp]


def missing_cells(X: Any) -> Gaps | None:
    """Return which cells of a table or an array are missing, (n, columns); None of other rows."""
    if is_table(X):
        return np.column_stack([_missing(np.asarray(values)) for _, values in column_values(X)])
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return np.column_stack([_missing(values) for values in X.T])
    return None


def _missing(values: NDArray[Any]) -> Gaps:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values], bool)
    return np.zeros(len(values), bool)


def alike_in_gaps(train: Any, new: Any, least: int) -> list[tuple[Index, list[Index]]]:
    """Return groups of new rows by which cells are missing, with the training rows alike in that.

    These are the training rows that miss the same cells, if there are so many. Of a rarer pattern
    they are several sets, one for each of its cells, of all that miss that one; and all training
    rows where none is large enough, or where rows have no cells.

    Parameters
    ----------
    train, new : rows
        Of the same columns.
    least : int
        The training rows that a set has at least.
    """
    before, after = missing_cells(train), missing_cells(new)
    every = [np.arange(n_rows(train))]
    if before is None or after is None or not before.any():
        return [(np.arange(n_rows(new)), every)]
    patterns, places = np.unique(after, axis=0, return_inverse=True)
    groups = []
    for i, pattern in enumerate(patterns):
        same = np.flatnonzero((before == pattern).all(axis=1))
        sets = [same] if len(same) >= least else [np.flatnonzero(g) for g in before.T[pattern]]
        told = [found for found in sets if len(found) >= least]
        groups.append((np.flatnonzero(places.reshape(-1) == i), told or every))
    return groups
