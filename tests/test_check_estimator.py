"""Every exported estimator and transformer against the checks of scikit-learn."""

import inspect

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from contract import expected_failures
from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    Linear,
    Matern32,
    MercerMap,
)

EXPORTED = [
    value
    for value in (getattr(mercer, name) for name in mercer.__all__)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
]
# Beside these settings there are those in the files of the estimators themselves.
SETTINGS = [
    KernelLogisticRegression(Matern32(2.0), 10.0, class_weight="balanced"),
    KernelPCA(Matern32(2.0), n_components=1),
    KernelRidge(Matern32(2.0), 0.1, solver="cholesky", fit_intercept=False),
    KernelRidgeClassifier(None, None),
    KernelRidgeClassifier([Gaussian(2.0), Linear()], [0.1, 1.0]),
    KernelRidgeClassifier("laplacian", None, class_weight="balanced", repair="clip"),
    KernelRidgeCV(cv="gcv"),
    KernelRidgeCV("polynomial", cv=4, scoring="r2"),
    KernelRidgeCV([Gaussian(2.0), Linear()], alpha_per_target=True),
    KernelSVC(Matern32(2.0), 0.5, class_weight="balanced"),
    KernelSVR(Matern32(2.0), 10.0),
    MercerMap(Matern32(2.0)),
]


@parametrize_with_checks(
    [*(kind() for kind in EXPORTED), *SETTINGS], expected_failed_checks=expected_failures
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_estimators_are_those_that_are_known_to_be_exported():
    assert {kind.__name__ for kind in EXPORTED} >= {
        "KernelLogisticRegression",
        "KernelLogisticRegressionCV",
        "KernelPCA",
        "KernelPerceptron",
        "KernelRidge",
        "KernelRidgeCV",
        "KernelRidgeClassifier",
        "KernelSVC",
        "KernelSVR",
        "MercerMap",
        "Monomials",
    }
