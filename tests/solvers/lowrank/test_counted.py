"""The preconditioner by landmarks in the place of rows, against the inverse written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.lowrank.counted import CountedInverse

M = 30


@pytest.mark.parametrize("is_centred", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e60])
def test_it_is_the_inverse_for_rows_at_the_landmarks(rng, is_centred, size):
    L = np.asfortranarray(np.tril(rng.normal(size=(M, M)))) + 2.0 * np.eye(M)
    v, g = rng.uniform(0.5, 20.0, M), size * rng.normal(size=(M, 2))
    Z = L - v @ L / v.sum() if is_centred else L
    exact = np.linalg.inv(Z.T @ (v[:, None] * Z) + 3.0 * np.eye(M))
    found = CountedInverse.of(L, v, 3.0, is_centred)(g)
    assert_allclose(found, exact @ g, atol=1e-4 * size * np.abs(exact).max())


def test_it_is_none_where_float32_has_too_few_digits(rng):
    # Without a ridge centred features of as many rows are singular: rounding is all that is left
    # of the last pivot, in about every second draw below zero.
    draws = [np.asfortranarray(np.tril(A) + 2.0 * np.eye(M)) for A in rng.normal(size=(30, M, M))]
    assert any(CountedInverse.of(L, np.ones(M), 0.0, True) is None for L in draws)
    assert all(CountedInverse.of(L, np.ones(M), 1.0, True) is not None for L in draws)
