"""What a plan of a search says."""

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)


@pytest.mark.parametrize("kind", [KernelRidgeCV, KernelRidgeClassifierCV])
def test_the_plan_of_a_search_counts_its_candidates_and_their_rows(kind, rng):
    X = rng.normal(size=(300, 3))
    small = kind([Gaussian(1.0)], [1.0]).plan(X)
    large = kind([Gaussian(s) for s in (0.5, 1.0, 2.0)], [0.1, 1.0]).plan(X)
    assert small.reason.startswith("1 candidates are scored on 300 rows; then, ")
    assert large.reason.startswith("6 candidates are scored on 300 rows; then, ")
    assert large.seconds > small.seconds > KernelRidge(Gaussian(1.0)).plan(X).seconds
    assert small.memory == large.memory == 16 * 300**2
    assert not large.alternatives


def test_the_plan_of_a_search_on_many_rows_names_its_sample(rng):
    X = rng.normal(size=(5000, 3))
    model = KernelRidgeCV([Gaussian(1.0), Gaussian(2.0)], [1.0])
    said = "2 candidates are scored on 3000 rows, and those of the best kernel on all 5000; then, "
    assert model.plan(X).reason.startswith(said)


@pytest.mark.parametrize(
    ("rows", "classes", "said"),
    [
        (200, 2, "40 candidates are scored on 200 rows; then, "),
        (900, 2, "40 candidates are scored on 250 rows, the best of them on 900 rows; then, "),
        (900, 3, "40 candidates are scored on 200 rows, the best of them on 800 rows, "),
    ],
)
def test_the_plan_of_a_logistic_search_names_the_rows_of_its_rounds(rows, classes, said, rng):
    X, y = rng.normal(size=(rows, 3)), np.arange(rows) % classes
    kernels = [Gaussian(s) for s in (0.5, 1.0, 2.0, 4.0)]
    model = KernelLogisticRegressionCV(kernels, np.geomspace(0.1, 10.0, 10))
    plan = model.plan(X, y)
    assert plan.reason.startswith(said)
    assert plan.seconds > KernelLogisticRegression().plan(X, y).seconds


def test_few_candidates_are_planned_on_all_rows_and_folds_count(rng):
    X, y = rng.normal(size=(900, 3)), np.arange(900) % 2
    plans = [KernelLogisticRegressionCV(Gaussian(1.0), 1.0, cv=cv).plan(X, y) for cv in (2, 5)]
    assert all("1 candidates are scored on 900 rows; then, " in plan.reason for plan in plans)
    assert plans[0].seconds < plans[1].seconds


def test_a_search_that_does_not_fit_in_time_says_so(rng):
    plan = KernelRidgeCV(time_limit=1e-6).plan(rng.normal(size=(200, 2)))
    assert not plan.is_in_time


@pytest.mark.parametrize("kind", [KernelRidgeCV, KernelRidgeClassifierCV])
def test_a_plan_without_targets_is_that_of_one(kind, rng):
    X = rng.normal(size=(60, 3))
    assert kind(Gaussian(1.0)).plan(X) == kind(Gaussian(1.0)).plan(X, np.arange(60) % 2)


def test_a_plan_without_labels_is_that_of_two_classes(rng):
    X, model = rng.normal(size=(60, 3)), KernelLogisticRegressionCV(Gaussian(1.0))
    assert model.plan(X) == model.plan(X, np.arange(60) % 2)
    assert model.plan(X).seconds < model.plan(X, np.arange(60) % 3).seconds
