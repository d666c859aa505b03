"""Where to start a margin problem from the residuals of another solution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.margin import MarginProblem

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# The share of the rows next to a kink of the loss, and at least how many, that are within the ramp.
DOUBTFUL, DOUBTFUL_ROWS = 0.06, 2048


def ramp(problem: MarginProblem, r: Array) -> tuple[Array, Rows]:
    """Return feasible coefficients for residuals r: at a bound where the loss is clear, else less.

    Across a kink of the loss the coefficient goes evenly from bound to bound, within a width that
    some share of the rows lies in; a shift of all residuals makes the sum zero. The rows within
    that width are returned as well.
    """
    e = problem.epsilon
    distance = np.minimum(
        np.where(problem.upper > 0.0, np.abs(r + e), np.inf),
        np.where(problem.lower < 0.0, np.abs(r - e), np.inf),
    )
    share = min(max(DOUBTFUL, DOUBTFUL_ROWS / len(r)), 1.0)
    width = max(float(np.quantile(distance, share)), 1e-12)

    def coefficients(shift: float) -> Array:
        above = np.clip(0.5 + (-r - shift - e) / (2.0 * width), 0.0, 1.0)
        below = np.clip(0.5 + (r + shift - e) / (2.0 * width), 0.0, 1.0)
        return np.asarray(problem.upper * above + problem.lower * below)

    near = np.flatnonzero(distance <= 1.5 * width)
    if not problem.fit_intercept:
        return coefficients(0.0), near
    low, high = -np.abs(r).max() - e - width, np.abs(r).max() + e + width
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if coefficients(middle).sum() > 0.0 else (low, middle)
    return problem.feasible(coefficients(0.5 * (low + high))), near
