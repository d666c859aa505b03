"""Random Fourier features against the kernels that they are drawn from."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import (
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    Sobolev,
    Spectrum,
    Standardize,
)
from mercer.features import fourier_map
from mercer.features.fourier import orthogonal_normals
from mercer.kernels import Constant

X = np.random.default_rng(0).normal(size=(12, 3))
KERNELS = [
    Gaussian(1.5),
    Gaussian((1.0, 2.0, 0.5)),
    Exponential(1.0),
    Laplacian(2.0),
    Laplacian((1.0, 3.0, 2.0)),
    Matern32(1.0),
    Matern52(1.0),
    RationalQuadratic(1.0, 0.7),
    InverseMultiquadric(2.0),
    Periodic(1.0, 2.0),
    3.0 * Gaussian(1.0),
    2.0 * Gaussian(1.0) + 3.0 * Laplacian(1.0) + 1.0,
    Gaussian(1.0) * Laplacian(2.0),
    Gaussian(1.0).on(0, 1) * Matern32(1.0).on(2),
    Gaussian(1.0).after(Standardize()).on(0, 2) + Matern52(1.0),
    (Gaussian(2.0) + 0.5) ** 3,
    Gaussian(1.0).polynomial([1.0, 2.0, 3.0]),
    InverseMultiquadric(2.0).normalized(),
]


def errors(k, p, seeds):
    K = k(X)
    features = [fourier_map(k, X, p, seed)(X) for seed in range(seeds)]
    return np.array([F @ F.T - K for F in features])


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_mean_over_draws_is_the_kernel(kernel):
    E = errors(kernel.resolved(X), 120, 150)
    spread = E.std(axis=0) / np.sqrt(len(E)) + 1e-12
    assert np.abs(E.mean(axis=0) / spread).max() < 5.0


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_squared_length_of_features_is_the_diagonal_in_every_draw(kernel):
    k = kernel.resolved(X)
    F = fourier_map(k, X, 60, 3)(X)
    assert np.allclose((F**2).sum(axis=1), k.diagonal(X), rtol=1e-12)


def test_the_error_falls_with_the_root_of_the_number_of_features():
    few, many = (np.sqrt((errors(Matern32(1.0), p, 40) ** 2).mean()) for p in (100, 1600))
    assert few / many == pytest.approx(4.0, rel=0.15)


def test_orthogonal_frequencies_err_less_than_independent_ones():
    def independent(seed):
        W = np.random.default_rng(seed).normal(size=(60, 3))
        return np.hstack([np.cos(X @ W.T), np.sin(X @ W.T)]) / np.sqrt(60.0)

    K = Gaussian(1.0)(X)
    plain = np.array([independent(seed) @ independent(seed).T - K for seed in range(60)])
    assert (errors(Gaussian(1.0), 120, 60) ** 2).mean() < 0.75 * (plain**2).mean()


@pytest.mark.parametrize(("p", "d"), [(12, 3), (4, 7), (9, 1)])
def test_normal_vectors_of_a_block_are_orthogonal_and_no_longer_than_normal_ones(p, d):
    W = orthogonal_normals(np.random.default_rng(0), p, d)
    block = W[: min(p, d)]
    lengths = np.linalg.norm(block, axis=1)
    assert W.shape == (p, d)
    assert np.allclose(block @ block.T, np.diag(lengths**2), atol=1e-12)
    many = orthogonal_normals(np.random.default_rng(1), 30000, d)
    assert (many**2).mean() == pytest.approx(1.0, rel=0.05)
    assert (many**4).mean() == pytest.approx(3.0, rel=0.1)


def test_a_sum_shares_the_features_by_the_weights_of_its_terms():
    k = (3.0 * Gaussian(1.0)).on(0) + Matern32(1.0).on(1)
    phi = fourier_map(k, X, 80)
    assert sorted(np.count_nonzero(W) for W in phi.frequencies) == [10, 30]
    assert np.allclose(phi.amplitudes**2, 0.1)


def test_fewer_frequencies_than_terms_still_have_the_kernel_as_their_mean():
    E = errors(Gaussian(1.0) + 2.0 * Matern32(1.0) + Laplacian(1.0), 2, 300)
    spread = E.std(axis=0) / np.sqrt(len(E)) + 1e-12
    assert np.abs(E.mean(axis=0) / spread).max() < 5.0


@pytest.mark.parametrize("p", [1, 3])
def test_an_odd_number_of_features_has_the_kernel_as_its_mean(p):
    E = errors(Gaussian(1.0) + 0.5, p, 300)
    assert fourier_map(Gaussian(1.0), X, p)(X).shape == (12, p)
    spread = E.std(axis=0) / np.sqrt(len(E)) + 1e-12
    assert np.abs(E.mean(axis=0) / spread).max() < 5.0


def test_a_constant_has_one_frequency_and_no_error():
    amplitudes = fourier_map(Gaussian(1.0) + 5.0, X, 20).amplitudes ** 2
    assert np.allclose(amplitudes, [5.0, *[1.0 / 9.0] * 9])
    F = fourier_map(Constant(2.0), X, 4)(X)
    assert np.allclose(F @ F.T, 2.0)


def test_the_zero_kernel_has_features_that_are_zero():
    assert not fourier_map(0.0 * Gaussian(1.0), X, 4)(X).any()


def test_sparse_rows_and_tables_have_the_features_of_the_same_numbers():
    k, names = Gaussian(1.0).on("a", "c"), ["a", "b", "c"]
    table = pd.DataFrame(X, columns=names)
    dense = fourier_map(Gaussian(1.0).on(0, 2), X, 10, 1)(X)
    assert np.allclose(fourier_map(k, table, 10, 1)(table), dense, atol=1e-13)
    rows = sp.csr_array(X)
    phi = fourier_map(Gaussian(1.0), X, 10, 1)
    assert np.allclose(phi(rows), phi(X), atol=1e-13)


def test_features_in_float32_are_those_of_float64_rounded_also_far_from_zero():
    phi = fourier_map(Gaussian(1.0), X, 40)
    far = X + 1e5
    assert phi(far, np.float32).dtype == np.float32
    assert np.allclose(phi(far, np.float32), phi(far), atol=1e-6)


def test_rows_in_blocks_have_the_features_of_all_at_once():
    phi = fourier_map(Gaussian(1.0), X, 10)
    blocks = [F for _, F in phi.blocks(X, entries=40)]
    assert len(blocks) > 1
    assert np.allclose(np.vstack(blocks), phi(X), atol=1e-14)


@pytest.mark.parametrize("kernel", [Linear(), Sobolev(), Spectrum(k=2), Gaussian(1.0).exp()])
def test_a_kernel_without_a_spectral_density_is_refused_by_its_name(kernel):
    with pytest.raises(ValueError, match=r"no spectral density.*use Nystroem") as refusal:
        fourier_map(kernel + Gaussian(1.0), X, 10)
    assert str(kernel) in str(refusal.value)


def test_a_negative_constant_is_refused():
    with pytest.raises(ValueError, match="positive factors; use Nystroem"):
        fourier_map(Gaussian(1.0) + Constant(-0.5), X, 10)


def test_a_kernel_of_too_many_terms_is_refused():
    terms = sum((Gaussian(float(i)) for i in range(1, 11)), start=Gaussian(0.5))
    with pytest.raises(ValueError, match="too many terms for random frequencies; use Nystroem"):
        fourier_map(terms**6, X, 10)
