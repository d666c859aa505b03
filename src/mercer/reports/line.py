"""Rows with one column of numbers, which pictures draw along an axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.columns import column_names, is_matrix, is_table, table_matrix


class Points(NamedTuple):
    """Numbers on a line, and what they are called."""

    values: NDArray[np.float64]
    name: str


def points_on_a_line(X: Any) -> Points | None:
    """Return the numbers of rows with one column, or None where there are others."""
    if is_table(X):
        names = column_names(X)
        if len(names) != 1:
            return None
        try:
            return Points(table_matrix(X, "X")[:, 0].astype(np.float64), str(names[0]))
        except ValueError:
            # A column of text is no axis.
            return None
    if not is_matrix(X) or sp.issparse(X) or X.shape[1] != 1 or X.dtype.kind not in "fiub":
        return None
    return Points(X[:, 0].astype(np.float64), "x")


def needed_line(X: Any, what: str) -> Points:
    """Return the numbers of rows with one column, or refuse others."""
    rows = X if is_table(X) else np.asarray(X)
    found = points_on_a_line(rows)
    if found is None:
        shape = (len(column_names(X)),) if is_table(X) else np.shape(rows)[1:]
        raise ValueError(
            f"{what} needs rows with one column of numbers, got columns {shape}; use "
            "EffectDisplay for one of several columns"
        )
    return found
