"""The rounds of a search among ridges: all rows, or a sample that there is time for first."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.errors import ConvergenceWarning
from mercer.kernels import Gaussian, Linear
from mercer.selection import KernelRidgeCV
from mercer.selection.results import Round
from mercer.selection.search import Search
from mercer.selection.splits import Splits
from mercer.solvers import Run
from mercer.tiles import Rows

KERNELS, ALPHAS = [Gaussian(1.0), Gaussian(2.0)], [np.array([0.1, 1.0, 10.0])] * 2


@pytest.fixture
def search(rng):
    X = rng.normal(size=(60, 2))
    model = KernelRidgeCV()
    given = (Rows(X, "X"), X[:, 0], np.ones(60), False)
    return model._search(Run(), KERNELS, *given, Splits(60))


class Small(KernelRidgeCV):
    """A search whose samples are of few rows."""

    rows_for_kernels, rows_of_sample, least_rows = 50, 40, 12


@pytest.fixture
def timed(monkeypatch):
    """Scoring takes a second for every row and kernel, and the second kernel is the best."""

    def scored(self, kernels, alphas, share=1.0):
        pairs = zip(kernels, alphas, strict=True)
        scores = [np.full((len(a), 1, 1), -1.0 / k.length_scale) for k, a in pairs]
        found = Round(kernels, alphas, scores, len(self), None)
        found.__dict__["share"] = share
        return found

    monkeypatch.setattr(Search, "expected", lambda self, kernels, alphas: len(self) * len(kernels))
    monkeypatch.setattr(Search, "round_of", scored)


def rounds(search, seconds=np.inf, model=None, kernels=KERNELS):
    model = Small() if model is None else model
    found = model._rounds(kernels, ALPHAS[: len(kernels)], replace(search, seconds=seconds))
    return [(r.n_rows, len(r.kernels), r.is_cut) for r in found]


def test_without_a_limit_several_kernels_are_tried_on_a_sample_and_the_best_on_all_rows(
    search, timed
):
    found = Small()._rounds(KERNELS, ALPHAS, search)
    assert [(r.n_rows, list(r.kernels)) for r in found] == [(40, KERNELS), (60, KERNELS[1:])]
    assert found[0].share == pytest.approx(40 / 60)
    assert found[1].share == 1.0
    assert_array_equal(found[1].alphas[0], ALPHAS[1])


def test_one_kernel_and_few_rows_are_tried_on_all_rows(search, timed):
    assert rounds(search, kernels=KERNELS[:1]) == [(60, 1, False)]
    few = search.on(np.arange(50))
    assert rounds(few) == [(50, 2, False)]
    assert rounds(search.on(np.arange(51)))[0] == (40, 2, False)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # Half of the time is for a kernel on all rows, the other for both on the sample.
        (160.0, [(40, 2, False), (60, 1, False)]),
        (159.0, [(26, 2, False), (60, 1, False)]),
        (120.0, [(26, 2, False), (60, 1, False)]),
        # Less than twice a minute is too short for a kernel on all rows.
        (119.0, [(40, 2, True)]),
        (79.0, [(26, 2, True)]),
        (1.0, [(12, 2, True)]),
    ],
)
def test_a_sample_is_made_smaller_by_a_third_until_it_is_in_time(search, timed, seconds, expected):
    assert rounds(search, seconds) == expected


def test_all_rows_of_few_are_tried_where_there_is_time_and_else_a_sample(search, timed):
    few = search.on(np.arange(50))
    assert rounds(few, 100.0) == [(50, 2, False)]
    assert rounds(few, 99.0) == [(40, 2, True)]


def test_a_sample_of_all_rows_is_one_round(search, timed):
    few = search.on(np.arange(12))
    assert rounds(few, 1.0) == [(12, 2, False)]


def test_fewer_rows_than_the_least_are_all_of_the_sample_however_short_the_time(
    search, monkeypatch
):
    def never(*_):
        raise AssertionError("a sample that cannot be made smaller is timed")

    monkeypatch.setattr(Search, "expected", never)
    few = search.on(np.arange(11))
    assert len(Small()._sample(KERNELS, ALPHAS, few, 1.0)) == 11


def test_all_rows_that_were_not_scored_in_time_do_not_decide(search, timed, monkeypatch):
    monkeypatch.setattr(Round, "is_scored", False)
    assert rounds(search) == [(40, 2, False)]


def test_the_rows_of_a_sample_are_random_ordered_and_the_same_in_every_call(search):
    def sampled(**settings):
        return Small(**settings)._sample(KERNELS, ALPHAS, search, np.inf).y[:, 0].tolist()

    one = sampled()
    places = [search.y[:, 0].tolist().index(value) for value in one]
    assert places == sorted(set(places))
    assert one == sampled() == sampled(random_state=0)
    assert one != sampled(random_state=1)


def test_kernels_are_tried_on_all_of_4000_rows_and_beyond_on_3000():
    assert (KernelRidgeCV.rows_for_kernels, KernelRidgeCV.rows_of_sample) == (4000, 3000)


def test_kernels_with_few_features_are_tried_on_all_rows_however_many(search, timed):
    linear = [Linear(), 2.0 * Linear()]
    assert Small()._is_whole(linear, ALPHAS, search)
    assert not Small()._is_whole(KERNELS, ALPHAS, search)

    class Tiny(Small):
        rows_for_kernels = 2

    assert not Tiny()._is_whole(linear, ALPHAS, search)


def test_the_choice_is_told_by_its_place_after_all_that_was_tried():
    first = Round(KERNELS, ALPHAS, [np.full((3, 1, 1), -9.0)] * 2, 10, None)
    scores = [np.full((3, 1, 1), -5.0), np.array([-4.0, -2.0, -3.0]).reshape(3, 1, 1)]
    last = Round(KERNELS, ALPHAS, scores, 20, None)
    model = KernelRidgeCV()
    model._keep([first, last])
    assert (model.kernel_, model.alpha_, model.best_score_) == (KERNELS[1], 1.0, -2.0)
    assert model.best_index_ == 6 + 3 + 1
    assert model.best_params_ == {"kernel": KERNELS[1], "alpha": 1.0}
    assert model.cv_results_["mean_test_score"][10] == -2.0
    assert "on 10 rows out of 20" in model.search_


@pytest.mark.parametrize("columns", [1, 2])
def test_ridges_of_their_own_are_those_of_several_targets(columns):
    scores = np.array([[-1.0, -9.0], [-5.0, -2.0], [-7.0, -7.0]])[:, :columns, None]
    model = KernelRidgeCV(alpha_per_target=True)
    model._keep([Round(KERNELS[:1], ALPHAS[:1], [scores], 20, None)])
    if columns == 2:
        assert_array_equal(model.alpha_, [0.1, 1.0])
        assert_array_equal(model.best_score_, [-1.0, -2.0])
        assert_array_equal(model.best_index_, [0, 1])
    else:
        assert (model.alpha_, model.best_score_, model.best_index_) == (0.1, -1.0, 0)


@pytest.mark.parametrize(("ended_by", "is_cut"), [("time", True), ("", True), ("", False)])
def test_candidates_that_there_was_no_time_for_are_warned_of(
    rng, monkeypatch, ended_by, is_cut, recwarn
):
    def rounds(self, kernels, alphas, search):
        search.run.ended_by = ended_by
        scores = [np.zeros((len(a), 1, 1)) for a in alphas]
        return [Round(kernels, alphas, scores, 33, None, is_cut)]

    monkeypatch.setattr(KernelRidgeCV, "_rounds", rounds)
    X = rng.normal(size=(40, 2))
    KernelRidgeCV(KERNELS, [1.0], time_limit=500.0).fit(X, X[:, 0])
    said = [str(w.message) for w in recwarn if w.category is ConvergenceWarning]
    if not is_cut:
        assert not said
        return
    more = "" if ended_by else " on more than 33 rows"
    (text,) = said
    assert text.startswith(f"time_limit=500 is too short to score all candidates{more}; the best")


@pytest.mark.parametrize(("positive", "is_refused"), [(1, True), (2, False)])
def test_of_one_row_of_positive_weight_nothing_is_left_out(rng, positive, is_refused):
    weights = (np.arange(5) < positive).astype(float)
    X, model = rng.normal(size=(5, 1)), KernelRidgeCV(Linear(), [1.0])
    if is_refused:
        with pytest.raises(ValueError, match="rows cannot be held out from n_samples = 1"):
            model.fit(X, X[:, 0], weights)
    else:
        assert model.fit(X, X[:, 0], weights).cv_results_["n_resources"].tolist() == [2]
