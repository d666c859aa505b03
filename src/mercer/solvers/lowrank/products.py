"""Products with the features of landmarks, stored or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.gram import LandmarkGram, StoredLandmarkGram
from mercer.native.lapack import one_blas_thread
from mercer.native.threads import in_threads

Array = NDArray[np.float64]
# curved(rows, S) are the rows of U for the scores S of some rows.
Curved = Callable[[slice, Array], Array]


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

    # The error of features in float32, see `LandmarkMap.single_error`, up to which sums of entries
    # in float64 are right to ten digits after they are divided by the pivots of the landmarks.
    even: ClassVar[float] = 1e-2

    def __init__(self, gram: LandmarkGram, is_exact: bool = False) -> None:
        self.gram, self.is_exact = gram, is_exact
        stored = gram.stored_dtype
        self._is_read = stored is not None and not (is_exact and stored == np.float32)
        self._is_even = gram.landmarks.single_error <= self.even

    def forward(self, V: Array) -> Array:
        """Return F V, of shape (n, columns)."""
        if self._is_read:
            return self._read(V, None)[0]
        if self._is_even:
            return self.gram.cross_product(self.gram.landmarks.coefficients(V))
        out = np.empty((len(self.gram), V.shape[1]))
        for rows, F in LandmarkGram.feature_blocks(self.gram):
            out[rows] = F @ V
        return out

    def back(self, U: Array) -> Array:
        """Return F'U, of shape (m, columns)."""
        if self._is_read:
            return self._read(None, lambda rows, _: U[rows])[1]
        if self._is_even:
            # BLAS counts along columns: rows are whitened, which are the columns of K_mn U.
            sums = np.array(self.gram.cross_transposed(U).T)
            return self.gram.landmarks.whitened(sums).T
        out = np.zeros((self.gram.landmarks.n_features, U.shape[1]))
        for rows, F in LandmarkGram.feature_blocks(self.gram):
            out += F.T @ U[rows]
        return out

    def both(self, V: Array, curved: Curved) -> tuple[Array, Array]:
        """Return F V, and F'U with U = curved(rows, F V) of some rows at a time.

        What is stored is read once for both.
        """
        if self._is_read:
            return self._read(V, curved)
        FV = self.forward(V)
        return FV, self.back(curved(slice(None), FV))

    def _read(self, V: Array | None, curved: Curved | None) -> tuple[Array, Array]:
        """Return F V and F'U, either of them if it is asked for, by what is stored."""
        # It is asked only where the matrix tells in which precision it stores them.
        gram, n = cast(StoredLandmarkGram, self.gram), len(self.gram)
        dtype = gram.stored_dtype
        c = None if V is None else gram.to_stored(V).astype(dtype)
        FV = np.empty((n, 0 if V is None else V.shape[1]))

        def run(rows: slice) -> Array | None:
            A = gram.stored_rows(rows)
            if c is not None:
                FV[rows] = A @ c
            return None if curved is None else A.T @ curved(rows, FV[rows]).astype(dtype)

        # Threads of the BLAS would wait for each other at every block.
        with one_blas_thread():
            parts = in_threads(run, list(row_blocks((n, gram.landmarks.n_features))))
        sums = np.zeros((0, 0))
        if curved is not None:
            # In the order of the rows, whichever thread was first.
            sums = np.asarray(sum(part.astype(np.float64) for part in parts if part is not None))
            sums = gram.from_stored(sums)
        return FV, sums
