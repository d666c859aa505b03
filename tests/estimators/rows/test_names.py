"""What fitted estimators have in common: one name and one shape for one idea."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    MercerMap,
)
from mercer.kernels import Gaussian, Linear

KERNEL = Gaussian(1.5)
ITERATED = [
    KernelRidge(KERNEL),
    KernelRidge(KERNEL, solver="cg"),
    KernelRidgeCV([KERNEL]),
    KernelRidgeClassifier(KERNEL),
    KernelLogisticRegression(KERNEL),
    KernelLogisticRegression(KERNEL, solver="cg"),
    KernelSVC(KERNEL),
    KernelSVC(KERNEL, multiclass="ovr"),
    KernelSVR(KERNEL),
    KernelPerceptron(KERNEL),
    KernelPCA(KERNEL, n_components=2, solver="iterative"),
    MercerMap(KERNEL, n_components=2),
]
RANDOM = [
    KernelRidge(KERNEL, solver="cg"),
    KernelLogisticRegression(KERNEL, solver="cg"),
    KernelSVC(KERNEL, solver="sgd", tol=0.1),
    KernelSVR(KERNEL, solver="sgd", tol=0.1),
    KernelSVC(Linear(), solver="primal"),
    KernelPerceptron(KERNEL, shuffle=True),
    KernelPCA(KERNEL, n_components=2, solver="iterative"),
    MercerMap(KERNEL, n_landmarks=9),
]


@pytest.fixture
def X(points):
    return points(60)


@pytest.fixture
def y(X):
    return np.digitize(X[:, 0] + np.sin(2.0 * X[:, 1]), [-0.7, 0.7])


@pytest.mark.parametrize("model", ITERATED, ids=str)
def test_iterations_are_one_number(model, X, y):
    n_iter = model.fit(X, y).n_iter_
    assert type(n_iter) is int
    assert n_iter >= 1


@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
@pytest.mark.parametrize("model", RANDOM, ids=str)
def test_a_fit_without_a_seed_is_repeated_to_the_bit(model, X, y):
    first = model.fit(X, y).function_
    assert model.fit(X, y).function_ == first


@pytest.mark.parametrize("estimator", [KernelSVC, KernelSVR])
def test_a_limit_of_steps_does_not_change_the_solver(estimator, rng):
    X = rng.normal(size=(1100, 2))
    free = estimator("linear").fit(X, X[:, 0] > 0.0)
    limited = estimator("linear", max_iter=10_000).fit(X, X[:, 0] > 0.0)
    assert type(limited.solver_) is type(free.solver_)
    assert limited.function_ == free.function_


@pytest.mark.parametrize(
    "search", [KernelRidgeCV([KERNEL]), KernelLogisticRegressionCV([KERNEL], Cs=[1.0])], ids=str
)
def test_a_search_keeps_its_best_estimator(search, X, y):
    search.fit(X, y)
    assert search.best_estimator_.function_ is search.function_
    assert not hasattr(search, "estimator_")


@pytest.mark.parametrize(
    "model", [KernelLogisticRegression(KERNEL), KernelRidgeClassifier(KERNEL)], ids=str
)
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_left_out_are_answered_as_new_ones_are(model, X, y, classes):
    y = np.minimum(y, classes - 1)
    model.fit(X, y)
    assert model.leave_one_out_decision_.shape == model.decision_function(X).shape
    assert model.leave_one_out_proba_.shape == model.predict_proba(X).shape
    codes = model.leave_one_out_proba_.argmax(axis=1)
    assert_array_equal(model.leave_one_out_predictions_, model.classes_[codes])
