"""Probabilities from scores: temperature scaling with the targets of Platt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax

Array = NDArray[np.float64]


def smoothed_targets(codes: NDArray[np.intp], weights: Array, classes: int) -> Array:
    """Return the probabilities to aim at, of shape (n, classes).

    They are (N_c + 1) / (N_c + 2) for the class c of a row, of total weight N_c, and the rest in
    equal parts for the others, which keeps scores that make no mistake from being worth infinitely
    much. For two classes these are the targets of Lin, Lin and Weng.

    References
    ----------
    H.-T. Lin, C.-J. Lin and R. Weng (2007), A note on Platt's probabilistic outputs for support
    vector machines.
    """
    totals = np.bincount(codes, weights, classes)[codes][:, None]
    own = codes[:, None] == np.arange(classes)
    return np.where(own, totals + 1.0, 1.0 / (classes - 1)) / (totals + 2.0)


def temperature(scores: Array, targets: Array, weights: Array) -> float:
    """Return the T > 0 for which softmax(T scores) has the largest likelihood.

    It is the root of the increasing function sum_i w_i (p_i - t_i)'s_i, p_i = softmax(T s_i). Since
    T is positive, the largest probability belongs to the largest score.

    Parameters
    ----------
    scores : array of shape (n, classes)
        s.
    targets : array of shape (n, classes)
        t, probabilities.
    weights : array of shape (n,)
        w.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines; C. Guo, G. Pleiss, Y. Sun
    and K. Weinberger (2017), On calibration of modern neural networks.
    """
    used = (weights > 0.0) & np.isfinite(scores).all(axis=1)
    s, t, w = scores[used], targets[used], weights[used]
    size = float(np.abs(s).max(initial=0.0))
    if size == 0.0:
        return 1.0

    u = s / size
    aimed = float(w @ np.einsum("ij,ij->i", t, u))

    def slope(exponent: float) -> float:
        P = softmax(np.exp(exponent) * u, axis=1)
        return float(w @ np.einsum("ij,ij->i", P, u)) - aimed

    # The least and most that the typical score may be worth, in units of the exponent.
    low, high = np.log((1e-3, 1e6))
    # Scores that tell nothing, or the opposite, are worth as little as keeps their order.
    if slope(low) >= 0.0:
        return float(np.exp(low) / size)
    if slope(high) <= 0.0:
        return float(np.exp(high) / size)
    return float(np.exp(brentq(slope, low, high, xtol=1e-12)) / size)
