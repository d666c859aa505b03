"""How many rows each landmark stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.blocks import narrow_blocks
from mercer.gram.gram import Array
from mercer.gram.landmarks import LandmarkGram
from mercer.tiles import apply


def represented_rows(gram: LandmarkGram, weights: Array, dtype: Any) -> Array:
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

    References
    ----------
    W. Richardson (1972), Bayesian-based iterative method of image restoration.
    """
    squared = (gram.landmarks.kernel**2).program
    wanted = np.zeros(gram.landmarks.n_features)
    for rows, some in narrow_blocks(gram.X):
        X, Z = gram.sides(some, dtype)
        wanted += apply(squared, Z, X, weights[rows])
    _, Z = gram.sides(gram.landmarks.rows, dtype)
    v = np.ones_like(wanted)
    # The first few do most.
    updates = 12
    for _ in range(updates):
        v *= wanted / apply(squared, Z, None, v)
    return v
