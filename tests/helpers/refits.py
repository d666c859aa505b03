"""What cross-validation means: every candidate fitted again without each fold."""

import numpy as np

from mercer.estimators import KernelRidge
from mercer.solvers import RidgeProblem
from mercer.solvers.ridge.growth import growth


def take(X, index, pairwise):
    if pairwise:
        return X[np.ix_(*index)]
    rows = index[0]
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def refitted(model, X, y, weights, splits, pairwise=False):
    """The default score of every candidate, by fitting each of them again without each fold.

    It is minus the weighted mean of the squared errors of all held-out rows.
    """
    scores = []
    for params in model.cv_results_["params"]:
        losses, sums = [], []
        for train, test in splits:
            fitted = KernelRidge(**params, fit_intercept=model.fit_intercept)
            fitted.fit(take(X, (train, train), pairwise), y[train], weights[train])
            error = y[test] - fitted.predict(take(X, (test, train), pairwise))
            losses.append(weights[test] @ error**2)
            sums.append(weights[test].sum())
        scores.append(-np.sum(losses) / np.sum(sums))
    return scores


def growth_of(kernel, X, y, alpha, weights=None, fit_intercept=True):
    """The factor of posterior variances of one target, which has tests of its own."""
    weights = np.ones(len(y)) if weights is None else weights
    problem = RidgeProblem(y[:, None], np.array([alpha]), weights, fit_intercept)
    return growth(kernel, X, problem, None)[0]


def jackknife_plus(told, y, noise, ranks, factor=1.0):
    """Return the ends at new rows from what the fit without row i tells of x_i and of these.

    `told` holds f and its deviation for every i, x_i first; variances of a target have the mean
    over all i added to them, and those of f the factor by which errors of slices grow.
    """
    f, deviation = np.array(told).transpose(1, 0, 2)
    level = (deviation[:, 0] ** 2 + noise).mean()
    variance = factor * deviation**2 + noise + level
    error = np.abs(y - f[:, 0])[:, None] * np.sqrt(variance[:, 1:] / variance[:, :1])
    low, high = (np.sort(f[:, 1:] + sign * error, axis=0) for sign in (-1.0, 1.0))
    return low[ranks[0] - 1], high[ranks[1] - 1]
