"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

ILL_CONDITIONED = (
    "the system is too ill-conditioned for float64; raise alpha, or raise tol if that is enough"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What a solve took and how it ended.

    Parameters
    ----------
    iterations : int
        Steps of refinement or iteration.
    seconds : float
        Time taken.
    advice : str
        What to do where the answer is not as good as was asked for, or what would be cheaper.
    is_interrupted : bool
        Whether Ctrl-C ended it: whoever pressed it is told so, also where the tolerance is met.
    """

    iterations: int = 0
    seconds: float = 0.0
    advice: str = ""
    is_interrupted: bool = False


@dataclass(frozen=True, eq=False)
class Solution(Outcome):
    """The answer of a solver for every target, how good it is, and what it cost.

    Parameters
    ----------
    coefficients : array of shape (n, targets)
        a in f(x) = sum_i a_i k(x_i, x).
    intercept : array of shape (targets,)
        b.
    residual : array of shape (targets,)
        The relative residual of A a + b 1 = y and 1'a = 0 that `measured` has, or what the solver
        says that it measures in its place.
    radius : array of shape (targets,)
        Bound on ||f - f*||, see `Certificate`.
    tolerance : float
        The residual that was asked for.
    solver : str
        Name of what ran.
    theta : array of shape (p, targets), optional
        The coefficients of explicit features, f(x) = theta'phi(x), from a solver that finds them.
    measure : str
        What `residual` is.
    """

    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]
    residual: NDArray[np.float64]
    radius: NDArray[np.float64]
    tolerance: float
    solver: str
    theta: NDArray[np.float64] | None = None
    measure: str = "relative residual"

    def in_units(self, unit: NDArray[np.float64]) -> Self:
        """Return the solution of targets that are so many times as large.

        Coefficients too small to be numbers then have lost digits, of which nothing is proved.
        """
        with np.errstate(over="ignore"):
            coefficients = self.coefficients * unit
        if not np.isfinite(coefficients).all():
            raise ValueError(
                "the coefficients overflow in the unit of the targets; scale the targets down, or "
                "raise alpha"
            )
        is_kept = (coefficients / unit == self.coefficients).all(axis=0)
        return replace(
            self,
            coefficients=coefficients,
            intercept=self.intercept * unit,
            residual=np.where(is_kept, self.residual, np.inf),
            radius=np.where(is_kept, self.radius * unit, np.inf),
            theta=None if self.theta is None else self.theta * unit,
        )
