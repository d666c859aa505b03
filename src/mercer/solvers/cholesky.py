"""The exact solver: one Cholesky factorisation in place."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.errors import IndefiniteKernelError
from mercer.gram import Gram
from mercer.solvers.bordered import Bordered, RidgeProblem
from mercer.solvers.solution import Solution
from mercer.solvers.triangles import TwoTriangles

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# Relative error granted to an entry of K before c'Kc < 0 counts as a refutation.
ENTRY = 1e-12


@dataclass(frozen=True, eq=False)
class NegativeForm:
    """Coefficients c, one per row of the Gram matrix, with c'Kc < 0 beyond rounding."""

    coefficients: Array
    value: float
    rounding_bound: float


@dataclass(frozen=True)
class Cholesky:
    """Solve (K + alpha W^-1) a + b 1 = y, 1'a = 0 by the factor of K + alpha W^-1.

    It takes n^3 / 3 multiplications for every distinct alpha and one n x n array, in which the
    factor grows beside K. The residual is measured with K itself, in float64.

    Parameters
    ----------
    tol : float
        Relative residual above which a step of iterative refinement is added.
    """

    iterates: ClassVar[bool] = False

    tol: float = 1e-6

    def solve(self, gram: Gram, problem: RidgeProblem) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        start = perf_counter()
        matrix = TwoTriangles(gram.fresh())
        a = np.empty_like(problem.y)
        b, residual, radius = (np.empty(problem.y.shape[1]) for _ in range(3))
        steps = 0
        for alpha, targets in problem.by_alpha():
            _factor(matrix, alpha, problem.weights)
            system = Bordered.solve(matrix, problem.unpenalised, problem.y[:, targets])
            r = system.residual()
            if _is_large(r, system, matrix, self.tol):
                system = system.refined()
                r = system.residual()
                steps += 1
            _check_finite(r, matrix, alpha)
            a[:, targets] = system.a
            b[targets] = system.b.sum(axis=0)
            residual[targets] = relative_norm(r, system.y)
            radius[targets] = system.radius(alpha, problem.weights, r)
        seconds = perf_counter() - start
        return Solution(a, b, residual, radius, self.tol, steps, seconds, "cholesky")


def relative_norm(r: Array, y: Array) -> Array:
    """Return ||r|| / ||y|| for every column, zero where r is."""
    norms = np.linalg.norm(r, axis=0)
    with np.errstate(divide="ignore"):
        return np.divide(norms, np.linalg.norm(y, axis=0), where=norms > 0.0, out=norms)


def _is_large(r: Array, system: Bordered, matrix: TwoTriangles, tol: float) -> bool:
    """Whether a residual is above the tolerance, or above what rounding explains."""
    # The largest diagonal entry is a lower bound on ||A||, so that this errs towards a step more.
    size = (matrix.diagonal + matrix.shift).max() * np.linalg.norm(system.a, axis=0)
    rounding = len(r) * EPS * (size + np.linalg.norm(system.y, axis=0))
    is_rounding = np.linalg.norm(r, axis=0) <= rounding
    is_within = relative_norm(r, system.y) <= tol
    return not (is_rounding & is_within).all()


def _factor(matrix: TwoTriangles, alpha: float, weights: Array) -> None:
    """Factor K + alpha W^-1, or raise the error that a failure stands for."""
    order = matrix.factor(alpha / weights)
    if order > 0 or not np.isfinite(matrix.diagonal).all():
        _check_entries(matrix)
        _check_semidefinite(matrix, order)
        enough = 10 * len(matrix) * EPS * matrix.diagonal.max()
        raise ValueError(
            f"K + alpha W^-1 is singular to working precision at alpha = {alpha:g}; raise alpha "
            f"(rounding alone asks for {enough:.1g}) or drop repeated rows"
        )
    if alpha == 0.0 and (rcond := matrix.reciprocal_condition()) < EPS:
        raise ValueError(
            "alpha = 0 needs an invertible Gram matrix, but this one is singular to working "
            f"precision (reciprocal condition number {rcond:.1g}); use alpha > 0 or drop "
            "repeated rows"
        )


def _check_semidefinite(matrix: TwoTriangles, order: int) -> None:
    """Refuse K with a witness where the failed minor shows that it is indefinite."""
    c = matrix.negative_direction(order)
    value = float(c @ matrix.gram_product(c[:, None])[:, 0])
    gamma = (2 * order + 2) * EPS
    bound = (gamma + ENTRY) * float(np.abs(c) @ matrix.absolute_product(np.abs(c)))
    if value < -bound:
        raise IndefiniteKernelError(
            f"the Gram matrix is not positive semi-definite: c'Kc = {value:.3g} for the unit "
            f"vector c of the witness, beyond rounding ({bound:.1g}); use another kernel",
            NegativeForm(c, value, bound),
        )


def _check_entries(matrix: TwoTriangles) -> None:
    if not matrix.is_finite():
        raise ValueError(
            "the Gram matrix holds entries that are not finite; scale the columns, or choose a "
            "kernel that does not overflow on them"
        )


def _check_finite(r: Array, matrix: TwoTriangles, alpha: float) -> None:
    """Refuse a solution that overflowed."""
    if not np.isfinite(r).all():
        _check_entries(matrix)
        raise ValueError(f"the coefficients overflow at alpha = {alpha:g}; raise alpha")
