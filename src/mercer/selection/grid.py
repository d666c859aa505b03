"""What to choose from: kernels by list, expression or grid, and ridges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags

from mercer.data.columns import n_columns
from mercer.estimators.estimator import kernels_for, tag_rows
from mercer.estimators.ridge import checked_ridges
from mercer.gram import unheld_gram_of
from mercer.kernels import (
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Matern32,
    PeerParameters,
    Sum,
    as_kernel,
)
from mercer.kernels.language.names import AUTO, UNNAMED, is_auto

Array = NDArray[np.float64]

# The default families from smooth to rough, each with length scales in units of the median
# distance: the rougher a kernel is, the less its length scale does that the ridge does not.
SCALES_BY_FAMILY: dict[Any, tuple[float, ...]] = {
    Gaussian: (0.25, 0.6, 1.6, 4.0),
    Matern32: (0.6, 2.5),
    Exponential: (0.6, 2.5),
    Laplacian: (0.6, 2.5),
}
# The default ridges in units of k(x, x), and Cs in units of 1 / k(x, x).
ALPHAS = np.geomspace(1e-6, 1e2, 30)
CS = np.geomspace(1e-2, 1e4, 8)


def candidates(kernels: Any, X: Any, beside: PeerParameters = UNNAMED) -> list[Kernel]:
    """Return the kernels that a list, a grid, one kernel or None means, for the rows `X`.

    None stands for the median distance in every default family, which `default_grid` makes a grid
    of length scales. What was given `beside` belongs to names of scikit-learn.
    """
    return kernels_for(_specified(kernels, beside), X)


def _specified(kernels: Any, beside: PeerParameters = UNNAMED) -> list[Any]:
    """Return what is to be chosen from: kernels, or ``"auto"`` for what the rows suggest."""
    if kernels is None:
        if beside.given:
            raise ValueError(f"{beside.given} belongs beside a name in kernels, such as 'rbf'")
        return [family("median") for family in SCALES_BY_FAMILY]
    if isinstance(kernels, Iterator):
        # A copy of the estimator, and another fit, would find it used up.
        raise ValueError(f"kernels must be a list, which can be read twice, got {kernels!r}")
    if isinstance(kernels, Mapping):
        found = list(_from_grid(kernels, beside))
    elif isinstance(kernels, Iterable) and not isinstance(kernels, str):
        found = [_specific(kernel, beside) for kernel in kernels]
    else:
        found = [_specific(kernels, beside)]
    if not found:
        raise ValueError(f"kernels must hold at least one kernel, got {kernels!r}")
    finished = [not is_auto(kernel) and kernel.is_precomputed for kernel in found]
    if any(finished) and not all(finished):
        raise ValueError(
            f"kernels must read the same rows, but {found[finished.index(True)]} reads a finished "
            f"Gram matrix and {found[finished.index(False)]} does not; choose among one sort"
        )
    return found


def default_grid(medians: Sequence[Kernel], X: Any) -> list[Kernel]:
    """Return the kernels of all default families with all their length scales.

    Parameters
    ----------
    medians : sequence of Kernel
        What `candidates` returns for None, with the median distances for length scales.
    X : rows
        What they read. Of one column the Laplacian kernel is the exponential one, and left out.
    """
    families = list(zip(medians, SCALES_BY_FAMILY.values(), strict=True))
    if n_columns(medians[-1].inputs(X)) == 1:
        del families[-1]
    return [around for kernel, factors in families for around in _widths(kernel, factors)]


def _widths(kernel: Kernel, factors: Sequence[float]) -> list[Kernel]:
    """Return a kernel with its one length scale times each of some factors."""
    ((name, scale),) = [
        (n, v) for n, v in kernel.get_params().items() if n.endswith("length_scale")
    ]
    return [kernel.with_params(**{name: float(factor * scale)}) for factor in factors]


def reader_of(kernels: list[Kernel]) -> Kernel:
    """Return a kernel that reads rows as all of these do, which a sum of them does."""
    first, *others = kernels
    return Sum(tuple(kernels)) if others else first


def tag_kernels(tags: Tags, kernels: Any) -> None:
    """Say in the tags of an estimator which rows the kernels take that it chooses from."""
    try:
        found = _specified(kernels)
    except (TypeError, ValueError):
        # Kernels that mean nothing are refused by fit, not when an estimator is printed.
        return
    tag_rows(tags, [kernel for kernel in found if not is_auto(kernel)])


def _specific(kernel: Any, beside: PeerParameters) -> Any:
    if is_auto(kernel) and not beside.given:
        return AUTO
    return as_kernel(kernel, beside, called="one of kernels").remembered()


def _from_grid(grid: Mapping[str, Any], beside: PeerParameters) -> Iterable[Any]:
    """Yield the kernels of a grid: its values replace parameters of ``"kernel"``, or a Gaussian."""
    values = {
        name: value if isinstance(value, list | tuple | np.ndarray) else [value]
        for name, value in grid.items()
    }
    for point in ParameterGrid(values):
        base = _specific(point.pop("kernel", Gaussian()), beside)
        numbers = {n: v.item() if isinstance(v, np.generic) else v for n, v in point.items()}
        yield as_kernel(base).with_params(**numbers) if numbers else base


def ridges(alphas: Any, kernel: Kernel, X: Any, weights: Array) -> Array:
    """Return the ridges to try, by default in units of the weighted mean of k(x, x).

    Of a kernel that is valid on coefficients of sum zero only the mean of k(x, z) is taken off.
    """
    if alphas is None:
        diagonal = kernel.diagonal(X)
        if kernel.is_conditional:
            # k(x, x) alone says nothing, and may be zero.
            v = weights / weights.sum()
            diagonal = diagonal - v @ (unheld_gram_of(kernel, X) @ v)
        return ALPHAS * _unit(diagonal, weights)
    values = checked_ridges(alphas, "alphas", "a number or a list of numbers")
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"alphas must be a number or a list of numbers, got {alphas!r}")
    return np.atleast_1d(values)


def penalties(Cs: Any, diagonal: Array, weights: Array) -> Array:
    """Return the Cs to try, by default in units of one over the weighted mean of k(x, x)."""
    if Cs is None:
        return CS / _unit(diagonal, weights)
    values = np.asarray(Cs)
    if values.dtype.kind not in "fiu" or values.ndim > 1 or values.size == 0:
        raise ValueError(f"Cs must be a number or a list of numbers, got {Cs!r}")
    values = np.atleast_1d(values).astype(np.float64)
    bad = ~np.isfinite(values) | (values <= 0.0)
    if bad.any():
        raise ValueError(f"Cs must be finite and positive, got {values[bad][0]:g}")
    return values


def _unit(diagonal: Array, weights: Array) -> float:
    unit = float(np.average(diagonal, weights=weights))
    return unit if unit > 0.0 else 1.0
