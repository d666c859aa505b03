"""Held-out errors of every alpha, by whichever closed form costs least."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mercer.selection.sources import Held
from mercer.selection.splits import Splits
from mercer.solvers.ridge.held_out import less_one
from mercer.solvers.smoother import RidgeFits

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def held_out_errors(
    held: Held,
    y: Array,
    weights: Array,
    copies: Array,
    alphas: Array,
    fit_intercept: bool,
    splits: Splits,
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
    copies : array of shape (n,)
        How many equal rows every row stands for, one of which leave-one-out leaves out. A fold
        holds a row out with all its copies.
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
    if splits.pairs is None:
        return _one_copy_left_out(held.path(weights, fit_intercept).at(y, alphas), copies)
    folds = _by_folds(held, y, weights, alphas, fit_intercept, splits)
    return np.concatenate([errors for _, errors in folds], axis=1)


def held_out_losses(
    held: Held,
    y: Array,
    weights: Array,
    copies: Array,
    alphas: Array,
    fit_intercept: bool,
    splits: Splits,
) -> Array:
    """Return the weighted mean squared error of every fold, of shape (alphas, targets, folds).

    Rows that are left out one by one are one fold. The parameters are those of `held_out_errors`,
    whose result is never there as a whole where structure spares it.
    """
    if splits.pairs is not None:
        folds = _by_folds(held, y, weights, alphas, fit_intercept, splits)
        return np.stack([_mean_square(e, weights[test]) for test, e in folds], axis=2)
    fits = held.path(weights, fit_intercept).at(y, alphas)
    if (copies == 1.0).all():
        return fits.losses()[:, :, None]
    return _mean_square(_one_copy_left_out(fits, copies), weights)[:, :, None]


def _one_copy_left_out(fits: RidgeFits, copies: Array) -> Array:
    errors = fits.leave_one_out()
    if (copies == 1.0).all():
        return errors
    return less_one(errors, fits.residuals(), copies[:, None])


def _by_folds(
    held: Held, y: Array, weights: Array, alphas: Array, fit_intercept: bool, splits: Splits
) -> Iterator[tuple[Rows, Array]]:
    """Yield the test rows of every fold with their errors."""
    pairs = splits.pairs or ()
    if splits.are_single:
        errors = held.path(weights, fit_intercept).at(y, alphas).leave_one_out()
        for _, test in pairs:
            yield test, errors[:, test]
        return
    if held.by_identity(splits, len(alphas)):
        fits = held.path(weights, fit_intercept).at(y, alphas)
        for _, test in pairs:
            yield test, fits.leave_out(test)
        return
    for train, test in pairs:
        part, others = held.split(train, test)
        fits = part.path(weights[train], fit_intercept).at(y[train], alphas)
        yield test, y[test] - fits.predicted(others)


def _mean_square(errors: Array, weights: Array) -> Array:
    """Return the weighted mean of squared errors, of shape (alphas, targets)."""
    return np.asarray(np.einsum("mit,mit,i->mt", errors, errors, weights) / weights.sum())
