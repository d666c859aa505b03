"""Products with the features of landmarks, stored or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.gram import HeldLandmarkGram, LandmarkGram

Array = NDArray[np.float64]


class FeatureProducts:
    """F V and F'U for the features F = K_nm L^-T of all rows, summed in float64.

    Features that are stored are multiplied in their precision. Else entries between rows and
    landmarks are computed for every product, in float64, and nothing of their size is stored.

    Parameters
    ----------
    gram : LandmarkGram
        F F'.
    is_exact : bool
        Whether stored features are left alone, for products in float64.
    """

    def __init__(self, gram: LandmarkGram, is_exact: bool = False) -> None:
        self.gram = gram
        self.is_exact = is_exact

    def forward(self, V: Array) -> Array:
        """Return F V, of shape (n, columns)."""
        gram = self.gram
        if self.is_exact or not isinstance(gram, HeldLandmarkGram):
            return gram.cross_product(gram.landmarks.coefficients(V))
        out = np.empty((len(gram), V.shape[1]))
        for rows, F in gram.held_blocks():
            out[rows] = F @ V.astype(F.dtype)
        return out

    def back(self, U: Array) -> Array:
        """Return F'U, of shape (m, columns)."""
        gram = self.gram
        if self.is_exact or not isinstance(gram, HeldLandmarkGram):
            # BLAS counts along columns: rows are whitened, which are the columns of K_mn U.
            return gram.landmarks.whitened(np.array(gram.cross_transposed(U).T)).T
        out = np.zeros((gram.landmarks.n_features, U.shape[1]))
        for rows, F in gram.held_blocks():
            out += F.T @ U[rows].astype(F.dtype)
        return out
