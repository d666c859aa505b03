"""The mean of the best candidates, and whether it is worth its further fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mercer.functions.mean import weighted_kernel
from mercer.selection.automatic.board import Candidate
from mercer.solvers.stacking import mean_weights

Array = NDArray[np.float64]
Judge = Callable[[Array], tuple[Array, float]]

# How many candidates a mean is of at most, and the least weight of each: every one is a fit to all
# rows, and takes its time at every prediction.
MOST_PARTS, LEAST_WEIGHT = 3, 0.05


def with_mean(
    finalists: Sequence[Candidate], judge: Judge, weights: Array, groups: NDArray[np.intp]
) -> list[Candidate]:
    """Return finalists, best first, with their mean among them.

    It comes before a learned kernel unless it is worse by more than one standard deviation of the
    mean difference on the same rows: of kernels whose scales were learned on some of these rows the
    best one looks better than it is, and a mean of several less so. What is not learned is only
    left for a mean that is better by more than that. The errors of a mean are those of weights from
    other rows, so that several kernels are no advantage by themselves.

    Parameters
    ----------
    finalists : sequence of Candidate
        Judged on the same rows, the one that is taken without the mean first.
    judge : callable
        What is missed at these rows, of shape (n, targets) -> squared errors of all, and a score.
    weights : array of shape (n,)
        Those of the rows.
    groups : array of shape (n,)
        Numbers of rows, the same for those that are left out together.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone (1984), Classification and regression trees (the
    rule of one standard error).
    """
    made = _mean(finalists, judge, weights, groups)
    if made is None:
        return list(finalists)
    gained = finalists[0].squares - made.squares
    deviation = gained.std() / np.sqrt(len(gained))
    if gained.mean() > (-deviation if finalists[0].is_learned else deviation):
        return [made, *finalists]
    return [finalists[0], made, *finalists[1:]]


def _mean(
    finalists: Sequence[Candidate], judge: Judge, weights: Array, groups: NDArray[np.intp]
) -> Candidate | None:
    """Return the mean of some of the finalists, or None where one alone is as good."""
    # Learning may change nothing but the ridge: of one kernel the first is taken.
    judged = {c.kernel: c for c in reversed(finalists) if c.missed is not None}
    finalists = [c for c in finalists if judged.get(c.kernel) is c]
    if len(finalists) < 2:
        return None
    missed = np.stack([c.missed for c in finalists if c.missed is not None], axis=-1)
    kept = _largest(_weights(missed, weights))
    missed = missed[..., kept]
    # To the digits that the data can tell: what is printed is what runs.
    shares = [float(f"{share:.2g}") for share in _weights(missed, weights)] if kept else []
    if len(kept) < 2 or not all(shares):
        return None
    parts = tuple(finalists[i] for i in kept)
    squares, score = judge(_by_other_rows(missed, weights, groups))
    names = (f"{share:g} {c.name}" for share, c in zip(shares, parts, strict=True))
    return replace(
        parts[0],
        name=f"mean: {' + '.join(names)}",
        kernel=weighted_kernel([c.kernel for c in parts], np.array(shares)),
        squares=squares,
        score=score,
        seconds=sum(c.seconds for c in parts),
        parts=parts,
        shares=tuple(shares),
    )


def _by_other_rows(missed: Array, weights: Array, groups: NDArray[np.intp]) -> Array:
    """Return what means of fits miss, each row by weights that other rows gave."""
    numbers = np.unique(groups, return_inverse=True)[1]
    # Folds of rows on which the weights are judged that other rows gave.
    n_folds = 5
    folds = np.random.default_rng(0).permutation(numbers.max() + 1)[numbers] % n_folds
    found = np.empty(missed.shape[:-1])
    for fold in np.unique(folds):
        out = folds == fold
        found[out] = missed[out] @ _weights(missed[~out], weights[~out])
    return found


def _weights(missed: Array, weights: Array) -> Array:
    errors = np.sqrt(weights)[:, None, None] * missed
    return mean_weights(errors.reshape(-1, missed.shape[-1]))


def _largest(v: Array) -> list[int]:
    """Return the places of the largest weights, the largest first."""
    order = np.argsort(-v, kind="stable")[:MOST_PARTS]
    return [int(i) for i in order if v[i] >= LEAST_WEIGHT]
