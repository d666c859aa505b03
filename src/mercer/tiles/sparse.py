"""Comparisons of sparse rows: the products by SciPy, with the digits that they lose restored."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer.data.blocks import CACHE, row_blocks
from mercer.data.checks import Matrix
from mercer.data.layout import used_columns
from mercer.native.strings import count_products, sparse_products
from mercer.tiles.twin import LEAVES, Array

# Largest sum of norms, in units of the length scale, at which the product form keeps 12 digits.
REACH = 500.0


def sparse_block(
    kind: str, A: Matrix, B: Matrix, weights: Array | None, sensitivity: float
) -> Array:
    """Return the (n, m) block of one leaf for rows that are sparse on one side, or counts."""
    if A.dtype == np.int16:
        return count_products(A, B)
    is_same = B is A
    A = _float64(A)
    B = A if is_same else _float64(B)
    if kind == "dot":
        return _product(A, B)
    if kind == "minimum":
        return LEAVES[kind](_dense(A), _dense(B), None)
    if kind == "squared_distance":
        scaled_A, scaled_B = _scaled(A, weights), _scaled(B, weights)
        a, b = _norms(scaled_A), _norms(scaled_B)
        if sensitivity * float(a.max(initial=0.0) + b.max(initial=0.0)) <= REACH:
            return _squared_distance(scaled_A, scaled_B, a, b)
    columns = _some_columns(A, B)
    some = None if weights is None else weights[columns]
    return LEAVES[kind](_dense(A[:, columns]), _dense(B[:, columns]), some)


def _some_columns(A: Matrix, B: Matrix) -> Array:
    """Return the columns that any row uses, and one of zeros where there are none."""
    columns = used_columns(A, B)
    return columns if columns.size else np.zeros(1, np.intp)


def _float64(A: Matrix) -> Matrix:
    return A.astype(np.float64, copy=False)


def _scaled(A: Matrix, weights: Array | None) -> Matrix:
    if weights is None:
        return A
    roots = np.sqrt(weights)
    return A.multiply(roots[None, :]).tocsr() if sp.issparse(A) else A * roots


def _norms(A: Matrix) -> Array:
    squares = A.multiply(A) if sp.issparse(A) else A * A
    return np.asarray(squares.sum(axis=1)).reshape(-1)


def _product(A: Matrix, B: Matrix) -> Array:
    if sp.issparse(A) and sp.issparse(B):
        return sparse_products(A, B)
    return np.asarray(A @ B.T)


def _squared_distance(A: Matrix, B: Matrix, a: Array, b: Array) -> Array:
    norms = a[:, None] + b[None, :]
    D = norms - 2.0 * _product(A, B)
    # Where a squared distance is this small beside the norms, its digits are recomputed.
    near = 2.0**-10
    rows, columns = np.nonzero(near * norms >= D)
    # The share of near pairs that is too large to take them one by one.
    crowded = 1 / 64
    if len(rows) > crowded * D.size:
        # Row by row would be slower than all differences of the columns in use.
        used = _some_columns(A, B)
        return LEAVES["squared_distance"](_dense(A[:, used]), _dense(B[:, used]), None)
    for some in row_blocks((len(rows), 1), CACHE):
        i, j = rows[some], columns[some]
        difference = A[i] - B[j]
        D[i, j] = _norms(sp.csr_array(difference) if sp.issparse(difference) else difference)
    return D


def _dense(A: Matrix) -> Array:
    return A.toarray() if sp.issparse(A) else np.asarray(A)
