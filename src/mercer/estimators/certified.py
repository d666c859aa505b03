"""What a duality gap proves of a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from mercer.errors import ConvergenceWarning
from mercer.kernels import Kernel
from mercer.solvers import Certificate, Solution

# The least relative gap that is told from zero.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


def gap_certificate(kernel: Kernel, solutions: Sequence[Solution]) -> Certificate:
    """Return the certificate of the worst solution, and warn if it is not satisfied.

    A gap of a few units of rounding satisfies any tolerance: it is known no better. This is for the
    `fit` of an estimator to call, whose caller the warning points at.
    """
    worst = max(solutions, key=lambda s: float(s.residual.max()))
    certificate = Certificate(
        "relative duality gap",
        float(worst.residual.max()),
        max(worst.tolerance, ROUNDING),
        max(float(s.radius.max()) for s in solutions),
        kernel.diagonal,
        worst.solver,
        kernel.proof() is not None,
    )
    if not certificate.satisfied:
        warnings.warn(f"{certificate}: {worst.advice}", ConvergenceWarning, stacklevel=3)
    return certificate
