"""The weights of the terms of a sum of kernels, of which the matrices are held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError
from mercer.kernels import Kernel
from mercer.learning.variables import REACH
from mercer.solvers import Run
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.ridge.evidence import restricted_likelihood
from mercer.tiles import Rows, evaluate

Array = NDArray[np.float64]


def learned_weights(
    terms: Sequence[Kernel], X: Any, problem: RidgeProblem, max_iter: int, run: Run
) -> tuple[Array, float]:
    """Return the weights c of K = sum_t c_t K_t, and the ridge, at which targets are most likely.

    The derivative of the restricted likelihood by c_t is <G, K_t>, so that with the matrices K_t at
    hand an iteration costs one inverse and two passes over them, however many terms there are.

    Parameters
    ----------
    terms : sequence of Kernel
        The kernels, with numbers for parameters.
    X : rows
        n of them, few enough for a matrix of n x n numbers per term.
    problem : RidgeProblem
        Their targets and weights; its alpha is not used.
    max_iter : int
        How many iterations of L-BFGS-B at most.
    run : Run
        When to end with the best so far.

    References
    ----------
    G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. Jordan (2004), Learning the kernel
    matrix with semidefinite programming (sums with learned weights);
    C. E. Rasmussen, C. K. I. Williams (2006), Gaussian processes for machine learning, chapter 5.
    """
    from scipy.optimize import minimize

    rows, n = Rows(X, "X"), len(problem.y)
    held = np.empty((len(terms), n, n))
    for matrix, kernel in zip(held, terms, strict=True):
        matrix[:] = evaluate(kernel.program, rows)
    flat = held.reshape(len(terms), -1)
    unit = float(np.trace(held, axis1=1, axis2=2).mean()) / n
    start = np.zeros(len(terms) + 1)
    # Where alpha starts, in units of the mean of k(x, x).
    first = 0.1
    start[:-1], start[-1] = -math.log(len(terms)), math.log(first * unit)
    # How far it may go.
    least = 1e-8
    largest = 1e3
    ends = [math.log(end * unit) for end in (least, largest)]
    bounds = [(start[0] - REACH, start[0] + REACH)] * len(terms) + [(ends[0], ends[1])]
    best, point = math.inf, start
    # What values are counted from: the unit of the targets adds a constant to all of them.
    at_start: float | None = None

    def value(logarithms: Array) -> tuple[float, Array]:
        nonlocal best, point, at_start
        if run.is_over():
            raise TimeIsUpError
        c, alpha = np.exp(logarithms[:-1]), math.exp(logarithms[-1])
        at = RidgeProblem(problem.y, np.array([alpha]), problem.weights, problem.fit_intercept)
        found = restricted_likelihood((c @ flat).reshape(n, n), at)
        if found is None or not math.isfinite(found.value):
            # So much worse than what was seen that the line search turns back.
            return 1e3, np.zeros(len(logarithms))
        at_start = found.value if at_start is None else at_start
        if found.value < best:
            best, point = found.value, logarithms.copy()
        slopes = np.append(c * (flat @ found.G.reshape(-1)), found.by_alpha * alpha)
        return (found.value - at_start) / problem.y.size, slopes / problem.y.size

    with run.guarded(), run.limited():
        options = {"maxiter": max_iter}
        minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.exp(point[:-1]), math.exp(point[-1])
