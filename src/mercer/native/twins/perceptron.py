"""The NumPy twin of the native pass of a perceptron."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


def perceptron_sweep(
    K: Array, order: Array, signs: Array, f: Array, counts: Array, late: Array, steps: Array
) -> None:
    """Visit the rows in order; see `mercer.native.perceptron.sweep`."""
    for i in order:
        if (f[i] <= 0.0) if signs[i] > 0.0 else (f[i] >= 0.0):
            counts[i] += 1
            late[i] += steps[0]
            f += signs[i] * K[i]
        steps[0] += 1
