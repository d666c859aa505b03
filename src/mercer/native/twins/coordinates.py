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


def descend_dense(values: Array, *problem: Any) -> None:
    """Visit rows of an array; see `mercer.native.coordinates.Descent`."""
    _descend(lambda i: (slice(None), values[i]), *problem)


def _descend(
    row: Callable[[int], tuple[Any, Array]],
    order: Array,
    z: Array,
    lower: Array,
    upper: Array,
    epsilon: float,
    curvature: Array,
    rho: float,
    a: Array,
    w: Array,
    offset: Array,
) -> None:
    for i in order:
        columns, x = row(i)
        g, h = x @ w[columns] + offset[0] - z[i], curvature[i]
        free = a[i] - g / h
        u = np.sign(free) * max(abs(free) - epsilon / h, 0.0)
        u = min(max(u, lower[i]), upper[i])
        change, a[i] = u - a[i], u
        offset[0] += rho * change
        np.add.at(w, columns, change * x)
