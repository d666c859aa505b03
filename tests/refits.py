"""What cross-validation means: every candidate fitted again without each fold."""

import numpy as np

from mercer.estimators import KernelRidge


def take(X, index, pairwise):
    if pairwise:
        return X[np.ix_(*index)]
    rows = index[0]
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def refitted(model, X, y, weights, splits, pairwise=False):
    """The default score of every candidate, by fitting each of them again without each fold."""
    scores = []
    for params in model.cv_results_["params"]:
        loss = weight = 0.0
        for train, test in splits:
            fitted = KernelRidge(**params, fit_intercept=model.fit_intercept)
            fitted.fit(take(X, (train, train), pairwise), y[train], weights[train])
            error = y[test] - fitted.predict(take(X, (test, train), pairwise))
            loss += weights[test] @ error**2
            weight += weights[test].sum()
        scores.append(-loss / weight)
    return scores
