"""What of a kernel is learned: every term its weight, every column its scale, in logarithms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.kernels import After, Constant, Kernel, Scaled, Sum
from mercer.kernels.heuristics import median_distance
from mercer.kernels.maps import InputMap, Standardize
from mercer.kernels.params import children, real_parameters

Array = NDArray[np.float64]

# The logarithm of how far a parameter may go from where it starts, to either side.
REACH = float(np.log(1e4))


def opened(kernel: Kernel, X: Any, weights: Array) -> Kernel:
    """Return a kernel with a weight for every term of a sum, and a scale for every column.

    A length scale for all columns becomes one for each, all the same; the rule ``"median"``, and
    what is less than a fifth of that distance, becomes the median distance in units of the spread
    of every column, times this spread. Other rules, and maps that are fitted to rows, take their
    numbers from the rows `X` and their weights.
    """
    if isinstance(kernel, After) and isinstance(kernel.g, InputMap):
        kernel = kernel.with_params(g=kernel.g.resolved(X, weights))
    changes: dict[str, Any] = {}
    if kernel.parts:
        inner = kernel.inputs(X)
        for name, value in kernel.get_params(deep=False).items():
            if isinstance(value, Kernel):
                changes[name] = opened(value, inner, weights)
            elif isinstance(value, tuple) and all(isinstance(v, Kernel) for v in value):
                changes[name] = tuple(opened(v, inner, weights) for v in value)
        if isinstance(kernel, Sum):
            changes["terms"] = tuple(_weighted(term) for term in changes["terms"])
        return kernel.with_params(**changes)
    for name in scales_of(kernel):
        value = getattr(kernel, name)
        scale = None if isinstance(value, tuple) else _per_column(kernel, value, as_matrix(X))
        if scale is not None:
            changes[name] = scale
    return kernel.with_params(**changes).resolved(X, weights)


def _weighted(term: Kernel) -> Kernel:
    # A constant is its own weight.
    return term if isinstance(term, Scaled | Constant) else Scaled(term, 1.0)


def scales_of(kernel: Kernel) -> list[str]:
    """Return the parameters that are one number for all columns, or one for each."""
    found = []
    for f in fields(kernel):
        value = getattr(kernel, f.name)
        if "domain" in f.metadata and (isinstance(value, float | tuple) or value == "median"):
            try:
                f.metadata["domain"]((1.0, 2.0))
                f.metadata["domain"](0.5)
            except ValueError:
                continue
            found.append(f.name)
    return found


def _per_column(kernel: Kernel, value: Any, matrix: Any) -> tuple[float, ...] | None:
    """Return a scale for every column, or None where there is one, or they are sparse as words."""
    width = matrix.shape[1]
    if width <= 1 or sp.issparse(matrix):
        return None
    # The least length scale to start from, in units of the median distance.
    shortest = 0.2
    # So short that no two rows are alike, the likelihood does not change with it.
    if value != "median" and value >= shortest * median_distance(matrix, kernel.metric):
        return (value,) * width
    spread = np.array(Standardize().resolved(matrix).scale)
    scales = median_distance(matrix / spread, kernel.metric) * spread
    return tuple(scales.tolist())


@dataclass(frozen=True, eq=False)
class Variables:
    """The positive parameters of a kernel, as a vector of logarithms.

    A parameter of zero, such as the weight of a term that is not wanted, stays as it is. Columns
    that are equal share a scale, which they would else divide between them in no particular way.

    A length scale is at least half the median gap between neighbouring values of its column. Where
    numbers have few values, as doses, ratings and counts do, rows that are left out have a value
    that other rows have, too: with half a gap the neighbours are alike by e^-2, no criterion tells
    a shorter scale from that, and the function would be the mean wherever no value was seen.

    Parameters
    ----------
    kernel : Kernel
        The kernel, with numbers for parameters.
    names : tuple of str
        The parameters that are learned.
    members : tuple of arrays
        For every parameter which entries of the vector its numbers are.
    start : array of shape (p,)
        The vector of the kernel as it is, within these ends.
    lower, upper : arrays of shape (p,)
        The least and the largest logarithms.
    """

    kernel: Kernel
    names: tuple[str, ...]
    members: tuple[NDArray[np.intp], ...]
    start: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> Variables:
        """Return the variables of a kernel on the rows `X`."""
        columns = dict(_scaled_columns(kernel, X))
        names, members, starts, lowers, uppers = [], [], list[Array](), list[Array](), list[Array]()
        for name, value in real_parameters(kernel).items():
            numbers = np.ravel(value)
            if not (numbers > 0.0).all():
                continue
            groups, least = np.arange(len(numbers)), np.zeros(len(numbers))
            if name in columns:
                groups = np.unique(columns[name], axis=1, return_inverse=True)[1].reshape(-1)
                least = 0.5 * _gaps(columns[name])
            first = np.unique(groups, return_index=True)[1]
            names.append(name)
            members.append(sum(map(len, starts)) + groups)
            starts.append(np.log(np.maximum(numbers, least)[first]))
            with np.errstate(divide="ignore"):
                lowers.append(np.maximum(starts[-1] - REACH, np.log(least[first])))
            uppers.append(np.minimum(starts[-1] + REACH, _most(kernel, name)))
        vectors = (np.concatenate([*each, np.empty(0)]) for each in (starts, lowers, uppers))
        return cls(kernel, tuple(names), tuple(members), *vectors)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The least and the largest logarithm of every entry."""
        return list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    def kernel_at(self, logarithms: Array) -> Kernel:
        """Return the kernel with other parameters."""
        numbers, changes = np.exp(np.minimum(logarithms, self.upper)), {}
        now = self.kernel.get_params()
        for name, places in zip(self.names, self.members, strict=True):
            is_list = isinstance(now[name], tuple)
            changes[name] = (
                tuple(numbers[places].tolist()) if is_list else float(numbers[places[0]])
            )
        return self.kernel.with_params(**changes)

    def gradient(self, logarithms: Array, slopes: dict[str, Any]) -> Array:
        """Return the derivative by the logarithms, given that by the parameters."""
        found = np.zeros(len(logarithms))
        for name, places in zip(self.names, self.members, strict=True):
            np.add.at(found, places, np.ravel(slopes[name]))
        return found * np.exp(logarithms)


def _most(kernel: Kernel, name: str) -> float:
    """Return the logarithm of the largest value that a parameter may have."""
    owner: Any = kernel
    *path, last = name.split("__")
    for step in path:
        owner = owner[int(step)] if isinstance(owner, tuple) else getattr(owner, step)
    check = next(f for f in fields(owner) if f.name == last).metadata["domain"]
    try:
        check(2.0)
    except ValueError:
        # Lists of numbers refuse one of them, and have no end.
        return np.inf if isinstance(getattr(owner, last), tuple) else 0.0
    return np.inf


def _scaled_columns(kernel: Kernel, X: Any, prefix: str = "") -> Iterator[tuple[str, Array]]:
    """Yield every parameter that is one length scale for each column, and these columns."""
    if kernel.parts:
        inner = kernel.inputs(X)
        for name, part in children(kernel):
            assert isinstance(part, Kernel)
            yield from _scaled_columns(part, inner, f"{prefix}{name}__")
        return
    for name in scales_of(kernel):
        matrix: Any = as_matrix(X)
        if matrix.shape[1] == np.size(getattr(kernel, name)):
            yield prefix + name, matrix.toarray() if sp.issparse(matrix) else matrix


def _gaps(matrix: Array) -> Array:
    """Return the median distance between neighbouring values of every column, 0 of one value.

    Of two in the middle it is the larger.
    """
    if len(matrix) < 2:
        return np.zeros(matrix.shape[1])
    gaps = np.sort(np.diff(np.sort(matrix, axis=0), axis=0), axis=0)
    # One angle in two turns differs in its last digits.
    equal = (gaps <= 1e-9 * np.ptp(matrix, axis=0)).sum(axis=0)
    middle = np.minimum((equal + len(gaps)) // 2, len(gaps) - 1)
    found = np.take_along_axis(gaps, middle[None, :], axis=0)[0]
    return np.where(equal < len(gaps), found, 0.0)
