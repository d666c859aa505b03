"""Block conjugate gradients on plain matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.ridge import block_cg as module
from mercer.solvers.ridge.block_cg import BlockCG, CurvatureError


def test_block_steps_end_after_as_many_as_the_block_krylov_space_has(rng):
    F = rng.normal(size=(60, 60))
    A = F @ F.T + np.eye(60)
    V = rng.normal(size=(60, 6))
    state = BlockCG(A.__matmul__, V, np.zeros_like(V), V)
    for _ in range(12):
        state.step(lambda R: R.copy())
    assert state.error < 1e-8
    assert_allclose(state.X, np.linalg.solve(A, V), rtol=1e-6, atol=1e-8)
    assert_allclose(V - A @ state.X, state.R, atol=1e-10)


def test_a_direction_of_negative_curvature_is_handed_out():
    A = np.diag([3.0, 1.0, -2.0])
    V = np.ones((3, 1))
    state = BlockCG(A.__matmul__, V, np.zeros_like(V), V)
    with pytest.raises(CurvatureError) as found:
        for _ in range(3):
            state.step(lambda R: R.copy())
    c = found.value.direction
    assert c @ A @ c < 0.0


def test_one_step_minimises_the_energy_along_the_preconditioned_residual(rng):
    F = rng.normal(size=(8, 8))
    A, V = F @ F.T + np.eye(8), rng.normal(size=(8, 1))
    X = rng.normal(size=(8, 1))
    state = BlockCG(A.__matmul__, V, X.copy(), V - A @ X)
    M = np.diag(1.0 / A.diagonal())
    state.step(lambda R: M @ R)
    d = M @ (V - A @ X)
    length = (d.T @ (V - A @ X)).item() / (d.T @ A @ d).item()
    assert_allclose(state.X, X + length * d)
    assert_allclose(state.R, V - A @ state.X, atol=1e-12)


def test_later_directions_are_conjugate_until_a_restart(rng):
    F = rng.normal(size=(20, 20))
    A, V = F @ F.T + np.eye(20), rng.normal(size=(20, 2))
    state = BlockCG(A.__matmul__, V, np.zeros_like(V), V.copy())
    state.step(lambda R: R.copy())
    first = state._P
    state.step(lambda R: R.copy())
    assert_allclose(first.T @ A @ state._P, 0.0, atol=1e-9)
    assert len(state.errors) == 3
    state.restart()
    assert len(state.errors) == 1
    before = state.R
    state.step(lambda R: R.copy())
    # As from the start, the space is that of the residuals alone.
    inside = state._P @ (state._P.T @ before)
    assert_allclose(inside, before, atol=1e-9)


def test_errors_are_the_largest_of_all_columns_beside_their_targets(rng):
    A = np.eye(3)
    V = np.array([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    X = np.array([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    state = BlockCG(A.__matmul__, V, X, V - X)
    assert_allclose(state.error, 0.5)
    assert_allclose(state.X, X)
    assert_allclose(state.R, V - X)
    assert not state.is_exhausted
    state.step(lambda R: R.copy())
    assert_allclose(state.X, V)
    assert state.is_exhausted


def test_residuals_are_renewed_lest_rounding_adds_up(rng, monkeypatch):
    monkeypatch.setattr(BlockCG, "renewal", 3)
    F = rng.normal(size=(12, 12))
    A, V = F @ F.T + np.eye(12), rng.normal(size=(12, 1))
    widths = []

    def product(P):
        widths.append(P.shape[1])
        return A @ P

    state = BlockCG(product, V, np.zeros_like(V), V.copy())
    for _ in range(6):
        state.step(lambda R: R.copy())
    assert widths == [1, 1, 2, 1, 1, 2]
    assert_allclose(state.R, V - A @ state.X, atol=1e-10)


def test_products_that_are_not_finite_are_told(rng):
    V = np.ones((3, 1))
    state = BlockCG(lambda P: np.full_like(P, np.nan), V, np.zeros_like(V), V.copy())
    with pytest.raises(FloatingPointError, match="not finite"):
        state.step(lambda R: R.copy())


@pytest.mark.parametrize("least", [-1.0, 0.0])
def test_of_a_block_the_direction_of_least_curvature_is_handed_out(least):
    A = np.diag([5.0, 3.0, least])
    V = np.eye(3)[:, 1:]
    state = BlockCG(A.__matmul__, V, np.zeros_like(V), V)
    with pytest.raises(CurvatureError) as found:
        state.step(lambda R: R.copy())
    assert_allclose(np.abs(found.value.direction), [0.0, 0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(("apart", "size"), [(0.0, 2), (1e-18, 2), (1e-3, 3)])
def test_directions_that_depend_on_others_are_left_out(rng, apart, size):
    Z = rng.normal(size=(9, 3))
    Z[:, 2] = Z[:, 0] - Z[:, 1] + apart * Z[:, 2]
    Z *= [1.0, 1e-6, 1.0]
    Z[:, 2] *= 1e3
    P = module._orthonormal(Z)
    assert P.shape == (9, size)
    assert_allclose(P.T @ P, np.eye(size), atol=1e-12)
    assert_allclose(P @ (P.T @ Z), Z, atol=1e-12)
