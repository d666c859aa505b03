"""What a search among Cs keeps, says and plans."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.errors import ConvergenceWarning
from mercer.kernels import Gaussian, Linear
from mercer.planning import Settings, logistic_plan
from mercer.planning.rates import Work
from mercer.selection import KernelLogisticRegressionCV
from mercer.selection.classifiers import logistic_plan as plans
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.classifiers.schedule import Schedule
from mercer.selection.results import Round

KERNELS, CS = [Gaussian(1.0), Linear()], [np.array([0.1, 1.0, 10.0])] * 2


def round_of(*scores, is_cut=False, n_rows=10):
    shaped = [np.reshape(s, (-1, 1, 1)).astype(float) for s in scores]
    return Round(KERNELS[: len(scores)], CS[: len(scores)], shaped, n_rows, None, is_cut)


def test_the_choice_is_told_by_its_place_after_all_that_was_tried():
    model = KernelLogisticRegressionCV()
    model._keep([round_of([-9, -9, -9]), round_of([-5, -5, -5], [-4, -2, -3], n_rows=20)])
    assert (model.kernel_, model.C_, model.best_score_) == (Linear(), 1.0, -2.0)
    assert model.best_index_ == 3 + 3 + 1
    assert model.best_params_ == {"kernel": Linear(), "C": 1.0}
    assert model.cv_results_["C"][7] == 1.0
    assert model.cv_results_["mean_test_score"][7] == -2.0


@pytest.mark.parametrize("cut", [(False, False), (True, False), (False, True)])
def test_candidates_that_there_was_no_time_for_are_warned_of(rng, monkeypatch, cut, recwarn):
    rounds = [round_of([-1, -2, -3], is_cut=cut[0]), round_of([-1, -2, -3], is_cut=cut[1])]
    monkeypatch.setattr(LogisticSearch, "rounds", lambda self, kernels, Cs: rounds)
    X = rng.normal(size=(30, 2))
    model = KernelLogisticRegressionCV(KERNELS, CS[0], time_limit=900.0)
    kernels, search = model._search(KERNELS, X, np.arange(30) % 2, None, None)
    assert model._rounds(kernels, search) is rounds
    said = [str(w.message) for w in recwarn if w.category is ConvergenceWarning]
    text = "time_limit=900 was up after 6 candidates, on up to 10 of 30 rows; the best of them"
    assert [s.startswith(text) for s in said] == [True] * any(cut)


def test_rows_of_no_weight_are_left_out_with_their_folds(rng):
    X, weights = rng.normal(size=(30, 2)), (np.arange(30) % 3 > 0).astype(float)
    model = KernelLogisticRegressionCV(KERNELS, CS[0], cv=KFold(3))
    _, search = model._search(KERNELS, X, np.arange(30) % 2, weights, None)
    used = weights > 0.0
    np.testing.assert_array_equal(search.X, X[used])
    np.testing.assert_array_equal(search.problem.codes, (np.arange(30) % 2)[used])
    assert (len(search.copies), search.splits.n) == (20, 20)
    assert search.scores.is_weighted
    _, plain = model._search(KERNELS, X, np.arange(30) % 2, None, None)
    assert not plain.scores.is_weighted
    model = KernelLogisticRegressionCV(KERNELS, CS[0], class_weight={0: 1.0, 1: 3.0})
    _, heavy = model._search(KERNELS, X, np.arange(30) % 2, None, None)
    assert heavy.scores.is_weighted
    assert sorted(set(heavy.problem.weights)) == [1.0, 3.0]
    assert set(heavy.copies) == {1.0}


def test_numbers_of_folds_are_stratified(rng):
    X, y = rng.normal(size=(30, 2)), (np.arange(30) < 20).astype(int)
    model = KernelLogisticRegressionCV(cv=3)
    found = model._splits(X, y, None).pairs
    expected = StratifiedKFold(3).split(X, y)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[1], other[1])
    assert KernelLogisticRegressionCV()._splits(X, y, None).pairs is None
    with pytest.raises(ValueError, match=r"cv must be 'loo', a number of folds.* got 'gcv'"):
        KernelLogisticRegressionCV(cv="gcv")._splits(X, y, None)


def test_a_splitter_is_given_the_labels_of_all_rows(rng):
    X, y = rng.normal(size=(30, 2)), np.array(["left", "right", "none"])[np.arange(30) % 3]
    seen = []

    class Splitter(KFold):
        def split(self, X, y=None, groups=None):
            seen.append(y.tolist())
            return super().split(X, y, groups)

    model = KernelLogisticRegressionCV(KERNELS, CS[0], cv=Splitter(3))
    model._search(KERNELS, X, list(y), (y != "none").astype(float), None)
    assert seen == [y.tolist()]


def test_the_sample_of_rows_is_the_same_unless_another_seed_is_given(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2

    def seed(random_state):
        model = KernelLogisticRegressionCV(KERNELS, random_state=random_state)
        return model._search(KERNELS, X, y, None, None)[1].seed

    assert seed(None) == seed(0) != seed(1)
    assert seed(0) > 2**20


def test_a_plan_counts_the_fits_of_every_round_and_the_fit_after_them(rng, monkeypatch):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = KernelLogisticRegressionCV(KERNELS, CS[0])
    _, search = model._search(KERNELS, X, y, None, None)
    search = replace(search, schedule=Schedule((20, 40), (20, 40)))
    seen = []

    def work(kernel, rows, problem, memory):
        seen.append((kernel, len(rows), len(problem.codes)))
        return Work(double=float(len(rows)))

    monkeypatch.setattr(plans, "logistic_work", work)
    Cs = [np.array([0.5, 2.0, 8.0])] * 2
    found = plans.logistic_search_plan(search, Settings(), KERNELS, Cs)
    assert seen == [(KERNELS[0], n, n) for n in (20, 40, 60)]
    # Six candidates, two kernels of three Cs, and three folds of three.
    total = Work(double=6.0 * 20 + 6.0 * 40 + 9.0 * 60)
    last = logistic_plan(Settings(), KERNELS[0], search.X, search.problem.at(2.0))
    assert found.seconds == pytest.approx(last.seconds + total.seconds)
    assert found.reason.startswith(
        "6 candidates are scored on 20 rows, the best of them on 40 rows, the best of them on 60 "
    )
    assert found.solver == last.solver
