"""Points on a line: which kernels make a chain of them, and what the chain computes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import MemoryLimitError
from mercer.gram import ChainGram, StreamedGram, chain_of, gram_of, unheld_gram_of
from mercer.kernels import Constant, Exponential, Gaussian, Laplacian, Sobolev

CHAINS = [
    Sobolev(),
    Exponential(0.7),
    Laplacian((2.0,)),
    3.0 * Sobolev(),
    0.5 * Exponential(2.0) + 0.3,
    2.0 * (Sobolev() + 1.5),
    1.0 + 0.1 * Laplacian() + 2.0 * Constant(0.5),
]


@pytest.fixture
def X(rng):
    """Rows in no order, some of them equal, one at zero."""
    x = rng.uniform(0.0, 5.0, size=(30, 1))
    x[[4, 7]] = x[9]
    x[12] = 0.0
    return x


def inverse(gram):
    """Return the matrix of the precision: T = K0^-1."""
    g = np.append(gram.links, 0.0)
    return np.diag(gram.row_sums + g + np.roll(g, 1)) - np.diag(g[:-1], 1) - np.diag(g[:-1], -1)


@pytest.mark.parametrize("kernel", CHAINS, ids=str)
def test_products_are_those_of_the_matrix(X, rng, kernel):
    gram, K = chain_of(kernel, X), kernel(X)
    for V in (rng.normal(size=30), rng.normal(size=(30, 4)), rng.normal(size=(30, 0))):
        assert_allclose(gram @ V, K @ V, rtol=1e-12, atol=1e-12)
        assert (gram @ V).shape == V.shape


@pytest.mark.parametrize("kernel", CHAINS, ids=str)
def test_rows_diagonal_and_all_entries_are_those_of_the_kernel(X, kernel):
    gram, K = chain_of(kernel, X), kernel(X)
    assert_allclose(gram.dense(), K, rtol=1e-14)
    assert_allclose(gram.rows([3, 1]), K[[3, 1]], rtol=1e-14)
    assert_allclose(gram.diagonal(), K.diagonal(), rtol=1e-14)
    assert_allclose(gram.first, K.diagonal()[X[:, 0].argmin()], rtol=1e-14)


@pytest.mark.parametrize("kernel", [Sobolev(), Exponential(0.7), Laplacian(3.0)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_the_network_is_the_inverse_of_the_matrix(rng, kernel, n):
    X = np.sort(rng.uniform(0.1, 5.0, size=(n, 1)), axis=0)
    assert_allclose(inverse(chain_of(kernel, X)) @ kernel(X), np.eye(n), atol=1e-10)


def test_a_constant_under_min_lengthens_the_root(rng):
    X = np.sort(rng.uniform(0.1, 5.0, size=(20, 1)), axis=0)
    gram = chain_of(2.0 * Sobolev() + 3.0, X)
    assert_allclose(2.0 * (Sobolev()(X) + 1.5) @ inverse(gram), 2.0 * np.eye(20), atol=1e-10)


def test_conductances_keep_their_digits_at_any_gap():
    mpmath = pytest.importorskip("mpmath")
    gaps = 10.0 ** np.arange(-18.0, 2.0)
    x = np.append(0.0, np.cumsum(gaps[::-1]))[:, None]
    gram = chain_of(Exponential(1.0), x)
    with mpmath.workdps(60):
        exact = [float(1 / (2 * mpmath.sinh(mpmath.mpf(d)))) for d in gram.knots.gaps]
    assert_allclose(gram.links, exact, rtol=1e-14)


@pytest.mark.parametrize("kernel", [Sobolev(), Exponential(1e-8), Exponential(1e8)], ids=str)
def test_gaps_of_any_size_give_finite_conductances(kernel):
    X = np.array([[0.0], [1e-300], [2e-300], [1e-8], [1.0], [1e8], [1e300], [1.7e308]])
    gram = chain_of(kernel, X)
    for data_precision in (gram.links, gram.row_sums):
        assert np.isfinite(data_precision).all()
        assert (data_precision >= 0.0).all()


def test_rows_already_in_order_are_not_moved():
    x = np.arange(5.0)
    gram = chain_of(Sobolev(), x[:, None])
    assert gram.knots.order is None
    assert gram.knots.starts is None
    assert np.shares_memory(gram.knots.positions, x)


def test_equal_rows_share_a_knot():
    knots = chain_of(Sobolev(), np.array([[3.0], [1.0], [-0.0], [3.0], [0.0]])).knots
    assert_array_equal(knots.positions, [0.0, 1.0, 3.0])
    assert_array_equal(knots.starts, [0, 2, 3, 5])
    values = np.array([5.0, 6.0, 7.0, 8.0, 9.0])
    assert_array_equal(knots.sums(knots.ascending(values)), [16.0, 6.0, 13.0])
    assert_array_equal(knots.as_given(knots.ascending(values)), values)


def test_a_view_is_read_from_matrices_tables_and_csr(X, rng):
    table = pd.DataFrame({"name": ["x"] * 30, "time": X[:, 0]})
    wide = np.hstack([rng.normal(size=(30, 2)), X])
    K = Exponential(0.7)(X)
    v = rng.normal(size=30)
    for kernel, rows in (
        (Exponential(0.7).on("time"), table),
        (Exponential(0.7).on(2), wide),
        (Exponential(0.7).on(2), sp.csr_array(wide)),
        (Exponential(0.7).on(1).on(0, 2), wide),
        (Exponential(0.7).after(np.sqrt), X**2),
    ):
        gram = chain_of(kernel, rows)
        assert_allclose(gram @ v, K @ v, rtol=1e-11, atol=1e-12)


def test_the_median_is_resolved_on_the_rows(X):
    assert chain_of(Laplacian("median"), X).kernel == Laplacian("median").resolved(X)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Exponential() + Laplacian(),
        Sobolev() * Exponential(),
        Exponential() ** 2,
        0.0 * Exponential(),
        Exponential() + Constant(-0.5),
        Constant(1.0),
        Exponential().normalized(),
    ],
    ids=str,
)
def test_other_kernels_make_no_chain(X, kernel):
    assert chain_of(kernel, X) is None
    assert type(unheld_gram_of(kernel, X)) is StreamedGram


def test_several_columns_make_no_chain(rng):
    assert chain_of(Exponential(), rng.normal(size=(10, 2))) is None
    assert chain_of(Exponential().on(0, 1), rng.normal(size=(10, 3))) is None


def test_a_kernel_with_another_formula_makes_no_chain(X):
    class Wider(Exponential):
        def lower(self, t):
            return t.exp(-0.5 * t.sqrt(t.squared_distance(self.length_scale)))

    assert chain_of(Wider(1.0), X) is None


def test_negative_rows_are_refused_as_by_the_kernel():
    with pytest.raises(ValueError, match=r"min\(x, z\) needs rows without negative entries"):
        chain_of(Sobolev(), np.array([[1.0], [-2.0]]))


def test_the_chooser_takes_a_chain_where_the_matrix_is_not_held(X):
    assert isinstance(unheld_gram_of(Exponential(), X), ChainGram)
    assert not isinstance(gram_of(Exponential(), X), ChainGram)
    assert isinstance(gram_of(Exponential(), X, memory=100), ChainGram)


def test_all_entries_beyond_the_limit_are_refused(X):
    with pytest.raises(MemoryLimitError):
        chain_of(Exponential(), X, memory=100).dense()


def test_float32_rows_give_float32_products(X, rng):
    gram = chain_of(Exponential(), X.astype(np.float32))
    v = rng.normal(size=30)
    assert gram.dtype == (gram @ v.astype(np.float32)).dtype == np.float32
    assert (gram @ v).dtype == np.float64
