"""How many rows each landmark stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.gram import Array
from mercer.gram.landmarks import LandmarkGram


def represented_rows(gram: LandmarkGram, weights: Array, dtype: Any, updates: int = 5) -> Array:
    """Return v of shape (m,) with sum_l v_l k(z_j, z_l)^2 about sum_i w_i k(z_j, x_i)^2 for all j.

    These are the diagonals of K_mm V K_mm and of K_mn W K_nm: landmarks in the place of rows, each
    counted as often as there are rows around it. One that stands for itself alone counts once,
    however it was chosen. Multiplicative updates keep v positive.

    Parameters
    ----------
    gram : LandmarkGram
        Rows and landmarks.
    weights : array of shape (n,)
        w.
    dtype : dtype
        The precision of entries.
    updates : int
        Updates of the numbers: the first few do most.

    References
    ----------
    W. Richardson (1972), Bayesian-based iterative method of image restoration.
    """
    wanted = _squares(gram, weights, dtype)
    landmarks = LandmarkGram(gram.landmarks, gram.landmarks.rows, gram.asked)
    v = np.ones(len(landmarks))
    for _ in range(updates):
        v *= wanted / _squares(landmarks, v, dtype)
    return v


def _squares(gram: LandmarkGram, weights: Array, dtype: Any) -> Array:
    """Return sum_i w_i k(z_j, x_i)^2 for every landmark, in one pass."""
    total = np.zeros(gram.landmarks.n_features)
    for rows, K in gram.cross_blocks(dtype):
        np.square(K, out=K)
        total += weights[rows].astype(dtype) @ K
    return total
