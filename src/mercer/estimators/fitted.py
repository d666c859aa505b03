"""What a solution is to a fitted model: its function, and what is proved of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.listing import in_four_digits
from mercer.errors import ApproximationWarning, ConvergenceWarning, warn_caller
from mercer.features import LandmarkMap
from mercer.functions import DualFunction, Function, LineFunction, PrimalFunction, in_features
from mercer.gram import Gram, Repair
from mercer.kernels import Kernel
from mercer.planning import Settings
from mercer.solvers import ILL_CONDITIONED, Approximation, Certificate, ChainSolution, Solution
from mercer.solvers.contract import FEW_ROWS

Array = NDArray[np.float64]
# The least relative gap that is told from zero, where what rounding may hide counts as well.
LEAST_GAP = 16.0 * float(np.finfo(np.float64).eps)


def function_of(
    kernel: Kernel,
    X: Any,
    used: NDArray[np.bool_],
    gram: Gram,
    solution: Solution,
    memory: Any = None,
) -> Function:
    """Return the function that a solution means, in the form in which it is soonest evaluated.

    Parameters
    ----------
    kernel : Kernel
        k.
    X : rows
        All training rows.
    used : array of bool
        The rows that were solved for; the others get the coefficient zero.
    gram : Gram
        The matrix that was solved with.
    solution : Solution
        The coefficients, in terms of the kernel.
    memory : int or str, optional
        The limit for features.
    """
    if gram.landmarks is not None:
        return landmark_function(kernel, gram.landmarks, [solution])
    a, b = solution.coefficients, solution.intercept
    if not used.all():
        a = np.zeros((len(used), a.shape[1]))
        a[used] = solution.coefficients
    dual = DualFunction(kernel, X, a, b)
    if isinstance(solution, ChainSolution):
        return LineFunction(kernel, solution.knots, solution.values, solution.level, b, dual)
    if solution.theta is not None:
        return PrimalFunction(kernel, gram.feature_columns, solution.theta, b, dual)
    return dual if kernel.feature_map is None else in_features(dual, memory)


def landmark_function(
    kernel: Kernel, landmarks: LandmarkMap, solutions: Sequence[Solution]
) -> DualFunction:
    """Return f + b of all targets as one sum over landmarks.

    A solution that time cut off before its first step has no weights, which are zero then.
    """
    found = [
        np.zeros((landmarks.n_features, len(s.intercept))) if s.theta is None else s.theta
        for s in solutions
    ]
    b = np.concatenate([s.intercept for s in solutions])
    return DualFunction(kernel, landmarks.rows, landmarks.coefficients(np.hstack(found)), b)


def approximation_of(gram: Gram, settings: Settings, rows: Any, exact: str) -> Approximation | None:
    """Return what landmarks leave of the kernel, or None where the matrix is that of it.

    Of landmarks that nobody asked for it warns, with the way to be exact.

    Parameters
    ----------
    gram : Gram
        The matrix that was solved with.
    settings : Settings
        What the estimator was told.
    rows : rows
        The training rows.
    exact : str
        The name of a solver that is exact.
    """
    if gram.landmarks is None:
        return None
    left, known = gram.approximation_error()
    found = Approximation(left, gram.landmarks.n_features, known)
    if settings.for_rows(rows).is_open:
        warn_of_landmarks(f"an exact fit to {len(gram)} rows", settings, found, exact)
    return found


def warn_of_landmarks(
    instead_of: str, settings: Settings, found: Approximation, exact: str
) -> None:
    """Warn of landmarks that nobody asked for, with the way to be exact.

    Parameters
    ----------
    instead_of : str
        What they were taken for.
    settings : Settings
        What the estimator was told.
    found : Approximation
        What they leave of the kernel.
    exact : str
        The name of a solver that is exact.
    """
    limit = settings.time_limit
    allowed = (
        "a minute"
        if limit is None
        else f"half of the {in_four_digits(limit)} s that time_limit leaves"
    )
    warn_caller(
        f"{instead_of} is counted to take longer than {allowed}, or more memory than allowed, so "
        f"that landmarks stand for them: {found}; use solver={exact!r} to be exact, or choose "
        "n_landmarks",
        ApproximationWarning,
    )


def carried(solution: Solution, repair: Repair) -> Solution:
    """Return a solution with the repaired Gram matrix in terms of the kernel as it is."""
    if not repair.is_changed:
        return solution
    # The norm that f is bounded in belongs to the repaired kernel, unknown at new rows.
    radius = np.full_like(solution.radius, np.inf)
    return replace(solution, coefficients=repair.coefficients(solution.coefficients), radius=radius)


def certificate_of(
    kernel: Kernel,
    solutions: Sequence[Solution],
    radius: float | Array,
    settings: Settings,
    least: float = 0.0,
) -> Certificate:
    """Return the certificate of the worst solution, and warn if it is not satisfied, or of Ctrl-C.

    Parameters
    ----------
    kernel : Kernel
        k.
    solutions : sequence of Solution
        What solvers returned, in terms of the kernel.
    radius : float or array of shape (targets,)
        The bound on ||f - f*||, of all solutions or of every target.
    settings : Settings
        What the estimator was told.
    least : float
        What satisfies any tolerance.
    """
    worst = max(solutions, key=lambda s: float(s.residual.max()))
    certificate = Certificate(
        worst.measure,
        float(worst.residual.max()),
        max(worst.tolerance, least),
        radius,
        kernel.diagonal,
        worst.solver,
        kernel.is_proved,
    )
    ended = next((s for s in solutions if s.is_interrupted), worst)
    if ended.is_interrupted or not certificate.satisfied:
        way_out = ended.advice + _or_landmarks(kernel, worst, settings)
        advice = way_out if ended.advice else ILL_CONDITIONED
        warn_caller(f"{certificate}: {advice}", ConvergenceWarning)
    return certificate


def gap_certificate(
    kernel: Kernel, solutions: Sequence[Solution], settings: Settings
) -> Certificate:
    """Return the certificate of solutions that prove a gap, see `certificate_of`.

    A gap of a few units of rounding satisfies any tolerance: it is known no better.
    """
    radius = max(float(s.radius.max()) for s in solutions)
    return certificate_of(kernel, solutions, radius, settings, LEAST_GAP)


def _or_landmarks(kernel: Kernel, solution: Solution, settings: Settings) -> str:
    """Return the other way out of an unfinished exact fit to many rows, if there is one."""
    # Rows from which on an unfinished fit is told of landmarks: of fewer they save little.
    many = 2000
    names = ("nystrom",) if solution.theta is None else ("nystrom", FEW_ROWS)
    is_by_landmarks = settings.is_by_landmarks or solution.solver in names
    is_exact = not is_by_landmarks and len(solution.coefficients) > many
    return "; or use solver='nystrom'" if is_exact and not kernel.is_precomputed else ""
