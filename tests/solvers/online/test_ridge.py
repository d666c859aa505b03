"""Steps of a batch of a ridge problem, against systems written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import IndefiniteKernelError
from mercer.gram import DenseGram
from mercer.solvers import RidgeProblem, Run
from mercer.solvers.online.batches import Batch, Iterate
from mercer.solvers.online.ridge import StochasticRidge, _factored, _minimised, _residual, _steps

N = 15


@pytest.fixture
def K(rng):
    F = rng.normal(size=(N, 20))
    return F @ F.T / 20.0


def problem_of(rng, alpha=(0.3, 2.0), fit_intercept=True):
    y = rng.normal(size=(N, len(alpha))) + 4.0
    return RidgeProblem(y, np.array(alpha), rng.uniform(0.3, 3.0, N), fit_intercept)


def iterate(K, rng, targets=2):
    state = Iterate(DenseGram(K, 1 << 30), False, rng.normal(size=(N, targets)), 6, 0)
    state.refresh()
    return state


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_step_solves_for_the_batch_with_all_others_fixed(K, rng, fit_intercept):
    problem, state = problem_of(rng, fit_intercept=fit_intercept), iterate(K, rng)
    which = np.array([0, 3, 4, 8, 13])
    step = _steps(DenseGram(K, 1 << 30), problem, state, Batch(which, K[which]))
    for t, alpha in enumerate((0.3, 2.0)):
        A = K + np.diag(alpha / problem.weights)
        r = (problem.y[:, t] - A @ state.A[:, t])[which]
        inner, m = A[np.ix_(which, which)], len(which)
        if fit_intercept:
            border = np.block([[inner, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
            expected = np.linalg.solve(border, np.append(r, 0.0))[:m]
        else:
            expected = np.linalg.solve(inner, r)
        assert_allclose(step[:, t], expected, atol=1e-10)


def test_with_an_offset_a_step_sums_to_zero_and_ignores_what_all_targets_share(rng):
    A = np.diag(rng.uniform(1.0, 2.0, 5))
    factor = np.linalg.cholesky(A)
    r = rng.normal(size=(5, 2))
    d = _minimised(factor, r, True)
    assert_allclose(d.sum(axis=0), 0.0, atol=1e-14)
    assert_allclose(_minimised(factor, r + np.array([1e3, -1e5]), True), d, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_residual_is_the_largest_relative_one_of_all_targets(K, rng, fit_intercept):
    problem, state = problem_of(rng, fit_intercept=fit_intercept), iterate(K, rng)
    w = problem.weights
    shares = []
    for t, alpha in enumerate(problem.alpha):
        r = problem.y[:, t] - K @ state.A[:, t] - alpha / w * state.A[:, t]
        y = problem.y[:, t]
        if fit_intercept:
            r, y = r - w @ r / w.sum(), y - w @ y / w.sum()
        shares.append(np.sqrt(w @ r**2 / (w @ y**2)))
    assert_allclose(_residual(problem, state), max(shares))


def test_a_batch_that_rounding_makes_singular_is_shifted_by_units_of_rounding(rng):
    F = rng.normal(size=(N, 3))
    K = F @ F.T
    K -= 1e-15 * np.trace(K) * np.eye(N)
    factor = _factored(DenseGram(K, 1 << 30), np.arange(N), K, 0.0)
    L = np.tril(factor)
    assert 0.0 < np.abs(L @ L.T - K).max() < 1e-10 * np.trace(K)


def test_a_batch_that_is_indefinite_is_refused_with_its_witness(rng):
    K = np.diag(np.where(np.arange(N) == 4, -0.5, 1.0))
    which = np.array([2, 4, 7])
    with pytest.raises(IndefiniteKernelError) as refusal:
        _factored(DenseGram(K, 1 << 30), which, K[np.ix_(which, which)], 0.0)
    c = refusal.value.witness.coefficients
    assert_allclose(np.abs(c), np.eye(N)[4], atol=1e-12)


def test_without_a_number_of_epochs_there_are_sixty_four(K, rng):
    assert StochasticRidge()._epochs == StochasticRidge.epochs == 64
    assert StochasticRidge(max_iter=3)._epochs == 3


@pytest.mark.parametrize("epochs", [0, 1])
def test_ctrl_c_ends_with_a_model_after_an_epoch_and_raises_before(K, rng, monkeypatch, epochs):
    done, plain = [], Iterate.epoch

    def epoch(state, run):
        if len(done) == epochs:
            raise KeyboardInterrupt
        done.append(run)
        return plain(state, run)

    monkeypatch.setattr(Iterate, "epoch", epoch)
    solver, run = StochasticRidge(1e-12, batch=5), Run()
    if epochs == 0:
        with pytest.raises(KeyboardInterrupt):
            solver.solve(DenseGram(K, 1 << 30), problem_of(rng), run)
    else:
        found = solver.solve(DenseGram(K, 1 << 30), problem_of(rng), run)
        assert (found.iterations, run.ended_by) == (1, "interrupt")
