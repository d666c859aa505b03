"""Early stopping: which step of learning predicts rows best that were not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import is_matrix, is_table, n_columns
from mercer.estimators import KernelRidge
from mercer.kernels import Kernel
from mercer.solvers import Run

Array = NDArray[np.float64]
Sample = NDArray[np.intp]


# With this share as many parameters as rows, the likeliest of them explain noise, too.
MANY = 0.25


def rows_to_give(X: Any, rows: int) -> int:
    """Return how many rows such as `X` to give to learning from so many of them.

    Where there are many columns it is twice as many: the others are held out.
    """
    is_wide = (is_table(X) or is_matrix(X)) and n_columns(X) > MANY * rows
    return 2 * rows if is_wide else rows


def rows_to_learn_from(weights: Array, most: int, seed: int) -> Sample:
    """Return rows of positive weight in order, all of them or a random sample of so many."""
    used = np.flatnonzero(weights > 0.0)
    if len(used) <= most:
        return used
    return np.sort(np.random.default_rng(seed).choice(used, most, replace=False))


def rows_held_out(weights: Array, sample: Sample, parameters: int, seed: int) -> Sample:
    """Return the rows that are to say when to stop, none where parameters are few.

    They are others than those to learn from, as many as these at most; where there are not enough
    of them, a third of the rows to learn from.

    Parameters
    ----------
    weights : array of shape (n,)
        The weights of all rows; those of no weight say nothing.
    sample : array of shape (m,)
        Those to learn from.
    parameters : int
        How many parameters there are to learn.
    seed : int
        Seed of the draw.
    """
    # Of fewer rows none can be spared.
    least = 12
    if parameters <= MANY * len(sample) or len(sample) < least:
        return sample[:0]
    others, wanted = np.setdiff1d(np.flatnonzero(weights > 0.0), sample), len(sample)
    if 3 * len(others) < wanted:
        others, wanted = sample, wanted // 3
    if len(others) <= wanted:
        return others
    return np.sort(np.random.default_rng(seed).choice(others, wanted, replace=False))


def best_step(
    models: Sequence[tuple[Kernel, float]],
    learned: tuple[Any, Array, Array],
    held_out: tuple[Any, Array, Array],
    run: Run,
) -> int:
    """Return which of some kernels and ridges, one learned from the other, predicts best.

    It is the first unless another has a squared error that is less by two standard errors of the
    difference. The first, the second and those twice as far each are tried, and the last.

    Parameters
    ----------
    models : sequence of (Kernel, float)
        The steps of learning.
    learned, held_out : (rows, targets, weights)
        What was learned from, and what is predicted.
    run : Run
        When to end with the best so far.

    References
    ----------
    L. Prechelt (1998), Early stopping - but when?
    """
    X, y, w = learned
    others, targets, weights = held_out
    last = len(models) - 1
    places = sorted({0, last, *(1 << i for i in range(last.bit_length()))})
    errors = dict[int, Array]()
    for place in places:
        if errors and run.is_over():
            break
        kernel, alpha = models[place]
        found = KernelRidge(kernel, alpha, solver="cholesky").fit(X, y, w).predict(others)
        errors[place] = weights * ((targets - found.reshape(targets.shape)) ** 2).mean(axis=1)
    best = min(errors, key=lambda place: float(errors[place].mean()))
    gain = errors[0] - errors[best]
    # One of several steps, of one of several kernels, is better by one standard error by chance.
    is_better = gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))
    return best if is_better else 0
