"""Estimators predict by the function that they keep, of which their attributes are parts."""

import pickle

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
from mercer.functions import function_from_state
from mercer.kernels import Exponential, Gaussian, Polynomial

KERNEL = Gaussian(1.5)
REGRESSIONS = [
    KernelRidge(KERNEL),
    KernelRidge(KERNEL, solver="cg", random_state=0),
    KernelRidge(Polynomial(2), solver="primal"),
    KernelRidge(Exponential(1.0).on(0), solver="banded"),
    KernelRidgeCV([KERNEL], alphas=[0.1, 1.0]),
    KernelSVR(KERNEL),
    KernelSVR(Polynomial(2), solver="primal"),
]
CLASSIFIERS = [
    KernelRidgeClassifier(KERNEL),
    KernelLogisticRegression(KERNEL),
    KernelLogisticRegression(Polynomial(2), solver="cg", random_state=0),
    KernelLogisticRegressionCV([KERNEL], Cs=[1.0, 10.0]),
    KernelSVC(KERNEL, decision_function_shape="ovo"),
    KernelSVC(KERNEL, multiclass="ovr"),
    KernelSVC(Polynomial(2), solver="primal", decision_function_shape="ovo"),
    KernelPerceptron(KERNEL),
]
FEATURES = [KernelPCA(KERNEL, n_components=3), MercerMap(KERNEL, n_components=3)]


@pytest.fixture
def X(points):
    return points(60)


@pytest.fixture
def y(X):
    return X[:, 0] + np.sin(2.0 * X[:, 1])


def labels(y, classes):
    return np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))


@pytest.mark.parametrize("model", REGRESSIONS, ids=str)
def test_a_regression_predicts_by_its_function(model, X, y, points):
    model.fit(X, y)
    new = points(9)
    assert_array_equal(model.predict(new), model.function_(new)[:, 0])


def test_a_regression_of_several_targets_has_a_value_for_each(X, y, points):
    model = KernelRidge(KERNEL, [0.1, 1.0]).fit(X, np.column_stack([y, -y]))
    new = points(9)
    assert_array_equal(model.predict(new), model.function_(new))
    assert model.dual_coef_.shape == (60, 2)
    assert model.intercept_.shape == (2,)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_a_classifier_decides_by_its_function(model, X, y, points, classes):
    model.fit(X, labels(y, classes))
    new = points(9)
    scores = model.function_(new)
    assert_array_equal(model.decision_function(new), scores[:, 0] if classes == 2 else scores)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_a_classifier_has_a_row_of_coefficients_for_every_function(model, X, y, classes):
    model.fit(X, labels(y, classes))
    dual = model.function_.dual
    m = len(dual.coefficients)
    by_pairs = isinstance(model, KernelSVC) and model.multiclass == "ovo"
    assert model.dual_coef_.shape == (classes - 1 if by_pairs or classes == 2 else classes, m)
    assert model.intercept_.shape == (1 if classes == 2 else 3,)
    assert np.shares_memory(model.dual_coef_, dual.coefficients)
    assert model.intercept_ is model.function_.intercept


@pytest.mark.parametrize("model", FEATURES, ids=str)
def test_features_are_the_values_of_a_function(model, X, points):
    new = points(9)
    assert_array_equal(model.fit(X).transform(new), model.function_(new))


@pytest.mark.parametrize("model", [*REGRESSIONS, *CLASSIFIERS, *FEATURES], ids=str)
def test_a_fitted_function_survives_pickle_and_its_state(model, X, y):
    function = model.fit(X, labels(y, 2)).function_
    assert pickle.loads(pickle.dumps(model)).function_ == function
    assert function_from_state(function.state()) == function


def test_attributes_of_a_model_that_is_not_fitted_are_absent():
    for model in (*REGRESSIONS, *CLASSIFIERS):
        model = type(model)()
        for name in ("function_", "dual_coef_", "coef_", "intercept_", "support_vectors_"):
            assert not hasattr(model, name)


def test_nobody_writes_into_the_coefficients_of_a_model(rng):
    X = rng.normal(size=(30, 2))
    for model in (KernelRidge(), KernelSVC(), KernelLogisticRegression()):
        fitted = model.fit(X, X[:, 0] > 0.0)
        before = fitted.function_(X)
        for numbers in (fitted.dual_coef_, fitted.function_.coefficients):
            with pytest.raises(ValueError, match="read-only"):
                numbers[:] = 0.0
        assert_array_equal(fitted.function_(X), before)
