"""Landmark features against the formula k(x, Z) k(Z, Z)^-1 k(Z, z)."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Spectrum
from mercer.features import ExplicitMap, landmark_map

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
