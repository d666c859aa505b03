"""What stands in for an answer where the time is up before there is one: that of a few rows."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError, check, until
from mercer.gram import Gram
from mercer.native.lapack import one_blas_thread
from mercer.solvers.choose import as_logistic_solver
from mercer.solvers.contract import FEW_ROWS, Solution, Solver
from mercer.solvers.logistic.likelihood import LogisticProblem
from mercer.solvers.margin.problem import MarginProblem
from mercer.solvers.margin.smo import SMO
from mercer.solvers.refusals import known_by_landmarks
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.ridge.cholesky import Cholesky
from mercer.solvers.run import Run

# Rows that are solved for in a moment and tell more than an offset, and those where that was too
# much: entries may take long, and others may use the machine.
FEW, FEWER = 500, 100


def stand_in(found: Solution, gram: Gram, problem: Any, run: Run) -> Solution:
    """Return what was found of a problem, or where that is nothing the solution of a few rows.

    That takes what a fit may take beyond the limit. Its coefficients are zero at all other rows,
    and nothing is measured of how far it is from the answer of all, so that its residual and its
    radius are infinite.

    Parameters
    ----------
    found : Solution
        What a solver had when the time was up.
    gram : Gram
        K.
    problem : RidgeProblem, LogisticProblem or MarginProblem
        What to solve.
    run : Run
        The time that there was.
    """
    weights = found.coefficients if found.theta is None else found.theta
    if run.time_limit is None or weights.any():
        return found
    # Of several problems that share a limit all together have no more.
    limit, now = run.began + run.time_limit, perf_counter()
    soon, last = limit + 1.5 * run.grace, max(limit + 2.0 * run.grace, now + 0.5 * run.grace)
    for rows, ends in ((FEW, soon), (FEWER, last)):
        if rows < len(gram):
            answer = _of_rows(gram, problem, run, some_rows(problem.groups, rows), found, ends)
            if answer is not None:
                return answer
    return found


def _of_rows(
    gram: Gram, problem: Any, run: Run, index: NDArray[np.intp], found: Solution, ends: float
) -> Solution | None:
    """Return the solution of some rows in the place of one that was found, or None in time."""
    few = replace(run, ends=ends, checkpoint=None, progress=None)
    # Threads of a BLAS that wait for each other on a busy machine take longer than one.
    with until(ends), one_blas_thread():
        try:
            check()
            part = gram.part(index)
            answer = _exact(problem, found.tolerance).solve(part, problem.on(index), few)
            theta = None
            if gram.landmarks is not None:
                theta = known_by_landmarks(part).features().T @ answer.coefficients
        except TimeIsUpError:
            return None
    if not answer.coefficients.any():
        return None
    a, unknown = np.zeros_like(found.coefficients), np.full_like(found.residual, np.inf)
    a[index] = answer.coefficients
    return replace(
        found,
        coefficients=a,
        intercept=answer.intercept,
        residual=unknown,
        radius=unknown,
        solver=FEW_ROWS,
        theta=theta,
        advice=f"the model is that of {len(index)} of {len(gram)} rows alone, as {run.reason}",
    )


def some_rows(groups: NDArray[Any], count: int = FEW) -> NDArray[np.intp]:
    """Return so many rows at random, the same in every call, with the first of every group."""
    first, n = np.zeros(1, np.intp), len(groups)
    if (groups != groups[0]).any():
        first = np.unique(groups, return_index=True)[1]
    # Of millions of rows the time is up, and no array of their number is to be made.
    drawn = np.random.default_rng(0).choice(n, min(n, count + len(first)), replace=False)
    others = drawn[~np.isin(drawn, first)]
    return np.sort(np.concatenate([first, others])[:count])


def _exact(problem: Any, tol: float) -> Solver[Any]:
    """Return the solver for few rows of a kind of problem."""
    if isinstance(problem, RidgeProblem):
        return Cholesky()
    if isinstance(problem, LogisticProblem):
        return as_logistic_solver("cg", tol)
    assert isinstance(problem, MarginProblem)
    return SMO(tol)
