"""A Gram matrix that is valid on coefficients of sum zero, made valid on all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import (
    CentredGram,
    PrecomputedGram,
    RootedGram,
    StreamedGram,
    centred,
    gram_of,
)
from mercer.kernels import AdditiveChi2, Gaussian, Precomputed

N = 30


@pytest.fixture(params=[StreamedGram, gram_of])
def gram(points, request):
    return request.param(AdditiveChi2(), points(N, non_negative=True))


@pytest.fixture
def expected(gram):
    """P K P + t 1 1', as the class says."""
    P = np.eye(N) - 1.0 / N
    inside = P @ gram.dense() @ P
    return inside + np.trace(inside) / N


def test_it_is_the_projected_matrix_and_a_constant(gram, expected):
    assert_allclose(CentredGram(gram).dense(), expected, atol=1e-13)


@pytest.mark.parametrize("root", [0, 7])
def test_rooted_it_is_the_kernel_of_schoenberg(gram, root):
    k, X = AdditiveChi2(), getattr(gram, "source", gram).X
    x0 = X[root : root + 1]
    expected = k(X) - k(X, x0) - k(x0, X) + k(x0, x0)
    rooted = RootedGram(gram, root)
    assert_allclose(rooted.dense(), expected, atol=1e-13)
    assert_allclose(rooted @ np.ones(N), expected.sum(axis=1), atol=1e-11)
    assert rooted.diagonal()[root] == 0.0
    assert np.linalg.eigvalsh(rooted.dense())[0] > -1e-12


def test_it_is_positive_semidefinite_though_the_matrix_is_not(gram):
    assert np.linalg.eigvalsh(gram.dense())[0] < -1.0
    assert np.linalg.eigvalsh(CentredGram(gram).dense())[0] > 0.0


def test_coefficients_of_sum_zero_see_no_difference(gram, rng):
    c = rng.normal(size=N)
    c -= c.mean()
    assert_allclose(c @ (CentredGram(gram) @ c), c @ (gram @ c), rtol=1e-12)


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 4)])
def test_products_rows_and_diagonal_are_those_of_its_entries(gram, rng, shape):
    operator = CentredGram(gram)
    K, V = operator.dense(), rng.normal(size=shape)
    assert_allclose(operator @ V, K @ V, atol=1e-12)
    assert_allclose(operator.rows([3, 1]), K[[3, 1]], atol=1e-14)
    assert_allclose(operator.diagonal(), np.diag(K), atol=1e-14)
    assert_allclose(np.tril(operator.lower(np.float64)), np.tril(K), atol=1e-14)


def test_a_held_matrix_stays_as_it_is(points):
    gram = gram_of(AdditiveChi2(), points(N, non_negative=True))
    before = gram.dense().copy()
    CentredGram(gram).dense()
    assert_allclose(gram.dense(), before, rtol=0.0)


def test_entries_of_float32_stay_so(points):
    X = points(N, non_negative=True)
    single = CentredGram(StreamedGram(AdditiveChi2(), X.astype(np.float32)))
    exact = CentredGram(StreamedGram(AdditiveChi2(), X)).dense()
    for block in (single.dense(), single.rows(slice(None)), single @ np.eye(N, dtype=np.float32)):
        assert block.dtype == np.float32
        assert_allclose(block, exact, atol=1e-5)


def test_it_keeps_to_the_memory(points):
    gram = StreamedGram(AdditiveChi2(), points(N, non_negative=True), memory=1000)
    with pytest.raises(MemoryLimitError):
        CentredGram(gram).dense()


def test_only_what_is_known_to_be_conditional_is_centred(points):
    X = points(N, non_negative=True)
    for kernel in (AdditiveChi2(), 2.0 * AdditiveChi2() + Gaussian()):
        assert isinstance(centred(gram_of(kernel, X)), CentredGram)
    valid, given = gram_of(Gaussian(), X), PrecomputedGram(AdditiveChi2()(X))
    assert centred(valid) is valid
    assert centred(given) is given
    finished = gram_of(2.0 * Precomputed(), AdditiveChi2()(X))
    assert centred(finished) is finished
