"""The plan of an automatic machine: its rounds, and the fit of a kernel like those tried."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor
from mercer.selection.automatic.kernels import starts
from mercer.selection.automatic.plans import automatic_plan, likely_kernel
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run


@pytest.fixture
def X(rng):
    return rng.normal(size=(120, 3))


@pytest.mark.parametrize("machine", [KernelRegressor, KernelClassifier])
def test_the_kernels_and_the_rows_of_both_rounds_are_named(X, machine, rng):
    said = f"{len(starts(X))} candidates are scored on 120 rows, the best of them on 120; then, "
    assert machine().plan(X).reason.startswith(said)
    many = rng.normal(size=(1200, 3))
    said = f"{len(starts(X))} candidates are scored on 400 rows, the best of them on 1000; then, "
    assert machine().plan(many).reason.startswith(said)
    assert machine().plan(many).seconds > machine().plan(X).seconds


def test_without_targets_it_is_the_plan_of_one_and_without_labels_that_of_two_classes(X):
    assert KernelRegressor().plan(X) == KernelRegressor().plan(X, X[:, 0])
    assert KernelClassifier().plan(X) == KernelClassifier().plan(X, np.arange(120) % 2)


@pytest.mark.parametrize("machine", [KernelRegressor, KernelClassifier])
def test_nothing_is_kept_of_a_plan(X, machine):
    model = machine()
    model.plan(X)
    assert set(vars(model)) == set(model.get_params())


def test_the_search_takes_no_more_than_its_share_of_a_time_limit(X):
    free = KernelRegressor().plan(X)
    search = KernelSearch(X, X[:, :1], np.ones(120), 1.0, np.arange(120), 10**9, 0, Run())
    short = KernelRegressor(time_limit=0.5 * free.seconds).plan(X)
    assert short.seconds < free.seconds
    assert short.seconds == pytest.approx(0.35 * free.seconds, rel=0.2)
    assert likely_kernel(search).is_resolved


def test_few_rows_are_not_learned_from(rng):
    X = rng.normal(size=(29, 3))
    count = len(starts(X, is_learned=False))
    assert KernelRegressor().plan(X).reason.startswith(f"{count} candidates are scored on 29 rows")


def test_the_memory_is_that_of_the_rows_that_are_judged(X):
    plan = KernelRegressor().plan(X)
    # Of the sum of six kernels every pair of rows takes 56 bytes and 8 for every term.
    assert plan.memory == (56 + 6 * 8) * 120**2


@pytest.mark.parametrize("classes", [2, 3, 31])
def test_classes_are_compared_up_to_thirty(rng, classes):
    X, y = rng.normal(size=(93, 3)), np.arange(93) % classes
    solver = KernelClassifier().plan(X, y).solver
    assert (solver == "cholesky") is (classes == 31)


def test_a_table_with_text_and_categories_has_a_plan(rng):
    table = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "kind": ["a", "b", "c"] * 20,
            "words": ["one two three", "two three four"] * 30,
        }
    )
    assert KernelRegressor().plan(table, rng.normal(size=60)).seconds > 0.0


def test_the_time_of_the_fit_is_added(X):
    search = KernelSearch(X, X[:, :1], np.ones(120), 1.0, np.arange(120), 10**9, 0, Run())
    last = KernelRegressor().plan(X)
    one, two = (automatic_plan(search, replace(last, seconds=s)).seconds for s in (1.0, 2.0))
    assert two - one == pytest.approx(1.0)
