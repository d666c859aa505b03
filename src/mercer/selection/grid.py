"""What to choose from: kernels by list, expression or grid, and ridges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from mercer.kernels import Gaussian, Kernel, as_kernel

Array = NDArray[np.float64]

# The default length scales in units of the median distance, and ridges in units of k(x, x).
LENGTH_SCALES = np.geomspace(0.25, 4.0, 8)
ALPHAS = np.geomspace(1e-6, 1e2, 30)
# The default Cs in units of 1 / k(x, x).
CS = np.geomspace(1e-2, 1e4, 10)


def candidates(kernels: Any) -> list[Kernel]:
    """Return the kernels that a list, a grid, one kernel or None means.

    None stands for ``Gaussian("median")``, which `resolved` makes a grid of length scales.
    """
    if kernels is None:
        return [Gaussian("median")]
    if isinstance(kernels, Mapping):
        found = list(_from_grid(kernels))
    elif isinstance(kernels, Iterable) and not isinstance(kernels, str):
        found = [as_kernel(kernel) for kernel in kernels]
    else:
        found = [as_kernel(kernels)]
    if not found:
        raise ValueError(f"kernels must hold at least one kernel, got {kernels!r}")
    return found


def resolved(kernels: Any, rows: Any) -> list[Kernel]:
    """Return the candidates with numbers for parameters, those of None around the median."""
    found = [kernel.resolved(rows) for kernel in candidates(kernels)]
    if kernels is not None:
        return found
    median = found[0].get_params()["length_scale"]
    return [Gaussian(float(factor * median)) for factor in LENGTH_SCALES]


def _from_grid(grid: Mapping[str, Any]) -> Iterable[Kernel]:
    """Yield the kernels of a grid: its values replace parameters of ``"kernel"``, or a Gaussian."""
    values = {
        name: value if isinstance(value, list | tuple | np.ndarray) else [value]
        for name, value in grid.items()
    }
    for point in ParameterGrid(values):
        base = as_kernel(point.pop("kernel", Gaussian()))
        numbers = {n: v.item() if isinstance(v, np.generic) else v for n, v in point.items()}
        yield base.with_params(**numbers)


def ridges(alphas: Any, diagonal: Array, weights: Array) -> Array:
    """Return the ridges to try, by default in units of the weighted mean of k(x, x)."""
    if alphas is None:
        return ALPHAS * _unit(diagonal, weights)
    values = _numbers("alphas", alphas)
    bad = ~np.isfinite(values) | (values < 0.0)
    if bad.any():
        raise ValueError(f"alphas must be finite and not negative, got {values[bad][0]:g}")
    return values


def penalties(Cs: Any, diagonal: Array, weights: Array) -> Array:
    """Return the Cs to try, by default in units of one over the weighted mean of k(x, x)."""
    if Cs is None:
        return CS / _unit(diagonal, weights)
    values = _numbers("Cs", Cs)
    bad = ~np.isfinite(values) | (values <= 0.0)
    if bad.any():
        raise ValueError(f"Cs must be finite and positive, got {values[bad][0]:g}")
    return values


def _unit(diagonal: Array, weights: Array) -> float:
    unit = float(np.average(diagonal, weights=weights))
    return unit if unit > 0.0 else 1.0


def _numbers(name: str, given: Any) -> Array:
    values = np.asarray(given)
    if values.dtype.kind not in "fiu" or values.ndim > 1 or values.size == 0:
        raise ValueError(f"{name} must be a number or a list of numbers, got {given!r}")
    return np.atleast_1d(values).astype(np.float64)
