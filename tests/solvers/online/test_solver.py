"""The solver of perceptrons: its settings, its passes over the rows, and what ends them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.estimators import KernelPerceptron
from mercer.gram import PrecomputedGram
from mercer.solvers import Perceptron, PerceptronProblem, Run, run as runs
from mercer.solvers.online.budget import Basis
from mercer.solvers.online.perceptron import Tally


class Ticking:
    """A learner that counts visits and never learns enough."""

    rows_at_a_time = 10

    def __init__(self, failing_at=np.inf):
        self.visits = 0
        self.failing_at = failing_at

    def visit(self, order):
        if self.visits >= self.failing_at:
            raise KeyboardInterrupt
        self.visits += 1

    def mistakes(self):
        return np.array([self.visits])

    def settle(self, is_right):
        pass


def test_the_clock_ends_it_within_an_epoch(monkeypatch):
    times = iter(np.arange(0.0, 100.0))
    learner, run = Ticking(), Run(3.5, began=0.0)
    monkeypatch.setattr(runs, "perf_counter", lambda: next(times))
    epochs, _ = Perceptron().passes(learner, 100, run)
    assert (run.ended_by, epochs, learner.visits) == ("time", 1, 5)


def test_mistakes_of_an_epoch_that_the_clock_cut_are_not_known(monkeypatch):
    class Once(Ticking):
        def mistakes(self):
            return np.array([min(self.visits, 1)])

    times = iter(np.arange(0.0, 100.0))
    monkeypatch.setattr(runs, "perf_counter", lambda: next(times))
    epochs, last = Perceptron().passes(Once(), 20, Run(1.5, began=0.0))
    assert (epochs, last.tolist()) == (2, [np.inf])


def test_ctrl_c_leaves_what_was_learned_and_raises_before():
    run = Run()
    epochs, _ = Perceptron().passes(Ticking(failing_at=13), 100, run)
    assert (run.ended_by, epochs) == ("interrupt", 2)
    with pytest.raises(KeyboardInterrupt):
        Perceptron().passes(Ticking(failing_at=0), 100, Run())


def test_progress_hears_of_every_epoch_and_may_end_it():
    heard = []

    def progress(epoch, share):
        heard.append((epoch, share))
        return epoch == 3

    run = Run(progress=progress)
    Perceptron().passes(Ticking(), 20, run)
    assert run.ended_by == "progress"
    assert heard == [(1, 0.1), (2, 0.1), (3, 0.1)]


@pytest.mark.parametrize("epochs", [0, 1.5])
def test_settings_that_mean_nothing_are_refused(epochs):
    with pytest.raises(ValueError, match=f"max_epochs must be a .*, got {epochs}"):
        Perceptron(epochs)


def test_the_solver_and_the_estimator_have_the_same_defaults():
    given = KernelPerceptron().get_params()
    solver = Perceptron()
    assert (solver.max_epochs, solver.shuffle, solver.budget) == (
        given["max_epochs"],
        given["shuffle"],
        given["budget"],
    )


@pytest.mark.parametrize("start", [Tally.fresh(np.empty((2, 0))), Basis.empty(2)])
def test_before_any_row_is_visited_there_is_no_mistake_and_nothing_is_separated(start):
    signs = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    solution = PerceptronProblem(signs, start).zero_solution(1e-3)
    assert solution.mistakes.tolist() == [0, 0]
    assert solution.is_separated.tolist() == [False, False]
    rows = 3 if isinstance(start, Tally) else 0
    assert solution.state.mean().size == 2 * rows


@pytest.mark.parametrize(
    ("start", "budget"), [(Tally.fresh(np.empty((1, 0))), None), (Basis.empty(1), 3)]
)
def test_passes_are_limited_and_end_without_a_mistake(start, budget):
    signs = np.array([[1.0], [-1.0], [1.0]])
    gram = PrecomputedGram(np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]))
    problem = PerceptronProblem(signs, start)
    solution = Perceptron(budget=budget).solve(gram, problem)
    assert solution.iterations > 2
    assert solution.is_separated.tolist() == [True]
    cut = Perceptron(solution.iterations - 1, budget=budget).solve(gram, problem)
    assert (cut.iterations, cut.is_separated.tolist()) == (solution.iterations - 1, [False])
    # The last pass made no mistake.
    assert_array_equal(cut.mistakes, solution.mistakes)


def test_every_pass_has_an_order_of_its_own_if_it_is_asked_for():
    orders = []

    class Watching(Ticking):
        rows_at_a_time = 100

        def visit(self, order):
            orders.append(order.tolist())
            super().visit(order)

    Perceptron(2).passes(Watching(), 6, Run())
    assert orders == [[0, 1, 2, 3, 4, 5]] * 2
    orders.clear()
    Perceptron(2, shuffle=True, random_state=3).passes(Watching(), 6, Run())
    random = np.random.default_rng(3)
    assert orders == [random.permutation(6).tolist() for _ in range(2)]


@pytest.mark.parametrize("most", [1, 300])
def test_what_is_never_learned_ends_at_the_limit_of_epochs(most):
    assert Perceptron(max_epochs=most).passes(Ticking(), 10, Run())[0] == most
