"""What a solution proves of a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mercer.errors import ConvergenceWarning
from mercer.kernels import Kernel
from mercer.solvers import Certificate, Solution

Array = NDArray[np.float64]

# The least relative gap that is told from zero, where what rounding may hide counts as well.
ROUNDING = 16.0 * float(np.finfo(np.float64).eps)


def proved_radius(kernel: Kernel, solution: Solution) -> Array:
    """Return the bound on ||f - f*|| of every target, infinite where it bounds f at no point.

    That is so for a kernel which is valid on coefficients of sum zero only: its norm may be zero
    for functions that are not.
    """
    return np.full_like(solution.radius, np.inf) if kernel.is_conditional else solution.radius


def gap_certificate(kernel: Kernel, solutions: Sequence[Solution]) -> Certificate:
    """Return the certificate of the worst solution, and warn if it is not satisfied, or of Ctrl-C.

    A gap of a few units of rounding satisfies any tolerance: it is known no better. This is for the
    `fit` of an estimator to call, whose caller the warning points at.
    """
    worst = max(solutions, key=lambda s: float(s.residual.max()))
    certificate = Certificate(
        "relative duality gap",
        float(worst.residual.max()),
        max(worst.tolerance, ROUNDING),
        max(float(proved_radius(kernel, s).max()) for s in solutions),
        kernel.diagonal,
        worst.solver,
        kernel.proof() is not None,
    )
    ended = next((s for s in solutions if s.is_interrupted), worst)
    if ended.is_interrupted or not certificate.satisfied:
        warnings.warn(f"{certificate}: {ended.advice}", ConvergenceWarning, stacklevel=3)
    return certificate
