"""The last fit of an automatic machine, for which the search has left some time or none."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from mercer.data.columns import is_table, n_columns, n_rows
from mercer.data.limits.memory import steady_limit
from mercer.data.stream import Stream, part_of
from mercer.errors import ConvergenceWarning, MemoryLimitWarning, warn_caller
from mercer.estimators import KernelLogisticRegression, KernelRidge, KernelRidgeMean
from mercer.estimators.streams import SHARE
from mercer.kernels import Kernel
from mercer.native.lapack import one_blas_thread
from mercer.planning import logistic_part, ridge_part
from mercer.planning.parts import Part
from mercer.selection.automatic.search import KernelSearch
from mercer.selection.classifiers.mean import KernelRidgeMeanClassifier
from mercer.selection.classifiers.ridge import KernelRidgeClassifier
from mercer.selection.grid import reader_of
from mercer.solvers import Run
from mercer.solvers.contract import STAND_INS

Machine = KernelRidge | KernelRidgeMean | KernelRidgeClassifier | KernelLogisticRegression
Fitted = TypeVar("Fitted", bound=Machine)


def fitted_last(
    model: Fitted, run: Run, search: KernelSearch, X: Any, y: Any, sample_weight: Any
) -> Fitted:
    """Return a model fitted to all rows, or to as many as the time allows.

    Where the search took nearly all the time these are the rows that its kernel was judged on,
    which take as long as that did, and so they are where the fit comes to nothing before the time
    is up. A model of fewer rows than there are is said to be one.

    Parameters
    ----------
    model : estimator
        The model to fit, its kernel with numbers for parameters.
    run : Run
        The run of the search and the last fit together.
    search : KernelSearch
        The search.
    X, y, sample_weight
        As they were given to the machine, rows on a disk as a stream.
    """
    run.enter(f"fitting the best kernel by {type(model).__name__}")
    with warnings.catch_warnings():
        # The machine has told of its limit, which is that of the model.
        warnings.simplefilter("ignore", MemoryLimitWarning)
        if run.time_limit is None:
            model.fit(X, y, sample_weight)
        else:
            _fit_in_time(model, run, search, X, y, sample_weight)
    if run.time_limit is not None:
        # What was left of the limit was for this fit, and the limit is what the user gave.
        model.time_limit = run.time_limit
    return model


def _fit_in_time(
    model: Machine, run: Run, search: KernelSearch, X: Any, y: Any, sample_weight: Any
) -> None:
    """Fit a model to as many rows as the time allows, and say so."""
    n, limit = n_rows(X), run.time_limit
    assert limit is not None
    # The share of a time limit below which rows are fitted only if all of them are soon done.
    enough = 0.1
    left = run.seconds_left
    part = _affordable(model, run, search, X)
    if left >= enough * limit or (left > 0.0 and part.rows >= n):
        # What is kept back is for the judged rows, should this come to nothing.
        model.time_limit = left - min(0.5 * enough * limit, 0.5 * left)
        if part.rows < n or isinstance(X, Stream):
            model.n_landmarks = part.landmarks
        # Fewer landmarks than classes cannot tell these apart, and a factor of few rows can.
        if part.rows >= n or part.landmarks >= search.y.shape[1]:
            used = _some(model, search.seed, part.rows, X, y, sample_weight)
            model.fit(*used)
            if model.certificate_.method not in STAND_INS:
                _tell(run, n, n_rows(used[0]), "as many as there is time for")
                return
            # Millions of targets and weights are not to stand beside those of the next fit.
            del used
    model.time_limit, model.n_landmarks = max(run.seconds_left, 0.0) + run.grace, None
    judged = _part(_with_every_class(model, search.judged, y), X, y, sample_weight)
    with one_blas_thread():
        model.fit(*judged)
    _tell(run, n, n_rows(judged[0]), "those that kernels were judged on")


def _affordable(model: Machine, run: Run, search: KernelSearch, X: Any) -> Part:
    """Return how many of the rows can be fitted to in the memory and the time that is left."""
    columns = search.y.shape[1]
    left = run.rest or np.inf
    counted: Callable[..., Part] = ridge_part
    if isinstance(model, KernelLogisticRegression):
        counted = logistic_part
    elif isinstance(model, KernelRidgeClassifier):
        # Scores of rows left out, for probabilities, take about as long again.
        left /= 2.0
    kernels = _kernels(model)
    left /= len(kernels)
    limit = steady_limit(model._room)
    given = (reader_of(kernels), search.X, n_rows(X), columns, limit, left)
    return counted(*given, partial(_bytes_read, X, limit))


def _bytes_read(X: Any, limit: int, rows: int) -> int:
    """Return what some of the rows take: as they are read, and as they are checked.

    Those of a stream are read block by block where they are many, and it is their places and
    targets that are in memory. So fewer rows may take more: as soon as they take little of the
    limit they are read at once, which is sooner done.
    """
    is_stream = isinstance(X, Stream)
    if not (is_stream or is_table(X) or isinstance(X, np.ndarray)):
        return 0
    each = 8 * rows * (X.n_columns if is_stream else n_columns(X))
    if is_stream and each > SHARE * limit:
        place = 8 if X.index is None else X.index.itemsize
        return 0 if rows >= len(X) else (place + 8) * rows
    return 2 * each


def _kernels(model: Machine) -> list[Kernel]:
    """Return the kernels of which each is a fit."""
    if isinstance(model, KernelRidgeMean | KernelRidgeMeanClassifier):
        return list(model.kernels)
    return [model.kernel]


def affords(model: Machine, run: Run, search: KernelSearch, X: Any) -> bool:
    """Whether there is time to fit a model to all rows `X`."""
    if run.time_limit is None:
        return True
    return _affordable(model, run, search, X).rows >= n_rows(X)


def _some(
    model: Machine, seed: int, rows: int, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Any, Any]:
    """Return so many of the rows, drawn at random, with their targets and weights, or all."""
    n = n_rows(X)
    if rows >= n:
        return X, y, sample_weight
    index = np.sort(np.random.default_rng(seed).choice(n, rows, False))
    return _part(_with_every_class(model, index, y), X, y, sample_weight)


def _part(index: NDArray[np.intp], X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return some rows with their targets and weights."""
    weights = np.asarray(sample_weight)[index] if np.ndim(sample_weight) else sample_weight
    return part_of(X, index), np.asarray(y)[index], weights


def _with_every_class(model: Machine, index: NDArray[np.intp], y: Any) -> NDArray[np.intp]:
    """Return some rows with the first one of every class, lest the model lack one."""
    if not is_classifier(model):
        return index
    return np.union1d(index, np.unique(np.asarray(y), return_index=True)[1])


def _tell(run: Run, n: int, fitted: int, which: str) -> None:
    if fitted < n:
        warn_caller(
            f"time_limit={run.time_limit:g} is short for {n} rows: the model is fitted to "
            f"{fitted} of them, {which}; raise time_limit",
            ConvergenceWarning,
        )
