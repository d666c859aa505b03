"""The stochastic solver of margin problems: kernelised Pegasos in small batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.solvers.margin.problem import Gap, MarginProblem
from mercer.solvers.solution import CALLED_OFF, INTERRUPTED, Solution

Array = NDArray[np.float64]
Progress = Callable[[int, float], bool | None]

EPOCHS = 64
# Steps of a batch, whose rows are computed once for all of them.
STEPS = 4


@dataclass(frozen=True)
class Pegasos:
    """Minimise 1/2 ||f||^2 + sum_i loss_i by subgradients of small batches of rows.

    A batch moves the coefficients of its rows towards s_i, minus the subgradient of loss_i at
    f(x_i) + b - z_i, which is one of the bounds, or zero within the tube: a_i += t (s_i - a_i).
    Every row remembers its last step, so that t need not shrink with time as 1 / t of plain
    Pegasos: it is as long as the dual gains by it, the same for all rows of the batch. The offset
    b of a batch is the one that keeps the sum of the coefficients. Hence every iterate is a
    feasible point of the dual and better than the one before, and proves the gap by itself.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Epochs allowed, 64 by default.
    time_limit : float, optional
        Seconds to be done in.
    batch : int
        m.
    random_state : None or int
        Where the orders come from.
    """

    iterates: ClassVar[bool] = True

    tol: float = 1e-3
    max_iter: int | None = None
    time_limit: float | None = None
    batch: int = 32
    random_state: Any = None

    def solve(
        self,
        gram: Gram,
        problem: MarginProblem,
        progress: Progress | None = None,
        start: Array | None = None,
        stop: NDArray[np.uint8] | None = None,
        is_main: bool = True,
    ) -> Solution:
        """Return the coefficients of shape (n, 1), offset and gap of shape (1,).

        The parameters are those of `SMO.solve`; `start` is where the coefficients begin.
        """
        began = perf_counter()
        deadline = np.inf if self.time_limit is None else began + self.time_limit
        epochs = EPOCHS if self.max_iter is None else self.max_iter
        state = _State(gram, problem, self.batch, np.random.default_rng(self.random_state))
        if start is not None and start.any():
            state.a = problem.feasible(start)
        best = state.gap(state.a)
        answer, reason, epoch = state.a.copy(), "", 0
        try:
            while epoch < epochs and not reason:
                state.epoch(deadline, stop)
                epoch += 1
                # A look costs as much as an epoch, so that there are few: at powers of two.
                is_out = perf_counter() > deadline or (stop is not None and bool(stop[0]))
                if epoch & (epoch - 1) and epoch < epochs and not is_out:
                    continue
                a = problem.feasible(state.a)
                gap = state.gap(a)
                if gap.relative <= best.relative:
                    best, answer = gap, a
                if best.relative <= self.tol:
                    break
                if progress is not None and progress(epoch, best.relative):
                    reason = CALLED_OFF
                elif stop is not None and stop[0]:
                    reason = INTERRUPTED
                elif is_out:
                    reason = "the time limit was up; raise time_limit"
        except KeyboardInterrupt:
            if epoch == 0:
                raise
            reason = INTERRUPTED
        best = problem.proved(answer, gram @ answer, gram.diagonal())
        said = f"after {epoch} epochs {reason or 'the gap is still open'}; use solver='smo', "
        return Solution(
            answer[:, None],
            np.array([best.offset]),
            np.array([best.relative]),
            np.array([np.sqrt(2.0 * best.gap)]),
            self.tol,
            epoch,
            perf_counter() - began,
            "sgd",
            said + f"raise max_iter (now {epochs}) or raise tol",
            is_interrupted=reason == INTERRUPTED,
        )


class _State:
    """The iterate a, which every batch leaves feasible and no worse in the dual."""

    def __init__(
        self, gram: Gram, problem: MarginProblem, batch: int, rng: np.random.Generator
    ) -> None:
        self.gram, self.problem, self.rng = gram, problem, rng
        self.batch = min(batch, len(gram))
        self.a = np.zeros(len(gram))

    def gap(self, a: Array) -> Gap:
        return self.problem.gap(a, np.asarray(self.gram @ a, np.float64))

    def epoch(self, deadline: float, stop: NDArray[np.uint8] | None) -> None:
        """Go through all rows once, in another order every time."""
        n = len(self.a)
        order = self.rng.permutation(n)
        for first in range(0, n, self.batch):
            self._visit(order[first : first + self.batch])
            if perf_counter() > deadline or (stop is not None and stop[0]):
                break

    def _visit(self, rows: NDArray[np.intp]) -> None:
        """Move the coefficients of a batch towards its subgradients."""
        p, used = self.problem.on(rows), np.flatnonzero(self.a)
        K = np.asarray(self.gram.between(rows, rows), np.float64)
        r = self.gram.partial_product(rows, used, self.a[used]) - p.z
        self.a[rows] = moved(p, K, self.a[rows], r)


def moved(problem: MarginProblem, K: Array, a: Array, r: Array) -> Array:
    """Return the coefficients of a batch after a few steps towards its subgradients.

    Parameters
    ----------
    problem : MarginProblem
        The problem of the batch.
    K : array of shape (m, m)
        Its Gram matrix.
    a : array of shape (m,)
        Its coefficients.
    r : array of shape (m,)
        The residuals f - z, to which all rows add.
    """
    for _ in range(STEPS):
        d = problem.steepest(a, r) - a
        Kd = K @ d
        gain = -float(d @ r) - problem.epsilon * float((np.abs(a + d) - np.abs(a)).sum())
        if gain <= 0.0:
            break
        curvature = float(d @ Kd)
        length = gain / curvature if gain < curvature else 1.0
        a, r = a + length * d, r + length * Kd
    return a
