"""Margin problems solved at a cost C, and the hard margin or tube, for which it is infinite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer.errors import ConvergenceWarning, warn_caller
from mercer.estimators.fitted import LEAST_GAP
from mercer.gram import Gram
from mercer.solvers import MarginProblem, Run, Solution
from mercer.tiles import Rows

Array = NDArray[np.float64]
Positions = NDArray[np.intp]
# A cost, and for every problem the rows given to `fit` and their coefficients.
Start: TypeAlias = tuple[float, list[tuple[Positions, Array]]]


@dataclass(frozen=True, eq=False)
class Task:
    """One margin problem on some of the training rows.

    Parameters
    ----------
    index : array of shape (m,)
        The rows.
    problem : MarginProblem
        The problem.
    """

    index: Positions
    problem: MarginProblem


@dataclass(frozen=True, eq=False)
class Solved:
    """Problems of one cost, and what they were solved by.

    Parameters
    ----------
    C : float
        The cost.
    used : array of shape (m,)
        Which of the rows given to `fit` the problems count.
    rows : Rows
        These rows.
    tasks : list of Task
        The problems.
    gram : Gram
        The matrix that was solved with.
    solutions : list of Solution
        One for each problem.
    """

    C: float
    used: Positions
    rows: Rows
    tasks: list[Task]
    gram: Gram
    solutions: list[Solution]

    @property
    def start(self) -> Start:
        """The solutions as a start of others."""
        pairs = zip(self.tasks, self.solutions, strict=True)
        return self.C, [(self.used[task.index], s.coefficients[:, 0]) for task, s in pairs]

    @property
    def has_errors(self) -> bool:
        """Whether a row has a loss: its coefficient is at the bound."""
        coefficients = (solution.coefficients[:, 0] for solution in self.solutions)
        pairs = zip(self.tasks, coefficients, strict=True)
        return any(((a != 0.0) & ~task.problem.free(a)).any() for task, a in pairs)

    @property
    def is_solved(self) -> bool:
        """Whether the coefficients are those of the solutions, to their tolerance."""
        return all(float(s.residual.max()) <= max(s.tolerance, LEAST_GAP) for s in self.solutions)


def costs_tried(unit: float) -> list[float]:
    """Return the costs at which a hard margin is looked for, with `unit` as of `hard_margin`."""
    # Beyond the last one float64 proves no gap.
    return [cost / unit for cost in (1e3, 1e6, 1e9)]


def hard_margin(solve: Callable[[float, Start | None], Solved], unit: float, run: Run) -> Solved:
    """Return the problems at a cost at which no row is within the margin or outside of the tube.

    Where every coefficient is below its bound C the bounds do nothing, and the soft margin is the
    hard one: the loss is an exact penalty. The cost is raised until it is so. Rows that have a loss
    at any cost, as those of classes which the kernel does not separate, are refused.

    Parameters
    ----------
    solve : callable
        solve(C, start) -> Solved.
    unit : float
        One over the size of a coefficient, such as k(x, x) over that of the targets.
    run : Run
        What ends it early, with what there is.

    References
    ----------
    O. L. Mangasarian (1985), Sufficiency of exact penalty minimization.
    """
    start = None
    for C in costs_tried(unit):
        # A checkpoint of the fit tells the problems of its costs apart.
        run.problem = f"{C:.3g}"
        found = solve(C, start)
        if run.ended_by or not found.has_errors:
            break
        # The same coefficients, as most of them are free.
        start = found.start
    else:
        run.forget()
        raise ValueError(
            f"C=inf allows no loss, but with this kernel there is some at C = {found.C:.1g} still: "
            "classes do not separate, or targets are outside the tube; give a finite C"
        )
    if not found.is_solved:
        warn_caller(
            f"C=inf allows no loss, but the solver ended before its tolerance at C = {found.C:.1g}:"
            " rows may have some, and this is no hard margin; raise max_iter or time_limit, or use "
            "solver='smo'",
            ConvergenceWarning,
        )
    return found
