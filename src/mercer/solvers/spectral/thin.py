"""Singular values of few rows of many columns, by inner products of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from mercer.native.lapack import svd
from mercer.native.threads import left_behind
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]


def thin_svd(F: Array, few: int = 250, wide: int = 4) -> tuple[Array, Array, Array]:
    """Return U, s and V' of F = U diag(s) V', without what is rounding in F F'.

    Of many columns the eigenvectors U of F F' come first, and W = F'U / s is about V. Where s is
    small it is not quite orthonormal: with the Cholesky factor R'R = W'W the columns of W R^-1 are,
    and the decomposition of R diag(s) U', with as many rows as F, has the rest. That takes matrix
    products only, where LAPACK reflects one row after the other.

    Parameters
    ----------
    F : array of shape (r, n)
        Finite numbers.
    few : int
        Rows up to which LAPACK takes a moment.
    wide : int
        Columns for each row from which on inner products take less.

    References
    ----------
    Y. Yamamoto, Y. Nakatsukasa, Y. Yanagisawa and T. Fukaya (2015), Roundoff error analysis of the
    CholeskyQR2 algorithm.
    """
    r, n = F.shape
    if r <= few or n < wide * r:
        return svd(F)
    # The clock and Ctrl-C are answered at once; NumPy works without the GIL.
    return left_behind(lambda: _by_products(F))


def _by_products(F: Array) -> tuple[Array, Array, Array]:
    squares, U = np.linalg.eigh(F @ F.T)
    kept = np.flatnonzero(squares > F.shape[1] * EPS * squares[-1])[::-1]
    roots, U = np.sqrt(squares[kept]), U[:, kept]
    if not len(kept):
        return U, roots, np.empty((0, F.shape[1]))
    W = (U / roots).T @ F
    R = np.linalg.cholesky(W @ W.T).T
    P, s, Ut = np.linalg.svd(R @ (roots[:, None] * U.T), full_matrices=False)
    return Ut.T, s, solve_triangular(R, P).T @ W
