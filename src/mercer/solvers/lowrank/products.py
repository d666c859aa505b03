"""Products with the features of landmarks, stored or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.gram import LandmarkGram

Array = NDArray[np.float64]

# The error of features in float32, see `LandmarkMap.single_error`, up to which sums of entries in
# float64 are right to ten digits after they are divided by the pivots of the landmarks.
EVEN = 1e-2


class FeatureProducts:
    """F V and F'U for the features F = K_nm L^-T of all rows, summed in float64.

    What is stored is multiplied in its precision. Else entries between rows and
    landmarks are computed for every product and nothing of their size is stored: F V = K_nm L^-T V
    and F'U = L^-1 K_mn U. Where small pivots of L would spoil these sums, features are computed
    block by block, at the price of a triangular system for every row.

    Parameters
    ----------
    gram : LandmarkGram
        F F'.
    is_exact : bool
        Whether features that are stored in float32 are left alone, for products in float64.
    """

    def __init__(self, gram: LandmarkGram, is_exact: bool = False) -> None:
        self.gram, self.is_exact = gram, is_exact
        stored = gram.stored_dtype
        self._is_read = stored is not None and not (is_exact and stored == np.float32)
        self._is_even = gram.landmarks.single_error <= EVEN

    def forward(self, V: Array) -> Array:
        """Return F V, of shape (n, columns)."""
        if self._is_read:
            return self.gram.held_product(V)
        if self._is_even:
            return self.gram.cross_product(self.gram.landmarks.coefficients(V))
        out = np.empty((len(self.gram), V.shape[1]))
        for rows, F in LandmarkGram.feature_blocks(self.gram):
            out[rows] = F @ V
        return out

    def back(self, U: Array) -> Array:
        """Return F'U, of shape (m, columns)."""
        if self._is_read:
            return self.gram.held_transposed(U)
        if self._is_even:
            # BLAS counts along columns: rows are whitened, which are the columns of K_mn U.
            sums = np.array(self.gram.cross_transposed(U).T)
            return self.gram.landmarks.whitened(sums).T
        out = np.zeros((self.gram.landmarks.n_features, U.shape[1]))
        for rows, F in LandmarkGram.feature_blocks(self.gram):
            out += F.T @ U[rows]
        return out
