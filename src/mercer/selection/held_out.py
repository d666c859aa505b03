"""Held-out errors of every alpha, by whichever closed form costs least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.selection.splits import Splits
from mercer.solvers import RidgePath

Array = NDArray[np.float64]


def held_out_errors(
    K: Array, y: Array, weights: Array, alphas: Array, fit_intercept: bool, splits: Splits
) -> Array:
    """Return y minus the prediction of the fit without the fold, at every test row.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix; it is overwritten.
    y : array of shape (n, targets)
        The targets.
    weights : array of shape (n,)
        Positive weights of the rows.
    alphas : array of shape (alphas,)
        The ridges.
    fit_intercept : bool
        Whether there is an offset.
    splits : Splits
        The folds.

    Returns
    -------
    array of shape (alphas, test rows, targets)
        In the order of ``splits.tested``.
    """
    if not by_identity(splits, len(alphas)):
        return _by_training_sets(K, y, weights, alphas, fit_intercept, splits)
    fits = RidgePath(K, weights, fit_intercept).at(y, alphas)
    if splits.are_single:
        return fits.leave_one_out()[:, splits.tested]
    return np.concatenate([fits.leave_out(test) for _, test in splits.pairs or ()], axis=1)


def by_identity(splits: Splits, alphas: int) -> bool:
    """Whether the identity e_S = B_SS^-1 a_S serves, and costs less than a path for each fold.

    The identity needs the reduction of all rows with Q, 8/3 n^3, and for every alpha the blocks
    B_SS; a path of its own needs no Q, 4/3 n^3 of the training rows.
    """
    if not splits.are_complements:
        return False
    if splits.are_single:
        return True
    sizes = splits.sizes.astype(np.float64)
    blocks = 8 / 3 * splits.n**3 + alphas * (splits.n * sizes**2 + sizes**3 / 3).sum()
    paths = 4 / 3 * ((splits.n - sizes) ** 3).sum()
    return bool(blocks <= paths)


def _by_training_sets(
    K: Array, y: Array, weights: Array, alphas: Array, fit_intercept: bool, splits: Splits
) -> Array:
    errors = []
    for train, test in splits.pairs or ():
        path = RidgePath(K[np.ix_(train, train)], weights[train], fit_intercept)
        a, b = path.at(y[train], alphas).coefficients()
        errors.append(y[test] - K[np.ix_(test, train)] @ a - b[:, None])
    return np.concatenate(errors, axis=1)
