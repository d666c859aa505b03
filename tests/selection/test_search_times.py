"""What a search has time and memory for, and what it says of candidates that cannot be fitted."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.data.limits.deadline import TimeIsUpError
from mercer.data.limits.memory import steady_limit
from mercer.errors import ConvergenceWarning, IndefiniteKernelError, MemoryLimitError
from mercer.kernels import AdditiveChi2, Gaussian, Linear
from mercer.native import NotPositiveError
from mercer.planning import Settings, held_out
from mercer.planning.held_out import LandmarkErrors, entries_held_out, share_of_search
from mercer.planning.rates import Work
from mercer.selection import search as module
from mercer.selection.refusals import warn_of_unusable
from mercer.selection.scoring import Scores
from mercer.selection.search import Search
from mercer.selection.sources import entry_bytes
from mercer.selection.splits import Splits
from mercer.solvers.run import Run
from mercer.tiles import Rows

N = 30
ALPHAS = np.array([0.1, 1.0])
FOLDS = [(np.arange(10, N), np.arange(10)), (np.arange(20), np.arange(20, N))]


@pytest.fixture
def search(rng):
    X, y = rng.normal(size=(N, 3)), rng.normal(size=(N, 2))
    scores = Scores.of(None, False, False, False)
    ones = np.ones(N)
    given = (ones, ones, Linear(), True, Splits(N), scores, 1 << 30, Run())
    return Search(Rows(X, "X"), y, np.array([2.0, 4.0]), *given)


def per_target(search, scoring=None):
    return replace(search, scores=Scores.of(scoring, True, False, False))


@pytest.mark.parametrize(
    ("pairs", "is_per_target", "shape"),
    [(None, False, (2, 1, 1)), (FOLDS, False, (2, 1, 2)), (FOLDS, True, (2, 2, 2))],
)
def test_what_there_was_no_time_for_has_scores_that_are_no_numbers(
    search, pairs, is_per_target, shape
):
    one = replace(per_target(search) if is_per_target else search, splits=Splits(N, pairs))
    found = one._unscored(ALPHAS)
    assert found.shape == shape
    assert np.isnan(found).all()
    assert replace(one, splits=None)._unscored(ALPHAS).shape == (2, shape[1], 1)
    assert found.shape == one.scored([Gaussian(1.0)], [ALPHAS])[0].shape


def test_scores_are_counted_in_squares_of_units_unless_a_scorer_judges(search):
    assert_array_equal(search._units_of_scores, [2.0])
    assert_array_equal(per_target(search)._units_of_scores, [2.0, 4.0])
    assert per_target(search, "r2")._units_of_scores is None
    assert_array_equal(search.round_of([Linear()], [ALPHAS]).units, [2.0])


def test_a_search_without_a_limit_has_all_the_time(search):
    assert search.leaving_a_fit([Gaussian(1.0)], [ALPHAS]) is search
    assert search.is_in_time([Gaussian(1.0)], [ALPHAS])


def test_a_search_leaves_time_for_the_longest_fit(search, monkeypatch):
    asked = []

    def work(kernel, X, problem, settings):
        asked.append((kernel, problem.alpha.tolist(), settings.memory))
        return Work(double=1e15 if kernel == Gaussian(1.0) else 1.0)

    monkeypatch.setattr(module, "ridge_work", work)
    kernels, ridges = [Gaussian(1.0), Gaussian(2.0)], [ALPHAS, np.array([1.0, 5.0, 9.0])]
    limit = 4.0 * Work(double=1e15).expected / 1.3
    found = replace(search, run=Run(limit)).leaving_a_fit(kernels, ridges)
    share = share_of_search(Work(double=1e15), limit)
    assert 0.2 < share < 0.5
    assert found.seconds == pytest.approx(share * limit)
    assert found.run.seconds_left == pytest.approx(share * limit, rel=0.01)
    assert asked == [
        (kernels[0], [0.55, 0.55], 1 << 30),
        (kernels[1], [5.0, 5.0], 1 << 30),
    ]


def test_what_is_expected_to_take_as_long_as_there_is_is_in_time(search, monkeypatch):
    monkeypatch.setattr(Search, "expected", lambda self, kernels, alphas: 7.0)
    for seconds, is_in_time in ((7.0, True), (6.9, False), (np.inf, True)):
        assert replace(search, seconds=seconds).is_in_time([], []) is is_in_time


@pytest.mark.parametrize("where", ["before", "within"])
def test_time_that_is_up_leaves_kernels_without_scores(search, monkeypatch, where):
    def late(*given):
        raise TimeIsUpError

    monkeypatch.setattr(Search, "_all_scored" if where == "before" else "_scored", late)
    found = search.scored([Gaussian(1.0), Linear()], [ALPHAS, ALPHAS[:1]])
    assert [np.isnan(scores).all() for scores in found] == [True, True]
    assert [len(scores) for scores in found] == [2, 1]
    assert search.run.ended_by == "time"
    assert search.round_of([Linear()], [ALPHAS]).is_cut


def test_after_the_time_no_kernel_is_begun(search, monkeypatch):
    monkeypatch.setattr(Search, "_scored", lambda *given: pytest.fail("begun"))
    found = replace(search, run=Run(1e-9)).scored([Linear()], [ALPHAS])
    assert np.isnan(found[0]).all()
    assert not replace(search, run=Run()).run.ended_by


class Singular:
    """A source of which fits with the ridges named cannot be factored."""

    def __init__(self, *bad):
        self.bad = bad

    def scored_at(self, search, alphas):
        for position, alpha in enumerate(alphas):
            if alpha in self.bad:
                raise NotPositiveError(position)
        return np.tile(-alphas[:, None, None], (1, 1, 1))


def test_ridges_with_which_a_kernel_is_singular_have_no_scores(search, monkeypatch):
    monkeypatch.setattr(Search, "_scored_at", lambda self, source, a: source.scored_at(self, a))
    ridges = np.array([0.1, 1.0, 10.0, 100.0])
    found = search._scored(Singular(0.1, 10.0), Gaussian(1.0), ridges)
    assert_allclose(found[:, 0, 0], [np.nan, -1.0, np.nan, -100.0])
    assert list(search.unusable) == [(Gaussian(1.0), 0.1), (Gaussian(1.0), 10.0)]
    assert "is singular to working precision when rows are held out" in next(
        iter(search.unusable.values())
    )
    assert np.isnan(search._scored(Singular(*ridges), Gaussian(2.0), ridges)).all()
    with pytest.warns(ConvergenceWarning, match=r"alpha = 0.1 and 5 more candidates cannot be"):
        warn_of_unusable(search.unusable, 7)
    with pytest.raises(ValueError, match=r"no candidate can be fitted, such as alpha = 0.1: gauss"):
        warn_of_unusable(search.unusable, 6)


def test_one_candidate_that_cannot_be_fitted_is_named_alone(search):
    search.unusable[Gaussian(1.0), 0.5] = "for a reason"
    with pytest.warns(ConvergenceWarning, match=r"alpha = 0.5 cannot be fitted.*: for a reason$"):
        warn_of_unusable(search.unusable, 2)


def test_a_kernel_that_is_indefinite_is_refused_whatever_its_ridge(search, monkeypatch):
    monkeypatch.setattr(Search, "_scored_at", lambda self, source, a: source.scored_at(self, a))
    refusal = IndefiniteKernelError("indefinite")
    monkeypatch.setattr(Search, "_reason", lambda self, kernel, alpha: refusal)
    with pytest.raises(IndefiniteKernelError, match="indefinite"):
        search._scored(Singular(0.1), Gaussian(1.0), ALPHAS)


def test_a_conditional_kernel_without_an_offset_is_refused_with_the_way_on(search, monkeypatch):
    monkeypatch.setattr(Search, "_scored_at", lambda self, source, a: source.scored_at(self, a))
    free = replace(search, fit_intercept=False)
    with pytest.raises(ValueError, match=r"alpha = 0.1 does not outweigh it; choose with fit_int"):
        free._scored(Singular(0.1), AdditiveChi2(), ALPHAS)


def test_memory_is_that_of_entries_or_of_structure(search):
    kernels = [Gaussian(1.0), Linear()]
    entries = entry_bytes(N, search.splits)
    found = search.bytes(kernels, [ALPHAS] * 2)
    assert found == [entries, search._structured(Linear(), ALPHAS).bytes]
    # What has room for one of them is not refused.
    replace(search, memory=min(found)).check_room(kernels, [ALPHAS] * 2)
    with pytest.raises(MemoryLimitError, match="choosing on 30 rows needs"):
        replace(search, memory=min(found) - 1).check_room(kernels, [ALPHAS] * 2)


def test_exact_errors_without_room_take_for_ever(search):
    steps = min(entries_held_out(N, search.splits, 2))
    needed = entry_bytes(N, search.splits)
    for memory, work in ((needed, steps), (needed - 1, np.inf)):
        found = replace(search, memory=memory, limits=[])._exact_work(Gaussian(1.0), ALPHAS)
        assert found == Work(double=work)
    structured = search._structured(Linear(), ALPHAS).work
    assert search._exact_work(Linear(), ALPHAS) == Work(double=structured)


@pytest.fixture
def asked(monkeypatch):
    """What a choice by landmarks is asked, which is made at once."""
    seen = []

    class Asked(held_out.ByLandmarks):
        def chosen(self, settings, kernel, exact):
            seen.append((self, kernel, exact))
            return replace(settings, solver="nystrom")

    monkeypatch.setattr(held_out, "ByLandmarks", Asked)
    return seen


def test_landmarks_are_asked_for_where_they_were_named_or_rows_are_many(search, asked, monkeypatch):
    kernels, ridges = [Gaussian(1.0), Gaussian(2.0)], [ALPHAS, ALPHAS[:1]]
    assert search.by_plan(Settings(), kernels, ridges).by_landmarks is None
    assert search.by_plan(Settings("eigen", n_landmarks=5), kernels, ridges).by_landmarks is None
    assert not asked
    named = search.by_plan(Settings(n_landmarks=5), kernels, ridges)
    assert named.by_landmarks.solver == "nystrom"
    assert search.by_plan(Settings("nystrom"), kernels, ridges).by_landmarks is not None
    monkeypatch.setattr(module, "FEW", N - 1)
    assert search.by_plan(Settings(), kernels, ridges).by_landmarks is not None
    monkeypatch.setattr(module, "FEW", N)
    assert search.by_plan(Settings(), kernels, ridges).by_landmarks is None
    (first, kernel, exact), _ = asked
    assert kernel == kernels[0]
    assert exact == search._exact_work(kernels[0], ALPHAS)
    errors = LandmarkErrors(N, 2, 2, search.splits, False)
    assert first.work(7) == Work(double=errors.work(7))
    assert first.bytes(7) == errors.bytes(7, steady_limit())


def test_where_a_kernel_takes_no_landmarks_none_is_asked_for(search, asked, monkeypatch):
    monkeypatch.setattr(module, "may_have_landmarks", lambda settings, kernel: kernel == Linear())
    kernels = [Linear(), Gaussian(1.0)]
    assert search.by_plan(Settings(n_landmarks=5), kernels, [ALPHAS] * 2).by_landmarks is None
    assert not asked
