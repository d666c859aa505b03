"""Derivatives of leaves by the rows on their left, summed over the rows on their right.

Natively or by the NumPy twin: sum_j M_ij d leaf(u_i, v_j) / d u_ik for given M. Where a leaf has no
derivative, |u - v| and min(u, v) at u = v, it is the mean of those on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.native.core import core, cpu_level, thread_count
from mercer.tiles.tile import Leaf

Array = NDArray[np.float64]


def leaf_slopes(leaf: Leaf, U: Array, V: Array, M: Array) -> Array:
    """Return sum_j M_ij d leaf(u_i, v_j) / d u_i, of shape (n, columns).

    Parameters
    ----------
    leaf : Leaf
        The comparison, of numbers.
    U, V : arrays of shapes (n, columns), (m, columns)
        The rows on both sides.
    M : array of shape (n, m)
        The factors.
    """
    if leaf.kind == "dot":
        return M @ V
    if leaf.kind == "squared_distance":
        # About a point among the rows, so that little cancels.
        centre = V.mean(axis=0)
        around = M.sum(axis=1)[:, None] * (U - centre) - M @ (V - centre)
        return 2.0 * around if leaf.weights is None else 2.0 * np.array(leaf.weights) * around
    weights = np.ones(U.shape[1]) if leaf.weights is None else np.array(leaf.weights)
    if leaf.kind == "sine":
        weights = np.full(U.shape[1], leaf.period)
    if leaf.kind != "minimum" or U.shape[1] == 1:
        return _summed(leaf.kind, U, V, weights, M)
    # The derivative of a product by one of its factors has all others.
    columns = range(U.shape[1])
    factors = [np.minimum.outer(U[:, k], V[:, k]) for k in columns]
    return np.hstack(
        [
            _summed(leaf.kind, U[:, [k]], V[:, [k]], weights[[k]], _times_others(M, factors, k))
            for k in columns
        ]
    )


def _times_others(M: Array, factors: list[Array], k: int) -> Array:
    for i, factor in enumerate(factors):
        M = M if i == k else M * factor
    return M


def _summed(kind: str, U: Array, V: Array, weights: Array, M: Array) -> Array:
    native = core()
    if native is None:
        sums = [
            np.einsum("ij,ij->i", M, SLOPES[kind](U[:, [k]], V[:, k], weights[k]))
            for k in range(U.shape[1])
        ]
        return np.stack(sums, axis=1)
    out = np.zeros(U.shape)
    sides = (np.ascontiguousarray(U), np.ascontiguousarray(V.T), np.ascontiguousarray(M))
    # As `Kind` in the native tiles counts them.
    kinds = {"manhattan": 2, "minimum": 3, "chi2": 4, "sine": 5}
    native.slopes(kinds[kind], *sides, weights, out, thread_count(), cpu_level())
    return out


def _chi2(x: Array, z: Array, w: float) -> Array:
    total = x + z
    t = (x - z) / np.where(total > 0.0, total, 1.0)
    return np.asarray(t * (2.0 - t))


def _sine(x: Array, z: Array, period: float) -> Array:
    rest = np.fmod(x - z, period)
    return np.asarray(np.pi / period * np.sin(2.0 * np.pi * (rest / period)))


SLOPES: dict[str, Callable[[Any, Any, Any], Array]] = {
    "manhattan": lambda x, z, w: w * np.sign(x - z),
    "minimum": lambda x, z, w: 0.5 - 0.5 * np.sign(x - z),
    "chi2": _chi2,
    "sine": _sine,
}
