"""The ridge system of a matrix that is symmetric and need not be positive definite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsycon, dsytrf, dsytrs

from mercer.gram import Gram
from mercer.solvers.contract import Solution
from mercer.solvers.refusals import not_finite, singular
from mercer.solvers.ridge.bordered import Bordered, RidgeProblem, RidgeSolver, relative_norm
from mercer.solvers.rounding import EPS
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Symmetric(RidgeSolver):
    """Solve (K + alpha W^-1) a = y by the factor L D L' with pivots of one or two rows.

    Where K is not positive semi-definite a is a stationary point of the ridge objective, which need
    not be its minimum; nothing bounds the distance to one.

    Parameters
    ----------
    tol : float
        Relative residual that the certificate has to reach.

    References
    ----------
    J. R. Bunch and L. Kaufman (1977), Some stable methods for calculating inertia and solving
    symmetric linear systems.
    """

    iterates: ClassVar[bool] = False

    tol: float = 1e-6

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        a, roots = np.empty_like(problem.y), np.sqrt(problem.weights)[:, None]
        residual = np.empty(a.shape[1])
        for alpha, targets in problem.by_alpha():
            factor = _Factor(gram, alpha / problem.weights, alpha)
            system = Bordered.solve(factor, problem.unpenalised, problem.y[:, targets]).refined()
            a[:, targets] = system.a
            residual[targets] = relative_norm(
                roots * system.residual(), roots * system.y, roots * system.N
            )
        b, radius = np.zeros(a.shape[1]), np.full(a.shape[1], np.inf)
        return Solution(a, b, residual, radius, self.tol, "symmetric factor in float64")


class _Factor:
    """K + diag(d), factored in a copy."""

    def __init__(self, gram: Gram, d: Array, alpha: float) -> None:
        self._gram, self._d = gram, d[:, None]
        A = gram.fresh()
        if not np.isfinite(A).all():
            raise not_finite()
        A[np.diag_indices(len(A))] += d
        norm = np.abs(A).sum(axis=0).max()
        # LAPACK counts along columns, and a symmetric matrix is its transpose.
        self._factor, self._pivots, order = dsytrf(A.T, lower=1, overwrite_a=1)
        if order > 0 or dsycon(self._factor, self._pivots, norm, lower=1)[0] < EPS:
            raise singular(alpha, len(A), float(np.abs(gram.diagonal()).max()), gram.dtype)

    def solve(self, V: Array) -> Array:
        return np.asarray(dsytrs(self._factor, self._pivots, V, lower=1)[0])

    def product(self, V: Array) -> Array:
        return np.asarray(self._gram @ V + self._d * V)
