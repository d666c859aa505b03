"""Rows of a stream, each seen once, for the support vector machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from mercer.data.columns import stack_rows, take_rows
from mercer.estimators.classes import Labelled, one_against_rest
from mercer.estimators.refusals import refuse_unproved
from mercer.estimators.validation import (
    checked_block,
    checked_targets,
    checked_weights,
    is_first_call,
)
from mercer.functions import DualFunction, in_features
from mercer.functions.pairs import pairs_of, slot
from mercer.gram import unheld_gram_of
from mercer.kernels import Kernel
from mercer.solvers import MarginProblem
from mercer.solvers.margin.block_ascent import ascended

Array = NDArray[np.float64]

# Rows that are compared with the model before it learns from them.
BATCH = 32


def learn_classes(
    estimator: Any, C: float, X: Any, y: Any, classes: Any, sample_weight: Any
) -> None:
    """Let a classifier learn from more rows, and keep those that became support vectors."""
    is_first, kernel = _known_kernel(estimator, X)
    rows = checked_block(estimator, kernel, X)
    before = 0.0 if is_first else estimator._totals_
    data = Labelled.more(estimator, rows, y, classes, sample_weight, before)
    X, codes, costs = rows.X, data.codes, C * data.weights
    kernel = estimator._resolved(kernel, rows) if is_first else kernel
    if estimator.repair is None:
        refuse_unproved(kernel, X, unheld_gram_of(kernel, X, estimator._room))
    if is_first:
        _begin(estimator, kernel, X, data.classes)
    estimator._totals_ = estimator._totals_ + np.bincount(codes, data.copies, len(data.classes))
    # What was proved of an earlier fit is not proved of this model.
    vars(estimator).pop("certificate_", None)
    for start in range(0, len(codes), BATCH):
        part = np.arange(start, min(start + BATCH, len(codes)))
        _learn(estimator, take_rows(X, part), codes[part], costs[part])


def learn_targets(
    estimator: Any, C: float, epsilon: float, X: Any, y: Any, sample_weight: Any
) -> None:
    """Let a regression learn from more rows, and keep those that became support vectors."""
    is_first, kernel = _known_kernel(estimator, X)
    rows = checked_block(estimator, kernel, X)
    y = column_or_1d(checked_targets(estimator, rows, y), warn=True)
    X, costs = rows.X, C * checked_weights(sample_weight, len(y))
    kernel = estimator._resolved(kernel, rows) if is_first else kernel
    if estimator.repair is None:
        refuse_unproved(kernel, X, unheld_gram_of(kernel, X, estimator._room))
    if is_first:
        estimator.kernel_, estimator.n_iter_, estimator._seen_ = kernel, 1, 0
        none = take_rows(X, slice(0, 0))
        _keep(estimator, none, np.zeros((0, 1)), np.zeros(1), np.empty(0, np.intp))
    vars(estimator).pop("certificate_", None)
    used = np.flatnonzero(costs)
    for start in range(0, len(used), BATCH):
        part = used[start : start + BATCH]
        problem = MarginProblem.regression(
            y[part], costs[part], epsilon, bool(estimator.fit_intercept)
        )
        _learn_tube(estimator, take_rows(X, part), problem, estimator._seen_ + part)
    estimator._seen_ += len(y)


def _learn_tube(estimator: Any, X: Any, problem: MarginProblem, numbers: NDArray[np.intp]) -> None:
    """Follow the offset of a batch, and add its rows as far as they are outside of the tube."""
    dual, b = estimator.function_.dual, estimator.function_.intercept
    f = estimator.function_(X)[:, 0] - b
    if estimator.fit_intercept:
        b = b + (problem.offset(f) - b) / np.sqrt(numbers[0] / BATCH + 1.0)
    K = dual.kernel(X)
    a = ascended(replace(problem, fit_intercept=False), K, np.zeros(len(f)), f + b - problem.z)
    kept = np.flatnonzero(a)
    rows = stack_rows(dual.rows, take_rows(X, kept))
    coefficients = np.vstack([dual.coefficients, a[kept, None]])
    _keep(estimator, rows, coefficients, b, np.append(estimator.support_, numbers[kept]))


def _keep(estimator: Any, rows: Any, a: Array, b: Array, index: NDArray[np.intp]) -> None:
    estimator.support_, estimator.n_support_ = index, np.array([len(index)], np.int32)
    dual = DualFunction(estimator.kernel_, rows, a, b)
    estimator.function_ = in_features(dual, estimator._room)


def _known_kernel(estimator: Any, X: Any) -> tuple[bool, Kernel]:
    """Return whether this is the first call, and the kernel: as given, or as it was then."""
    is_first = is_first_call(estimator)
    if is_first:
        estimator._tell_of_memory()
    kernel = estimator._kernel_for(X) if is_first else estimator.kernel_
    if kernel.is_precomputed:
        raise ValueError("partial_fit needs rows to compare new ones with, not a Gram matrix")
    return is_first, kernel


def _begin(estimator: Any, kernel: Any, X: Any, classes: NDArray[Any]) -> None:
    k = len(classes)
    by_pairs = k > 2 and estimator.multiclass == "ovo"
    problems = 1 if k == 2 else len(pairs_of(k)) if by_pairs else k
    estimator.classes_, estimator.kernel_ = classes, kernel
    estimator.support_ = np.empty(0, np.intp)
    estimator.n_support_ = np.zeros(k, np.int32)
    estimator.n_iter_ = 1
    a = np.zeros((0, k - 1 if by_pairs else problems))
    estimator.function_ = estimator._dual(take_rows(X, slice(0, 0)), a, np.zeros(problems))
    estimator._seen_, estimator._totals_ = 0, np.zeros(k)


def _signs(estimator: Any, codes: NDArray[np.intp]) -> Array:
    """Return +1 or -1 for the side of each row in every problem, 0 where it takes no part."""
    k = len(estimator.classes_)
    if k == 2 or estimator.multiclass == "ovr":
        return one_against_rest(codes, k)
    first, second = np.array(pairs_of(k)).T
    return (codes[:, None] == first) * 1.0 - (codes[:, None] == second) * 1.0


def _learn(estimator: Any, X: Any, codes: NDArray[np.intp], costs: Array) -> None:
    dual, b = estimator.function_.dual, estimator.function_.intercept
    signs = _signs(estimator, codes)
    misses = signs * estimator.function_(X) < 1.0
    a = np.where(misses, signs * costs[:, None], 0.0)
    count = estimator._seen_
    if estimator.fit_intercept:
        whole = (np.abs(signs) * costs[:, None]).sum(axis=0)
        share = a.sum(axis=0) / np.maximum(whole, np.finfo(np.float64).tiny)
        b = b + share / np.sqrt(count / BATCH + 1.0)
    k, estimator._seen_ = len(estimator.classes_), count + len(codes)
    if getattr(estimator, "approximation_", None) is not None:
        # Landmarks are of no class, and have a coefficient for every problem.
        kept = np.flatnonzero(a.any(axis=1))
        rows, a = stack_rows(dual.rows, take_rows(X, kept)), np.vstack([dual.coefficients, a[kept]])
        estimator.support_ = np.concatenate([estimator.support_, count + kept])
        estimator.n_support_ = estimator.n_support_ + np.bincount(codes[kept], minlength=k)
        estimator.function_ = DualFunction(estimator.kernel_, rows, a, b)
        return
    if k > 2 and estimator.multiclass == "ovo":
        by_pair, a = a, np.zeros((len(codes), k - 1))
        for p, (i, j) in enumerate(pairs_of(k)):
            for own, other in ((i, j), (j, i)):
                of = codes == own
                a[of, slot(own, other)] = by_pair[of, p]
    kept = np.flatnonzero(a.any(axis=1))
    old = np.repeat(np.arange(k), estimator.n_support_)
    everything = np.concatenate([old, codes[kept]])
    order = np.argsort(everything, kind="stable")
    rows = take_rows(stack_rows(dual.rows, take_rows(X, kept)), order)
    a = np.vstack([dual.coefficients, a[kept]])[order]
    estimator.support_ = np.concatenate([estimator.support_, count + kept])[order]
    estimator.n_support_ = np.bincount(everything, minlength=k).astype(np.int32)
    estimator.function_ = in_features(estimator._dual(rows, a, b), estimator._room)
