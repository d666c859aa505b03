"""The NumPy twin of the native pass of coordinate descent."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def descend_sparse(values: Array, columns: Array, starts: Array, *problem: Any) -> None:
    """Visit rows of a CSR matrix; see `mercer.native.coordinates.Descent`."""
    spans = [slice(i, j) for i, j in pairwise(starts)]
    _descend(lambda i: (columns[spans[i]], values[spans[i]]), *problem)


def descend_dense(values: Array, where: Array, cpu: str, *problem: Any) -> None:
    """Visit some rows of an array; see `mercer.native.coordinates.Descent`."""
    _descend(lambda i: (slice(None), values[where[i]].astype(np.float64)), *problem)


def _descend(
    row: Callable[[int], tuple[Any, Array]],
    order: Array,
    z: Array,
    lower: Array,
    upper: Array,
    epsilon: float,
    curvature: Array,
    rho: float,
    shift: Array,
    square: float,
    a: Array,
    w: Array,
    kept: Array,
) -> None:
    for i in order:
        columns, x = row(i)
        offset, total, shifted = kept
        # (x - c)'(w - sum(a) c) for the centre c.
        f = x @ w[columns] - total * (shift[i] - square) - shifted
        g, h = f + offset - z[i], curvature[i]
        free = a[i] - g / h
        u = np.sign(free) * max(abs(free) - epsilon / h, 0.0)
        u = min(max(u, lower[i]), upper[i])
        change, a[i] = u - a[i], u
        kept += change * np.array([rho, 1.0, shift[i]])
        np.add.at(w, columns, change * x)
