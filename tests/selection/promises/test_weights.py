"""Whole weights choose as repeated rows do; others leave a row out with all its weight."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut

from mercer.estimators import KernelRidge
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial, Sobolev
from mercer.selection import KernelLogisticRegressionCV, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.solvers.ridge.held_out import copies_of

N = 40
ALPHAS = [1e-2, 0.1, 1.0, 10.0]


@pytest.fixture
def counts(rng):
    return rng.integers(0, 4, size=N)


@pytest.fixture
def data(rng):
    X = np.abs(rng.normal(size=(N, 2)))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=N)


def repeated(counts, *arrays):
    return [np.repeat(array, counts, axis=0) for array in arrays]


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["offset", "no offset"])
@pytest.mark.parametrize(
    ("cv", "scoring"), [("loo", None), ("loo", "r2"), (LeaveOneOut(), None), ("gcv", None)], ids=str
)
@pytest.mark.parametrize(
    "kernels", [None, Gaussian(0.5), [Linear(), Polynomial()], Exponential(1.0), Sobolev()], ids=str
)
def test_ridges_are_scored_as_with_repeated_rows(data, counts, kernels, cv, scoring, fit_intercept):
    X, y = data
    if isinstance(kernels, Exponential | Sobolev):
        X = X[:, :1]
    settings = dict(cv=cv, scoring=scoring, fit_intercept=fit_intercept)
    weighted = KernelRidgeCV(kernels, ALPHAS, **settings).fit(X, y, counts)
    rows = KernelRidgeCV(kernels, ALPHAS, **settings).fit(*repeated(counts, X, y))
    scores = (m.cv_results_["mean_test_score"] for m in (weighted, rows))
    assert_allclose(*scores, rtol=1e-6)
    assert weighted.best_index_ == rows.best_index_


@pytest.mark.parametrize("fit_intercept", [True, False], ids=["offset", "no offset"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_scored_as_with_repeated_rows(data, counts, classes, fit_intercept):
    X, y = data
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    settings = dict(fit_intercept=fit_intercept, random_state=0)
    kernels, Cs = [Gaussian(0.5), Linear()], [0.1, 10.0]
    weighted = KernelLogisticRegressionCV(kernels, Cs, **settings).fit(X, labels, counts)
    rows = KernelLogisticRegressionCV(kernels, Cs, **settings).fit(*repeated(counts, X, labels))
    scores = (m.cv_results_["mean_test_score"] for m in (weighted, rows))
    assert_allclose(*scores, rtol=1e-6)
    assert_allclose(weighted.predict_proba(X), rows.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("n", "class_weight", "scoring"),
    [(300, None, "accuracy"), (300, {0: 0.3, 1: 1.7}, None), (1100, "balanced", None)],
)
def test_many_rows_choose_classes_as_with_repeated_rows(rng, n, class_weight, scoring):
    X = rng.normal(size=(n, 2))
    labels = (X[:, 0] * X[:, 1] + rng.normal(size=n) > 0.0).astype(int)
    counts = rng.integers(0, 4, size=n)
    model = KernelLogisticRegressionCV(
        [Gaussian(0.5), Gaussian(2.0), Linear()],
        [0.1, 1.0, 10.0],
        class_weight=class_weight,
        scoring=scoring,
        random_state=2,
    )
    weighted = clone(model).fit(X, labels, counts)
    order = rng.permutation(counts.sum())
    rows = clone(model).fit(*(array[order] for array in repeated(counts, X, labels)))
    scores = (m.cv_results_["mean_test_score"] for m in (weighted, rows))
    assert_allclose(*scores, rtol=1e-6)
    assert weighted.best_params_ == rows.best_params_


def test_equal_rows_of_several_weights_are_left_out_one_by_one(data, rng):
    X, y = data
    X = np.vstack([X, X[:10]])
    labels = np.append(y, y[:10]) > np.median(y)
    w = rng.uniform(0.5, 2.0, size=N + 10)
    w[N : N + 5] = w[:5]
    near = np.vstack([X[:N], X[N:] + 1e-12])
    equal, apart = (
        KernelLogisticRegressionCV(Gaussian(0.5), [0.1, 10.0]).fit(rows, labels, w)
        for rows in (X, near)
    )
    scores = (m.cv_results_["mean_test_score"] for m in (equal, apart))
    assert_allclose(*scores, rtol=1e-6)


@pytest.mark.parametrize("class_weight", [None, {0: 3, 1: 1, 2: 2}, "balanced"], ids=str)
def test_a_ridge_classifier_chooses_as_with_repeated_rows(data, counts, class_weight):
    X, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    settings = dict(class_weight=class_weight)
    weighted = KernelRidgeClassifierCV(**settings).fit(X, labels, counts)
    rows = KernelRidgeClassifierCV(**settings).fit(*repeated(counts, X, labels))
    assert_allclose(weighted.predict_proba(X), rows.predict_proba(X), rtol=1e-6)


def test_a_row_that_stands_for_three_is_left_out_once(data):
    X, y = data
    w = np.where(np.arange(N) == 5, 3.0, 1.0)
    model = KernelRidgeCV(Gaussian(0.5), [0.1]).fit(X, y, w)
    errors = []
    for i in range(N):
        less = w - (np.arange(N) == i)
        fitted = KernelRidge(Gaussian(0.5), 0.1).fit(X, y, less)
        errors.append(y[i] - fitted.predict(X[i : i + 1])[0])
    assert_allclose(model.best_score_, -np.average(np.square(errors), weights=w), rtol=1e-8)


def test_weights_that_are_no_counts_choose_alike_in_any_unit(data, rng):
    X, y = data
    w = rng.uniform(0.5, 2.0, size=N)
    once = KernelRidgeCV(Gaussian(0.5), ALPHAS).fit(X, y, w)
    larger = KernelRidgeCV(Gaussian(0.5), 1e4 * np.array(ALPHAS)).fit(X, y, 1e4 * w)
    assert_allclose(
        larger.cv_results_["mean_test_score"], once.cv_results_["mean_test_score"], rtol=1e-8
    )


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.floats(0.01, 0.99))
def test_only_whole_weights_count_copies(counts, part):
    w = np.array(counts, float)
    assert copies_of(w).tolist() == np.maximum(w, 1.0).tolist()
    assert copies_of(np.append(w, part)).tolist() == [1.0] * (len(w) + 1)
