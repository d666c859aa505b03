"""The way back from a solution to the kernel as it is, and what an estimator refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.errors import IndefiniteKernelError
from mercer.estimators.refusals import refuse_indefinite_kernel, with_points
from mercer.estimators.validation import checked_seed
from mercer.gram import CentredGram, Gram, Repair, centred
from mercer.kernels import Kernel
from mercer.planning import Settings
from mercer.solvers import RidgeProblem, Solution
from mercer.solvers.refusals import indefinite_along, singular


def settings_of(estimator: Any) -> Settings:
    """Return what an estimator was told about how to solve."""
    return Settings(
        estimator.solver,
        estimator.tol,
        estimator.max_iter,
        checked_seed(estimator.random_state),
        estimator.memory,
        estimator.repair,
    )


def definite(estimator: Any, kernel: Kernel, rows: Any, gram: Gram) -> Gram:
    """Return a positive semi-definite Gram matrix to solve with, or refuse an indefinite one.

    One that is known to be so on coefficients of sum zero is centred where there is an offset. A
    repair is still to come.
    """
    if estimator.repair is not None:
        return gram
    if estimator.fit_intercept and gram.is_conditional:
        return centred(gram)
    refuse_indefinite_kernel(kernel, rows, gram)
    return gram


def refusal_of(
    error: IndefiniteKernelError, kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem
) -> ValueError:
    """Return a solver's refusal of a Gram matrix, centred or not, in terms of the kernel."""
    if not isinstance(gram, CentredGram):
        return with_points(error, kernel, rows)
    c = error.witness.coefficients
    found = indefinite_along(gram.gram, c - c.mean())
    if found is not None:
        return with_points(found, kernel, rows)
    return singular(float(problem.alpha.min()), len(gram), float(gram.diagonal().max()))


def uncentred(solution: Solution, gram: Gram, index: Any = slice(None)) -> Solution:
    """Return a solution with a Gram matrix, centred or not, in terms of the kernel as it is.

    `index` says which of its rows the solution is for.
    """
    if not isinstance(gram, CentredGram):
        return solution
    return replace(solution, intercept=solution.intercept - gram.m[index] @ solution.coefficients)


def carried(solution: Solution, repair: Repair) -> Solution:
    """Return a solution with the repaired Gram matrix in terms of the kernel as it is."""
    if not repair.is_changed:
        return solution
    # The norm that f is bounded in belongs to the repaired kernel, unknown at new rows.
    radius = np.full_like(solution.radius, np.inf)
    return replace(solution, coefficients=repair.coefficients(solution.coefficients), radius=radius)
