"""The hard margin, or tube, which an infinite price stands for: no row may have a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.errors import ConvergenceWarning, warn_caller
from mercer.estimators.fitted import LEAST_GAP
from mercer.estimators.svm.supports import Start, Task, start_of
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.solvers import Run, Solution

Positions = NDArray[np.intp]


class Priced(NamedTuple):
    """Problems of one price, and what they were solved by."""

    C: float
    tasks: list[Task]
    gram: Gram
    solutions: list[Solution]

    @property
    def is_paid(self) -> bool:
        """Whether a row has a loss: its coefficient is at the bound."""
        coefficients = (solution.coefficients[:, 0] for solution in self.solutions)
        pairs = zip(self.tasks, coefficients, strict=True)
        return any(((a != 0.0) & ~task.problem.free(a)).any() for task, a in pairs)

    @property
    def is_solved(self) -> bool:
        """Whether the coefficients are those of the solutions, to their tolerance."""
        return all(float(s.residual.max()) <= max(s.tolerance, LEAST_GAP) for s in self.solutions)


def hard_margin(
    solve: Callable[[float, Start | None], Priced], used: Positions, unit: float, run: Run
) -> Priced:
    """Return the problems of a price that no row pays.

    Where every coefficient is below its bound C the bounds do nothing, and the soft margin is the
    hard one: the loss is an exact penalty. The price is raised until it is so. Rows that pay any
    price, as those of classes which the kernel does not separate, are refused.

    Parameters
    ----------
    solve : callable
        solve(C, start) -> Priced.
    used : array of shape (m,)
        Which of the rows given to `fit` the problems count.
    unit : float
        One over the size of a coefficient, such as k(x, x) over that of the targets.
    run : Run
        What ends it early, with what there is.

    References
    ----------
    O. L. Mangasarian (1985), Sufficiency of exact penalty minimization.
    """
    # Beyond the last one float64 proves no gap.
    prices = [price / unit for price in (1e3, 1e6, 1e9)]
    start = None
    for C in prices:
        # A checkpoint of the fit tells the problems of its prices apart.
        run.problem = f"{C:.3g}"
        found = solve(C, start)
        if run.ended_by or not found.is_paid:
            break
        # The same coefficients, as most of them are free.
        start = start_of(C, found.tasks, used, found.solutions)
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


def mean_diagonal(kernel: Kernel, rows: Any) -> float:
    """Return the mean of k(x, x), or one where that is zero."""
    return float(np.mean(kernel.diagonal(rows))) or 1.0
