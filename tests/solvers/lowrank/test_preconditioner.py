"""The inverse of a low-rank matrix plus a ridge, against the inverse written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.lowrank.preconditioner import LowRankInverse
from mercer.solvers.rounding import EPS

N = 60


def exact(F, alpha, V):
    return np.linalg.solve(F.T @ F + alpha * np.eye(F.shape[1]), V)


@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e6])
def test_it_is_the_inverse(rng, alpha):
    F, V = rng.normal(size=(10, N)), rng.normal(size=(N, 3))
    inverse = LowRankInverse(F)
    inverse.shift(alpha)
    assert_allclose(inverse.solve(V), exact(F, alpha, V), rtol=1e-6, atol=1e-8 / alpha)


def test_one_factor_serves_every_ridge(rng):
    F, V = rng.normal(size=(10, N)), rng.normal(size=(N, 1))
    inverse = LowRankInverse(F)
    for alpha in (100.0, 1e-3, 1.0):
        inverse.shift(alpha)
        assert_allclose(inverse.solve(V), exact(F, alpha, V), rtol=1e-8, atol=1e-8)


def test_a_factor_that_grew_continues_the_inverse(rng):
    F, V = rng.normal(size=(25, N)), rng.normal(size=(N, 2))
    grown = LowRankInverse(F, LowRankInverse(F[:10]))
    grown.shift(0.5)
    assert_allclose(grown.solve(V), exact(F, 0.5, V), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-4, 1e-12, 0.0])
def test_it_is_positive_definite_however_deficient_the_factor_is(rng, alpha):
    F = rng.normal(size=(20, N)) * np.logspace(0, -12, 20)[:, None]
    F = np.vstack([F, F[:5], np.zeros((1, N))])
    inverse = LowRankInverse(F)
    inverse.shift(alpha)
    M = inverse.solve(np.eye(N))
    assert np.isfinite(M).all()
    assert np.linalg.eigvalsh((M + M.T) / 2.0).min() > 0.0


def test_without_rows_it_divides_by_the_ridge(rng):
    V = rng.normal(size=(N, 2))
    inverse = LowRankInverse(np.empty((0, N)))
    inverse.shift(4.0)
    assert_allclose(inverse.solve(V), V / 4.0)


def test_a_ridge_that_rounding_hides_grows_tenfold_until_there_is_a_factor(rng, monkeypatch):
    F = rng.normal(size=(10, N))
    inverse = LowRankInverse(F)
    inverse.shift(0.0)
    least = LowRankInverse.units * EPS * np.trace(F @ F.T)
    assert_allclose(inverse.alpha, least)
    inverse.shift(3.0 * least)
    assert_allclose(inverse.alpha, 3.0 * least)
    tries = iter([False, False, True])
    monkeypatch.setattr(inverse, "_factored", lambda: next(tries))
    inverse.shift(2.0)
    assert_allclose(inverse.alpha, 200.0)
