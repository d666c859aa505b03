"""What cross-validation means: every candidate fitted again without each fold."""

import numpy as np

from mercer.estimators import KernelRidge


def take(X, index, pairwise):
    if pairwise:
        return X[np.ix_(*index)]
    rows = index[0]
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def refitted(model, X, y, weights, splits, pairwise=False):
    """The default score of every candidate, by fitting each of them again without each fold.

    It is the mean of the scores of the folds; rows left out one by one are scored together.
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
        is_single = all(len(test) == 1 for _, test in splits)
        means = np.sum(losses) / np.sum(sums) if is_single else np.divide(losses, sums)
        scores.append(-np.mean(means))
    return scores
