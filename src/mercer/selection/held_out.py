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
    at_once: int | None = None,
) -> Iterator[tuple[slice, int, Array]]:
    """Yield y minus the prediction of the fit without the fold, at its test rows.

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
    at_once : int, optional
        For how many ridges errors are there at the same time; by default for all.

    Yields
    ------
    ridges : slice
        Which of the ridges these are.
    fold : int
        The number of the fold, 0 for rows that are left out one by one.
    errors : array of shape (ridges, test rows, targets)
        In the order of the test rows of the fold; the caller's own.
    """
    folds = _by_folds(held, y, weights, copies, alphas, fit_intercept, splits, at_once)
    for ridges, fold, test, blocks in folds:
        errors = np.empty((len(alphas[ridges]), len(test), y.shape[1]))
        for rows, some in blocks:
            errors[:, rows] = some
        yield ridges, fold, errors


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
    whose results are never there as a whole where structure spares them: squares are summed up
    block by block, in the order of the rows.
    """
    if splits.pairs is None and (copies == 1.0).all():
        return held.path(weights, fit_intercept).at(y, alphas).losses()[:, :, None]
    folds = _by_folds(held, y, weights, copies, alphas, fit_intercept, splits)
    losses = [_mean_square(blocks, weights[test]) for _, _, test, blocks in folds]
    return np.stack(losses, axis=2)


Blocks = Iterator[tuple[slice, Array]]


def _by_folds(
    held: Held,
    y: Array,
    weights: Array,
    copies: Array,
    alphas: Array,
    fit_intercept: bool,
    splits: Splits,
    at_once: int | None = None,
) -> Iterator[tuple[slice, int, Rows, Blocks]]:
    """Yield some of the ridges, the number of a fold, its test rows, and their errors in blocks."""
    step = at_once or len(alphas)
    parts = [slice(i, min(i + step, len(alphas))) for i in range(0, len(alphas), step)]
    if splits.are_single or held.by_identity(splits, len(alphas)):
        path = held.path(weights, fit_intercept)
        for ridges in parts:
            fits = path.at(y, alphas[ridges])
            for fold, test, blocks in _of_one_path(fits, copies, splits):
                yield ridges, fold, test, blocks
        return
    for fold, (train, test) in enumerate(splits.pairs or ()):
        part, others = held.split(train, test)
        path = part.path(weights[train], fit_intercept)
        for ridges in parts:
            fits = path.at(y[train], alphas[ridges])
            blocks = fits.predicted_by_blocks(others)
            yield ridges, fold, test, ((rows, y[test[rows]] - f) for rows, f in blocks)


def _of_one_path(
    fits: RidgeFits, copies: Array, splits: Splits
) -> Iterator[tuple[int, Rows, Blocks]]:
    """Yield the number of every fold, its test rows, and their errors in blocks."""
    if splits.pairs is None:
        yield 0, splits.tests[0], _one_copy_left_out(fits, copies)
        return
    # Rows that are folds by themselves are held out with all their copies.
    errors = fits.leave_one_out() if splits.are_single else None
    for fold, (_, test) in enumerate(splits.pairs):
        if errors is None:
            yield fold, test, fits.leave_out_by_blocks(test)
        else:
            yield fold, test, iter([(slice(0, len(test)), errors[:, test])])


def _one_copy_left_out(fits: RidgeFits, copies: Array) -> Blocks:
    if (copies == 1.0).all():
        yield from fits.leave_one_out_by_blocks()
        return
    for rows, errors, residuals in fits.missed_by_blocks():
        yield rows, less_one(errors, residuals, copies[rows, None])


def _mean_square(blocks: Blocks, weights: Array) -> Array:
    """Return the weighted mean of squared errors, of shape (alphas, targets)."""
    sums = [np.einsum("mit,mit,i->mt", e, e, weights[rows]) for rows, e in blocks]
    return np.asarray(sum(sums) / weights.sum())
