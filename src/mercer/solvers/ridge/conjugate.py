"""The iterative solver: preconditioned conjugate gradients on any Gram matrix."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.memory import gigabytes
from mercer.gram import Gram, ScaledGram
from mercer.native.threads import one_blas_thread
from mercer.solvers.lowrank.pivots import Pivots
from mercer.solvers.refusals import indefinite_along, not_finite, overflow, singular
from mercer.solvers.ridge.block_cg import CurvatureError
from mercer.solvers.ridge.bordered import (
    Answer,
    Bordered,
    Measured,
    RidgeProblem,
    relative_norm,
)
from mercer.solvers.ridge.cg_factor import IteratedFactor, Progress
from mercer.solvers.solution import CALLED_OFF, ILL_CONDITIONED, INTERRUPTED, Solution

Array = NDArray[np.float64]

STEPS = 1000
# The iteration ends a little below the tolerance, which the measured residual has to meet.
MARGIN = 0.25


@dataclass(frozen=True)
class ConjugateGradient:
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
    time_limit : float, optional
        Seconds to be done in.
    rank : int, optional
        Rank of the preconditioner; by default it grows where that is cheaper than more steps.
    random_state : None, int or numpy.random.Generator
        Where the random pivots come from.
    goal : float, optional
        Relative residual to aim at, by default `tol`; a smaller one that rounding puts out of
        reach is no failure.
    """

    iterates: ClassVar[bool] = True

    tol: float = 1e-6
    max_iter: int | None = None
    time_limit: float | None = None
    rank: int | None = None
    random_state: Any = None
    goal: float | None = None

    def solve(
        self, gram: Gram, problem: RidgeProblem, progress: Progress | None = None
    ) -> Solution:
        """Return the solution for every target; all weights must be positive.

        ``progress(iteration, residual)`` is called after every step and stops it by True.
        """
        start = perf_counter()
        roots = np.sqrt(problem.weights)
        scaled = gram if (roots == 1.0).all() else ScaledGram(gram, roots)
        A = IteratedFactor(
            scaled,
            Pivots(scaled, self.random_state),
            self.rank,
            self._steps,
            np.inf if self.time_limit is None else start + self.time_limit,
            progress,
        )
        # Threads of the BLAS spin for a while after every call, on cores that the products want.
        limit = one_blas_thread() if gram.has_own_threads else nullcontext()
        with limit:
            answer = self._answers(A, gram, problem, roots)
        seconds = perf_counter() - start
        solution = answer.solution(self.tol, A.iterations, seconds, "cg")
        is_met = bool((solution.residual <= self.tol).all())
        return replace(
            solution,
            advice=self._advice(A, gram, is_met),
            is_interrupted=A.stopped == "interrupt",
        )

    def _answers(
        self, A: IteratedFactor, gram: Gram, problem: RidgeProblem, roots: Array
    ) -> Answer:
        """Return the answer for all targets."""
        answer, diagonal = Answer.like(problem), gram.diagonal()
        for alpha, targets in sorted(problem.by_alpha(), key=lambda group: -group[0]):
            y = roots[:, None] * problem.y[:, targets]
            try:
                system, r = self._solved(A, alpha, roots, y, problem.fit_intercept)
            except CurvatureError as error:
                raise _refusal(gram, roots * error.direction, alpha) from None
            except FloatingPointError:
                raise _overflow(gram, alpha) from None
            part, a = problem.of_targets(targets), roots[:, None] * system.a
            # What is over has no time for one product more.
            tol = np.inf if A.is_over else self.tol
            solution = (a, system.b.sum(axis=0), r)
            answer.keep(Measured.of(part, solution, diagonal, gram.__matmul__, tol), targets)
        return answer

    def _solved(
        self, A: IteratedFactor, alpha: float, roots: Array, y: Array, fit_intercept: bool
    ) -> tuple[Bordered, Array]:
        """Return the solution of the system scaled by W^(1/2), and its residual."""
        A.shift(alpha)
        A.goal = MARGIN * min(self.tol, self.goal or self.tol)
        system = Bordered.solve(A, roots[:, None][:, : int(fit_intercept)], y)
        r, error = _measured(A, system)
        # The offset is combined of two solutions, whose errors may add up to more than each.
        while error > self.tol and not A.is_over:
            A.goal = min(MARGIN * self.tol / error, 0.1)
            refined = system.refined()
            r_refined, error_refined = _measured(A, refined)
            if error_refined < error:
                system, r = refined, r_refined
            if error_refined > 0.5 * error:
                break
            error = error_refined
        return system, r

    def _advice(self, A: IteratedFactor, gram: Gram, is_met: bool) -> str:
        """Return what to do if the residual is too large, and what would have been cheaper."""
        n = len(gram)
        said = []
        if A.stopped or not is_met:
            said.append(f"after {A.iterations} steps with a preconditioner of rank {A.rank}")
        if A.stopped == "time":
            said.append(f"the time limit of {self.time_limit:g} s was up; raise time_limit")
        elif A.stopped == "interrupt":
            said.append(INTERRUPTED)
        elif A.stopped == "progress":
            said.append(CALLED_OFF)
        elif not is_met:
            more = f"raise max_iter (now {self._steps}) or alpha"
            said.append(more if A.ran_out else ILL_CONDITIONED)
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
        return STEPS if self.max_iter is None else self.max_iter


def _measured(A: IteratedFactor, system: Bordered) -> tuple[Array, float]:
    """Return the residual, and its norm beside that of y."""
    try:
        r = system.residual()
    except KeyboardInterrupt:
        # There is an iterate to return; a second Ctrl-C, while it is measured, raises.
        if A.stopped:
            raise
        A.stopped = "interrupt"
        r = system.residual()
    if not np.isfinite(r).all():
        raise FloatingPointError("the residual is not finite")
    return r, float(relative_norm(r, system.y).max())


def _refusal(gram: Gram, c: Array, alpha: float) -> ValueError:
    """Return the error that a direction of no positive curvature stands for."""
    largest = float(gram.diagonal().max())
    return indefinite_along(gram, c) or singular(alpha, len(gram), largest)


def _overflow(gram: Gram, alpha: float) -> ValueError:
    """Return the error that products which are not finite stand for."""
    return overflow(alpha) if np.isfinite(gram @ np.ones(len(gram))).all() else not_finite()
