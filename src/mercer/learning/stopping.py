"""Early stopping: which step of learning predicts rows best that were not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import is_matrix, is_table, n_columns
from mercer.data.limits.deadline import check
from mercer.errors import SingularSystemError
from mercer.estimators import KernelRidge
from mercer.kernels import Kernel
from mercer.solvers import Run
from mercer.tiles import Rows

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
    memory: Any,
    run: Run,
) -> int:
    """Return which of some kernels and ridges, one learned from the other, predicts best.

    It is the first unless another has a squared error that is less by two standard errors of the
    difference. The first and the last are tried, however little time there is, then the second and
    those twice as far each. A step whose system is singular is passed over. Where all are, or work
    is broken off before these two are tried, it is the last.

    Parameters
    ----------
    models : sequence of (Kernel, float)
        The steps of learning.
    learned, held_out : (rows, targets, weights)
        What was learned from, and what is predicted.
    memory : int or str, optional
        The limit of memory of a fit.
    run : Run
        When to end with the best so far.

    References
    ----------
    L. Prechelt (1998), Early stopping - but when?
    """
    last = len(models) - 1
    between = sorted({1 << i for i in range(last.bit_length())} - {last})
    tried, training = dict[int, Array | None](), (Rows.checked(learned[0]), *learned[1:])
    with run.guarded(), run.limited():
        for place in (0, last, *between):
            if run.is_over() and place in between:
                break
            kernel, alpha = models[place]
            model = KernelRidge(kernel, alpha, solver="cholesky", memory=memory)
            tried[place] = _errors(model, training, held_out)
    errors = {place: found for place, found in tried.items() if found is not None}
    if last not in tried or not errors:
        return last
    first, best = min(errors), min(sorted(errors), key=lambda place: float(errors[place].mean()))
    gain = errors[first] - errors[best]
    # One of several steps, of one of several kernels, is better by one standard error by chance.
    is_better = gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))
    return best if is_better else first


def _errors(
    model: KernelRidge,
    training: tuple[Rows, Array, Array],
    held_out: tuple[Any, Array, Array],
) -> Array | None:
    """Return the squared error at every row held out, or None where a system is singular.

    All rows were checked, which of a wide table takes longer than a fit to few rows.
    """
    others, targets, weights = held_out
    try:
        found = model.fit_checked(Run(None), model.kernel, *training).function_(others)
    except SingularSystemError:
        return None
    # What stands in for a fit that was broken off says nothing about the kernel.
    check()
    return np.asarray(weights * ((targets - found) ** 2).mean(axis=1))
