"""The exact solver: one Cholesky factorisation in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.errors import IndefiniteKernelError
from mercer.gram import Gram
from mercer.solvers.contract import Solution
from mercer.solvers.refusals import (
    indefinite,
    not_finite,
    not_invertible,
    overflow,
    singular,
)
from mercer.solvers.ridge.block_cg import CurvatureError
from mercer.solvers.ridge.bordered import (
    Answer,
    Bordered,
    Measured,
    RidgeProblem,
    RidgeSolver,
    measured,
    relative,
)
from mercer.solvers.ridge.single import SingleFactor
from mercer.solvers.ridge.triangles import TwoTriangles
from mercer.solvers.rounding import EPS, column_norms
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cholesky(RidgeSolver):
    """Solve (K + alpha W^-1) a + b 1 = y, 1'a = 0 by the factor of K + alpha W^-1.

    It takes n^3 / 3 multiplications for every distinct alpha and one n x n array; in float64 the
    factor grows beside K. The residual is measured with K itself, in float64.

    Parameters
    ----------
    tol : float
        Relative residual above which a step of iterative refinement is added.
    precision : {"double", "single"}
        ``"single"`` factors in float32, in half the time and memory, and refines the answer in
        float64 by conjugate gradients with the Gram operator; where that does not reach the
        tolerance, the factor is taken in float64 after all. An estimator that is told
        ``"cholesky"`` by name takes the faster.
    """

    iterates: ClassVar[bool] = False
    name: ClassVar[str] = "cholesky"

    tol: float = 1e-6
    precision: str = "double"

    def __post_init__(self) -> None:
        if self.precision not in ("single", "double"):
            raise ValueError(f"precision must be 'single' or 'double', got {self.precision!r}")

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        if self.precision == "single":
            solution = self._in_single(gram, problem)
            if solution is not None:
                return solution
        return self._in_double(gram, problem)

    def _in_single(self, gram: Gram, problem: RidgeProblem) -> Solution | None:
        """Return the solution from factors in float32, or None where they do not serve."""
        answer, roots = Answer.like(problem), np.sqrt(problem.weights)[:, None]
        steps = 0
        for alpha, targets in problem.by_alpha():
            factor = SingleFactor(gram, alpha / problem.weights)
            if factor.order:
                return None
            try:
                system = Bordered.solve(factor, problem.unpenalised, problem.y[:, targets])
            except (CurvatureError, FloatingPointError):
                return None
            part = problem.of_targets(targets)
            solution = (system.a, system.b.sum(axis=0), roots * system.residual())
            answer.keep(
                Measured.of(part, solution, gram.diagonal(), gram.__matmul__, self.tol), targets
            )
            steps += factor.steps
            if not answer.residual[targets].max() <= self.tol:
                return None
        name = f"cholesky in float32, refined in {steps} steps"
        return answer.solution(self.tol, steps, name)

    def _in_double(self, gram: Gram, problem: RidgeProblem) -> Solution:
        matrix = TwoTriangles(gram.fresh())
        answer, roots = Answer.like(problem), np.sqrt(problem.weights)[:, None]
        steps = 0
        for alpha, targets in problem.by_alpha():
            factored(matrix, alpha, problem.weights)
            part, K = problem.of_targets(targets), matrix.gram_product
            system = Bordered.solve(matrix, part.unpenalised, part.y)
            size = (matrix.diagonal + matrix.shift).max()
            residual = system.residual()
            if is_large(part, residual, system.a, size, self.tol):
                system = system.refined()
                residual = system.residual()
                steps += 1
            _check_finite(system.a, matrix, alpha)
            solution = (system.a, system.b.sum(axis=0), roots * residual)
            found = Measured.of(part, solution, matrix.diagonal, K, self.tol)
            if not (found.residual <= self.tol).all():
                # Entries far below the roots of the diagonal hide less than those would.
                absolute = [matrix.absolute_product(c) for c in np.abs(found.a.T)]
                residual, radius = measured(
                    part, found.a, found.weighted, matrix.diagonal, np.column_stack(absolute)
                )
                found = found._replace(residual=residual, radius=radius)
            answer.keep(found, targets)
        return answer.solution(self.tol, steps, matrix.name)


def is_large(problem: RidgeProblem, r: Array, a: Array, size: Array | float, tol: float) -> bool:
    """Whether a residual y - A a - N b is above the tolerance, or above what rounding explains.

    `size` is the largest entry on the diagonal of A, for all targets or each. It is a lower bound
    on ||A||, so that this errs towards a step of refinement more.
    """
    rounding = len(r) * EPS * (size * column_norms(a) + column_norms(problem.y))
    if not (column_norms(r) <= rounding).all():
        return True
    weighted = column_norms(np.sqrt(problem.weights)[:, None] * r)
    return not (relative(weighted, problem.sizes) <= tol).all()


def factored(matrix: TwoTriangles, alpha: float, weights: Array) -> None:
    """Factor K + alpha W^-1, or raise the error that a failure stands for."""
    order = matrix.factor(alpha / weights)
    if order > 0 or not np.isfinite(matrix.diagonal).all():
        _check_entries(matrix)
        raise _indefinite(matrix, order) or singular(alpha, len(matrix), matrix.largest)
    if alpha == 0.0 and (rcond := matrix.reciprocal_condition()) < EPS:
        raise not_invertible(rcond)


def _indefinite(matrix: TwoTriangles, order: int) -> IndefiniteKernelError | None:
    """Return the refusal of K where the failed minor shows that it is indefinite."""
    c = matrix.negative_direction(order)
    value = float(c @ matrix.gram_product(c[:, None])[:, 0])
    magnitude = float(np.abs(c) @ matrix.absolute_product(np.abs(c)))
    return indefinite(c, value, magnitude, int(np.flatnonzero(c)[-1]) + 1)


def _check_entries(matrix: TwoTriangles) -> None:
    if not matrix.is_finite():
        raise not_finite()


def _check_finite(r: Array, matrix: TwoTriangles, alpha: float) -> None:
    """Refuse a solution that overflowed."""
    if not np.isfinite(r).all():
        _check_entries(matrix)
        raise overflow(alpha)
