"""The last digits of a margin problem: once it is known which rows are free, a linear system."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.solvers.margin.problem import MarginProblem
from mercer.solvers.rounding import EPS, UNITS

Array = NDArray[np.float64]

# Free rows beyond which the system costs more than the digits are worth.
MOST = 512


def polished(gram: Gram, problem: MarginProblem, a: Array) -> tuple[Array, Array] | None:
    """Return coefficients and values with free rows exactly at their kinks, if that is feasible.

    Free rows F, between their bounds and not at zero in a tube, have f_F + b = z_F - epsilon
    sign(a_F), which with sum(a) = 0 is a linear system for the change of a_F.

    Parameters
    ----------
    gram : Gram
        K.
    problem : MarginProblem
        The problem.
    a : array of shape (n,)
        Feasible coefficients near the optimum.

    References
    ----------
    L. Bottou and C.-J. Lin (2007), Support vector machine solvers, on the KKT conditions.
    """
    free = np.flatnonzero(problem.free(a))
    if not 0 < len(free) <= MOST:
        return None
    f = np.asarray(gram.product(a), np.float64)
    n = len(free)
    border = int(problem.fit_intercept)
    system = np.zeros((n + border, n + border))
    system[:n, :n] = gram.between(free, free)
    # As large as K, or the sum would count for nothing beside it.
    size = float(np.abs(system).max()) or 1.0
    system[:n, n:] = system[n:, :n] = size
    goal = problem.z[free] - problem.epsilon * np.sign(a[free]) - f[free]
    right = np.concatenate([goal, [-size * a.sum()] * border])
    # Directions in which K is this small beside its largest one are left alone.
    flat = 1e-12
    change = scipy.linalg.lstsq(system, right, cond=flat, lapack_driver="gelsy")[0][:n]
    moved = a.copy()
    moved[free] += change
    if border and abs(moved.sum()) > UNITS * EPS * np.linalg.norm(moved):
        # An ill-conditioned system keeps the sum only as well as its other equations.
        moved = problem.feasible(moved)
    inside = (moved >= problem.lower) & (moved <= problem.upper)
    if not (inside.all() and (np.sign(moved[free]) == np.sign(a[free])).all()):
        return None
    return moved, np.asarray(gram.product(moved), np.float64)
