"""Looking for c'Kc < 0: the one question that every estimator asks of a kernel without a proof."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf

from mercer.data.blocks import row_blocks
from mercer.errors import IndefiniteKernelError
from mercer.gram import Gram
from mercer.native.lapack import eigh
from mercer.solvers.refusals import indefinite_along, not_finite
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Rows up to which all entries are looked at: their factor takes a twentieth of a second.
MOST = 2000
# Products with a larger K. The factor of the sample has seen what is spread over the rows, and
# these show what few rows have.
PRODUCTS = 10


def refuse_indefinite(gram: Gram, on_sum_zero: bool = False, products: int = PRODUCTS) -> None:
    """Raise `IndefiniteKernelError` with a witness where c'Kc < 0 beyond rounding is found.

    A Gram matrix that is proved to be positive semi-definite is not looked at. Of up to 2000 rows
    K + t I is factored, t = (e + 4 n eps) max |K_ij| with the relative error e of an entry: where
    it has a Cholesky factor no eigenvalue of K is negative beyond rounding. Of more rows so is a
    sample, and the least Ritz value of a Krylov space of K is looked at (Lanczos' method): that
    nothing is found then proves nothing. What is found is proved by the entries themselves. It
    depends on K alone, so that whoever asks hears the same.

    Parameters
    ----------
    gram : Gram
        K.
    on_sum_zero : bool
        Whether only coefficients c of sum zero count, as where K is centred.
    products : int
        Dimension of the Krylov space; zero where K is too large to be read as a whole.

    References
    ----------
    J. Kuczynski, H. Wozniakowski (1992), Estimating the largest eigenvalue by the power and
    Lanczos algorithms with a random start.
    """
    if gram.is_proved:
        return
    if not np.isfinite(gram.diagonal()).all():
        raise not_finite()
    for rows, c in _suspects(gram, on_sum_zero, products):
        refusal = None if c is None else _smallest(gram, rows, c, on_sum_zero)
        if refusal is not None:
            raise refusal


def _suspects(gram: Gram, on_sum_zero: bool, products: int) -> Iterator[tuple[Rows, Array | None]]:
    """Yield rows, and coefficients there along which K seems to be negative, or None."""
    n, random = len(gram), np.random.default_rng(0)
    # Bytes of an entry that is looked at: itself, a copy to be factored, and as much to spare.
    entry_bytes = 24
    m = min(n, MOST, max(2, int(np.sqrt(gram.memory / entry_bytes))))
    rows = np.arange(n) if m == n else np.sort(random.choice(n, m, replace=False))
    yield rows, _lowest(_entries(gram, rows), gram.entry_error, on_sum_zero)
    if m < n and products:
        start = random.normal(size=n)
        yield np.arange(n), _lanczos(gram, start, products, on_sum_zero)


def _entries(gram: Gram, rows: Rows) -> Array:
    """Return K at some rows and the same columns, to be overwritten."""
    K = gram.fresh() if len(rows) == len(gram) else gram.between(rows, rows).astype(np.float64)
    for some in row_blocks(K.shape):
        if not np.isfinite(K[some]).all():
            raise not_finite()
    return K


def _lowest(K: Array, entry: float, on_sum_zero: bool) -> Array | None:
    """Return the unit vector of least c'Kc, or None if no eigenvalue is negative beyond rounding.

    `K` is overwritten.
    """
    largest = max(K.max(), -K.min())
    if largest == 0.0 or (on_sum_zero and len(K) == 1):
        return None
    # Squares of entries of any size are then numbers.
    K /= largest
    shift = _rounding(len(K), entry)
    if on_sum_zero:
        K -= K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
    shifted = K.copy()
    shifted[np.diag_indices(len(K))] += shift
    # LAPACK counts along columns, and a symmetric matrix is its transpose.
    if dpotrf(shifted.T, overwrite_a=True, clean=False)[1] == 0:
        return None
    # The largest eigenvalue of -K.
    s, V = eigh(np.negative(K, out=K).T, most=1)
    return np.asarray(V[:, 0]) if s[0] > shift else None


def _lanczos(gram: Gram, q: Array, products: int, on_sum_zero: bool) -> Array | None:
    """Return the vector of the least Ritz value of the Krylov space of `q`, if it is negative."""
    basis, diagonal, beside = [], [], []
    if on_sum_zero:
        q = q - q.mean()
    norm = float(np.linalg.norm(q))
    for _ in range(min(products, len(gram))):
        basis.append(q / norm)
        v = np.array(gram @ basis[-1], np.float64)
        if on_sum_zero:
            v -= v.mean()
        if not np.isfinite(v).all():
            raise not_finite()
        diagonal.append(float(basis[-1] @ v))
        # Orthogonal to all before, twice, so that rounding leaves no copies.
        Q = np.array(basis)
        v -= Q.T @ (Q @ v)
        v -= Q.T @ (Q @ v)
        q, norm = v, float(np.linalg.norm(v))
        if norm <= len(gram) * EPS * max(abs(d) for d in diagonal):
            break
        beside.append(norm)
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside[: len(diagonal) - 1])
    if values[0] >= -_rounding(len(gram), gram.entry_error) * np.abs(values).max():
        return None
    return np.asarray(np.array(basis).T @ vectors[:, 0])


def _rounding(n: int, entry: float) -> float:
    """Return how far rounding may move an eigenvalue of n rows whose largest entry is 1."""
    return entry + 4.0 * n * EPS


def _smallest(gram: Gram, rows: Rows, c: Array, on_sum_zero: bool) -> IndefiniteKernelError | None:
    """Return the refusal with a witness on few of the rows: those where `c` is largest."""
    heaviest = rows[np.argsort(-np.abs(c), kind="stable")]
    m = 2 if on_sum_zero else 1
    while m < len(rows) and m <= MOST:
        some = np.sort(heaviest[:m])
        found = _lowest(_entries(gram, some), gram.entry_error, on_sum_zero)
        if found is not None:
            refusal = _along(gram, some, found, on_sum_zero)
            if refusal is not None:
                return refusal
        m *= 2
    return _along(gram, rows, c, on_sum_zero)


def _along(gram: Gram, rows: Rows, c: Array, on_sum_zero: bool) -> IndefiniteKernelError | None:
    """Return the refusal with the witness `c` at some rows, if it is one beyond rounding."""
    full = np.zeros(len(gram))
    full[rows] = c - c.mean() if on_sum_zero else c
    return indefinite_along(gram, full) if full.any() else None
