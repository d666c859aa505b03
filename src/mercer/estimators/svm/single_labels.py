"""Labels in float32, and in float64 near the boundary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import n_rows
from mercer.functions import DualFunction

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
# The class of every row by its scores, and whether it is that of all scores as near as `error`.
Clear = Callable[[Array, Array], tuple[Codes, NDArray[np.bool_]]]


def settled_classes(
    function: DualFunction,
    X: Any,
    clear: Clear,
    exact: Callable[[Any], Codes],
    many_entries: int = 3 << 18,
) -> Codes:
    """Return the class of every row of `X`, as float64 has it.

    Scores in float32 settle the rows where they are further from any other class than some times
    the largest rounding error at a sample of support vectors. The others are decided in float64,
    and so are rows with larger entries than any support vector, which nobody has tried.

    Parameters
    ----------
    function : DualFunction
        The scores, by support vectors.
    X : rows
        Where to predict.
    clear : callable
        What the model makes of scores that are not exact.
    exact : callable
        The classes of rows by float64.
    many_entries : int
        Kernel entries from which on float32 saves more than it costs.
    """
    is_worth_it = n_rows(X) * len(function.coefficients) >= many_entries
    single = function.in_single(X) if is_worth_it else None
    if single is None:
        return exact(X)
    # How many times the largest error of a sample is granted to other rows.
    safety = 8.0
    error = safety * function.single_error
    classes, is_clear = np.empty(len(X), np.intp), np.empty(len(X), bool)
    for rows, some in single.blocks(X.astype(np.float32)):
        classes[rows], is_clear[rows] = clear(some, error)
    most = np.abs(function.rows).max()
    if X.max() > most or X.min() < -most:
        is_clear &= np.abs(X).max(axis=1) <= most
    rest = np.flatnonzero(~is_clear)
    if len(rest):
        classes[rest] = exact(X[rest])
    return classes
