"""A pass of the perceptron over the rows of a Gram matrix, native or by its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.native.core import routines
from mercer.native.twins import perceptron as perceptron_twin

__all__ = ["sweep"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def sweep(
    K: NDArray[Any], order: Whole, signs: Array, f: Array, counts: Whole, late: Whole, steps: Whole
) -> None:
    """Visit rows in order, and where s_i f_i <= 0 learn: c_i += 1 and f += s_i K_i.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix, with contiguous rows.
    order : array of shape (m,)
        The rows to visit.
    signs : array of shape (n,)
        s, the sign of every row's class times the size of its step.
    f : array of shape (n,)
        The values of f at all rows; written to.
    counts, late : array of shape (n,)
        c, the mistakes at every row, and the sum of the steps at which they were made; written to.
    steps : array of shape (1,)
        The number of rows visited before; written to.
    """
    routines(perceptron_twin).perceptron_sweep(K, order, signs, f, counts, late, steps)
