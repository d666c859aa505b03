"""The iterative solver: preconditioned conjugate gradients on any Gram matrix."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import shielded
from mercer.data.limits.memory import gigabytes
from mercer.errors import KernelOverflowError
from mercer.gram import Gram, ScaledGram
from mercer.gram.pivots import Pivots
from mercer.native.lapack import one_blas_thread
from mercer.solvers.contract import ILL_CONDITIONED, Solution
from mercer.solvers.refusals import check_finite, indefinite_along, not_finite, overflow, singular
from mercer.solvers.ridge.block_cg import CurvatureError
from mercer.solvers.ridge.bordered import (
    Answer,
    Bordered,
    Measured,
    RidgeProblem,
    RidgeSolver,
    best_offset,
    relative_norm,
)
from mercer.solvers.ridge.cg_factor import IteratedFactor
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConjugateGradient(RidgeSolver):
    """Solve (K + alpha W^-1) a + b 1 = y, 1'a = 0 by products with K alone.

    It iterates on W^(1/2) K W^(1/2) + alpha I, for all targets and the offset in one block, with
    randomly pivoted Cholesky as preconditioner. Nothing of size n x n is stored beside what the
    Gram matrix holds itself. The residual is measured with K, in float64. Ctrl-C and the time
    limit end the iteration with what there is, and its residual.

    Parameters
    ----------
    tol : float
        Relative residual to reach.
    max_iter : int, optional
        Steps allowed for every distinct alpha, 1000 by default.
    rank : int, optional
        Rank of the preconditioner; by default it grows where that is cheaper than more steps.
    random_state : None, int or numpy.random.Generator
        Where the random pivots come from.
    goal : float, optional
        Relative residual to aim at, by default `tol`; a smaller one that rounding puts out of
        reach is no failure.

    References
    ----------
    M. Hestenes and E. Stiefel (1952), Methods of conjugate gradients for solving linear systems;
    M. Diaz, E. Epperly, Z. Frangella, J. Tropp and R. Webber (2023), Robust, randomized
    preconditioning for kernel ridge regression.
    """

    iterates: ClassVar[bool] = True
    name: ClassVar[str] = "cg"
    steps: ClassVar[int] = 1000
    # The iteration ends a little below the tolerance, which the measured residual has to meet.
    margin: ClassVar[float] = 0.25

    tol: float = 1e-6
    max_iter: int | None = None
    rank: int | None = None
    random_state: Any = 0
    goal: float | None = None

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        check_finite(gram.diagonal())
        roots = np.sqrt(problem.weights)
        scaled = gram if (roots == 1.0).all() else ScaledGram(gram, roots)
        A = IteratedFactor(scaled, Pivots(scaled, self.random_state), self.rank, self._steps, run)
        # Threads of the BLAS spin for a while after every call, on cores that the products want.
        limit = one_blas_thread() if gram.has_own_threads else nullcontext()
        with limit:
            answer = self._answers(A, gram, problem, roots, run)
        solution = answer.solution(self.tol, A.iterations, "cg")
        is_met = bool((solution.residual <= self.tol).all())
        return replace(solution, advice=self._advice(A, gram, is_met, run))

    def _answers(
        self, A: IteratedFactor, gram: Gram, problem: RidgeProblem, roots: Array, run: Run
    ) -> Answer:
        """Return the answer for all targets."""
        answer, diagonal = Answer.like(problem), gram.diagonal()
        for alpha, targets in sorted(problem.by_alpha(), key=lambda group: -group[0]):
            y = roots[:, None] * problem.y[:, targets]
            try:
                system, r = self._scaled(A, alpha, roots, y, problem.fit_intercept, run)
            except CurvatureError as error:
                raise _refusal(gram, roots * error.direction, alpha) from None
            except FloatingPointError:
                raise _overflow(gram, alpha) from None
            part = problem.of_targets(targets)
            c, b = _no_worse_than_an_offset(system, r, y) if A.is_over else (system.a, system.b)
            # What is over has no time for one product more.
            tol = np.inf if A.is_over else self.tol
            solution = (roots[:, None] * c, b.sum(axis=0), r)
            with shielded() if A.is_over else nullcontext():
                found = Measured.of(part, solution, diagonal, gram.__matmul__, tol)
            answer.keep(found, targets)
        return answer

    def _scaled(
        self, A: IteratedFactor, alpha: float, roots: Array, y: Array, fit_intercept: bool, run: Run
    ) -> tuple[Bordered, Array]:
        """Return the solution of the system scaled by W^(1/2), and its residual."""
        A.shift(alpha)
        A.goal = self.margin * min(self.tol, self.goal or self.tol)
        system = Bordered.solve(A, roots[:, None][:, : int(fit_intercept)], y)
        r = _residual(A, system, run)
        error = float(relative_norm(r, y, system.N).max())
        # The offset is combined of two solutions, whose errors may add up to more than each.
        while error > self.tol and not A.is_over:
            A.goal = min(self.margin * self.tol / error, 0.1)
            refined, r_refined = system.refined(), r
            if not run.ended_by:
                with run.guarded():
                    r_refined = refined.residual()
            if run.ended_by:
                # The system before it is measured.
                break
            before, error = error, float(relative_norm(r_refined, y, system.N).max())
            if error < before:
                system, r = refined, r_refined
            if error > 0.5 * before:
                break
        return system, r

    def _advice(self, A: IteratedFactor, gram: Gram, is_met: bool, run: Run) -> str:
        """Return what to do if the residual is too large, and what would have been cheaper."""
        n = len(gram)
        said = []
        if run.ended_by or not is_met:
            more = f"raise max_iter (now {self._steps}) or alpha"
            done = f"{A.iterations} steps with a preconditioner of rank {A.rank}"
            said.append(run.advice(done, more if A.ran_out else ILL_CONDITIONED))
        # The rate of the last steps tells what is left to be done.
        expected = A.work + (0.0 if is_met else A.remaining)
        if n**3 / 3.0 < expected and 8 * n * n <= gram.memory:
            said.append(
                f"solver='cholesky' takes about {n**3 / 3.0 / expected:.1g} of the work here, "
                f"and {gigabytes(8 * n * n)}"
            )
        return "; ".join(said)

    @property
    def _steps(self) -> int:
        return self.steps if self.max_iter is None else self.max_iter


def _residual(A: IteratedFactor, system: Bordered, run: Run) -> Array:
    """Return the residual: where there is no time for a product, what the iteration has kept."""
    r = run.measured(system.residual)
    r = A.recurred(system) if r is None else r
    if not np.isfinite(r).all():
        raise FloatingPointError("the residual is not finite")
    return r


def _no_worse_than_an_offset(system: Bordered, r: Array, y: Array) -> tuple[Array, Array]:
    """Return a and b, the offset alone for targets of which more is left than that leaves.

    Every step brings a closer to the solution in the norm of A; the first ones may all the same
    predict worse than no step, which counts where there is no time for more. Their residuals are
    replaced in `r`.
    """
    a, b = system.a, system.b
    worse = relative_norm(r, y, system.N) > 1.0
    if not worse.any():
        return a, b
    offset = best_offset(system.N, y)
    a, b = np.where(worse, 0.0, a), np.where(worse, offset, b)
    r[:, worse] = (y - system.N @ offset)[:, worse]
    return a, b


def _refusal(gram: Gram, c: Array, alpha: float) -> ValueError:
    """Return the error that a direction of no positive curvature stands for."""
    largest = float(gram.diagonal().max())
    return indefinite_along(gram, c) or singular(alpha, len(gram), largest, gram.dtype)


def _overflow(gram: Gram, alpha: float) -> KernelOverflowError:
    """Return the error that products which are not finite stand for."""
    return overflow(alpha) if np.isfinite(gram @ np.ones(len(gram))).all() else not_finite()
