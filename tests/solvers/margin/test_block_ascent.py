"""Block coordinate ascent: its steps, and when it stops."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import PrecomputedGram
from mercer.solvers import SMO, MarginProblem, Run
from mercer.solvers.margin.block_ascent import BlockAscent, _State, ascended
from mercer.solvers.margin.problem import Gap

M = 14


def problem_of(rng, kind, fit_intercept=True):
    costs = rng.uniform(0.5, 2.0, size=M)
    if kind == "tube":
        return MarginProblem.regression(rng.normal(size=M), costs, 0.2, fit_intercept)
    signs = np.where(np.arange(M) % 2 == 0, 1.0, -1.0)
    return MarginProblem.classification(signs, costs, fit_intercept)


@pytest.fixture
def K(rng):
    X = rng.normal(size=(M, 2))
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def dual(problem, K, a):
    return problem.z @ a - problem.epsilon * np.abs(a).sum() - 0.5 * a @ K @ a


@pytest.mark.parametrize("kind", ["tube", "classes"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_step_is_as_long_as_the_dual_gains_by_it(rng, K, kind, fit_intercept, monkeypatch):
    monkeypatch.setattr(BlockAscent, "steps", 1)
    problem = problem_of(rng, kind, fit_intercept)
    for _ in range(10):
        a = problem.feasible(0.3 * rng.normal(size=M))
        r = K @ a - problem.z
        d = problem.steepest(a, r) - a
        # The gain of a length t is t (its slope) - t^2 d'Kd / 2 along a line with the penalty of
        # the end, which is no more than that on the way.
        slope = -d @ r - problem.epsilon * (np.abs(a + d) - np.abs(a)).sum()
        length = min(slope / (d @ K @ d), 1.0)
        after = ascended(problem, K, a, r)
        assert_allclose(after, a + length * d if slope > 0.0 else a, atol=1e-13)


def test_several_steps_follow_each_other_with_the_residuals_of_each(rng, K, monkeypatch):
    problem = problem_of(rng, "tube")
    a = problem.feasible(0.3 * rng.normal(size=M))
    four = ascended(problem, K, a, K @ a - problem.z)
    monkeypatch.setattr(BlockAscent, "steps", 1)
    for _ in range(4):
        a = ascended(problem, K, a, K @ a - problem.z)
    assert_allclose(four, a, atol=1e-12)


def test_at_the_optimum_nothing_moves(rng, K):
    problem = MarginProblem.regression(np.zeros(M), np.ones(M), 0.1, True)
    assert_array_equal(ascended(problem, K, np.zeros(M), np.zeros(M)), np.zeros(M))


@pytest.mark.parametrize("kind", ["tube", "classes"])
def test_an_epoch_raises_the_dual_and_stays_feasible(rng, K, kind):
    problem = problem_of(rng, kind)
    state = _State(PrecomputedGram(K), problem, 5, np.random.default_rng(0))
    last = 0.0
    for _ in range(4):
        state.epoch(Run())
        now = dual(problem, K, state.a)
        assert now > last
        last = now
        assert_allclose(state.a.sum(), 0.0, atol=1e-12)
        assert ((problem.lower <= state.a) & (state.a <= problem.upper)).all()


def test_an_epoch_visits_every_row_once(rng, K, monkeypatch):
    state = _State(PrecomputedGram(K), problem_of(rng, "tube"), 5, np.random.default_rng(0))
    visited = []
    monkeypatch.setattr(state, "_visit", visited.append)
    state.epoch(Run())
    assert [len(rows) for rows in visited] == [5, 5, 4]
    assert sorted(np.concatenate(visited)) == list(range(M))
    visited.clear()
    state.epoch(Run(time_limit=1e-9))
    assert len(visited) == 1
    state.epoch(Run(stop=np.ones(1, np.uint8)))
    assert len(visited) == 2
    state.epoch(Run(stop=np.zeros(1, np.uint8)))
    assert len(visited) == 5
    assert _State(PrecomputedGram(K), problem_of(rng, "tube"), 99, None).batch == M


@pytest.mark.parametrize("kind", ["tube", "classes"])
def test_the_answer_is_that_of_smo_within_its_radius(rng, K, kind):
    gram, problem = PrecomputedGram(K), problem_of(rng, kind)
    solution = BlockAscent(1e-3, 4000, random_state=0).solve(gram, problem)
    best = SMO(1e-10).solve(gram, problem).coefficients[:, 0]
    a = solution.coefficients[:, 0]
    gap = problem.proved(a, K @ a, K.diagonal())
    assert_allclose(solution.residual, [gap.relative])
    assert_allclose(solution.radius, [np.sqrt(2.0 * gap.gap)])
    assert_allclose(solution.intercept, [gap.offset])
    assert solution.residual[0] <= 1e-3
    assert np.sqrt((a - best) @ K @ (a - best)) <= solution.radius[0]
    assert solution.tolerance == 1e-3
    assert not solution.is_interrupted


def test_it_looks_at_powers_of_two_and_at_the_end(rng, K):
    seen = []
    solver = BlockAscent(0.0, 11, random_state=0)
    watched = Run(progress=lambda i, gap: seen.append((i, gap)))
    solver.solve(PrecomputedGram(K), problem_of(rng, "tube"), watched)
    assert [i for i, _ in seen] == [1, 2, 4, 8, 11]
    gaps = [gap for _, gap in seen]
    assert gaps == sorted(gaps, reverse=True)


def test_it_stops_as_soon_as_a_look_finds_the_gap_small_enough(rng, K):
    solution = BlockAscent(0.5, random_state=0).solve(PrecomputedGram(K), problem_of(rng, "tube"))
    assert solution.iterations in (1, 2, 4, 8, 16, 32)
    assert solution.residual[0] <= 0.5


def test_it_says_how_many_epochs_there_were_and_may_be(rng, K):
    gram, problem = PrecomputedGram(K), problem_of(rng, "tube")
    solution = BlockAscent(0.0, 3, random_state=0).solve(gram, problem)
    assert solution.iterations == 3
    assert solution.advice.startswith("after 3 epochs the gap is still open; use solver='smo'")
    assert "raise max_iter (now 3)" in solution.advice
    assert (
        BlockAscent(0.0, random_state=0).solve(gram, problem).iterations == BlockAscent.epochs == 64
    )


def test_a_callback_or_a_stop_or_time_ends_it(rng, K):
    gram, problem = PrecomputedGram(K), problem_of(rng, "tube")
    called = BlockAscent(0.0, 50, random_state=0).solve(
        gram, problem, Run(progress=lambda i, gap: i >= 4)
    )
    assert called.iterations == 4
    assert "a callback ended the iteration" in called.advice
    assert not called.is_interrupted
    stopped = BlockAscent(0.0, 50, random_state=0).solve(
        gram, problem, Run(stop=np.ones(1, np.uint8))
    )
    assert stopped.iterations == 1
    assert "Ctrl-C ended the iteration" in stopped.advice
    assert stopped.is_interrupted
    late = BlockAscent(0.0, 50, random_state=0).solve(gram, problem, Run(time_limit=1e-9))
    assert late.iterations == 1
    assert "was up; raise time_limit" in late.advice


def test_ctrl_c_keeps_what_there_is_after_the_first_epoch_only(rng, K):
    gram, problem = PrecomputedGram(K), problem_of(rng, "tube")

    def press(i, gap):
        raise KeyboardInterrupt

    solution = BlockAscent(0.0, 50, random_state=0).solve(gram, problem, Run(progress=press))
    assert solution.iterations == 1
    assert solution.is_interrupted


def test_it_starts_from_given_coefficients_made_feasible(rng, K):
    gram, problem = PrecomputedGram(K), problem_of(rng, "tube")
    best = SMO(1e-8).solve(gram, problem).coefficients[:, 0]
    warm = BlockAscent(1e-4, 1, random_state=0).solve(gram, replace(problem, start=best))
    assert warm.residual[0] <= 1e-4
    beyond = BlockAscent(0.0, 0, random_state=0).solve(gram, replace(problem, start=10.0 * best))
    assert_array_equal(beyond.coefficients[:, 0], problem.feasible(10.0 * best))


@pytest.mark.parametrize("epochs", [0, 1])
def test_ctrl_c_ends_with_a_model_after_an_epoch_and_raises_before(rng, K, monkeypatch, epochs):
    done = []

    def epoch(state, run):
        if len(done) == epochs:
            raise KeyboardInterrupt
        done.append(run)

    monkeypatch.setattr(_State, "epoch", epoch)
    run = Run()
    if epochs == 0:
        with pytest.raises(KeyboardInterrupt):
            BlockAscent().solve(PrecomputedGram(K), problem_of(rng, "tube"), run)
    else:
        solution = BlockAscent().solve(PrecomputedGram(K), problem_of(rng, "tube"), run)
        assert (solution.iterations, run.ended_by) == (1, "interrupt")


def test_the_answer_is_the_best_that_was_seen_and_not_the_last(rng, K, monkeypatch):
    gaps, seen = iter([0.9, 0.5, 0.2, 0.4, 0.3]), []

    def gap(state, a):
        seen.append(a.copy())
        return Gap(0.0, next(gaps), 1.0)

    monkeypatch.setattr(_State, "gap", gap)
    solver = BlockAscent(tol=1e-9, max_iter=8, batch=5)
    found = solver.solve(PrecomputedGram(K), problem_of(rng, "tube"))
    assert len(seen) == 5
    assert_array_equal(found.coefficients[:, 0], seen[2])
