"""What fits miss at rows that were left out: one by one, or whole groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.categories import is_missing
from mercer.data.checks import refuse_masked
from mercer.errors import SingularSystemError
from mercer.gram import Gram
from mercer.native import NotPositiveError
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.ridge.held_out import leave_one_out
from mercer.solvers.ridge.path import RidgePath

Array = NDArray[np.float64]
Sample = NDArray[np.intp]


def left_out(gram: Gram, y: Array, alphas: Array, w: Array, groups: Sample | None) -> Array:
    """Return what fits without a row, or without its group, miss there: (n, alphas, targets)."""
    if groups is not None:
        return _without_groups(gram, y, alphas, w, groups)
    # One Gram matrix for all ridges: every ridge has the targets for itself.
    targets = np.tile(y, len(alphas))
    problem = RidgeProblem(targets, np.repeat(alphas, y.shape[1]), w, True)
    return leave_one_out(gram, problem).residuals.reshape(len(y), len(alphas), -1)


def _without_groups(gram: Gram, y: Array, alphas: Array, w: Array, groups: Sample) -> Array:
    fits = RidgePath(gram.fresh(), w, True).at(y, alphas)
    missed = np.empty((len(y), len(alphas), y.shape[1]))
    try:
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            missed[rows] = fits.leave_out(rows).transpose(1, 0, 2)
    except NotPositiveError as error:
        raise SingularSystemError(
            f"the system of alpha={alphas[error.position]:g} is not positive definite to working "
            "precision; raise alpha"
        ) from None
    return missed


def wrong_share(codes: Array, scores: Array, w: Array) -> float:
    """Return the share of the weight of rows whose scores are of another class than their codes.

    Parameters
    ----------
    codes, scores : arrays of shape (n, columns)
        1 for the class of a row and -1 for the others, a column each; of two classes one column.
    w : array of shape (n,)
        The weights of the rows.
    """
    if codes.shape[1] == 1:
        is_wrong = ((scores > 0.0) != (codes > 0.0)).ravel()
    else:
        is_wrong = scores.argmax(axis=1) != codes.argmax(axis=1)
    return float(w @ is_wrong / w.sum())


def group_numbers(groups: Any, n: int) -> Sample:
    """Return the groups of `n` rows by number, whatever they are called."""
    refuse_masked(groups, "groups")
    labels = np.asarray(groups)
    if labels.dtype.kind == "U" and not isinstance(groups, np.ndarray):
        # NumPy makes text of all values beside one, also of a missing one.
        labels = np.asarray(groups, object)
    if labels.shape != (n,):
        raise ValueError(
            f"groups must hold a label for each of the {n} rows, got shape {labels.shape}"
        )
    # NaN and NaT differ from themselves.
    is_gap = _gaps(labels) if labels.dtype == object else labels != labels
    if is_gap.any():
        row = int(is_gap.argmax())
        raise ValueError(
            f"groups holds {labels[row]} at row {row}; name the group of such rows, or drop them"
        )
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.intp)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"groups mixes labels of the types {kinds}; make all of them strings"
        ) from None


def _gaps(labels: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([is_missing(label) for label in labels], bool)


def vary_alike(y: Array, few: Sample, sample: Sample) -> bool:
    """Whether few rows vary in every target that a sample does: they may lack a rare class."""
    varies = [np.ptp(y[rows], axis=0) > 0.0 for rows in (few, sample)]
    return bool((varies[0] | ~varies[1]).all())
