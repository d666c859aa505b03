"""The NumPy twin: the slow obvious form of every native routine, and the fallback without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.tiles.program import Program

Array = NDArray[Any]


def _cdist(A: Array, B: Array, metric: str, weights: Array | None) -> Array:
    # Imported here because it is slow to import and the native engine does without.
    from scipy.spatial.distance import cdist

    return cdist(A, B, metric, w=weights)


def dot(A: Array, B: Array, weights: Array | None) -> Array:
    """Inner product x'z."""
    return A @ B.T


def squared_distance(A: Array, B: Array, weights: Array | None) -> Array:
    """Sum of w_j (x_j - z_j)^2, by differences, so that no digit is lost to cancellation."""
    return _cdist(A, B, "sqeuclidean", weights)


def manhattan(A: Array, B: Array, weights: Array | None) -> Array:
    """Sum of w_j |x_j - z_j|."""
    return _cdist(A, B, "cityblock", weights)


def minimum(A: Array, B: Array, weights: Array | None) -> Array:
    """Product of min(x_j, z_j)."""
    return product([np.minimum.outer(a, b) for a, b in zip(A.T, B.T, strict=True)])


def chi2(A: Array, B: Array, weights: Array | None) -> Array:
    """Sum of (x_j - z_j)^2 / (x_j + z_j), where 0/0 counts as 0."""
    return _fold(np.add, [_chi2(a[:, None], b[None, :]) for a, b in zip(A.T, B.T, strict=True)])


def sine(A: Array, B: Array, periods: Array | None) -> Array:
    """Sum of sin^2(pi (x_j - z_j) / p_j)."""
    assert periods is not None
    columns = zip(A.T, B.T, periods, strict=True)
    return _fold(np.add, [_sine(a[:, None], b[None, :], p) for a, b, p in columns])


def match(A: Array, B: Array, weights: Array | None) -> Array:
    """Share of the columns in which x_j = z_j."""
    equal = [np.equal.outer(a, b).astype(np.float64) for a, b in zip(A.T, B.T, strict=True)]
    return _fold(np.add, equal) / A.shape[1]


LEAVES: dict[str, Callable[[Array, Array, Array | None], Array]] = {
    "dot": dot,
    "squared_distance": squared_distance,
    "manhattan": manhattan,
    "minimum": minimum,
    "chi2": chi2,
    "sine": sine,
    "match": match,
}


def _chi2(a: Array, b: Array) -> Array:
    total = a + b
    return (a - b) ** 2 / np.where(total > 0, total, 1)


def _sine(a: Array, b: Array, period: float) -> Array:
    # The difference, and what rounding took from it; both remainders are exact, so that points
    # many periods apart keep their phase.
    t = a - b
    back = t - a
    lost = (a - (t - back)) - (b + back)
    rest = np.fmod(t, period)
    rest -= period * np.rint(rest / period)
    return np.sin(np.pi * ((rest + lost) / period)) ** 2


def product(factors: list[Array]) -> Array:
    """Return the product of factors that are not negative: zero if one is, whatever overflows."""
    result = _fold(np.multiply, factors)
    result[np.isnan(result)] = 0.0
    return result


def _fold(operation: np.ufunc, parts: list[Array]) -> Array:
    result = parts[0]
    for part in parts[1:]:
        operation(result, part, out=result)
    return result


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "identity": lambda x: x,
    "exp": np.exp,
    "tanh": np.tanh,
    # The root of an overflow is that of the largest number, so that what decays with it vanishes.
    "sqrt": lambda x: np.minimum(np.sqrt(x), np.sqrt(np.finfo(x.dtype).max)),
    "log1p": np.log1p,
    "reciprocal": np.reciprocal,
    # The derivative of the square root but for a half; at zero, where that has none, it is zero.
    "reciprocal_root": lambda x: np.where(x > 0.0, 1.0 / np.sqrt(x), 0.0 * x),
}


def run(
    program: Program,
    leaves: Sequence[Array],
    factors: Sequence[tuple[Array, Array]],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
) -> Array:
    """Run the instructions on whole arrays: leaf values in, the value of the last slot out.

    For a block the shape is (n, m) and a factor is a pair of vectors (n,), (m,); for a diagonal
    the shape is (n,) and both vectors have that length.
    """
    slots: dict[int, Array] = {}
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        for i in program.instructions:
            if i.operation == "leaf":
                value = leaves[i.first]
            elif i.operation == "constant":
                value = np.full(shape, i.b, dtype)
            elif i.operation in ("map", "map_add"):
                value = FUNCTIONS[i.function](_affine(slots[i.first], i.a, i.b))
                if i.operation == "map_add":
                    value = i.c * value + i.d * slots[i.second]
            elif i.operation == "add":
                value = i.a * slots[i.first] + i.c * slots[i.second] + i.b
            elif i.operation == "multiply":
                value = _affine(slots[i.first], i.a, i.b) * _affine(slots[i.second], i.c, i.d)
            else:
                left, right = factors[i.second]
                value = _affine(slots[i.first], i.a, i.b)
                value = value * right * (left[:, None] if len(shape) == 2 else left)
            slots[i.target] = value
        return np.asarray(slots[program.instructions[-1].target], dtype)


def _affine(x: Array, a: float, b: float) -> Array:
    scaled = x if a == 1.0 else a * x
    return scaled if b == 0.0 else scaled + b
