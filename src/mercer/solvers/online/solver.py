"""The perceptron as a solver: passes over the rows until one of them has no mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.gram import Gram
from mercer.solvers.contract import Limited, Outcome
from mercer.solvers.online.budget import Basis, BudgetedPerceptron
from mercer.solvers.online.perceptron import (
    Learner,
    Tally,
    perceptron,
)
from mercer.solvers.refusals import check_finite
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PerceptronSolution(Outcome):
    """How the passes went, and what was learned.

    Parameters
    ----------
    state : Tally or Basis
        What is known at the end.
    mistakes : array of shape (problems,)
        Those of all passes.
    is_separated : array of shape (problems,)
        Which problems had no mistake in the last pass.
    last_mistakes : array of shape (problems,)
        Those of the last pass, infinite where it was broken off.
    values : array of shape (problems, n), optional
        f at all rows after the last step, where it was kept.
    """

    state: Tally | Basis
    mistakes: NDArray[np.int64]
    is_separated: NDArray[np.bool_]
    last_mistakes: Array
    values: Array | None = None


@dataclass(frozen=True, eq=False)
class PerceptronProblem:
    """Rows to visit with the signs of their classes, and where to start.

    Parameters
    ----------
    signs : array of shape (n, problems)
        The sign of every row's class times the size of its step.
    start : Tally or Basis
        What was learned from the rows known before.
    known : int
        The number of those, the first of the Gram matrix.
    """

    signs: Array
    start: Tally | Basis
    known: int = 0

    def zero_solution(self, tol: float) -> PerceptronSolution:
        """Return what was known before any row was visited."""
        state, none = self.start, np.zeros(self.signs.shape[1], np.int64)
        if isinstance(state, Tally):
            state = state.followed_by(self.signs.T)
        return PerceptronSolution(state, none, none > 0, np.full(len(none), np.inf))


@dataclass(frozen=True)
class Perceptron(Limited[PerceptronProblem, PerceptronSolution]):
    """Visit the rows in passes; a row on the wrong side of f, or on the border, is added to f.

    Parameters
    ----------
    max_epochs : int
        The most passes.
    shuffle : bool
        Whether every pass has an order of its own; else it is that of the rows.
    random_state : int
        Seed of the orders.
    budget : int, optional
        The most points that f may use.

    References
    ----------
    F. Rosenblatt (1958), The perceptron; Y. Freund and R. Schapire (1999), Large margin
    classification using the perceptron algorithm.
    """

    iterates: ClassVar[bool] = True

    max_epochs: int = 100
    shuffle: bool = False
    random_state: int = 0
    budget: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.max_epochs, int | np.integer) or self.max_epochs < 1:
            raise ValueError(
                f"max_epochs must be a whole number of at least 1, got {self.max_epochs!r}"
            )

    def _solved(self, gram: Gram, problem: PerceptronProblem, run: Run) -> PerceptronSolution:
        check_finite(gram.diagonal())
        start, signs, known = problem.start, problem.signs, problem.known
        if isinstance(start, Basis):
            signs = np.vstack([np.zeros((known, signs.shape[1])), signs])
            learner: Any = BudgetedPerceptron(gram, signs, start, self.budget, known)
            epochs, made = self.passes(learner, len(problem.signs), run)
            state, values = learner.basis, None
        else:
            learner = perceptron(gram, start.followed_by(signs.T), known)
            epochs, made = self.passes(learner, len(signs), run)
            state, values = learner.tally, learner.values
        return PerceptronSolution(
            state,
            learner.mistakes(),
            made == 0,
            made,
            values,
            iterations=epochs,
            advice=run.reason,
        )

    def passes(self, learner: Learner, n: int, run: Run) -> tuple[int, Array]:
        """Let a learner visit `n` rows again and again; return the passes and the last mistakes.

        The run hears of the mistakes per row after every pass.
        """
        random = np.random.default_rng(self.random_state)
        last = np.full(len(learner.mistakes()), np.inf)
        epochs = 0
        # What has been learned is a model; before the first mistake there is none.
        with run.guarded(lambda: bool(learner.mistakes().any())):
            while epochs < self.max_epochs and last.any() and not run.ended_by:
                order = random.permutation(n) if self.shuffle else np.arange(n)
                before = learner.mistakes()
                last = np.where(last > 0.0, np.inf, last)
                epochs += 1
                for part in row_blocks((n, 1), learner.rows_at_a_time):
                    learner.visit(order[part])
                    if part.stop < n and run.is_over():
                        return epochs, last
                last = (learner.mistakes() - before).astype(np.float64)
                learner.settle(last == 0.0)
                if last.any():
                    run.report(epochs, float(last.sum()) / n)
        return epochs, last
