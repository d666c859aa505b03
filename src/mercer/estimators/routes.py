"""The way back from a solution to the kernel as it is, and what an estimator refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.estimators.refusals import REPAIR, refuse_indefinite_kernel
from mercer.estimators.validation import checked_seed
from mercer.gram import Gram, Repair
from mercer.kernels import Kernel, recentred
from mercer.planning import Settings
from mercer.solvers import Solution


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


def resolved(estimator: Any, kernel: Kernel, rows: Any, weights: Any = None) -> Kernel:
    """Return the kernel with numbers for parameters that an estimator fits to weighted rows.

    An offset keeps the sum of the coefficients at zero: a kernel that is valid on these alone is
    replaced by one that is valid on all and gives the same function.
    """
    kernel = kernel.resolved(rows, weights)
    is_free = estimator.fit_intercept and estimator.repair is None
    return recentred(kernel, rows) if is_free and kernel.is_conditional else kernel


def refuse_unless_repaired(estimator: Any, kernel: Kernel, rows: Any, gram: Gram) -> None:
    """Refuse an indefinite Gram matrix, unless a repair is still to come."""
    if estimator.repair is None:
        refuse_indefinite_kernel(kernel, rows, gram, remedy=REPAIR)


def carried(solution: Solution, repair: Repair) -> Solution:
    """Return a solution with the repaired Gram matrix in terms of the kernel as it is."""
    if not repair.is_changed:
        return solution
    # The norm that f is bounded in belongs to the repaired kernel, unknown at new rows.
    radius = np.full_like(solution.radius, np.inf)
    return replace(solution, coefficients=repair.coefficients(solution.coefficients), radius=radius)
