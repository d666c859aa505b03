"""Every exported estimator and transformer against the checks of scikit-learn."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import mercer
from contract import OF_THE_CLASS, REPEATED, checks
from mercer import (
    Gaussian,
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
    KernelSVC,
    KernelSVR,
    Linear,
    Matern32,
    MercerMap,
    Polynomial,
)

EXPORTED = [
    value
    for value in (getattr(mercer, name) for name in mercer.__all__)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
]
# Each of their fits is a search.
SEARCHES = (KernelClassifier, KernelLogisticRegressionCV, KernelRegressor)
# Beside these settings there are those in the files of the estimators themselves.
SETTINGS = [
    KernelLogisticRegression(Matern32(2.0), 10.0, class_weight="balanced"),
    KernelPCA(Matern32(2.0), n_components=1),
    KernelPCA(solver="nystrom", landmarks="uniform"),
    KernelRidge(Matern32(2.0), 0.1, solver="cholesky", fit_intercept=False),
    KernelRidge(solver="nystrom"),
    KernelRidgeClassifier("laplacian", class_weight="balanced", repair="clip"),
    KernelRidgeClassifierCV([Gaussian(2.0), Linear()], [0.1, 1.0]),
    KernelRidgeClassifierCV("laplacian", class_weight="balanced"),
    KernelRidgeClassifier(solver="nystrom"),
    KernelRidgeCV(cv="gcv"),
    KernelRidgeCV(Gaussian(2.0), solver="nystrom"),
    KernelRidgeCV("polynomial", cv=4, scoring="r2"),
    KernelRidgeCV([Gaussian(2.0), Linear()], alpha_per_target=True),
    KernelSVC(Matern32(2.0), 0.5, class_weight="balanced"),
    KernelLogisticRegression(Matern32(2.0), solver="sgd", tol=1e-14),
    KernelRidge(Matern32(2.0), 0.1, solver="sgd", tol=1e-11),
    KernelSVC(solver="sgd", tol=0.1),
    # An answer is good to its tolerance, and the checks compare seven digits.
    KernelSVC("linear", solver="primal", tol=1e-8),
    KernelSVR("linear", solver="primal", tol=1e-8),
    KernelLogisticRegression(solver="nystrom", tol=1e-18),
    KernelSVC(solver="nystrom", tol=1e-10),
    KernelSVR(solver="nystrom", tol=1e-10),
    KernelSVR(Matern32(2.0), 10.0),
    MercerMap(Matern32(2.0)),
    MercerMap(solver="nystrom"),
    KernelLogisticRegression("auto"),
    KernelLogisticRegressionCV("auto", 1.0),
    KernelPCA("auto"),
    KernelPerceptron("auto"),
    KernelRidge("auto"),
    KernelRidgeClassifier("auto"),
    KernelRidgeCV("auto"),
    KernelSVC("auto"),
    KernelSVR("auto"),
    MercerMap("auto"),
]


# Some checks hand two values to regressors, of which ours says that a classifier suits them.
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.TwoValuesWarning")


@checks(kind() for kind in EXPORTED if kind not in SEARCHES)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@checks(SETTINGS, but=OF_THE_CLASS)
def test_it_keeps_the_contract_of_scikit_learn_in_other_settings(estimator, check):
    check(estimator)


# By default one tries eight penalties, and the others learn kernels for more steps.
@pytest.mark.usefixtures("brief")
@checks(
    [KernelClassifier(), KernelLogisticRegressionCV(Cs=[0.1, 1.0]), KernelRegressor()], but=REPEATED
)
def test_a_search_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.xfail(
    reason="the check wants 87 % of new rows in the class of large weight, and the minimum that is "
    "asked for, as that of scikit-learn's SVC with this kernel, has 80 % there",
    raises=AssertionError,
    strict=True,
)
def test_a_class_of_large_weight_has_most_rows_of_a_quadric():
    check_class_weight_classifiers("KernelSVC", KernelSVC(Polynomial()))


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
        "Nystroem",
        "RandomFourier",
    }
