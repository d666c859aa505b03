"""Landmark features against the formula k(x, Z) k(Z, Z)^-1 k(Z, z)."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Spectrum
from mercer.features import ExplicitMap, landmark_map
from mercer.features.landmarks import LandmarkMap, clear

X = np.random.default_rng(0).normal(size=(40, 3))
Z = np.random.default_rng(1).normal(size=(9, 3))


def test_inner_products_of_features_are_the_nystrom_formula():
    k = Gaussian(2.0)
    phi, taken = landmark_map(k, Z)
    F = phi(X)
    expected = k(X, Z) @ np.linalg.solve(k(Z), k(Z, X))
    assert F.shape == (40, 9)
    assert sorted(taken) == list(range(9))
    assert np.allclose(F @ F.T, expected, rtol=0, atol=1e-10)


def test_between_landmarks_the_kernel_is_exact():
    k = Gaussian(1.0)
    F = landmark_map(k, Z)[0](Z)
    assert np.allclose(F @ F.T, k(Z), rtol=0, atol=1e-12)


def test_copies_among_landmarks_are_left_out():
    phi, taken = landmark_map(Gaussian(1.0), np.vstack([Z, Z[:4]]))
    assert phi.n_features == len(set(taken % 9)) == 9
    assert np.isfinite(phi(X)).all()


def test_landmarks_of_a_kernel_of_few_features_are_no_more_than_these():
    phi, _ = landmark_map(Linear(), Z)
    assert phi.n_features == 3
    assert np.allclose(phi(X) @ phi(X).T, X @ X.T, rtol=0, atol=1e-12)


def test_features_in_float32_are_those_of_float64_rounded():
    phi, _ = landmark_map(Gaussian(1.0), Z)
    assert phi(X, np.float32).dtype == np.float32
    assert np.allclose(phi(X, np.float32), phi(X), rtol=0, atol=1e-5)


def test_coefficients_of_landmarks_give_the_same_function_as_weights_of_features():
    k, theta = Gaussian(1.0), np.random.default_rng(2).normal(size=(9, 2))
    phi, _ = landmark_map(k, Z)
    assert np.allclose(k(X, phi.rows) @ phi.coefficients(theta), phi(X) @ theta, atol=1e-10)


def test_texts_have_landmarks():
    texts = ["abcab", "bcabc", "cabca", "aaaa", "abcab"]
    k = Spectrum(k=2)
    phi, _ = landmark_map(k, texts)
    assert np.allclose(phi(texts) @ phi(texts).T, k(texts), rtol=0, atol=1e-10)


def test_landmarks_where_the_kernel_is_zero_are_refused():
    for rows in (np.zeros((3, 2)), np.empty((0, 2))):
        with pytest.raises(ValueError, match=r"zero at all landmarks"):
            landmark_map(Linear(), rows)


def test_explicit_features_of_texts_are_those_that_occur():
    texts = ["abab", "abba"]
    phi = ExplicitMap.of(Spectrum(k=2), texts)
    assert phi.n_features == 3
    assert np.allclose((phi(texts) @ phi(texts).T).toarray(), Spectrum(k=2)(texts))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7])
def test_features_take_the_place_of_the_entries(dtype, n):
    phi, _ = landmark_map(Gaussian(1.0), Z)
    K = phi.entries(X[:n], dtype)
    assert np.shares_memory(phi.whitened(K), K)
    assert np.allclose(K, phi(X[:n]), rtol=0, atol=1e-5)


def test_features_in_float32_are_right_where_entries_are_next_to_nothing(rng):
    # Distances at which entries are anything from 1 to far below what float32 holds.
    k, Z = Gaussian(1.0), rng.uniform(0.0, 40.0, (60, 1))
    phi, taken = landmark_map(k, Z)
    X = rng.uniform(0.0, 40.0, (200, 1))
    F = phi.features_of(k(X, Z[taken]).astype(np.float32))
    assert F.dtype == np.float32
    assert np.allclose(F, phi(X), rtol=0, atol=100 * phi.single_error)


def test_products_of_features_meet_no_subnormal_numbers(rng):
    # The rows of a line in steps of half a length scale, 200 of these long.
    k, Z = Gaussian(1.0), np.arange(0.0, 200.0, 0.5)[:, None]
    phi = LandmarkMap(k, Z, np.linalg.cholesky(k(Z)))
    K = k(rng.uniform(0.0, 200.0, (200, 1)), Z).astype(np.float32)
    assert _subnormal(K).any()
    assert _subnormal(phi.factor.astype(np.float32)).any()
    phi.features_of(K)
    assert not _subnormal(phi._single).any()
    assert not _subnormal(K).any()
    assert not _subnormal(landmark_map(k, Z)[0].factor).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_only_what_is_nothing_beside_a_size_is_cleared(dtype):
    limits = np.finfo(dtype)
    least = 1e-6 * limits.eps * 3.0
    A = np.array([[3.0, -1.1 * least, 0.9 * least], [-0.9 * least, limits.tiny / 4, 0.0]], dtype)
    expected = np.where(np.abs(A) > least, A, 0.0)
    clear(A, 3.0)
    assert np.array_equal(A, expected)
    assert np.count_nonzero(A) == 2


def test_without_a_size_only_subnormal_numbers_are_cleared():
    A = np.array([[1e-40, -1e-37, 2e-38]], np.float32)
    clear(A, 0.0)
    assert A.tolist() == [[0.0, float(np.float32(-1e-37)), float(np.float32(2e-38))]]


def _subnormal(A):
    return (A != 0.0) & (np.abs(A) < np.finfo(A.dtype).tiny)
