"""Rows of a stream, each seen once, for the support vector machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from mercer.data.columns import stack_rows, take_rows
from mercer.estimators.classes import class_weighted, known_classes, one_against_rest, same_classes
from mercer.estimators.routes import definite
from mercer.estimators.svm.one_vs_one import pairs_of, slot
from mercer.estimators.svm.supports import Supports
from mercer.estimators.validation import (
    checked_codes,
    checked_rows,
    checked_targets,
    checked_unlabelled,
    checked_weights,
)
from mercer.gram import cross_gram, is_precomputed, unheld_gram_of
from mercer.kernels import Kernel
from mercer.solvers import MarginProblem
from mercer.solvers.margin.stochastic import moved

Array = NDArray[np.float64]

# Rows that are compared with the model before it learns from them.
BATCH = 32


def learn_classes(
    estimator: Any, C: float, X: Any, y: Any, classes: Any, sample_weight: Any
) -> None:
    """Let a classifier learn from more rows, and keep those that became support vectors."""
    is_first, kernel = _known_kernel(estimator, X)
    if is_first:
        X, named = checked_unlabelled(estimator, kernel, X), known_classes(classes)
    else:
        X, named = checked_rows(estimator, kernel, X), same_classes(classes, estimator.classes_)
    codes = checked_codes(estimator, X, y, named)
    weights = checked_weights(sample_weight, len(codes))
    before = 0.0 if is_first else estimator._totals_
    costs = C * class_weighted(weights, estimator.class_weight, codes, named, before)
    kernel = kernel.resolved(X) if is_first else kernel
    definite(estimator, kernel, X, unheld_gram_of(kernel, X, estimator.memory))
    if is_first:
        _begin(estimator, kernel, X, named)
    estimator._totals_ = estimator._totals_ + np.bincount(codes, weights, len(estimator.classes_))
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
    X = (checked_unlabelled if is_first else checked_rows)(estimator, kernel, X)
    y = column_or_1d(checked_targets(estimator, X, y), warn=True)
    costs = C * checked_weights(sample_weight, len(y))
    kernel = kernel.resolved(X) if is_first else kernel
    definite(estimator, kernel, X, unheld_gram_of(kernel, X, estimator.memory))
    if is_first:
        estimator.kernel_ = kernel
        estimator.intercept_, estimator.dual_coef_ = np.zeros(1), np.zeros((1, 0))
        estimator.n_iter_, estimator._seen_ = 1, 0
        _keep(estimator, take_rows(X, slice(0, 0)), np.empty(0, np.intp))
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
    f = estimator._values(X)[:, 0]
    if estimator.fit_intercept:
        pull = problem.offset(f) - estimator.intercept_
        estimator.intercept_ = estimator.intercept_ + pull / np.sqrt(numbers[0] / BATCH + 1.0)
    K = cross_gram(estimator.kernel_, X, X).dense()
    r = f + estimator.intercept_ - problem.z
    a = moved(replace(problem, fit_intercept=False), K, np.zeros(len(r)), r)
    kept = np.flatnonzero(a)
    rows = stack_rows(estimator._supports_.rows, take_rows(X, kept))
    estimator.dual_coef_ = np.hstack([estimator.dual_coef_, a[None, kept]])
    _keep(estimator, rows, np.append(estimator.support_, numbers[kept]))


def _keep(estimator: Any, rows: Any, index: NDArray[np.intp]) -> None:
    estimator.support_, estimator.n_support_ = index, np.array([len(index)], np.int32)
    estimator._keep_supports(Supports(estimator.kernel_, rows, index))


def _known_kernel(estimator: Any, X: Any) -> tuple[bool, Kernel]:
    """Return whether this is the first call, and the kernel: as given, or as it was then."""
    is_first = not hasattr(estimator, "_supports_")
    kernel = estimator._kernel_for(X) if is_first else estimator.kernel_
    if is_precomputed(kernel):
        raise ValueError("partial_fit needs rows to compare new ones with, not a Gram matrix")
    return is_first, kernel


def _begin(estimator: Any, kernel: Any, X: Any, classes: NDArray[Any]) -> None:
    k = len(classes)
    by_pairs = k > 2 and estimator.multiclass == "ovo"
    problems = 1 if k == 2 else len(pairs_of(k)) if by_pairs else k
    estimator.classes_, estimator.kernel_ = classes, kernel
    estimator.intercept_ = np.zeros(problems)
    estimator.dual_coef_ = np.zeros((k - 1 if by_pairs else problems, 0))
    estimator.support_ = np.empty(0, np.intp)
    estimator.n_support_ = np.zeros(k, np.int32)
    estimator.n_iter_ = np.ones(problems, np.intp)
    estimator._keep_supports(Supports(kernel, take_rows(X, slice(0, 0)), estimator.support_))
    estimator._seen_, estimator._totals_ = 0, np.zeros(k)


def _signs(estimator: Any, codes: NDArray[np.intp]) -> Array:
    """Return +1 or -1 for the side of each row in every problem, 0 where it takes no part."""
    k = len(estimator.classes_)
    if k == 2 or estimator.multiclass == "ovr":
        return one_against_rest(codes, k)
    first, second = np.array(pairs_of(k)).T
    return (codes[:, None] == first) * 1.0 - (codes[:, None] == second) * 1.0


def _learn(estimator: Any, X: Any, codes: NDArray[np.intp], costs: Array) -> None:
    signs = _signs(estimator, codes)
    misses = signs * estimator._scores(X) < 1.0
    a = np.where(misses, signs * costs[:, None], 0.0)
    seen = estimator._seen_
    if estimator.fit_intercept:
        whole = (np.abs(signs) * costs[:, None]).sum(axis=0)
        share = a.sum(axis=0) / np.maximum(whole, np.finfo(np.float64).tiny)
        estimator.intercept_ = estimator.intercept_ + share / np.sqrt(seen / BATCH + 1.0)
    k = len(estimator.classes_)
    if k > 2 and estimator.multiclass == "ovo":
        columns = np.zeros((k - 1, len(codes)))
        for p, (i, j) in enumerate(pairs_of(k)):
            for own, other in ((i, j), (j, i)):
                of = codes == own
                columns[slot(own, other), of] = a[of, p]
    else:
        columns = a.T
    kept = np.flatnonzero(columns.any(axis=0))
    old = np.repeat(np.arange(k), estimator.n_support_)
    everything = np.concatenate([old, codes[kept]])
    order = np.argsort(everything, kind="stable")
    rows = stack_rows(estimator._supports_.rows, take_rows(X, kept))
    index = np.concatenate([estimator.support_, seen + kept])[order]
    estimator.support_ = index
    estimator.dual_coef_ = np.hstack([estimator.dual_coef_, columns[:, kept]])[:, order]
    estimator.n_support_ = np.bincount(everything, minlength=k).astype(np.int32)
    estimator._keep_supports(Supports(estimator.kernel_, take_rows(rows, order), index))
    estimator._seen_ = seen + len(codes)
