"""The plan of an automatic machine: its rounds, and the fit of a kernel like those tried."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.planning.rates import Work
from mercer.selection.automatic import plans
from mercer.selection.automatic.board import Recipe
from mercer.selection.automatic.kernels import starts
from mercer.selection.automatic.plans import (
    automatic_plan,
    comparison_work,
    cross_fit_work,
    likely_kernel,
    likely_recipes,
)
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


def test_the_search_takes_no_more_than_its_share_of_a_time_limit(monkeypatch, X):
    # Folds of few rows have a share of their own.
    monkeypatch.setattr(KernelRegressor, "nested_rows", 0)
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


@pytest.mark.parametrize("classes", [2, 3, 30, 31])
def test_logistic_regression_is_counted_up_to_thirty_classes(rng, classes, monkeypatch):
    seen = []
    plan = mercer.KernelLogisticRegressionCV.plan

    def counted(self, X, y):
        seen.append((len(y), len(np.unique(y)), self.Cs))
        return plan(self, X, y)

    monkeypatch.setattr(mercer.KernelLogisticRegressionCV, "plan", counted)
    X, y = rng.normal(size=(93, 3)), np.arange(93) % classes
    assert KernelClassifier().plan(X, y).seconds > 0.0
    assert seen == ([] if classes == 31 else [(93, classes, (0.3, 3.0, 30.0, 300.0))])


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


class Fit:
    """A plan of the fit after a search, which keeps what the search takes."""

    time_limit = None

    def after_search(self, candidates, scored, work, needed):
        self.candidates, self.scored, self.work, self.needed = candidates, scored, work, needed
        return self


def search_of(n, d=3):
    X = np.random.default_rng(0).normal(size=(n, d))
    return KernelSearch(X, X[:, :1], np.ones(n), 1.0, np.arange(n), 10**9, 0, Run())


@pytest.fixture
def counted(monkeypatch):
    """Steps and judgements count as one, and the entries of a kernel as one, by their rows."""

    def step(n, entry):
        return Work(double=n == 400, single=n == 800, symbol=entry.function * (n == 800))

    def judged(n, entry):
        return Work(column=n == 400, byte=n == 1000)

    monkeypatch.setattr(plans, "_step", step)
    monkeypatch.setattr(plans, "_judged", judged)
    monkeypatch.setattr(plans, "entry_work", lambda kernel, rows: Work(function=1.0))


def test_the_steps_and_judgements_that_are_counted_are_those_of_the_rounds(counted):
    found = automatic_plan(search_of(1200), Fit())
    # Two kernels that lead and a sum of 20 steps, six of 8, and 25 judged on 400 rows; two times
    # 12 steps and 8 with the entries of one, three and six kernels, and seven judged on 1000.
    assert found.work == Work(double=108, single=32, column=25, byte=7, symbol=12 + 36 + 48)
    assert found.candidates == 17
    assert found.scored == "400 rows, the best of them on 1000"
    assert found.needed == (56 + 6 * 8) * 800**2


def test_without_learning_two_widths_are_judged_and_the_best_two_again(monkeypatch):
    monkeypatch.setattr(plans, "_judged", lambda n, entry: Work(column=1.0))
    for n, learned in ((29, False), (30, True)):
        found = automatic_plan(search_of(n), Fit())
        # Eight kernels at two widths, and two finalists.
        assert (found.work.column == 18) is not learned
        assert (found.work.double > 0.0) is learned


def test_the_matrix_that_is_judged_is_larger_than_the_sums_of_few_rows(monkeypatch):
    monkeypatch.setattr(KernelSearch, "second_rows", 100)
    assert automatic_plan(search_of(1200), Fit()).needed == 56 * 1000**2


def test_of_many_columns_the_fits_that_say_when_to_stop_are_counted(counted):
    few, many = (plans._learned(search_of(900, d), 400, Work(), 8) for d in (100, 101))
    assert (few, many) == (Work(double=8), Work(double=8, column=6))


def test_a_step_is_an_inverse_and_entries_with_derivatives_at_four_thirds_of_a_point():
    found = plans._step(30, Work(function=2.0))
    assert found.double == pytest.approx(4 / 3 * 1.25 * 30**3)
    assert found.function == pytest.approx(4 / 3 * 1.5 * 30**2 * 2.0)
    assert found.byte == pytest.approx(4 / 3 * 1.3e8, rel=1e-12)


def test_rows_left_out_one_by_one_take_a_reduction_and_half_of_the_entries():
    found = plans._judged(30, Work(function=2.0))
    assert found == Work(double=8 / 3 * 30**3, function=30.0**2, byte=1e8)


def test_the_entries_of_a_sum_are_those_of_all_its_terms(counted, monkeypatch):
    seen = []
    monkeypatch.setattr(plans, "_step", lambda n, entry: seen.append((n, entry.function)) or Work())
    automatic_plan(search_of(1200, 2), Fit())
    assert seen == [*[(400, 1.0)] * 8, (400, 4.0), (800, 1.0), (800, 3.0), (800, 6.0)]


def test_models_of_classes_are_compared_by_a_kernel_and_a_mean_of_two(counted):
    assert comparison_work(search_of(1200), 400) == Work(column=3.0)


@pytest.mark.parametrize(("limit", "seconds"), [(0.1, 5.07), (1e6, None)])
def test_a_plan_takes_the_fit_and_seven_tenths_of_a_limit_at_most(X, limit, seconds):
    search = KernelSearch(X, X[:, :1], np.ones(120), 1.0, np.arange(120), 10**9, 0, Run())
    last = replace(KernelRegressor().plan(X), seconds=5.0)
    free = automatic_plan(search, last).seconds
    found = automatic_plan(search, replace(last, time_limit=limit)).seconds
    assert found == pytest.approx(free if seconds is None else seconds)


@pytest.mark.parametrize("machine", [KernelRegressor, KernelClassifier])
def test_the_fit_is_that_of_a_mean_of_two(X, machine, monkeypatch):
    seen = []

    def kept(search, last):
        seen.append(last.seconds)
        return last

    names = {KernelRegressor: "regressor", KernelClassifier: "classifier"}
    monkeypatch.setattr(f"mercer.selection.automatic.{names[machine]}.automatic_plan", kept)
    monkeypatch.setattr(KernelClassifier, "most_classes", 0)
    machine().plan(X)
    kernel = likely_kernel(search_of(120)).resolved(X)
    alone = mercer.KernelRidge(kernel).plan(X).seconds
    assert seen == [pytest.approx(2.0 * alone, rel=0.01)]


def test_what_is_learned_again_is_counted_once_in_every_fold(monkeypatch):
    monkeypatch.setattr(plans, "_judged", lambda n, entry: Work(byte=1.0, column=n))
    monkeypatch.setattr(plans, "_step", lambda n, entry: Work(double=entry.function, single=n))
    monkeypatch.setattr(plans, "entry_work", lambda kernel, rows: Work(function=1.0))
    search = search_of(600)
    lead, warm, *_ = (start for start in starts(search.X) if start.is_learned)
    additive = next(start for start in starts(search.X) if start.terms)
    assert len(additive.terms) == 6
    leader = Recipe(lead)
    both = Recipe(terms=(leader, Recipe(warm, (leader,))))
    found = cross_fit_work(search, [both, leader, Recipe(additive), None], 3)
    # 20 steps of the first, 8 of the second, 12 of their sum, 20 of a sum of six; of 400 rows.
    assert found.double == 3 * (20 + 8 + 2 * 12 + 6 * 20)
    assert found.single == 3 * 60 * 400
    # Four are judged and fitted, on two thirds of the rows.
    assert (found.byte, found.column) == (3 * 8, 3 * 8 * 400)


def test_a_sum_of_three_its_first_term_and_one_not_learned_are_likely():
    whole, first, plain = likely_recipes(search_of(60))
    assert [recipe.start.name for recipe in whole.terms] == [
        start.name for start in starts(search_of(60).X) if start.is_learned
    ][:3]
    assert whole.terms[0] == first
    assert all(recipe.terms == (first,) for recipe in whole.terms[1:])
    assert plain is None
    assert likely_recipes(search_of(29)) == []


@pytest.mark.parametrize(("n", "folds"), [(29, None), (500, 5), (501, 3), (1001, None)])
def test_learning_again_in_folds_is_counted_where_it_is_done(monkeypatch, rng, n, folds):
    seen, X = [], rng.normal(size=(n, 2))
    before = KernelClassifier().plan(X).seconds

    def work(search, recipes, folds):
        seen.append(folds)
        return Work()

    monkeypatch.setattr("mercer.selection.automatic.classifier.cross_fit_work", work)
    without = KernelClassifier().plan(X).seconds
    assert seen == ([] if folds is None else [folds])
    assert (before > without) is (folds is not None)
