"""The logistic problem of a batch: its Newton steps, against systems written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import IndefiniteKernelError
from mercer.gram import DenseGram
from mercer.solvers import LogisticProblem
from mercer.solvers.logistic.curvature import FactoredCurvature
from mercer.solvers.online import batch_newton
from mercer.solvers.online.batch_newton import _BatchProblem, _newton, newton_factors, stepped
from mercer.solvers.online.batches import Batch, Iterate

N, C = 18, 3.0


@pytest.fixture
def K(rng):
    X = rng.normal(size=(N, 2))
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 0.05 * np.eye(N)


def problem_of(rng, classes, fit_intercept=True, C=C):
    weights = rng.uniform(0.5, 2.0, N)
    return LogisticProblem(np.arange(N) % classes, classes, C, weights, fit_intercept)


def begun(K, rng, problem, spread=0.3):
    """An iterate with coefficients of sum zero, and a batch of some rows."""
    start = spread * rng.normal(size=(N, problem.columns))
    if problem.columns > 1:
        start -= start.mean(axis=1, keepdims=True)
    state = Iterate(DenseGram(K, 1 << 30), False, start - start.mean(axis=0), 7, 0)
    state.refresh()
    which = np.array([1, 4, 5, 9, 11, 12, 16])
    return state, Batch(which, K[which])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_batch_meets_its_own_optimality_conditions_with_all_others_fixed(
    K, rng, classes, fit_intercept, monkeypatch
):
    monkeypatch.setattr(batch_newton, "STEPS", 12)
    monkeypatch.setattr(batch_newton._BatchProblem, "enough", 0.0)
    problem = problem_of(rng, classes, fit_intercept)
    state, batch = begun(K, rng, problem)
    gram = DenseGram(K, 1 << 30)
    step, b = stepped(gram, problem, state, batch, np.zeros(problem.columns))
    part = problem.on(batch.which)
    scores = state.F[batch.which] + batch.core @ step + b
    # v = C w (T - P), and with an offset the sum of the coefficients is kept.
    assert_allclose(state.A[batch.which] + step, C * part.residual(scores), atol=1e-8)
    if fit_intercept:
        assert_allclose(step.sum(axis=0), 0.0, atol=1e-9)
    else:
        assert not b.any()


def test_a_batch_is_left_at_a_thousandth_of_its_first_gap(K, rng, monkeypatch):
    problem = problem_of(rng, 2)
    state, batch = begun(K, rng, problem)
    gram = DenseGram(K, 1 << 30)

    def gap(steps):
        with monkeypatch.context() as patch:
            patch.setattr(batch_newton, "STEPS", steps)
            step, b = stepped(gram, problem, state, batch, np.zeros(1))
        part = problem.on(batch.which)
        v = state.A[batch.which] + step
        D = v - C * part.residual(state.F[batch.which] + batch.core @ step + b)
        return float((D * (batch.core @ D)).sum())

    gaps = [gap(k) for k in range(5)]
    last = next(k for k, value in enumerate(gaps) if value <= 1e-3 * min(gaps[: max(k, 1)]))
    assert 0 < last < 4
    assert gaps[last + 1] == gaps[last]
    assert gaps[last] < gaps[last - 1]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_newton_step_solves_the_system_written_out(K, rng, classes, fit_intercept):
    problem = problem_of(rng, classes, fit_intercept)
    columns = problem.columns
    scores = rng.normal(size=(N, columns))
    root = problem.curvature(scores)
    curvature = FactoredCurvature(DenseGram(K, 1 << 30), columns)
    curvature.prepare(root, 1.0 / C)
    D = rng.normal(size=(N, columns))
    if columns > 1:
        # As residuals of classes are, which sum to zero in every row.
        D -= D.mean(axis=1, keepdims=True)
    move, change = _newton(curvature, root, D, K @ D, fit_intercept)
    # d = -D - C H (K d + c): the change of v makes up for what v is off, to first order.
    H = root.blocks()
    curved = np.einsum("ijk,ik->ij", H, K @ move + change)
    assert_allclose(move, -D - C * curved, atol=1e-8)
    if fit_intercept:
        assert_allclose(move.sum(axis=0), 0.0, atol=1e-9)
    else:
        assert not change.any()


def test_a_step_is_halved_until_the_objective_is_no_worse(K, rng):
    problem = problem_of(rng, 2)
    state, batch = begun(K, rng, problem)
    part = _BatchProblem(problem.on(batch.which), batch.core, state, batch.which)
    losses, v, F = part.losses, part.A, part.F

    def objective(step, b):
        w = v + step
        return (
            losses.loss(F + batch.core @ step + b)
            + 0.5 * float((w * (batch.core @ w)).sum())
            + float(part.A.sum(axis=0) @ b)
        )

    direction = C * losses.residual(F) - v
    change = 0.1 * (C * losses.residual(F) - v).sum(axis=0)
    here, lengths = objective(np.zeros_like(v), np.zeros(1)), []
    for size in (1e-3, 20.0, 300.0):
        length = part._length(F, v, size * direction, size * change)
        way = length * size
        assert objective(way * direction, way * change) <= here
        assert length == 1.0 or objective(2.0 * way * direction, 2.0 * way * change) > here
        lengths.append(length)
    assert lengths[0] == 1.0
    assert 0.0 < lengths[2] < lengths[1] < 1.0
    assert part._length(F, v, -direction, np.zeros(1)) == 0.0


def test_factors_of_a_batch_are_counted_for_every_step_and_class():
    assert newton_factors(1) == batch_newton.STEPS
    assert newton_factors(3) == 13 * batch_newton.STEPS


def test_a_witness_speaks_of_all_rows(rng):
    K = np.diag(np.where(np.arange(N) == 9, -1.0, 1.0))
    problem = problem_of(rng, 2, C=100.0)
    state, batch = begun(K, rng, problem)
    with pytest.raises(IndefiniteKernelError) as refusal:
        stepped(DenseGram(K, 1 << 30), problem, state, batch, np.zeros(1))
    c = refusal.value.witness.coefficients
    assert len(c) == N
    assert c @ K @ c < 0.0
