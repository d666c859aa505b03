"""A matrix that is solved with by iteration: its answers, its counted work, when it grows."""

from time import perf_counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import DenseGram, StreamedGram
from mercer.gram.pivots import Pivots
from mercer.kernels import Gaussian
from mercer.solvers import Run
from mercer.solvers.ridge.bordered import Bordered
from mercer.solvers.ridge.cg_factor import IteratedFactor, first_rank

N = 60


@pytest.fixture
def gram(rng):
    return DenseGram.of(StreamedGram(Gaussian(0.5), rng.normal(size=(N, 2))))


def factor_of(gram, rank=None, max_iter=200, progress=None, goal=1e-10):
    factor = IteratedFactor(gram, Pivots(gram, 0), rank, max_iter, Run(progress=progress))
    factor.goal = goal
    return factor


def shifted(gram, alpha):
    return gram.dense() + alpha * np.eye(N)


@pytest.mark.parametrize("rank", [None, 0, 5])
def test_it_solves_with_the_shifted_matrix(gram, rng, rank):
    factor = factor_of(gram, rank)
    V = rng.normal(size=(N, 3))
    for alpha in (0.5, 0.01):
        factor.shift(alpha)
        A = shifted(gram, alpha)
        assert_allclose(factor.product(V), A @ V)
        X = factor.solve(V)
        assert_allclose(X, np.linalg.solve(A, V), rtol=1e-6, atol=1e-7)
        assert np.linalg.norm(V - A @ X) <= 1e-9 * np.linalg.norm(V)
    if rank is not None:
        assert factor.rank == rank
    assert not factor.ran_out
    assert not factor.is_over


def test_the_residual_that_the_iteration_knows_is_that_of_the_system(gram, rng):
    factor = factor_of(gram, rank=0, max_iter=3)
    factor.shift(0.5)
    system = Bordered.solve(factor, rng.uniform(0.5, 2.0, size=(N, 1)), rng.normal(size=(N, 2)))
    expected = system.residual()
    assert np.linalg.norm(expected) > 0.01
    assert_allclose(factor.recurred(system), expected, atol=1e-12)


def test_the_first_rank_is_eight_roots_of_the_rows():
    assert [first_rank(n) for n in (1, 100, 10000)] == [9, 81, 801]


def test_a_first_rank_is_no_more_than_the_most_that_is_worth_having(gram):
    factor = factor_of(gram)
    factor.shift(1e-8)
    factor._prepare()
    assert factor.rank == min(first_rank(N), factor._most())


@pytest.mark.parametrize(
    ("n", "room", "most"), [(60, 1e9, 60), (200, 1e9, 100), (1000, 1e9, 250), (1000, 7.5, 7)]
)
def test_the_largest_rank_is_a_quarter_of_the_rows_or_a_hundred_that_fit(rng, n, room, most):
    gram = DenseGram.of(StreamedGram(Gaussian(0.5), rng.normal(size=(n, 2))))
    held = gram.held_bytes + int(room * 16 * n)
    gram = DenseGram.of(StreamedGram(Gaussian(0.5), rng.normal(size=(n, 2)), memory=held))
    assert factor_of(gram)._most() == most


def test_work_is_counted_by_entries_and_rows(gram):
    factor = factor_of(gram)
    assert factor._step_work(7) == 50.0 * N * N + 100.0 * N * 7
    grown = N * (200.0 * (9 - 4) + 2.0 * (9**2 - 4**2)) + 9**3 / 3.0
    assert_allclose(factor._growth_work(4, 9), grown)


def test_the_work_of_growth_and_steps_adds_up(gram, rng):
    factor = factor_of(gram, 5)
    factor.shift(0.1)
    factor.solve(rng.normal(size=(N, 1)))
    steps = factor.iterations
    assert steps > 1
    assert_allclose(factor.work, factor._growth_work(0, 5) + steps * factor._step_work(5))


def test_a_later_ridge_starts_from_the_best_combination_of_earlier_solutions(gram, rng):
    factor = factor_of(gram)
    V = rng.normal(size=(N, 2))
    X, R = factor._start(V)
    assert not X.any()
    assert_array_equal(R, V)
    factor.shift(1.0)
    first = factor.solve(V)
    factor.shift(0.5)
    A = shifted(gram, 0.5)
    X, R = factor._start(V)
    c = np.linalg.solve(first.T @ A @ first, first.T @ V)
    assert_allclose(X, first @ c, rtol=1e-6, atol=1e-8)
    assert_allclose(R, V - A @ X, atol=1e-8)


def test_a_solution_that_is_zero_is_no_direction_to_start_from(gram, rng):
    factor = factor_of(gram)
    factor.shift(1.0)
    V = np.column_stack([np.zeros(N), rng.normal(size=N)])
    X = factor.solve(V)
    assert not X[:, 0].any()
    assert factor._basis.shape == (N, 1)
    assert_allclose(np.linalg.norm(factor._basis), 1.0)
    assert_allclose(factor._products, gram.dense() @ factor._basis, atol=1e-8)


def test_steps_are_limited_for_every_ridge_anew(gram, rng):
    factor = factor_of(gram, 0, max_iter=3)
    for alpha in (1e-3, 1e-4):
        factor.shift(alpha)
        assert not factor.is_over
        factor.solve(rng.normal(size=(N, 1)))
        assert factor.is_over
        assert factor.ran_out
    assert factor.iterations == 6


def test_all_steps_used_up_for_a_solution_are_no_shortage(gram, rng):
    V = rng.normal(size=(N, 1))
    plenty = factor_of(gram, 0, goal=1e-3)
    plenty.shift(0.5)
    plenty.solve(V)
    exact = factor_of(gram, 0, max_iter=plenty.iterations, goal=1e-3)
    exact.shift(0.5)
    exact.solve(V)
    assert exact.is_over
    assert not exact.ran_out


def test_a_callback_ends_it_and_hears_the_falling_error(gram, rng):
    seen = []

    def progress(i, error):
        seen.append((i, error))
        return i == 4

    factor = factor_of(gram, 0, progress=progress)
    factor.shift(1e-3)
    factor.solve(rng.normal(size=(N, 1)))
    assert factor._run.ended_by == "progress"
    assert [i for i, _ in seen] == [1, 2, 3, 4]
    assert factor.is_over


def test_ctrl_c_before_the_first_step_raises_and_later_keeps_what_there_is(gram, rng, monkeypatch):
    def press(i, error):
        raise KeyboardInterrupt

    factor = factor_of(gram, 0, progress=press)
    factor.shift(1e-3)
    X = factor.solve(rng.normal(size=(N, 1)))
    assert factor._run.ended_by == "interrupt"
    assert X.any()
    factor = factor_of(gram, 0)
    factor.shift(1e-3)
    monkeypatch.setattr(factor, "_iterate", lambda state: press(0, 0.0))
    with pytest.raises(KeyboardInterrupt):
        factor.solve(rng.normal(size=(N, 1)))


class Looked:
    """A state of conjugate gradients of which only the errors are known."""

    def __init__(self, errors):
        self.errors, self.error, self.restarts = list(errors), errors[-1], 0

    def restart(self):
        self.restarts += 1


def test_the_steps_to_come_follow_from_the_rate_of_the_last_ten(gram):
    factor = factor_of(gram, 6, max_iter=100, goal=1e-6)
    factor.shift(0.1)
    factor._prepare()
    factor._steps = 20
    # From 1 to 1e-2 in ten steps: 1e-6 is twenty steps away.
    factor._look(Looked([5.0, *np.geomspace(1.0, 1e-2, 11)]))
    assert_allclose(factor.remaining, 20.0 * factor._step_work(6))
    # No progress at all, or none that suffices: as many as are allowed.
    factor._look(Looked(np.ones(11)))
    assert_allclose(factor.remaining, 80.0 * factor._step_work(6))
    factor._look(Looked(np.geomspace(1.0, 0.999, 11)))
    assert_allclose(factor.remaining, 80.0 * factor._step_work(6))
    # Already there.
    factor._look(Looked(np.geomspace(1.0, 1e-8, 11)))
    assert factor.remaining == 0.0


@pytest.mark.parametrize(("share", "restarts"), [(0.95, 0), (1.05, 1)])
def test_the_rank_doubles_where_that_saves_more_than_it_costs(rng, share, restarts):
    gram = DenseGram.of(StreamedGram(Gaussian(0.3), rng.normal(size=(400, 2))))
    factor = IteratedFactor(gram, Pivots(gram, 0), None, 10000, Run())
    factor.shift(1e-9)
    factor._grow(10)
    # At the last doubling the error of the copy fell by four, and so half the steps are expected.
    factor._pivots.history[:] = [(5, 8.0), (10, 2.0)]
    saved = factor._step_work(10) - 0.5 * factor._step_work(20)
    steps = share * factor._growth_work(10, 20) / saved
    errors = np.geomspace(1.0, 1e-2, 11)
    factor.goal = 1e-2 * 10.0 ** (-0.2 * steps)
    late = Looked([3.0, *errors])  # not at a multiple of ten steps
    factor._look(late)
    assert late.restarts == 0
    factor._solves.append([])
    state = Looked(errors)
    factor._look(state)
    assert state.restarts == restarts
    assert factor.rank == 10 * (1 + restarts)


def test_a_rank_that_is_kept_to_does_not_grow(gram):
    factor = factor_of(gram, 6, max_iter=10000, goal=1e-12)
    factor.shift(1e-9)
    factor._prepare()
    state = Looked(np.geomspace(1.0, 0.999, 11))
    factor._look(state)
    assert (factor.rank, state.restarts) == (6, 0)


def test_the_preconditioner_grows_for_a_third_of_the_time_left(gram, monkeypatch):
    seen = []
    factor = IteratedFactor(gram, Pivots(gram, 0), None, 200, Run(time_limit=300.0))
    factor.shift(0.1)
    factor._prepare()
    monkeypatch.setattr(factor._pivots, "grow", lambda *given: seen.append(given))
    factor._grow(7)
    (rank, until, deadline), left = seen[0], factor._run.seconds_left
    assert (rank, until) == (7, IteratedFactor.enough * 0.1)
    assert deadline - perf_counter() == pytest.approx(left / 3.0, abs=5.0)
