"""Looking for negative curvature of a Gram matrix by a few products with it."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mercer.gram import Gram
from mercer.solvers.refusals import EPS, indefinite_along, not_finite

# Products with K: its extreme eigenvalues show within a few dozen.
PRODUCTS = 30


def refuse_indefinite(gram: Gram, products: int = PRODUCTS) -> None:
    """Raise `IndefiniteKernelError` with a witness if Lanczos' method finds c'Kc < 0.

    The direction of the least Ritz value of a Krylov space is checked against the entries of K;
    what is found is proved, and that nothing is found proves nothing.

    Parameters
    ----------
    gram : Gram
        K.
    products : int
        Dimension of the space.
    """
    n = len(gram)
    q = np.random.default_rng(0).normal(size=n)
    basis, diagonal, beside = [], [], []
    norm = float(np.linalg.norm(q))
    for _ in range(min(products, n)):
        basis.append(q / norm)
        v = np.asarray(gram @ basis[-1], np.float64)
        if not np.isfinite(v).all():
            raise not_finite()
        diagonal.append(float(basis[-1] @ v))
        # Orthogonal to all before, twice, so that rounding leaves no copies.
        Q = np.array(basis)
        v -= Q.T @ (Q @ v)
        v -= Q.T @ (Q @ v)
        q, norm = v, float(np.linalg.norm(v))
        if norm <= n * EPS * max(abs(d) for d in diagonal):
            break
        beside.append(norm)
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside[: len(diagonal) - 1])
    if values[0] < 0.0:
        refusal = indefinite_along(gram, np.array(basis).T @ vectors[:, 0])
        if refusal is not None:
            raise refusal
