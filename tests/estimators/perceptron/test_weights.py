"""KernelPerceptron with weights of rows: sizes of steps."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer.errors import ConvergenceWarning
from mercer.estimators import KernelPerceptron
from mercer.kernels import Gaussian, Linear


@pytest.fixture
def rings(rng):
    X = rng.normal(size=(150, 2))
    return X, np.where((X**2).sum(axis=1) > 1.4, "outside", "inside")


@pytest.fixture
def three(rng):
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    y = rng.integers(0, 3, size=90)
    return centres[y] + rng.normal(size=(90, 2)), y


def test_a_row_of_some_weight_takes_steps_of_that_size(rng):
    X = rng.integers(-5, 6, size=(60, 3)).astype(float)
    y = np.where(X @ [2, -1, 1] + 0.5 > 0, 1, 0)
    weights = rng.uniform(0.5, 3.0, size=60)
    K, signs, f, a = X @ X.T + 1.0, 2.0 * y - 1.0, np.zeros(60), np.zeros(60)
    for i in np.tile(np.arange(60), 7):
        if signs[i] * f[i] <= 0.0:
            a[i] += 0.5 * weights[i] * signs[i]
            f = K @ a
    model = KernelPerceptron(Linear(1.0), 0.5, averaged=False, max_epochs=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, weights)
    assert_array_equal(model.support_, np.flatnonzero(a))
    assert_allclose(model.dual_coef_, a[None, model.support_], rtol=1e-10)


@pytest.mark.parametrize("settings", [{}, dict(averaged=False), dict(budget=8)], ids=str)
@pytest.mark.parametrize("memory", [None, 10_000])
def test_a_row_of_zero_weight_is_as_good_as_absent(three, rng, settings, memory):
    X, y = three
    weights = rng.integers(0, 3, size=90).astype(float)
    y[weights == 0.0] = 7
    used = weights > 0.0
    model = KernelPerceptron("gaussian", max_epochs=5, memory=memory, **settings)
    dropped = clone(model).fit(X[used], y[used], weights[used])
    model.fit(X, y, weights)
    assert model.kernel_ == dropped.kernel_
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_array_equal(model.decision_function(X), dropped.decision_function(X))
    assert_array_equal(model.support_, np.flatnonzero(used)[dropped.support_])


def test_equal_weights_change_no_prediction(rings):
    X, y = rings
    plain, weighted = (KernelPerceptron(Gaussian(0.7)).fit(X, y, w) for w in (None, 4.0))
    assert_allclose(weighted.decision_function(X), 4.0 * plain.decision_function(X), rtol=1e-9)
    assert weighted.mistakes_ == plain.mistakes_
    assert weighted.novikoff_bound_ == plain.novikoff_bound_


def test_weights_of_rows_and_of_classes_multiply(rings):
    X, y = rings
    weights = np.where(y == "inside", 3.0, 1.0)
    by_row = KernelPerceptron(Gaussian(0.7)).fit(X, y, weights)
    by_class = KernelPerceptron(Gaussian(0.7), class_weight={"inside": 3.0, "outside": 1.0})
    assert_array_equal(by_row.dual_coef_, by_class.fit(X, y).dual_coef_)
    balanced = KernelPerceptron(Gaussian(0.7), class_weight="balanced")
    totals = {label: weights[y == label].sum() for label in np.unique(y)}
    share = {label: weights.sum() / (2.0 * total) for label, total in totals.items()}
    own = KernelPerceptron(Gaussian(0.7), class_weight=share).fit(X, y, weights)
    assert_allclose(balanced.fit(X, y, weights).dual_coef_, own.dual_coef_)


@pytest.mark.parametrize("budget", [None, 8])
def test_a_stream_takes_weights(rings, rng, budget):
    X, y = rings
    weights = rng.integers(0, 3, size=150).astype(float)
    used = weights > 0.0
    settings = dict(budget=budget, averaged=False)
    model, dropped = (KernelPerceptron(Gaussian(0.7), **settings) for _ in range(2))
    for part in (slice(0, 50), slice(50, 150)):
        model.partial_fit(X[part], y[part], np.unique(y), weights[part])
        rows, labels, w = X[part][used[part]], y[part][used[part]], weights[part][used[part]]
        dropped.partial_fit(rows, labels, np.unique(y), w)
    assert_array_equal(model.decision_function(X), dropped.decision_function(X))
    assert model.n_seen_ == 150
    once = KernelPerceptron(Gaussian(0.7), max_epochs=1, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        once.fit(X, y, weights)
    assert_allclose(model.decision_function(X), once.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.zeros(150), "zero for every row"),
        (-np.ones(150), "must not be negative, got -1 at row 0"),
        (np.ones(3), "sample_weight"),
    ],
    ids=["zero", "negative", "too few"],
)
def test_weights_that_mean_nothing_are_refused(rings, weights, said):
    X, y = rings
    with pytest.raises(ValueError, match=said):
        KernelPerceptron().fit(X, y, weights)
    with pytest.raises(ValueError, match=said):
        KernelPerceptron().partial_fit(X, y, np.unique(y), weights)


def test_weights_that_leave_one_class_are_refused(rings):
    X, y = rings
    with pytest.raises(ValueError, match="at least two classes of positive weight"):
        KernelPerceptron().fit(X, y, (y == "inside").astype(float))
