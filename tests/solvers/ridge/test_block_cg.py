"""Block conjugate gradients on plain matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

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
