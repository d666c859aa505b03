"""Held-out errors of every alpha, by whichever closed form costs least."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mercer.selection.sources import Held
from mercer.selection.splits import Splits

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def held_out_errors(
    held: Held, y: Array, weights: Array, alphas: Array, fit_intercept: bool, splits: Splits
) -> Array:
    """Return y minus the prediction of the fit without the fold, at every test row.

    Parameters
    ----------
    held : Held
        What fits are made from; it may be overwritten.
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
    if splits.are_single:
        errors = held.path(weights, fit_intercept).at(y, alphas).leave_one_out()
        return errors if splits.pairs is None else errors[:, splits.tested]
    folds = _by_folds(held, y, weights, alphas, fit_intercept, splits)
    return np.concatenate([errors for _, errors in folds], axis=1)


def held_out_losses(
    held: Held, y: Array, weights: Array, alphas: Array, fit_intercept: bool, splits: Splits
) -> Array:
    """Return the weighted mean of the squared errors of all test rows, of shape (alphas, targets).

    The parameters are those of `held_out_errors`, whose result is never there as a whole where
    structure spares it.
    """
    if splits.pairs is None:
        return held.path(weights, fit_intercept).at(y, alphas).losses()
    if splits.are_single:
        errors = held_out_errors(held, y, weights, alphas, fit_intercept, splits)
        return _squares(errors, weights[splits.tested]) / weights[splits.tested].sum()
    total = np.zeros((len(alphas), y.shape[1]))
    for test, errors in _by_folds(held, y, weights, alphas, fit_intercept, splits):
        total += _squares(errors, weights[test])
    return total / weights[splits.tested].sum()


def _by_folds(
    held: Held, y: Array, weights: Array, alphas: Array, fit_intercept: bool, splits: Splits
) -> Iterator[tuple[Rows, Array]]:
    """Yield the test rows of every fold with their errors."""
    pairs = splits.pairs or ()
    if held.by_identity(splits, len(alphas)):
        fits = held.path(weights, fit_intercept).at(y, alphas)
        for _, test in pairs:
            yield test, fits.leave_out(test)
        return
    for train, test in pairs:
        part, others = held.split(train, test)
        fits = part.path(weights[train], fit_intercept).at(y[train], alphas)
        yield test, y[test] - fits.predicted(others)


def _squares(errors: Array, weights: Array) -> Array:
    return np.asarray(np.einsum("mit,mit,i->mt", errors, errors, weights))
