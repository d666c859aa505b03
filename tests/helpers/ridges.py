"""Ridge problems for the tests of solvers, and the measure by which their answers are judged."""

import numpy as np

from mercer.solvers import RidgeProblem

EPS = np.finfo(float).eps
SHAPES = ["spread", "duplicates", "large columns", "far targets"]


def problem_of(y, alpha=1.0, weights=None, fit_intercept=True):
    y = y.reshape(len(y), -1)
    alpha = np.broadcast_to(np.asarray(alpha, float), y.shape[1:])
    return RidgeProblem(y, alpha, np.ones(len(y)) if weights is None else weights, fit_intercept)


def rows_and_targets(rng, shape, n=150):
    """Return rows of three columns and two targets, of an easy or of a hard shape."""
    X = rng.normal(size=(n, 3))
    y = np.column_stack([np.sin(X[:, 0]), rng.normal(size=n)])
    if shape == "duplicates":
        X = np.repeat(X[: n // 2], 2, axis=0)
    elif shape == "large columns":
        X[:, 1] *= 1e12
    elif shape == "far targets":
        y += 1e8
    return X, y


def lapack_ratio(K, problem, solution):
    """Return ||r|| / ((||A|| ||a|| + ||y||) n eps), the measure of LAPACK's own tests."""
    worst = 0.0
    for j, alpha in enumerate(problem.alpha):
        A = K + np.diag(alpha / problem.weights)
        a, y = solution.coefficients[:, j], problem.y[:, j]
        r = y - A @ a - solution.intercept[j]
        scale = np.linalg.norm(A, 1) * np.linalg.norm(a, 1) + np.linalg.norm(y, 1)
        worst = max(worst, np.linalg.norm(r, 1) / (scale * len(y) * EPS))
    return worst
