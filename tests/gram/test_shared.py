"""Gram matrices that share what they have in common."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import PrecomputedGram, shared_grams
from mercer.kernels import (
    Exponential,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Precomputed,
    RationalQuadratic,
)

KERNELS = [
    Gaussian(0.3),
    Gaussian(4.0),
    Exponential(1.0),
    Matern32(2.0) + Linear(),
    Matern52(0.5) * Linear(1.0),
    RationalQuadratic(1.0, 2.0).normalized(),
]
PLENTY = 10**9


@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_shared_distances_give_the_same_matrices(points, columns, container):
    X = points(60, columns)
    X = container(np.where(np.abs(X) > 0.5, X, 0.0))
    for kernel, gram in zip(KERNELS, shared_grams(KERNELS, X, PLENTY, PLENTY), strict=True):
        assert gram.known
        assert_allclose(gram.dense(), kernel(X), rtol=1e-13, atol=1e-13)
        assert_allclose(gram @ np.ones(60), kernel(X) @ np.ones(60), rtol=1e-12, atol=1e-12)


def test_squared_distances_are_computed_once(points):
    X = points(20)
    grams = shared_grams([Gaussian(s) for s in (1.0, 2.0, 3.0)], X, PLENTY, PLENTY)
    (D,) = {id(D): D for gram in grams for D in gram.known.values()}.values()
    assert_allclose(D, ((X[:, None] - X[None]) ** 2).sum(axis=-1), atol=1e-14)


def test_a_function_that_several_kernels_use_is_called_once_for_each_pair():
    calls = []

    def similarity(A, B):
        calls.append((len(A), len(B)))
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    k = FromFunction(similarity)
    words = ["ab", "bc", "cd"]
    grams = shared_grams([k, 2.0 * k, k.exp()], words, PLENTY, PLENTY)
    matrices = [gram.dense() for gram in grams]
    assert calls == [(3, 3)]
    assert_array_equal(matrices[1], 2.0 * matrices[0])
    assert_allclose(matrices[2], np.exp(matrices[0]))


def test_known_and_unknown_parts_meet_in_one_matrix(points):
    def product(A, B):
        return A @ B.T

    kernels = [Gaussian(1.0), Gaussian(2.0) + FromFunction(product)]
    X = points(30)
    grams = shared_grams(kernels, X, PLENTY, PLENTY)
    assert_allclose(grams[1].dense(), kernels[1](X), rtol=1e-12, atol=1e-14)


def test_what_does_not_fit_is_not_shared(points):
    X, entries = points(20), 8 * 20**2
    kernels = [Gaussian(1.0) + Laplacian(1.0), Gaussian(2.0) * Laplacian(1.0), Gaussian(3.0)]
    for room in (0, 1, 2):
        grams = shared_grams(kernels, X, PLENTY, room * entries)
        assert len(grams[0].known) == room
        for kernel, gram in zip(kernels, grams, strict=True):
            assert_allclose(gram.dense(), kernel(X), rtol=1e-13)


def test_a_kernel_alone_shares_nothing(points):
    grams = shared_grams([Gaussian(1.0), Linear()], points(20), PLENTY, PLENTY)
    assert not any(gram.known for gram in grams)


def test_a_finished_matrix_stays_what_it_is():
    K = np.eye(5)
    (gram, doubled) = shared_grams([Precomputed(), 2.0 * Precomputed()], K, PLENTY, PLENTY)
    assert isinstance(gram, PrecomputedGram)
    assert_array_equal(doubled.dense(), 2.0 * K)
