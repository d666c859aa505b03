"""A limit of memory that the process has no room in is told of once, where a fit begins."""

import warnings

import numpy as np
import pytest

from mercer import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelPerceptron,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    KernelRidgeMean,
    KernelRidgeMeanClassifier,
    KernelSVC,
    KernelSVR,
    MercerMap,
    Monomials,
    Nystroem,
    RandomFourier,
)
from mercer.errors import MemoryLimitWarning

X = np.random.default_rng(0).normal(size=(60, 3))
CLASSES = (X[:, 0] > 0.0).astype(int)


def told(use):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        use()
    return sum(issubclass(w.category, MemoryLimitWarning) for w in found)


@pytest.mark.parametrize(
    "kind",
    [
        KernelClassifier,
        KernelLogisticRegression,
        KernelLogisticRegressionCV,
        KernelPerceptron,
        KernelRegressor,
        KernelRidge,
        KernelRidgeClassifier,
        KernelRidgeClassifierCV,
        KernelRidgeCV,
        KernelSVC,
        KernelSVR,
    ],
)
def test_a_machine_tells_of_it_once_and_not_where_it_predicts(kind):
    machine = kind(memory="400MB")
    assert told(lambda: machine.fit(X, CLASSES)) == 1
    assert told(lambda: getattr(machine, "predict_proba", machine.predict)(X)) == 0
    assert told(lambda: machine.set_params(memory="1GB").fit(X, CLASSES)) == 0


@pytest.mark.parametrize("kind", [KernelRidgeMean, KernelRidgeMeanClassifier])
def test_a_mean_tells_of_it_once_for_all_its_kernels(kind):
    assert told(lambda: kind(["gaussian", "linear"], memory="400MB").fit(X, CLASSES)) == 1


@pytest.mark.parametrize("kind", [KernelPCA, MercerMap, Nystroem, Monomials, RandomFourier])
def test_a_transformer_tells_of_it_once_and_not_where_it_transforms(kind):
    settings = {"n_components": 10} if kind in (Nystroem, RandomFourier) else {}
    transformer = kind(memory="400MB", **settings)
    assert told(lambda: transformer.fit(X)) == 1
    assert told(lambda: transformer.transform(X)) == 0


@pytest.mark.parametrize(
    "kind", [KernelLogisticRegression, KernelPerceptron, KernelRidge, KernelSVC, KernelSVR]
)
def test_of_a_stream_the_first_call_tells_of_it(kind):
    machine = kind(memory="400MB")
    is_regression = kind in (KernelRidge, KernelSVR)
    classes = {} if is_regression else {"classes": [0, 1]}
    calls = (lambda: machine.partial_fit(X, CLASSES, **classes) for _ in range(2))
    assert [told(call) for call in calls] == [1, 0]


@pytest.mark.parametrize(("kind", "y"), [(KernelClassifier, CLASSES), (KernelRegressor, X[:, 0])])
def test_the_model_of_an_automatic_machine_has_the_limit_as_it_was_given(kind, y):
    assert kind(memory="1GB").fit(X, y).estimator_.memory == "1GB"
