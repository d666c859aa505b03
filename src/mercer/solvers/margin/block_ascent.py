"""Block coordinate ascent in the dual of margin problems, a batch of rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.solvers.checkpoint import State, random_state, restore_random
from mercer.solvers.contract import Solution
from mercer.solvers.margin.problem import Gap, MarginProblem, MarginSolver
from mercer.solvers.refusals import check_finite
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BlockAscent(MarginSolver):
    """Minimise 1/2 ||f||^2 + sum_i loss_i by block coordinate ascent in the dual.

    A batch of rows, in random order, takes a step of Frank and Wolfe: their coefficients move
    towards the vertex s_i of the box, minus the subgradient of loss_i at f(x_i) + b - z_i, which is
    one of the bounds, or zero within the tube: a_i += t (s_i - a_i). The step t is found by exact
    line search in the dual, so that it need not shrink with time as that of stochastic subgradients
    (Pegasos) does. The offset b of a batch is the one that keeps the sum of the coefficients. Hence
    every iterate is a feasible point of the dual and better than the one before, and proves the gap
    by itself.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Epochs allowed, 64 by default.
    batch : int
        m.
    random_state : int
        Where the orders come from.

    References
    ----------
    S. Shalev-Shwartz and T. Zhang (2013), Stochastic dual coordinate ascent methods for
    regularized loss minimization; S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher (2013),
    Block-coordinate Frank-Wolfe optimization for structural SVMs.
    """

    iterates: ClassVar[bool] = True
    name: ClassVar[str] = "sgd"
    # Steps of a batch, whose rows are computed once for all of them.
    steps: ClassVar[int] = 4
    epochs: ClassVar[int] = 64

    tol: float = 1e-3
    max_iter: int | None = None
    batch: int = 32
    random_state: Any = 0

    def _solved(self, gram: Gram, problem: MarginProblem, run: Run) -> Solution:
        """Return the coefficients of shape (n, 1), offset and gap of shape (1,)."""
        check_finite(gram.diagonal())
        epochs = self.epochs if self.max_iter is None else self.max_iter
        state = _State(gram, problem, self.batch, np.random.default_rng(self.random_state))
        best, answer, epoch = state.gap(state.a), state.a.copy(), 0
        kept = run.restored()
        if kept is not None:
            best, answer, epoch = Gap(*kept["best"].tolist()), kept["answer"], int(kept["epoch"])
            state.restore(kept)
        with run.guarded(lambda: epoch > 0):
            while epoch < epochs and not run.ended_by:
                state.epoch(run)
                epoch += 1
                # A look costs as much as an epoch, so that there are few: at powers of two.
                if epoch & (epoch - 1) == 0 or epoch == epochs or run.is_over():
                    a = problem.feasible(state.a)
                    gap = state.gap(a)
                    if gap.relative <= best.relative:
                        best, answer = gap, a
                    if best.relative <= self.tol or run.report(epoch, best.relative):
                        break
                numbers = np.array([best.offset, best.gap, best.primal])
                progress = {"best": numbers, "answer": answer, "epoch": np.array(epoch)}
                run.keep(state.state() | progress)
        proved = run.measured(lambda: problem.proved(answer, gram @ answer, gram.diagonal()))
        gap = Gap.unknown(best.offset) if proved is None else proved
        said = run.advice(f"{epoch} epochs", "the gap is still open")
        said += f"; use solver='smo', raise max_iter (now {epochs}) or raise tol"
        return problem.solution(answer, gap, self.tol, epoch, "sgd", said)


class _State:
    """The iterate a, which every batch leaves feasible and no worse in the dual."""

    def __init__(
        self, gram: Gram, problem: MarginProblem, batch: int, rng: np.random.Generator
    ) -> None:
        self.gram, self.problem, self.rng = gram, problem, rng
        self.batch = min(batch, len(gram))
        self.a = np.zeros(len(gram)) if problem.start is None else problem.feasible(problem.start)

    def state(self) -> State:
        """Return what the next epoch begins from."""
        return {"a": self.a, "random": random_state(self.rng)}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.a = state["a"]
        restore_random(self.rng, state["random"])

    def gap(self, a: Array) -> Gap:
        f = self.gram @ a if a.any() else a
        return self.problem.gap(a, np.asarray(f, np.float64))

    def epoch(self, run: Run) -> None:
        """Go through all rows once, in another order every time."""
        n = len(self.a)
        order = self.rng.permutation(n)
        for first in range(0, n, self.batch):
            self._visit(order[first : first + self.batch])
            if run.is_over():
                break

    def _visit(self, rows: NDArray[np.intp]) -> None:
        """Move the coefficients of a batch towards its subgradients."""
        p, used = self.problem.on(rows), np.flatnonzero(self.a)
        K = np.asarray(self.gram.between(rows, rows), np.float64)
        r = self.gram.partial_product(rows, used, self.a[used]) - p.z
        self.a[rows] = ascended(p, K, self.a[rows], r)


def ascended(problem: MarginProblem, K: Array, a: Array, r: Array) -> Array:
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
    for _ in range(BlockAscent.steps):
        d = problem.steepest(a, r) - a
        Kd = K @ d
        gain = -float(d @ r) - problem.epsilon * float((np.abs(a + d) - np.abs(a)).sum())
        if gain <= 0.0:
            break
        curvature = float(d @ Kd)
        length = gain / curvature if gain < curvature else 1.0
        a, r = a + length * d, r + length * Kd
    return a
