"""When random batches are measured, go on in float64, and end."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer.solvers import LogisticProblem, RidgeProblem, Run, StochasticLogistic, StochasticRidge
from mercer.solvers.online import logistic, ridge


class IdleState:
    """The state of a solver whose batches do nothing, and how often it is measured."""

    is_exact = True

    def __init__(self):
        self.refreshed = self.sharpened = 0
        self.F = self.A = np.zeros((4, 1))

    def epoch(self, run):
        return []

    def refresh(self):
        self.refreshed += 1

    def sharpen(self):
        self.sharpened += 1

    def state(self):
        return {}


def epochs_of(monkeypatch, module, solver, problem):
    """Return the state at the end of a solver, and after how many epochs that was."""
    state = IdleState()
    monkeypatch.setattr(type(solver), "_begun", lambda self, gram, problem: state)
    monkeypatch.setattr(
        type(solver), "_measured", lambda self, gram, problem, state, *rest: (state, rest[-2])
    )
    gram = SimpleNamespace(has_own_threads=False)
    return solver._solved(gram, problem, Run())


def ridge_epochs(monkeypatch, values, **settings):
    left = iter(values)
    monkeypatch.setattr(ridge, "_residual", lambda problem, state: next(left))
    problem = RidgeProblem(np.zeros((4, 1)), np.ones(1), np.ones(4), False)
    return epochs_of(monkeypatch, ridge, StochasticRidge(**settings), problem)


def test_residuals_of_ridge_are_measured_after_powers_of_two(monkeypatch):
    # Each measurement asks once more.
    state, epochs = ridge_epochs(monkeypatch, [1.0] * 12, tol=0.1, max_iter=8)
    assert (state.refreshed, epochs) == (4, 8)
    # What does not halve from one to the next goes on in float64.
    assert state.sharpened == 3


def test_ridge_ends_where_a_measured_residual_is_half_of_the_tolerance(monkeypatch):
    values = [1.0, 1.0, 0.4, 0.4, 0.051, 0.05, 0.05]
    state, epochs = ridge_epochs(monkeypatch, [*values, *[9.0] * 9], tol=0.1)
    assert (epochs, state.refreshed, state.sharpened) == (4, 3, 0)


def logistic_epochs(monkeypatch, missed, gaps, **settings):
    left, found = iter(missed), iter(gaps)

    def point(gram, problem, state, b):
        state.refresh()
        return SimpleNamespace(b=b, relative_gap=next(found))

    monkeypatch.setattr(logistic, "_missed", lambda problem, state, b: next(left))
    monkeypatch.setattr(logistic, "_point", point)
    problem = LogisticProblem(np.arange(4) % 2, 2, 1.0, np.ones(4), False)
    monkeypatch.setattr(LogisticProblem, "best_offset", lambda self, F, b: b)
    return epochs_of(monkeypatch, logistic, StochasticLogistic(**settings), problem)


@pytest.mark.parametrize(("gap", "sharpened"), [(0.21, 1), (0.19, 0)])
def test_a_gap_four_times_as_large_as_was_expected_goes_on_in_float64(monkeypatch, gap, sharpened):
    # After the first epoch the gap is half of what is missed, so that 0.05 is expected.
    state, epochs = logistic_epochs(monkeypatch, [1.0, 0.1], [0.5, gap], tol=1e-3, max_iter=2)
    assert (state.sharpened, state.refreshed, epochs) == (sharpened, 2, 2)


def test_gaps_are_measured_after_powers_of_two_and_where_they_are_expected_to_be_met(monkeypatch):
    settings = {"tol": 1e-3, "max_iter": 8}
    state, epochs = logistic_epochs(monkeypatch, [1.0] * 8, [0.5] * 9, **settings)
    assert (state.refreshed, epochs) == (4, 8)
    met = StochasticLogistic.margin * 1e-3
    missed = [1.0, 1.0, 2.0 * met]
    state, epochs = logistic_epochs(monkeypatch, missed, [0.5, 0.5, met], **settings)
    assert (state.refreshed, epochs) == (3, 3)
