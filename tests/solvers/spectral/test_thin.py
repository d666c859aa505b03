"""Singular values by inner products: those of LAPACK, with orthonormal vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.spectral.thin import thin_svd

random = np.random.default_rng(0)
# Beyond what LAPACK takes.
R, N = 260, 4 * 260


def rows(decay):
    return random.normal(size=(R, N)) * np.logspace(0, -decay, R)[:, None]


@pytest.mark.parametrize("decay", [0, 3, 5])
def test_singular_values_are_those_of_lapack_to_rounding_of_the_largest(decay):
    F = rows(decay)
    s = thin_svd(F)[1]
    assert len(s) == R
    assert_allclose(s, np.linalg.svd(F, compute_uv=False), atol=1e-13 * s[0])


@pytest.mark.parametrize("decay", [0, 5])
def test_vectors_are_orthonormal_however_small_their_value(decay):
    F = rows(decay)
    U, s, Vt = thin_svd(F)
    assert_allclose(Vt @ Vt.T, np.eye(R), atol=1e-12)
    assert_allclose(U.T @ U, np.eye(R), atol=1e-12)
    assert_allclose((U * s) @ Vt, F, atol=1e-13 * s[0])


def test_what_is_rounding_in_inner_products_is_left_out():
    F = random.normal(size=(R, 7)) @ random.normal(size=(7, N))
    U, s, Vt = thin_svd(F)
    assert (U.shape, s.shape, Vt.shape) == ((R, 7), (7,), (7, N))
    assert_allclose((U * s) @ Vt, F, atol=1e-12 * s[0])


def test_rows_of_zeros_have_none():
    U, s, Vt = thin_svd(np.zeros((R, N)))
    assert (U.shape, s.shape, Vt.shape) == ((R, 0), (0,), (0, N))
