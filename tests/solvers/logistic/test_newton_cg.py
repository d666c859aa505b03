"""Conjugate gradients on a Newton system whose matrices are written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers import LogisticProblem
from mercer.solvers.logistic.newton_cg import NegativeCurvatureError, ProjectedCG

N, RIDGE = 9, 0.4


class Plain:
    """Products with K, and a diagonal preconditioner."""

    def __init__(self, K, root, power=0.0):
        self.K, self.root, self.power = K, root, power

    def product(self, V):
        return self.K @ V

    def solve(self, U):
        scaled = U / np.arange(1.0, N + 1.0)[:, None] ** self.power
        return self.root.project(scaled)

    def energy(self, U):
        V = self.root.forward(U)
        return float((V * (self.K @ V)).sum())


@pytest.fixture(params=[2, 3])
def system(request, rng):
    """K, the root of a curvature, and a right-hand side."""
    problem = LogisticProblem(np.arange(N) % request.param, request.param, 1.0, np.ones(N), True)
    F = rng.normal(size=(N, N))
    scores, V = rng.normal(size=(2, N, problem.columns))
    return F @ F.T, problem.curvature(scores), V


def expected(K, root, V, with_offset):
    """U of the bordered system, by matrices."""
    shape, size = V.shape, V.size
    R = np.stack([root.forward(e.reshape(shape)).ravel() for e in np.eye(size)], axis=1)
    A = R.T @ np.kron(K, np.eye(shape[1])) @ R + RIDGE * np.eye(size)
    ones = np.tile(np.eye(shape[1]), (N, 1)) if with_offset else np.zeros((size, 0))
    border = R.T @ ones
    whole = np.block([[A, border], [border.T, np.zeros((border.shape[1],) * 2)]])
    right = np.concatenate([R.T @ V.ravel(), np.zeros(border.shape[1])])
    return np.linalg.lstsq(whole, right, rcond=1e-12)[0][:size].reshape(shape)


@pytest.mark.parametrize("with_offset", [True, False])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_it_ends_at_the_solution_in_as_many_steps_as_there_are_unknowns(system, with_offset, power):
    K, root, V = system
    inner = ProjectedCG(Plain(K, root, power), root, RIDGE, V, with_offset)
    inner.run(1e-22, lambda: False)
    assert_allclose(inner.U, expected(K, root, V, with_offset), atol=1e-9)
    assert_allclose(inner.KRU, K @ root.forward(inner.U), atol=1e-8)
    assert 0 < inner.steps <= 2 * V.size
    if with_offset:
        assert_allclose(root.forward(inner.U).sum(axis=0), 0.0, atol=1e-9)


def test_it_ends_when_the_energy_of_the_residual_is_small_enough_or_when_it_is_over(system):
    K, root, V = system
    inner = ProjectedCG(Plain(K, root), root, RIDGE, V, True)
    first = inner.energy
    inner.run(0.5 * first, lambda: False)
    assert inner.energy <= 0.5 * first
    # The residual is what is missed of the right-hand side, up to an offset.
    missed = root.back(V) - root.back(inner.KRU) - RIDGE * inner.U
    assert_allclose(inner.energy, Plain(K, root).energy(inner._reduced(missed)), rtol=1e-8)
    once = ProjectedCG(Plain(K, root), root, RIDGE, V, True)
    once.run(0.0, lambda: True)
    assert once.steps == 1


@pytest.mark.parametrize("before", [0, 1000])
def test_steps_are_limited(system, monkeypatch, before):
    K, root, V = system
    monkeypatch.setattr(ProjectedCG, "most_steps", before + 3)
    inner = ProjectedCG(Plain(K, root), root, RIDGE, V, True)
    inner.steps, looks = before, iter([False] * 3)
    inner.run(0.0, lambda: next(looks))
    assert inner.steps == before + 3


def test_nothing_to_solve_takes_no_step(system):
    K, root, V = system
    inner = ProjectedCG(Plain(K, root), root, RIDGE, np.zeros_like(V), True)
    inner.run(0.0, lambda: False)
    assert inner.steps == 0
    assert not inner.U.any()


@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_a_direction_without_positive_curvature_is_handed_out(system, sign):
    K, root, V = system
    inner = ProjectedCG(Plain(sign * K, root), root, 0.0, V, False)
    with pytest.raises(NegativeCurvatureError, match="the curvature is not positive") as found:
        inner.run(0.0, lambda: False)
    direction = found.value.direction
    assert sign * (direction * (K @ direction)).sum() <= 0.0
    assert_allclose(direction, root.forward(root.back(V)))


def test_products_that_are_not_finite_are_told(system):
    K, root, V = system
    inner = ProjectedCG(Plain(np.full_like(K, np.inf), root), root, RIDGE, V, False)
    with pytest.raises(FloatingPointError), np.errstate(invalid="ignore"):
        inner.run(0.0, lambda: False)
