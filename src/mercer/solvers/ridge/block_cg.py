"""Block conjugate gradients: many right-hand sides in one Krylov space."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from mercer.solvers.checkpoint import State
from mercer.solvers.rounding import EPS, column_norms

Array = NDArray[np.float64]
Map = Callable[[Array], Array]


class CurvatureError(ValueError):
    """A direction c was met in which c'Ac is not positive beyond rounding."""

    def __init__(self, direction: Array) -> None:
        super().__init__("c'Ac is not positive")
        self.direction = direction


class BlockCG:
    """The iteration for A X = V with A positive definite.

    Every step minimises the energy (X - X*)'A(X - X*) of every column over the directions of all
    columns, so that the last iterate is the best. Directions that come to depend on each other,
    as those of equal right-hand sides do, are dropped.

    Parameters
    ----------
    product : callable
        V -> A V.
    V : array of shape (n, p)
        Right-hand sides.
    X, R : arrays of shape (n, p)
        Where to start, and the residual V - A X there.

    Attributes
    ----------
    errors : list of float
        The largest norm of a residual beside that of its right-hand side, from the start on.

    References
    ----------
    D. O'Leary (1980), The block conjugate gradient algorithm and related methods.
    """

    # Steps after which the residual is computed anew, before its updates drift away from it.
    renewal: ClassVar[int] = 15
    # Directions shorter than this, beside the longest, are combinations of the others.
    dependent: ClassVar[float] = 1e-13

    def __init__(self, product: Map, V: Array, X: Array, R: Array) -> None:
        self._product = product
        norms = column_norms(V)
        # Columns of one size: none is lost beside another when directions are compared.
        self._size = np.where(norms > 0.0, norms, 1.0)
        self._V, self._X, self._R = V / self._size, X / self._size, R / self._size
        self._P = self._Q = self._S = np.empty((0, 0))
        self._steps = 0
        self._norm = 0.0
        self._fresh = True
        self.errors = [self._error()]

    @property
    def X(self) -> Array:
        """The iterate."""
        return self._X * self._size

    @property
    def R(self) -> Array:
        """V - A X as the iteration knows it."""
        return self._R * self._size

    @property
    def error(self) -> float:
        """The largest norm of a residual beside that of its right-hand side."""
        return self.errors[-1]

    @property
    def is_exhausted(self) -> bool:
        """Whether the residuals are no more than what rounding leaves of A X."""
        r, x = np.linalg.norm(self._R, axis=0), np.linalg.norm(self._X, axis=0)
        return bool((r <= EPS * self._norm * x).all())

    def state(self) -> State:
        """Return what the next step begins from."""
        numbers = np.array([self._steps, self._norm, self._fresh])
        vectors = {"X": self._X, "R": self._R, "P": self._P, "Q": self._Q, "S": self._S}
        return vectors | {"numbers": numbers, "errors": np.array(self.errors)}

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self._X, self._R = state["X"], state["R"]
        self._P, self._Q, self._S = state["P"], state["Q"], state["S"]
        steps, self._norm, fresh = map(float, state["numbers"])
        self._steps, self._fresh = int(steps), bool(fresh)
        self.errors = state["errors"].tolist()

    def restart(self) -> None:
        """Forget the directions, as another preconditioner asks for."""
        self._fresh = True
        self.errors = self.errors[-1:]

    def step(self, precondition: Map) -> None:
        """Move once, with V -> M V for a positive definite M close to A^-1."""
        Z = precondition(self._R)
        if not self._fresh:
            Z -= self._P @ np.linalg.solve(self._S, self._Q.T @ Z)
        self._P = P = _orthonormal(Z)
        self._steps += 1
        renew = self._steps % self.renewal == 0
        # A product with twice the columns costs little more: the entries of A are what is dear.
        AP = self._product(np.hstack([P, self._X]) if renew else P)
        self._Q = Q = AP[:, : P.shape[1]]
        S = P.T @ Q
        self._S = (S + S.T) / 2.0
        self._check_curvature()

        C = np.linalg.solve(self._S, P.T @ self._R)
        self._R = (self._V - AP[:, P.shape[1] :] if renew else self._R) - Q @ C
        self._X = self._X + P @ C
        self._fresh = False
        self.errors.append(self._error())

    def _check_curvature(self) -> None:
        if self._S.size == 0 or not np.isfinite(self._S).all():
            raise FloatingPointError("the directions or their products with A are not finite")
        values, vectors = eigh(self._S)
        self._norm = max(self._norm, float(values[-1]))
        if values[0] <= EPS * self._norm:
            raise CurvatureError(self._P @ vectors[:, 0])

    def _error(self) -> float:
        return float(np.linalg.norm(self._R, axis=0).max(initial=0.0))


def _orthonormal(Z: Array) -> Array:
    """Return an orthonormal basis of the columns of Z."""
    Q, R, _ = qr(Z, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(R.diagonal())
    return np.asarray(Q[:, size > BlockCG.dependent * size[0]])
