"""Fits in folds, with kernels learned from the rows outside of them alone."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from mercer import Gaussian, KernelClassifier, KernelRidge, Matern32, Polynomial
from mercer.errors import MemoryLimitError
from mercer.selection.automatic import cross_fit as module, nested
from mercer.selection.automatic.board import NESTED, Candidate, Leaderboard, Recipe
from mercer.selection.automatic.cross_fit import CrossFit, stratified_folds
from mercer.selection.automatic.kernels import Start
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run
from mercer.solvers.refusals import not_finite, singular

LEADER = Recipe(Start("m", Matern32("median"), True, Matern32))
WARM = Recipe(Start("g", Gaussian("median"), True, Gaussian), (LEADER,))
ADDITIVE = Recipe(Start("a", Gaussian(1.0), True, terms=(Gaussian(0.5), Gaussian(2.0))))


def search_of(n=30, targets=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, :1] + 0.5 * rng.normal(size=(n, targets)) > 0.0, 1.0, -1.0)
    return KernelSearch(X, y, rng.uniform(0.5, 1.5, n), 2.0, np.arange(n), 10**9, 0, Run())


def candidate(name, recipe=None, kernel=None, **more):
    given = (kernel or Gaussian(1.0), 0.5, np.ones(4), 1.0, 1, 4, recipe is not None, 0.0)
    return replace(Candidate(name, *given), recipe=recipe, **more)


@pytest.fixture
def folds():
    return stratified_folds(np.arange(30) % 2, 3, 0)


def test_folds_hold_every_row_once_and_as_many_of_every_class():
    labels = np.array([0] * 7 + [1] * 3 + [2] * 5)
    folds = stratified_folds(labels, 5, 0)
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(15))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(15))
        counts = np.bincount(labels[test], minlength=3)
        assert (counts <= [2, 1, 1]).all()
        assert len(test) == 3
    other = stratified_folds(labels, 5, 1)
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(folds, other, strict=True))


@pytest.mark.parametrize(
    "recipe",
    [
        LEADER,
        WARM,
        ADDITIVE,
        Recipe(terms=(LEADER,)),
        Recipe(terms=(LEADER, WARM)),
        Recipe(terms=(LEADER, WARM), is_mixed=True),
    ],
    ids=["leader", "warm", "additive", "further", "sum", "weighted sum"],
)
def test_targets_of_a_fold_have_no_part_in_its_kernel_and_those_of_others_have(recipe, folds):
    search, c = search_of(), candidate("c", recipe)
    found = CrossFit.of(search, [c], folds, Run()).found
    turned = search.y.copy()
    turned[folds[0][1]] *= -1.0
    other = CrossFit.of(replace(search, y=turned), [c], folds, Run()).found
    assert other[0] == found[0]
    assert other[1] != found[1]


def test_what_is_not_learned_keeps_its_kernel_and_gets_the_best_ridge_of_the_other_rows(folds):
    search = search_of()
    crossed = CrossFit.of(search, [candidate("plain")], folds, Run())
    for (train, _), found in zip(folds, crossed.found, strict=True):
        kernel, alpha = found["plain"]
        assert kernel == Gaussian(1.0)
        assert alpha == search._judged(kernel, (0.3, 1.0, 3.0), 0.5, train).alpha


def test_errors_are_those_of_fits_to_the_other_rows_and_scores_of_a_mean_their_weighted_sum(folds):
    search, given = search_of(), [candidate("a"), candidate("b", kernel=Gaussian(3.0))]
    crossed = CrossFit.of(search, given, folds, Run())
    expected = np.empty((30, 2))
    for (train, test), found in zip(folds, crossed.found, strict=True):
        for j, name in enumerate("ab"):
            model = KernelRidge(*found[name])
            model.fit(search.X[train], search.y[train, 0], search.weights[train])
            expected[test, j] = model.predict(search.X[test])
    a, b = map(crossed.judged, given)
    assert (a.scored_by, a.rows) == (NESTED, 30)
    assert_allclose(a.missed, search.y - expected[:, :1])
    assert_allclose(a.squares, search.weights * a.missed[:, 0] ** 2)
    assert a.score == pytest.approx(np.sqrt(a.squares.mean()))
    assert_allclose(crossed.scores(b)[:, 0], expected[:, 1])
    mean = candidate("mean", parts=(a, b), shares=(0.3, 0.7))
    assert_allclose(crossed.scores(mean)[:, 0], expected @ [0.3, 0.7])


@pytest.mark.parametrize("has_mean", [True, False])
def test_candidates_stand_on_the_board_by_their_errors_in_folds_with_a_mean_of_these(
    monkeypatch, folds, has_mean
):
    search = search_of()
    signs = np.where(np.arange(30) % 2, 1.0, -1.0)[:, None]
    # The mean of two that err to either side is better than both.
    errors = {"a": 1.0 + signs, "b": 1.01 - signs}
    monkeypatch.setattr(
        CrossFit,
        "judged",
        lambda self, c: replace(
            c,
            missed=errors[c.name],
            squares=(errors[c.name] ** 2).mean(axis=1),
            scored_by=NESTED,
            rows=30,
        ),
    )
    a, b, c = (candidate(name, LEADER, Gaussian(1.0 + i), rows=30) for i, name in enumerate("abc"))
    board = Leaderboard((candidate("old mean", LEADER, parts=(a, b)), a, b, c), note="said")
    found = CrossFit(search, folds, [], Run()).ranked(board, [a, b], has_mean)
    assert found[0].name.startswith("mean: 0.51 a") == has_mean
    assert {c.name: c.scored_by == NESTED for c in found if not c.parts} == {
        "a": True,
        "b": True,
        "c": False,
    }
    assert sum(bool(c.parts) for c in found) == has_mean
    assert (found[-1].name, found.note) == ("c", "said")


def test_the_temperature_is_the_likeliest_and_the_loss_that_of_all_folds(folds):
    search = search_of()
    labels = (search.y[:, 0] > 0.0).astype(int)
    crossed = CrossFit.of(search, [candidate("a")], folds, Run())
    judged = crossed.judged(candidate("a"))
    found = crossed.calibrated(judged, labels)
    scores = np.column_stack([judged.missed - search.y, search.y - judged.missed])
    w = search.weights * search.unit
    totals = np.bincount(labels, w)[labels]
    aim = (totals + 1.0) / (totals + 2.0)

    def loss(T):
        log_p = log_softmax(T * scores, axis=1)
        own, rest = log_p[np.arange(30), labels], log_p[np.arange(30), 1 - labels]
        return -(w * (aim * own + (1.0 - aim) * rest)).sum()

    best = minimize_scalar(loss, bounds=(0.01, 100.0), method="bounded", options={"xatol": 1e-9}).x
    assert found.temperature == pytest.approx(best, rel=1e-5)
    own = log_softmax(found.temperature * scores, axis=1)[np.arange(30), labels]
    assert found.loss == pytest.approx(-np.average(own, weights=w))
    assert (found.candidate, found.C) == (judged, None)


def test_what_is_known_is_learned_once_in_a_fold(monkeypatch, folds):
    steps = []

    def learned(self, kernel, alpha, sample, count, limit):
        steps.append(count)
        return kernel.resolved(self.X), 0.5

    monkeypatch.setattr(KernelSearch, "_learned", learned)
    both = [candidate("sum", Recipe(terms=(LEADER, WARM))), candidate("warm", WARM)]
    CrossFit.of(search_of(), both, folds[:1], Run())
    assert steps == [20, 8, 12]


def test_of_many_rows_scales_are_learned_from_some_and_ridges_from_all(monkeypatch):
    seen = []
    monkeypatch.setattr(
        KernelSearch,
        "_learned",
        lambda self, kernel, alpha, sample, count, limit: (
            seen.append(sample) or (Gaussian(1.0), 0.5)
        ),
    )
    folds = stratified_folds(np.zeros(600, int), 5, 0)
    CrossFit.of(search_of(600), [candidate("c", LEADER)], folds[:1], Run())
    (sample,) = seen
    # By their numbers among the rows outside of the fold.
    assert len(np.unique(sample)) == 400
    assert sample.max() < len(folds[0][0]) == 480


def test_without_time_there_is_none(folds):
    assert CrossFit.of(search_of(), [candidate("a")], folds, Run(1e-9)) is None


@pytest.mark.parametrize("error", [singular(0.1, 30, 1.0), not_finite(), MemoryLimitError("none")])
def test_where_a_kernel_is_refused_in_a_fold_there_is_none(monkeypatch, folds, error):
    monkeypatch.setattr(module, "_learned_in_fold", raising(error))
    assert CrossFit.of(search_of(), [candidate("a")], folds, Run()) is None


def test_other_errors_in_a_fold_are_not_hidden(monkeypatch, folds):
    monkeypatch.setattr(module, "_learned_in_fold", raising(ValueError("a fault")))
    with pytest.raises(ValueError, match="a fault"):
        CrossFit.of(search_of(), [candidate("a")], folds, Run())


def raising(error):
    def raises(*given):
        raise error

    return raises


def test_kernels_that_the_clock_stopped_in_the_last_fold_are_not_taken(monkeypatch, folds):
    run, seen = Run(900.0), []

    def learned(*given):
        seen.append(given)
        if len(seen) == len(folds):
            run.ends = 0.0
        return {}

    monkeypatch.setattr(module, "thread_count", lambda: 1)
    monkeypatch.setattr(module, "_learned_in_fold", learned)
    assert CrossFit.of(search_of(), [candidate("a")], folds, run) is None
    assert len(seen) == len(folds)


def test_fits_in_folds_end_with_the_time_and_then_rank_nothing(folds):
    crossed = CrossFit.of(search_of(), [candidate("a")], folds, Run())
    board = Leaderboard((candidate("a"),))
    assert crossed.ranked(board, [candidate("a")], False) is not None
    assert replace(crossed, run=Run(1e-9)).ranked(board, [candidate("a")], False) is None


@pytest.mark.parametrize(("kernel", "alpha"), [(Gaussian(50.0), 1e-300), (Polynomial(3000), 1.0)])
def test_a_fit_in_a_fold_that_is_singular_or_overflows_ranks_nothing(folds, kernel, alpha):
    lost = [{"a": (kernel, alpha)}] * 3
    crossed = CrossFit(search_of(), folds, lost, Run())
    assert crossed.ranked(Leaderboard((candidate("a"),)), [candidate("a")], False) is None


@pytest.mark.parametrize(("counted", "is_entered"), [(599.0, True), (601.0, False)])
def test_folds_are_entered_if_they_are_counted_to_take_six_tenths_of_the_time(
    monkeypatch, counted, is_entered
):
    seen, given = [], []

    def work(search, recipes, folds):
        given.append((recipes, folds))
        return SimpleNamespace(expected=counted)

    monkeypatch.setattr(nested, "cross_fit_work", work)
    monkeypatch.setattr(
        CrossFit, "of", lambda search, single, folds, run: seen.append(run.seconds_left)
    )
    board = Leaderboard((candidate("c", LEADER, rows=30), candidate("plain", rows=30)))
    # A second for what comes before.
    limit = Run(1001.0)
    assert KernelClassifier()._cross_fitted(search_of(), board, limit) == (board, {})
    assert given == [([LEADER, None], 5)]
    assert seen == ([pytest.approx(600.0, rel=1e-2)] if is_entered else [])
    # Either way models can be compared without folds.
    assert not limit.is_over()


def test_folds_are_not_entered_where_memory_holds_the_pairs_of_some_rows_alone(monkeypatch):
    monkeypatch.setattr(CrossFit, "of", lambda *given: pytest.fail("learned again"))
    board = Leaderboard((candidate("c", LEADER),))
    short = replace(search_of(), memory=56 * 30**2 - 1)
    assert KernelClassifier()._cross_fitted(short, board, Run()) == (board, {})


@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
def test_models_are_compared_where_learning_in_folds_comes_to_nothing(monkeypatch):
    monkeypatch.setattr(CrossFit, "of", lambda *given: None)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    assert "ridge" in KernelClassifier(time_limit=60.0).fit(X, X[:, 0] > 0.0).losses_


def test_of_classes_that_are_noise_the_loss_told_is_about_that_of_a_coin():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(80, 12)), rng.permutation(80) % 2
    model = KernelClassifier().fit(X, y)
    # By rows left out one by one, from which scales were learned, it is 0.55.
    assert min(model.losses_.values()) > np.log(2.0) - 0.05
    assert f"ridge {model.losses_['ridge']:.3f}" in str(model.candidates_)
    assert model.candidates_[0].scored_by == NESTED


@pytest.mark.parametrize(("n", "count"), [(500, 5), (501, 3), (1000, 3), (1001, None)])
def test_there_are_fewer_folds_of_more_rows_and_none_of_more_than_are_judged(monkeypatch, n, count):
    seen = []
    monkeypatch.setattr(CrossFit, "of", lambda search, single, folds, run: seen.append(len(folds)))
    search, board = search_of(n), Leaderboard((candidate("c", LEADER),))
    assert KernelClassifier()._cross_fitted(search, board, Run()) == (board, {})
    assert seen == ([] if count is None else [count])


def test_where_nothing_is_learned_or_a_fold_lacks_a_class_nothing_is_learned_again(monkeypatch):
    monkeypatch.setattr(CrossFit, "of", lambda *given: pytest.fail("learned again"))
    machine, plain = KernelClassifier(), Leaderboard((candidate("plain"),))
    assert machine._cross_fitted(search_of(), plain, Run()) == (plain, {})
    learned, lonely = Leaderboard((candidate("c", LEADER),)), np.full((30, 1), -1.0)
    lonely[3] = 1.0
    assert machine._cross_fitted(replace(search_of(), y=lonely), learned, Run()) == (learned, {})


def test_the_best_that_is_not_learned_takes_part_beside_the_best_and_those_of_a_mean(monkeypatch):
    seen = []
    monkeypatch.setattr(
        CrossFit, "of", lambda search, single, folds, run: seen.extend(c.name for c in single)
    )
    a, b, plain, worse, far = (
        candidate("a", LEADER, rows=30),
        candidate("b", LEADER, rows=30),
        candidate("plain", rows=30),
        candidate("worse", rows=30),
        candidate("far", rows=20),
    )
    mean = candidate("mean", LEADER, parts=(a, b), shares=(0.5, 0.5))
    board = Leaderboard((a, mean, b, far, plain, worse))
    KernelClassifier()._cross_fitted(search_of(), board, Run())
    assert seen == ["a", "b", "plain"]


class Logistic:
    """Logistic regression with given scores, cut where one is zero, that may take all its time."""

    def __init__(self, scores, time_limit, takes_all=False):
        self._is_cut = 0.0 in scores
        self.cv_results_ = {"mean_test_score": -np.array(scores)}
        self.time_limit, self.takes_all = time_limit, takes_all

    def fit(self, X, y, sample_weight):
        if self.takes_all:
            time.sleep(self.time_limit)


def crossed_logistic(monkeypatch, folds, scores, run, takes_all=False):
    """Return what is found in folds of logistic regressions with these scores, and their time."""
    limits, each = [], iter(scores)

    def logistic(self, kernel, rows, cv, time_limit):
        limits.append(time_limit)
        return Logistic(next(each), time_limit, takes_all)

    monkeypatch.setattr(KernelClassifier, "_logistic", logistic)
    # The time for kernels is up, that of the comparison is not.
    search = replace(search_of(), run=Run(1e-9), weights=np.ones(30))
    crossed = CrossFit(search, folds, [{"a": (Gaussian(1.0), 0.5)}] * 3, Run())
    labels = (search.y[:, 0] > 0.0).astype(int)
    machine = KernelClassifier()
    given = (candidate("a"), labels, machine.cs, machine._logistic, run)
    return crossed.logistic(*given), limits


def test_logistic_regression_in_folds_has_the_time_of_the_comparison_in_equal_shares(
    monkeypatch, folds
):
    scores = [[0.5, 0.4, 0.3, 0.6]] * 3
    found, limits = crossed_logistic(monkeypatch, folds, scores, Run(900.0))
    assert (found.loss, found.C) == (pytest.approx(0.3), 30.0)
    # Each fold leaves what it does not need to those after it.
    assert_allclose(limits, [300.0, 450.0, 900.0], rtol=1e-2)


@pytest.mark.parametrize("cut", [[0.0], [0.1, 0.2, 0.0], [0.1, 0.2, 0.3, 0.0]])
def test_logistic_regression_of_which_a_fold_was_cut_is_not_compared(monkeypatch, folds, cut):
    scores = [[0.5, 0.4, 0.3, 0.6], cut, [0.5, 0.4, 0.3, 0.6]]
    assert crossed_logistic(monkeypatch, folds, scores, Run(900.0))[0] is None


def test_logistic_regression_whose_time_is_up_in_a_fold_is_not_compared(monkeypatch, folds):
    scores = [[np.log(2.0)] * 4] * 3
    found, limits = crossed_logistic(monkeypatch, folds, scores, Run(1e-3), takes_all=True)
    assert found is None
    assert len(limits) == 1
