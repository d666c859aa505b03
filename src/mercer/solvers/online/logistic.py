"""Logistic problems by small random batches of rows, nothing of the size of K stored."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError, shielded
from mercer.gram import Gram
from mercer.native.lapack import one_blas_thread
from mercer.solvers.contract import Solution
from mercer.solvers.logistic.curvature import single_serves
from mercer.solvers.logistic.likelihood import LogisticProblem
from mercer.solvers.logistic.newton import Point
from mercer.solvers.logistic.solver import LogisticSolver
from mercer.solvers.online.batch_newton import newton_factors, stepped
from mercer.solvers.online.batches import Iterate, batch_size, is_power_of_two
from mercer.solvers.refusals import check_scores
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StochasticLogistic(LogisticSolver):
    """Minimise C sum_i w_i loss_i + 1/2 ||f||^2 by batches of rows in random order.

    At the optimum A = C w (T - P), targets less probabilities. A batch solves these equations for
    its own coefficients, those of all others fixed: a small logistic problem, of which a few Newton
    steps are taken, in the dual of the whole. The sum of its coefficients is kept, the multiplier
    of which is its own offset. In the space of functions it is a stochastic gradient of the loss
    with the curvature of the batch as preconditioner, whose noise vanishes at the optimum: there
    is no step size, and the error falls by a constant factor in every epoch, see
    `mercer.solvers.online.ridge.StochasticRidge`.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Epochs allowed, 64 by default.
    batch : int, optional
        m; by default as many rows as are factored in the time in which their rows of K are
        computed, and fit into the memory.
    random_state : int, optional
        Where the orders come from.

    References
    ----------
    S. Shalev-Shwartz and T. Zhang (2013), Stochastic dual coordinate ascent methods for
    regularized loss minimization; S. Ma and M. Belkin (2019), Kernel machines that adapt to GPUs
    for effective large batch training.
    """

    # What the gap has to be guessed to fall to before it is measured.
    margin: ClassVar[float] = 0.5
    epochs: ClassVar[int] = 64
    iterates: ClassVar[bool] = True
    name: ClassVar[str] = "sgd"

    tol: float = 1e-5
    max_iter: int | None = None
    batch: int | None = None
    random_state: Any = 0

    def _solved(self, gram: Gram, problem: LogisticProblem, run: Run) -> Solution:
        """Return the solution, whose residual is the relative duality gap measured in float64."""
        # Threads of the BLAS spin for a while after every call, on cores that rows of K want.
        with one_blas_thread() if gram.has_own_threads else nullcontext():
            return self._iterated(gram, problem, run)

    def _iterated(self, gram: Gram, problem: LogisticProblem, run: Run) -> Solution:
        state, epoch = self._begun(gram, problem), 0
        b = np.zeros(problem.columns)
        point: Point | None = None
        ratio = 0.0
        kept = run.restored()
        if kept is not None:
            epoch, ratio, b = int(kept["epoch"]), float(kept["ratio"]), kept["b"]
            state.restore(kept)
        with run.guarded(lambda: epoch > 0):
            while epoch < self._epochs and not run.is_over():
                for batch in state.epoch(run):
                    step, b = stepped(gram, problem, state, batch, b)
                    state.move(batch, step)
                epoch += 1
                b = problem.best_offset(state.F, b)
                missed = _missed(problem, state, b)
                value = ratio * missed
                if is_power_of_two(epoch) or value <= self.margin * self.tol:
                    point = _point(gram, problem, state, b)
                    b, last, value = point.b, value, point.relative_gap
                    ratio = value / missed if missed > 0.0 else 0.0
                    if value > 4.0 * last > 0.0:
                        # Where float32 is not enough to go on, float64 may be.
                        state.sharpen()
                is_met = state.is_exact and value <= self.margin * self.tol
                if run.report(epoch, value) or is_met:
                    break
                progress = {"epoch": np.array(epoch), "ratio": np.array(ratio), "b": b}
                run.keep(state.state() | progress)
        return self._measured(gram, problem, state, b, epoch, run)

    @property
    def _epochs(self) -> int:
        return self.epochs if self.max_iter is None else self.max_iter

    def _begun(self, gram: Gram, problem: LogisticProblem) -> Iterate:
        check_scores(gram.diagonal(), problem.largest)
        start = np.zeros((len(gram), problem.columns))
        if problem.start is not None:
            start = problem.start[0]
            if problem.fit_intercept:
                share = problem.weights / problem.weights.sum()
                start = start - np.outer(share, start.sum(axis=0))
        stiffest = 0.25 * problem.C * float(problem.weights.max())
        m = self.batch or batch_size(len(gram), gram.memory, newton_factors(problem.columns))
        state = Iterate(gram, single_serves(gram, stiffest), start, m, self.random_state)
        state.refresh()
        return state

    def _measured(
        self,
        gram: Gram,
        problem: LogisticProblem,
        state: Iterate,
        b: Array,
        epoch: int,
        run: Run,
    ) -> Solution:
        """Return what there is, with its gap in float64 or, without time for it, infinite."""
        if not state.A.any() and run.ended_by == "time":
            raise TimeIsUpError
        point = run.measured(lambda: _point(gram, problem, state, b))
        relative = gap = np.inf
        if point is not None:
            b = point.b
            with shielded():
                gap = point.proved(problem, gram.diagonal())
            relative = point.relative(gap)
        said = run.advice(f"{epoch} epochs", "the gap is still open")
        said += f"; use solver='cg', raise max_iter (now {self._epochs}) or tol, or lower C"
        F = gram.features()
        return Solution(
            state.A,
            b,
            np.full(problem.columns, relative),
            np.full(problem.columns, np.sqrt(2.0 * gap)),
            self.tol,
            self.name,
            None if F is None else F.T @ state.A,
            "relative duality gap",
            iterations=epoch,
            advice="" if relative <= self.tol and not run.ended_by else said,
        )


def _missed(problem: LogisticProblem, state: Iterate, b: Array) -> float:
    """Return ||A - C w (T - P)||^2 by the scores that are kept: the gap falls as it does."""
    D = state.A - problem.C * problem.residual(state.F + b)
    return float((D * D).sum())


def _point(gram: Gram, problem: LogisticProblem, state: Iterate, b: Array) -> Point:
    """Return the coefficients with their gap, all in float64."""
    state.refresh()
    point = Point.of(problem, state.A, state.F, b, lambda V: np.asarray(gram @ V, np.float64))
    return point.checked(gram)
