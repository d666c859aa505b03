"""Classes that float32 settles, so that float64 decides the others only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import n_rows
from mercer.estimators.svm.supports import Supports

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
# Scores of some rows at a time, f + b of every problem.
Scores = Callable[[Supports, Any], Iterator[tuple[slice, Array]]]
# The class of every row by its scores, and whether it is that of all scores as near as `doubt`.
Clear = Callable[[Array, Array], tuple[Codes, NDArray[np.bool_]]]

# Kernel entries from which on float32 saves more than it costs.
MANY_ENTRIES = 3 << 18
# Support vectors at which both precisions are compared, half of them those of the largest entries,
# and how many times their largest difference is granted to other rows.
SAMPLE, SAFETY = 64, 8.0


def settled_classes(
    supports: Supports, X: Any, scores: Scores, clear: Clear, exact: Callable[[Any], Codes]
) -> Codes:
    """Return the class of every row of `X`, as float64 has it.

    Scores in float32 settle the rows where they are further from any other class than some times
    the largest rounding error at a sample of support vectors. The others are decided in float64,
    and so are rows with larger entries than any support vector, which nobody has tried.

    Parameters
    ----------
    supports : Supports
        The support vectors.
    X : rows
        Where to predict.
    scores, clear : callable
        How the model scores, and what it makes of scores that are not exact.
    exact : callable
        The classes of rows by float64.
    """
    is_worth_it = n_rows(X) * n_rows(supports.rows) >= MANY_ENTRIES
    single = supports.in_single(X) if is_worth_it else None
    if single is None:
        return exact(X)
    doubt = SAFETY * supports.measured(lambda: _largest_error(supports, single, scores))
    classes, is_clear = np.empty(len(X), np.intp), np.empty(len(X), bool)
    for rows, some in scores(single, X.astype(np.float32)):
        classes[rows], is_clear[rows] = clear(some, doubt)
    most = np.abs(supports.rows).max()
    if X.max() > most or X.min() < -most:
        is_clear &= np.abs(X).max(axis=1) <= most
    rest = np.flatnonzero(~is_clear)
    if len(rest):
        classes[rest] = exact(X[rest])
    return classes


def _largest_error(supports: Supports, single: Supports, scores: Scores) -> Array:
    """Return how far the scores of float32 are off at some support vectors, for every problem."""
    rows = supports.rows
    half = min(SAMPLE // 2, len(rows))
    largest = np.argpartition(np.abs(rows).max(axis=1), -half)[-half:]
    sample = np.union1d(largest, np.linspace(0, len(rows) - 1, half).astype(np.intp))
    exact, rough = (
        np.concatenate([some for _, some in scores(machine, machine.rows[sample])])
        for machine in (supports, single)
    )
    return np.asarray(np.abs(exact - rough).max(axis=0))
