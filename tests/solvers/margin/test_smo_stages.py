"""Stages of sequential minimal optimisation: what pairs are asked, on which rows, how precisely."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import StreamedGram, gram_of
from mercer.kernels import Gaussian, Linear
from mercer.solvers import SMO, MarginProblem, Run
from mercer.solvers.margin import low_rank_start as seeding, screening, smo
from mercer.solvers.margin.problem import Gap
from mercer.solvers.margin.screening import Screening

KERNEL = Gaussian(1.0)


@pytest.fixture
def X(rng):
    return rng.normal(size=(400, 3))


@pytest.fixture
def signs(X, rng):
    return np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=400) > 0.7, 1.0, -1.0)


def classification(signs, C=1.0, fit_intercept=True):
    return MarginProblem.classification(signs, np.full(len(signs), C), fit_intercept)


class Recorded:
    """The minimiser of the engine, with what it was asked for."""

    def __init__(self, monkeypatch):
        self.calls, self.minimise = [], smo.minimise
        monkeypatch.setattr(smo, "minimise", self)

    def __call__(self, *given):
        names = ("K", "box", "a", "g", "effort", "stop", "progress", "is_single", "capacity")
        names += ("working_set", "newton_step", "index", "state")
        call = dict(zip(names, given, strict=True))
        self.calls.append(call)
        return self.minimise(*given)


@pytest.fixture
def recorded(monkeypatch):
    return Recorded(monkeypatch)


def test_pairs_are_solved_to_a_tenth_of_the_tolerance_with_what_is_allowed(X, signs, recorded):
    problem = classification(signs)
    SMO(tol=1e-2, max_iter=500).solve(StreamedGram(KERNEL, X), problem, Run(time_limit=60.0))
    first = recorded.calls[0]
    effort = first["effort"]
    assert_allclose(effort.tolerance, 1e-3)
    assert (effort.floor, effort.rounds, effort.threads, effort.is_main) == (0.0, 500, None, True)
    assert 0.0 < effort.seconds <= 60.0
    assert first["is_single"]
    assert first["working_set"] == 256
    assert first["index"] is None
    # Few enough rows for the whole matrix.
    assert first["K"].shape == (400, 400)
    other = SMO(tol=1e-2, working_set=64)
    other.solve(StreamedGram(KERNEL, X), problem, Run(is_main=False))
    assert recorded.calls[-1]["working_set"] == 64
    assert recorded.calls[-1]["effort"].threads == 1
    assert recorded.calls[-1]["effort"].rounds == 2**62
    assert recorded.calls[-1]["effort"].seconds == np.inf


@pytest.mark.parametrize(("whole", "is_whole"), [(401, True), (400, False)])
def test_many_rows_are_written_as_they_are_asked_for(
    X, signs, recorded, monkeypatch, whole, is_whole
):
    monkeypatch.setattr(SMO, "whole_rows", whole)
    monkeypatch.setattr(SMO, "store_bytes", 4 * 400 * 300)
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X), classification(signs))
    call = recorded.calls[0]
    assert isinstance(call["K"], np.ndarray) is is_whole
    assert call["capacity"] == (0 if is_whole else 300)
    if not is_whole:
        out = np.empty((2, 400), np.float32)
        call["K"](np.array([3, 5]), out)
        assert_allclose(out, KERNEL(X)[[3, 5]], atol=1e-6)


def test_a_matrix_that_does_not_fit_is_read_by_rows(X, signs, recorded):
    enough = 4 * 400 * 400
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X, enough), classification(signs))
    assert isinstance(recorded.calls[0]["K"], np.ndarray)
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X, enough - 1), classification(signs))
    assert not isinstance(recorded.calls[-1]["K"], np.ndarray)
    # Newton steps need the rest of the memory.
    assert recorded.calls[-1]["capacity"] == int(3 / 8 * (enough - 1)) // 1600


def test_working_sets_are_smaller_where_their_rows_do_not_fit(X, signs, recorded):
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X, 1600 * 160), classification(signs))
    assert recorded.calls[-1]["working_set"] == recorded.calls[-1]["capacity"] == 60


def test_rows_are_written_some_at_a_time_where_memory_is_small(X, signs, recorded, monkeypatch):
    asked = []
    rows = StreamedGram.rows
    monkeypatch.setattr(StreamedGram, "rows", lambda K, i: asked.append(len(i)) or rows(K, i))
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X, 1600 * 160), classification(signs))
    out = np.empty((25, 400), np.float32)
    recorded.calls[-1]["K"](np.arange(25), out)
    assert asked[-3:] == [10, 10, 5]
    assert_allclose(out, KERNEL(X)[:25], atol=1e-6)


def run_of(X, problem, tol=1e-3):
    return smo._State(StreamedGram(KERNEL, X), problem, SMO(tol), Run())


def test_rows_in_doubt_are_not_clearly_at_a_bound(X, signs, monkeypatch):
    problem = classification(signs)
    monkeypatch.setattr(Screening, "least_rows", 399)
    run = run_of(X, problem)
    a = SMO(tol=1e-5).solve(run.gram, problem).coefficients[:, 0]
    f = KERNEL(X) @ a
    run.values.replace(a, f, True)
    gap = problem.gap(a, f)
    worst = np.maximum(*problem.slopes(a, f + gap.offset - problem.z))
    clear = worst < 0.0
    # Of those that are where they should be, one in twenty, next to a kink, may still move.
    clear &= worst < np.quantile(worst[clear], 0.95)
    assert 0 < (~clear).sum() < 0.8 * 400
    assert_array_equal(run._active(gap), np.flatnonzero(~clear))
    monkeypatch.setattr(Screening, "most_active", float((~clear).mean()))
    assert run._active(gap) is None
    monkeypatch.setattr(Screening, "least_rows", 400)
    assert run_of(X, problem).screening is None
    assert run_of(X, problem)._active(gap) is None


@pytest.mark.parametrize(("epsilon", "least"), [(0.0, 8192), (0.1, 20_000)])
def test_a_tube_is_screened_from_more_rows_on(rng, epsilon, least):
    for n, pays in ((least, False), (least + 1, True)):
        problem = MarginProblem.regression(rng.normal(size=n), np.ones(n), epsilon, True)
        assert (run_of(rng.normal(size=(n, 2)), problem).screening is not None) is pays


def test_what_ended_it_is_said(X, signs):
    state = run_of(X, classification(signs))
    assert (
        SMO()._advice(state).startswith("the gap is lost in rounding; lower C, scale the columns")
    )
    state.reason = "rounds"
    assert SMO(max_iter=9)._advice(state) == "max_iter was reached; raise max_iter (now 9)"


def test_callbacks_count_the_rounds_of_all_stages(X, signs):
    seen = []
    run = run_of(X, classification(signs))
    nothing_kept = (None, None, None, None)
    assert run._report(*nothing_kept) is None
    run.run.progress, run.rounds = lambda i, gap: seen.append((i, gap)), 7
    assert not run._report(*nothing_kept)(2, 0.5)
    assert seen == [(9, 0.5)]


@pytest.mark.parametrize(
    ("relative", "before", "active", "is_certified"),
    [
        # Small enough, or not falling any more where float32 may be what keeps it from falling.
        (0.2e-3, np.inf, None, True),
        (0.4e-3, np.inf, None, False),
        (0.4e-3, 0.5e-3, None, True),
        (5e-3, 6e-3, np.arange(5), False),
        (0.9e-3, 1e-3, np.arange(5), True),
    ],
)
def test_float64_measures_once_float32_has_told_all_it_can(
    X, signs, monkeypatch, relative, before, active, is_certified
):
    monkeypatch.setattr(Screening, "least_rows", 10)
    run = run_of(X, classification(signs))
    run._gap = before

    class Known:
        gap = Gap(0.0, relative, 1.0)

        def certified(self):
            return "certified"

    run.values = Known()
    found, certified = run._measured(active)
    assert certified is is_certified
    assert (found == "certified") is is_certified
    run.screening = None
    assert run._measured(active) == ("certified", True)


class Told:
    """Values whose gap is known beforehand, in place of those of a solve."""

    def __init__(self, gaps):
        self.gaps, self.is_exact = iter(gaps), False

    @property
    def gap(self):
        return Gap(0.0, next(self.gaps), 2.0)

    def certified(self):
        return self.gap

    def exact(self):
        self.is_exact = True


def stages(X, problem, gaps, tol=1e-3):
    """Return what every stage solves for: which rows, to which gap, above which floor, and how."""
    state = run_of(X, problem, tol)
    seen, values = [], Told([2.0 * gap for gap in gaps])

    def improve(active, tolerance, begun):
        assert begun is None
        assert values.is_exact is tolerance.is_double
        seen.append(("all" if active is None else "some", *tolerance[:3]))

    state.values, state._improve = values, improve
    state.screening = SimpleNamespace(start=lambda: np.arange(5))
    state._active = lambda gap: np.arange(5)
    state._measured = lambda active: (values.gap, True)
    state.finish()
    return seen


def test_rows_in_doubt_are_solved_while_that_halves_the_gap_and_all_rows_where_it_does_not(
    X, signs, monkeypatch
):
    monkeypatch.setattr(Screening, "least_rows", 399)
    gaps = [0.4, 0.19, 0.15, 0.12, 0.1, 0.099, 0.04, 0.9e-3]
    seen = stages(X, classification(signs), gaps)
    assert [rows for rows, *_ in seen] == [*["some"] * 6, "all", "some"]
    # Two digits at first, then a fiftieth of the gap of all rows; all rows go to the end.
    gaps = [1e-2, *(0.02 * np.array([0.4, 0.19, 0.15, 0.12, 0.1])), 1e-4, 0.02 * 0.04]
    assert_allclose([gap for _, gap, *_ in seen], gaps)
    assert [floor for _, _, floor, _ in seen] == [0.0, *[2.0] * 7]
    assert not any(is_double for *_, is_double in seen)


def test_float64_is_for_all_rows_that_float32_does_not_get_on_with(X, signs, monkeypatch):
    monkeypatch.setattr(Screening, "least_rows", 399)
    gaps = [0.1, 0.09, 0.09, 0.09, 0.09, 0.08, 0.07]
    seen = stages(X, classification(signs), gaps)
    # Without progress for four stages all rows are solved for, then in float64, then no more.
    assert [rows for rows, *_ in seen] == ["some"] * 5 + ["all"] * 2
    assert [is_double for *_, is_double in seen] == [False] * 6 + [True]


@pytest.mark.parametrize(("active", "is_taken"), [(0, False), (1, True), (319, True), (320, False)])
def test_a_seed_leaves_the_rows_in_doubt_unless_they_are_none_or_most(
    X, signs, monkeypatch, active, is_taken
):
    problem = classification(signs)
    a = problem.feasible(np.where(X[:, 2] > 0.5, signs, 0.0))
    rows = np.arange(active)
    monkeypatch.setattr(screening, "are_bounded", lambda *given: True)
    monkeypatch.setattr(
        screening, "low_rank_start", lambda *given: seeding.LowRankStart(a.copy(), rows)
    )
    state = run_of(X, problem)
    found = Screening(state.values, state.run).start()
    assert_array_equal(state.values.a, a)
    if is_taken:
        assert_array_equal(found, rows)
        assert_allclose(state.values.f[rows], (KERNEL(X) @ a)[rows], atol=1e-4)
    else:
        assert found is None
        assert_allclose(state.values.f, KERNEL(X) @ a, atol=1e-4)


@pytest.mark.parametrize("rounds", [0, 1])
def test_ctrl_c_ends_with_a_model_once_a_working_set_was_solved(X, signs, monkeypatch, rounds):
    def finish(state):
        state.rounds = rounds
        raise KeyboardInterrupt

    monkeypatch.setattr(smo._State, "finish", finish)
    run = Run()
    if rounds == 0:
        with pytest.raises(KeyboardInterrupt):
            SMO().solve(StreamedGram(KERNEL, X), classification(signs), run)
    else:
        assert SMO().solve(StreamedGram(KERNEL, X), classification(signs), run).iterations == 1
        assert run.is_interrupted


def test_bounds_out_of_reach_end_with_a_sentence_and_not_never(rng):
    X = rng.normal(size=(30, 2))
    # Linear functions do not fit these targets, and the steps are as small as the targets are.
    problem = MarginProblem.regression(rng.normal(size=30), np.full(30, 1e20), 0.01, True)
    solution = SMO(max_steps=5000).solve(gram_of(Linear(), X), problem)
    assert solution.residual[0] > 1e-3
    assert "lower C or scale targets up" in solution.advice


def test_last_digits_are_taken_if_they_leave_no_larger_gap_and_looked_for_thrice(
    X, signs, monkeypatch
):
    problem, K = classification(signs), KERNEL(X)
    exact = SMO(tol=1e-13).solve(StreamedGram(KERNEL, X), problem).coefficients[:, 0]
    rough = problem.feasible(exact + 1e-3)
    for found, is_better in ((exact, True), (np.zeros(400), False), (None, False)):
        state, goals = run_of(X, problem), []
        state.values.replace(rough.copy(), K @ rough, True)
        point = None if found is None else (found.copy(), K @ found)
        monkeypatch.setattr(smo, "polished", lambda *given, point=point: point)
        state._improve = lambda active, tolerance, goals=goals: goals.append(tolerance.gap)
        state._polish(state.values.gap)
        assert_array_equal(state.values.a, exact if is_better else rough)
        # Where rounding alone is left over there is no more to be had.
        assert goals == ([] if is_better else [1e-8, 1e-11, 1e-14])


@pytest.mark.parametrize("reason", ["rounds", "stalled", "time", "steps"])
def test_working_sets_that_do_not_find_the_last_digits_are_not_missed(
    X, signs, monkeypatch, reason
):
    state, goals = run_of(X, classification(signs)), []
    monkeypatch.setattr(smo, "polished", lambda *given: None)

    def improve(active, tolerance):
        goals.append((tolerance.gap, tolerance.is_double, tolerance.max_rounds))
        state.reason = reason

    state._improve, state.rounds = improve, 7
    state._polish(state.values.gap)
    assert goals == [(1e-8, True, 37)]
    assert state.reason == ("converged" if reason in ("rounds", "stalled") else reason)


def test_after_thirty_stages_it_ends_with_what_there_is(X, signs, monkeypatch):
    monkeypatch.setattr(Screening, "least_rows", 399)
    gaps = 0.4 ** np.arange(1.0, 40.0)
    assert len(stages(X, classification(signs), gaps, tol=1e-30)) == 30
