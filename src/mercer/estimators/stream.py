"""Rows of a stream, each seen once, for the support vector machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import stack_rows, take_rows
from mercer.estimators.classes import class_weighted, known_classes, one_against_rest, same_classes
from mercer.estimators.rows import (
    checked_codes,
    checked_rows,
    checked_unlabelled,
    checked_weights,
    kernel_for,
)
from mercer.estimators.supports import Supports
from mercer.estimators.votes import pairs_of, slot
from mercer.gram import is_precomputed

Array = NDArray[np.float64]

# Rows that are compared with the model before it learns from them.
BATCH = 32


def learn_batch(estimator: Any, C: float, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Let a classifier learn from more rows, and keep those that became support vectors."""
    is_first = not hasattr(estimator, "_supports_")
    kernel = kernel_for(estimator.kernel, X) if is_first else estimator.kernel_
    if is_precomputed(kernel):
        raise ValueError("partial_fit needs rows to compare new ones with, not a Gram matrix")
    if is_first:
        X, named = checked_unlabelled(estimator, kernel, X), known_classes(classes)
        codes = checked_codes(estimator, X, y, named)
        _begin(estimator, kernel.resolved(X), X, named)
    else:
        X = checked_rows(estimator, kernel, X)
        codes = checked_codes(estimator, X, y, same_classes(classes, estimator.classes_))
    weights = checked_weights(sample_weight, len(codes))
    costs = C * class_weighted(weights, estimator.class_weight, codes, estimator.classes_)
    # What was proved of an earlier fit is not proved of this model.
    vars(estimator).pop("certificate_", None)
    for start in range(0, len(codes), BATCH):
        part = np.arange(start, min(start + BATCH, len(codes)))
        _learn(estimator, take_rows(X, part), codes[part], costs[part])


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
    estimator._supports_ = Supports(kernel, take_rows(X, slice(0, 0)), estimator.support_)
    estimator._seen_ = 0


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
    estimator._supports_ = Supports(estimator.kernel_, take_rows(rows, order), index)
    estimator._seen_ = seen + len(codes)
