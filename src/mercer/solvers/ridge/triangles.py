"""A symmetric matrix and its Cholesky factor in one square of memory."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsymv
from scipy.linalg.lapack import dpocon, dpotrs

from mercer.data.blocks import half_blocks, row_blocks
from mercer.native.lapack import cholesky, inverse_of_factor
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]


class TwoTriangles:
    """K above the diagonal and the factor L of A = K + diag(d) = L L' on and below it.

    Products with K, and so residuals, need no second matrix: the diagonal of K is kept apart.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, float64, C-contiguous. It is overwritten.
    """

    # What ran, for the solution.
    name: ClassVar[str] = "cholesky in float64"

    def __init__(self, K: Array) -> None:
        # LAPACK counts along columns: the transpose of a symmetric matrix is the same matrix.
        self._square = K.T
        self._on_diagonal = K.reshape(-1)[:: len(K) + 1]
        self._below_is_K = True
        self.diagonal = self._on_diagonal.copy()
        self.shift = np.zeros(len(K))

    def __len__(self) -> int:
        return len(self._square)

    @property
    def largest(self) -> float:
        """The largest entry of K, on the diagonal since K is positive semi-definite."""
        return float(self.diagonal.max())

    def factor(self, d: Array) -> int:
        """Factor A = K + diag(d); return 0, or the order of the first minor not positive."""
        if not self._below_is_K:
            self._restore()
        self.shift = d
        self._on_diagonal[:] = self.diagonal + d
        self._below_is_K = False
        return self._decomposed()

    def _decomposed(self) -> int:
        """Put the factor in the place of A; return what `factor` does."""
        # It leaves the upper triangle alone.
        return cholesky(self._square, lower=True)

    def factor_near(self, d: Array) -> None:
        """Factor K + diag(d), with as much more on the diagonal as rounding asks for.

        It is for a K that is positive semi-definite up to rounding.
        """
        more = len(self) * EPS * float(np.abs(self.diagonal).max())
        while self.factor(d):
            d, more = d + more, 10.0 * more

    def solve(self, V: Array) -> Array:
        """Return the solution of A X = V, of shape (n, p)."""
        return self._solved(V)

    def _solved(self, V: Array) -> Array:
        """Return the solution with the matrix that the factor is of."""
        X, _ = dpotrs(self._square, np.array(V, order="F"), lower=True, overwrite_b=True)
        return np.asarray(X)

    def product(self, V: Array) -> Array:
        """Return A V, of shape (n, p)."""
        return self.gram_product(V) + self.shift[:, None] * V

    def gram_product(self, V: Array) -> Array:
        """Return K V, of shape (n, p), from the triangle of K."""
        factor = self._on_diagonal.copy()
        self._on_diagonal[:] = self.diagonal
        if V.shape[1] == 1:
            KV = dsymv(1.0, self._square, V[:, 0])[:, None]
        else:
            KV = dsymm(1.0, self._square, np.asfortranarray(V))
        self._on_diagonal[:] = factor
        return np.asarray(KV)

    def absolute_product(self, v: Array) -> Array:
        """Return |K| v, of shape (n,), where |K| holds the absolute values of the entries."""
        out = np.abs(self.diagonal) * v
        for columns in row_blocks(self._square.shape):
            start, stop = columns.start, columns.stop
            above = np.abs(np.triu(self._square[:stop, columns], 1 - start))
            out[:stop] += above @ v[columns]
            out[columns] += v[:stop] @ above
        return out

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of A^-1, of shape (n,). It spends the factor."""
        inverse_of_factor(self._square)
        return self._on_diagonal.copy()

    def reciprocal_condition(self) -> float:
        """Return an estimate of 1 / (||A|| ||A^-1||) in the 1-norm, from the factor."""
        norm = (self.absolute_product(np.ones(len(self))) + self.shift).max()
        rcond, _ = dpocon(self._square, norm, uplo="L")
        return float(rcond)

    def negative_direction(self, order: int) -> Array:
        """Return a unit vector v with v'Av <= 0, given the order of a minor that is not positive.

        With A_11 the leading block before that row and A_12 the part of the row beside it,
        v = (-A_11^-1 A_12, 1, 0, ...) gives v'Av the value of the pivot. It spends the factor.
        """
        p = order - 1
        # A factor padded by the identity solves with A_11 in place.
        self._square[p:, :p] = 0.0
        for column in range(p, len(self)):
            self._square[column + 1 :, column] = 0.0
        self._on_diagonal[p:] = 1.0
        beside = np.zeros((len(self), 1))
        beside[:p, 0] = self._beside(p)
        v = -self._solved(beside)[:, 0]
        v[p] = 1.0
        return v / np.linalg.norm(v)

    def _beside(self, p: int) -> Array:
        """Return the entries of column p above the diagonal."""
        return self._square[:p, p]

    def is_finite(self) -> bool:
        """Whether every entry of K is finite."""
        return bool(np.isfinite(self.absolute_product(np.ones(len(self)))).all())

    def _restore(self) -> None:
        for rows, columns in half_blocks(len(self)):
            block = self._square[rows, columns]
            if rows == columns:
                above = np.triu(block, 1)
                block[:] = above + above.T
            else:
                self._square[columns, rows] = block.T
