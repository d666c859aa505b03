"""The Gram matrix by explicit features."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import FeatureGram, features_of
from mercer.kernels import Cosine, Gaussian, Linear, Polynomial

KERNELS = [Linear(1.0), Polynomial(3), Polynomial(2, scale="columns"), Cosine() + 1.0]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_is_the_gram_matrix_of_the_kernel(kernel, points, rng):
    X = points(20)
    gram = features_of(kernel, X)
    K = kernel(X)
    assert isinstance(gram, FeatureGram)
    assert gram.kernel == kernel.resolved(X)
    assert gram.F.shape == (20, kernel.n_features(X))
    assert_allclose(gram.dense(), K, rtol=1e-12, atol=1e-12)
    assert_allclose(gram.diagonal(), np.diag(K), rtol=1e-12)
    V = rng.normal(size=(20, 2))
    assert_allclose(gram @ V, K @ V, rtol=1e-11, atol=1e-11)


def test_a_kernel_without_finite_features_has_none(points):
    assert features_of(Gaussian(), points(5)) is None
    with pytest.raises(ValueError, match=r"gaussian.* has no finite features; use gram_of"):
        FeatureGram(Gaussian(), points(5))


def test_features_beyond_the_limit_are_refused_before_they_are_computed():
    X = np.zeros((100_000, 100))
    with pytest.raises(MemoryLimitError, match=r"100000 x 176851 .* needs 141\.48 GB"):
        features_of(Polynomial(3), X, memory="8GB")


def test_sparse_features_are_not_counted_as_dense_ones():
    S = sp.csr_array(sp.random(1000, 10_000, 1e-3, random_state=0))
    gram = features_of(Linear(1.0), S, memory="1MB")
    assert gram.F.shape == (1000, 10_001)
    assert sp.issparse(gram.F)


def test_features_that_overflow_are_refused():
    with pytest.raises(
        ValueError, match=r"the features of polynomial.* overflow .*; scale the col"
    ):
        features_of(Polynomial(5), np.array([[1e80, 1.0], [1.0, 1.0]]))
