"""Few rows with numbers for targets: the best kernels are learned again in folds."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor, Matern32
from mercer.selection.automatic import nested as module
from mercer.selection.automatic.board import NESTED, Candidate, Leaderboard, Recipe
from mercer.selection.automatic.cross_fit import CrossFit
from mercer.selection.automatic.kernels import Start
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run

LEADER = Recipe(Start("m", Matern32("median"), True, Matern32))


def search_of(n=60, groups=None, memory=10**9):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(n, 2)), rng.normal(size=(n, 1)), np.ones(n)
    return KernelSearch(X, y, w, 1.0, np.arange(n), memory, 0, Run(), groups)


def board_of(is_learned=True):
    given = (Gaussian(1.0), 0.5, np.ones(4), 1.0, "leave-one-out", 4, is_learned, 0.0)
    return Leaderboard((Candidate("a", *given, recipe=LEADER if is_learned else None),))


@pytest.fixture
def folds_seen(monkeypatch):
    """The folds in which kernels were to be learned again, and for how long."""
    seen = []
    monkeypatch.setattr(
        CrossFit, "of", lambda search, single, folds, run: seen.append((folds, run.seconds_left))
    )
    return seen


def test_of_targets_that_are_noise_the_error_told_is_about_their_deviation():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(70, 12)), rng.normal(size=70)
    model = KernelRegressor().fit(X, y)
    # By rows left out one by one, from which scales were learned, it is 0.70 of the deviation.
    assert model.candidates_[0].scored_by == NESTED
    assert model.candidates_[0].score > 0.97 * y.std()


@pytest.mark.parametrize(("n", "is_again"), [(200, True), (201, False)])
def test_of_up_to_200_rows_kernels_are_learned_again_in_five_folds(folds_seen, n, is_again):
    board = board_of()
    assert KernelRegressor()._cross_fitted(search_of(n), board, Run()) is board
    assert [len(folds) for folds, _ in folds_seen] == [5] * is_again


def test_folds_keep_groups_together(folds_seen):
    groups = np.arange(60) // 6
    KernelRegressor()._cross_fitted(search_of(groups=groups), board_of(), Run())
    ((folds, _),) = folds_seen
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(60))
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])


def test_half_of_the_time_that_is_left_is_for_folds(folds_seen, monkeypatch):
    counted = []

    def work(search, recipes, folds):
        counted.append(recipes)
        return SimpleNamespace(expected=400.0 * len(counted))

    monkeypatch.setattr(module, "cross_fit_work", work)
    for _ in range(2):
        KernelRegressor()._cross_fitted(search_of(), board_of(), Run(1000.0))
    # The second time they are counted to take 800 seconds.
    assert counted == [[LEADER]] * 2
    ((_, left),) = folds_seen
    assert left == pytest.approx(500.0, rel=1e-2)


def test_nothing_is_learned_again_where_nothing_was_or_memory_holds_some_rows_alone(folds_seen):
    machine, plain, learned = KernelRegressor(), board_of(False), board_of()
    assert machine._cross_fitted(search_of(), plain, Run()) is plain
    small = search_of(memory=KernelSearch.pair_bytes * 60**2 - 1)
    assert machine._cross_fitted(small, learned, Run()) is learned
    assert folds_seen == []


def test_the_plan_counts_the_folds(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(150, 4)), np.arange(150.0)
    planned = KernelRegressor().plan(X, y).seconds
    limited = KernelRegressor(time_limit=0.7 * planned).plan(X, y).seconds
    assert limited < 0.7 * planned
    monkeypatch.setattr(KernelRegressor, "nested_rows", 149)
    assert KernelRegressor().plan(X, y).seconds < 0.7 * planned
    assert KernelRegressor(time_limit=0.7 * planned).plan(X, y).seconds < limited
