"""Preconditioned conjugate gradients for several right-hand sides at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Map = Callable[[Array], Array]

# The recurrence for the residual drifts; after this many steps it is computed anew.
RENEWED_EVERY = 15


class Iterate(NamedTuple):
    """Where conjugate gradients stopped: X, its residuals B - A X, and after how many steps."""

    X: Array
    R: Array
    steps: int


def conjugate_gradients(
    product: Map, precondition: Map, B: Array, tol: float, max_iter: int
) -> Iterate:
    """Solve A X = B to ||B - A X|| <= tol ||B|| in every column, or as far as it gets.

    Parameters
    ----------
    product : callable
        V -> A V for a symmetric positive definite A.
    precondition : callable
        V -> approximately A^-1 V, symmetric positive definite as well.
    B : array of shape (n, p)
        The right-hand sides; each column has its own step lengths.
    tol : float
        The relative residual to reach.
    max_iter : int
        The most steps to take.
    """
    X = precondition(B)
    R = B - product(X)
    goal = tol * np.linalg.norm(B, axis=0)
    Z = precondition(R)
    P = Z
    rz = _dots(R, Z)
    for step in range(max_iter):
        if (np.linalg.norm(R, axis=0) <= goal).all():
            return Iterate(X, R, step)
        AP = product(P)
        length = _ratio(rz, _dots(P, AP))
        X = X + length * P
        R = B - product(X) if (step + 1) % RENEWED_EVERY == 0 else R - length * AP
        Z = precondition(R)
        rz, before = _dots(R, Z), rz
        P = Z + _ratio(rz, before) * P
    return Iterate(X, B - product(X), max_iter)


def _dots(A: Array, B: Array) -> Array:
    return np.einsum("ij,ij->j", A, B)


def _ratio(a: Array, b: Array) -> Array:
    # A column that is solved exactly has zero over zero and takes no further step.
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
