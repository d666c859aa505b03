"""The normal equations of features, their sums over blocks of rows, and their inverse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.solvers.lowrank.normal import Inverse, block_sums

M = 4


def squares(eigenvalues, rng):
    Q, _ = np.linalg.qr(rng.normal(size=(M, M)))
    return (Q * eigenvalues) @ Q.T


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("weighted", [True, False])
def test_sums_are_those_of_the_rows_counted_from_a_centre(rng, dtype, rtol, weighted):
    F, y = rng.normal(size=(11, M)), rng.normal(size=(11, 2))
    w = rng.uniform(0.5, 2.0, size=11) if weighted else np.ones(11)
    centre = rng.normal(size=M)
    for counted_from in (None, centre):
        Z = F if counted_from is None else F - centre
        sums = block_sums(F.astype(dtype), y, w, counted_from)
        assert_allclose(np.triu(sums.G), np.triu(Z.T @ (w[:, None] * Z)), rtol=rtol, atol=rtol)
        assert_allclose(sums.Fy, Z.T @ (w[:, None] * y), rtol=rtol, atol=10.0 * rtol)
        assert_allclose(sums.F1, Z.T @ w, rtol=rtol, atol=10.0 * rtol)
        assert_allclose(sums.weight, w.sum())
        assert sums.G.dtype == sums.Fy.dtype == sums.F1.dtype == np.float64


def test_sums_without_a_block_are_those_of_the_others(rng):
    F, y, w = rng.normal(size=(9, M)), rng.normal(size=(9, 2)), rng.uniform(0.5, 2.0, size=9)
    whole, some, rest = (
        block_sums(F[s].copy(), y[s], w[s], None) for s in (slice(9), slice(5), slice(5, 9))
    )
    for found, expected in ((some + rest, whole), (whole - some, rest)):
        for name in ("G", "Fy", "F1", "weight"):
            assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)


@pytest.mark.parametrize("alpha", [[0.3, 0.3], [0.3, 2.0], [0.0, 0.0], [0.0, 2.0]])
def test_the_inverse_is_that_of_the_shifted_matrix_by_its_upper_triangle(rng, alpha):
    G, g = squares([0.5, 1.0, 2.0, 9.0], rng), rng.normal(size=(M, 2))
    inverse = Inverse(np.triu(G), np.array(alpha))
    assert inverse.is_regular
    for t, shift in enumerate(alpha):
        expected = np.linalg.solve(G + shift * np.eye(M), g[:, t])
        assert_allclose(inverse(g)[:, t], expected, rtol=1e-9)


@pytest.mark.parametrize(("share", "is_regular"), [(2.0, True), (0.5, False), (0.0, False)])
def test_without_a_ridge_the_least_eigenvalue_has_to_count_beside_the_largest(
    rng, share, is_regular
):
    # The middle ones are as small, so that the largest alone is compared with.
    least = share * Inverse.rounding * M * 9.0
    G = np.diag([9.0, least, least, least])
    # Ridges that differ are asked of the eigenvalues, one for all of the pivots.
    for alpha in ([0.0, 1.0], [0.0, 0.0]):
        assert Inverse(G.copy(), np.array(alpha)).is_regular is is_regular
    assert Inverse(G.copy(), np.array([1e-3, 1.0])).is_regular


def test_what_is_negative_of_the_squares_is_rounding(rng):
    G, g = squares([-1e-17, 0.0, 1.0, 2.0], rng), rng.normal(size=(M, 2))
    found = Inverse(G.copy(), np.array([1e-16, 1.0]))(g)
    assert np.isfinite(found).all()
    assert (g[:, 0] @ found[:, 0]) > 0.0
    assert_array_equal(np.sign(g[:, 1] @ found[:, 1]), 1.0)
