"""Conjugate gradients on the Newton system of a likelihood, with the offset projected out."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.logistic.curvature import Curvature
from mercer.solvers.logistic.likelihood import Root

Array = NDArray[np.float64]


class NegativeCurvatureError(ValueError):
    """A direction V was met with sum_c V_c'K V_c + lam ||.||^2 not positive."""

    def __init__(self, direction: Array) -> None:
        super().__init__("the curvature is not positive")
        self.direction = direction


class ProjectedCG:
    """The iteration for (R'K R + lam I) U + N c = R'V, N'U = 0, with N = R'1 for the offsets.

    U stays where N'U = 0: the preconditioned residual is moved by N until it does, so that the
    offsets need no right-hand sides of their own. Without an offset N is empty.

    Parameters
    ----------
    curvature : Curvature
        Products with K and the preconditioner, prepared for R and lam.
    root : Root
        R.
    ridge : float
        lam.
    V : array of shape (n, columns)
        The right-hand side before R'.
    with_offset : bool
        Whether there is an offset.

    Attributes
    ----------
    U : array of shape (n, columns)
        The iterate.
    KRU : array of shape (n, columns)
        K R U.
    steps : int
        Steps taken.

    References
    ----------
    C.-J. Lin, R. Weng and S. Keerthi (2008), Trust region Newton method for logistic regression.
    """

    most_steps: ClassVar[int] = 2000
    # Offsets that the curvature does not tell apart, beside the one that it knows best.
    dependent: ClassVar[float] = 1e-12

    def __init__(
        self, curvature: Curvature, root: Root, ridge: float, V: Array, with_offset: bool
    ) -> None:
        self._curvature = curvature
        self._root = root
        self._ridge = ridge
        columns = V.shape[1] if with_offset else 0
        each = root.back(np.broadcast_to(np.eye(V.shape[1])[:columns, None], (columns, *V.shape)))
        # Of shape (offsets, n columns): products with them are those of matrices.
        self._N = each.reshape(columns, V.size)
        self._MN = curvature.solve(each).reshape(columns, V.size) if columns else self._N
        S = self._N @ self._MN.T
        self._inverse = np.linalg.pinv((S + S.T) / 2.0, rcond=self.dependent, hermitian=True)
        self._R = self._reduced(root.back(V))
        self.U = np.zeros_like(V)
        self.KRU = np.zeros_like(V)
        self.steps = 0
        self._P = self._preconditioned()
        self._size = float((self._R * self._P).sum())

    @property
    def energy(self) -> float:
        """About r'R'K R r for the residual r, which is the squared norm of what is missed."""
        return self._curvature.energy(self._R)

    def run(self, goal: float, is_over: Callable[[], bool]) -> None:
        """Iterate until the energy is at most the goal, it is over, or no step is left."""
        while self._size > 0.0 and self.steps < self.most_steps:
            self._step()
            if is_over() or self.energy <= goal:
                return
            Z = self._preconditioned()
            size = float((self._R * Z).sum())
            self._P = Z + (size / self._size) * self._P
            self._size = size

    def _step(self) -> None:
        direction = self._root.forward(self._P)
        KP = self._curvature.product(direction)
        Q = self._root.back(KP) + self._ridge * self._P
        with np.errstate(over="ignore", invalid="ignore"):
            curvature = float((self._P * Q).sum())
        if not np.isfinite(curvature):
            raise FloatingPointError("a product with K is not finite")
        if curvature <= 0.0:
            raise NegativeCurvatureError(direction)
        length = self._size / curvature
        self.U = self.U + length * self._P
        self.KRU = self.KRU + length * KP
        self._R = self._reduced(self._R - length * Q)
        self.steps += 1

    def _preconditioned(self) -> Array:
        Z = self._curvature.solve(self._R)
        multiple = self._inverse @ (self._N @ Z.reshape(-1))
        return np.asarray(Z - (multiple @ self._MN).reshape(Z.shape))

    def _reduced(self, R: Array) -> Array:
        """Return the residual after the best offset for it, which only adds multiples of N."""
        multiple = self._inverse @ (self._MN @ R.reshape(-1))
        return np.asarray(R - (multiple @ self._N).reshape(R.shape))
