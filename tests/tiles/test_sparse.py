"""Sparse rows on either side give what dense rows give."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from catalogue import ARD, COMPOSITE, SIMPLE, needs_non_negative
from mercer.kernels import (
    AdditiveChi2,
    Chi2,
    Cosine,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Periodic,
    Sobolev,
)
from mercer.tiles import apply

KERNELS = [*SIMPLE, *ARD, *COMPOSITE]


@pytest.fixture
def rows(rng):
    """Rows of three columns, half of the entries zero, one row zero, some rows alike."""

    def make(n, d=3, non_negative=False):
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
        X[0] = 0.0
        X[-1] = X[-2]
        return np.abs(X) if non_negative else X

    return make


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("sides", ["sparse, sparse", "sparse, dense", "dense, sparse"])
def test_sparse_rows_on_either_side_equal_dense_rows(kernel, sides, rows):
    sign = needs_non_negative(kernel)
    X, Z = rows(9, 3, sign), rows(7, 3, sign)
    left, right = (
        sp.csr_array(S) if kind == "sparse" else S
        for kind, S in zip(sides.split(", "), (X, Z), strict=True)
    )
    assert_allclose(kernel(left, right), kernel(X, Z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sparse_rows_with_themselves_equal_dense_rows(kernel, rows):
    X = rows(9, 3, needs_non_negative(kernel))
    assert_allclose(kernel(sp.csr_array(X)), kernel(X), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel.diagonal(sp.csr_array(X)), kernel.diagonal(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_products_with_sparse_rows_equal_those_with_dense_rows(kernel, rows, rng):
    sign = needs_non_negative(kernel)
    X, Z = rows(9, 3, sign), rows(7, 3, sign)
    V = rng.normal(size=(7, 2))
    product = apply(kernel.program, sp.csr_array(X), sp.csr_array(Z), V)
    assert_allclose(product, kernel(X, Z) @ V, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "form",
    [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array, sp.dok_array],
)
def test_every_sparse_form_is_taken(form, rows):
    X = rows(8)
    assert_allclose(Gaussian()(form(X)), Gaussian()(X), rtol=1e-12)
    assert_allclose(Gaussian().on(2, 0)(form(X)), Gaussian().on(2, 0)(X), rtol=1e-12)
    assert_allclose(Gaussian("median")(form(X)), Gaussian("median")(X), rtol=1e-12)


def test_duplicate_entries_are_added_and_the_input_stays(rows):
    X = sp.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    unsummed = sp.csr_array((X.data, [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert Linear()(unsummed).tolist() == [[9.0, 0.0], [0.0, 9.0]]
    assert unsummed.nnz == 3


def test_explicit_zeros_change_nothing(rows):
    X = sp.csr_array(rows(6))
    stored = X.copy()
    stored.data[0] = 0.0
    dense = stored.toarray()
    assert_allclose(Gaussian()(stored), Gaussian()(dense), rtol=1e-12)
    assert_allclose(Cosine()(stored), Cosine()(dense), rtol=1e-12)


def test_rows_of_zeros_only_are_taken():
    X = sp.csr_array((4, 5))
    assert (Gaussian()(X) == 1.0).all()
    assert not Cosine()(X).any()
    assert not Sobolev()(X).any()


def test_single_precision_stays_single(rows):
    X = sp.csr_array(rows(8)).astype(np.float32)
    K = Gaussian()(X)
    assert K.dtype == np.float32
    assert_allclose(K, Gaussian()(X.toarray()), rtol=1e-5)
    assert Gaussian()(X, X.astype(np.float64)).dtype == np.float64


def test_integers_and_booleans_are_numbers(rows):
    X = np.round(3 * rows(8)).astype(int)
    assert_allclose(Gaussian()(sp.csr_array(X)), Gaussian()(X), rtol=1e-12)
    assert_allclose(Gaussian()(sp.csr_array(X > 0)), Gaussian()(X > 0), rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_nearly_equal_sparse_rows_keep_their_digits(offset, rng):
    X = offset * (rng.random((20, 300)) < 0.1)
    X = X + rng.normal(size=X.shape) * (X > 0)
    Z = X + 1e-7 * (X != 0) * rng.normal(size=X.shape)
    kernel = Gaussian(1e-6)
    assert_allclose(kernel(sp.csr_array(X), sp.csr_array(Z)), kernel(X, Z), rtol=1e-12, atol=1e-300)


def test_many_columns_are_never_made_dense(rng):
    X = sp.random_array((50, 3_000_000), density=1e-6, rng=rng, format="csr")
    for kernel in (Gaussian(), Linear(), Gaussian(0.01)):
        assert kernel(X).shape == (50, 50)


# As many columns as 32-bit indices tell apart: nothing may be of their size.
WIDEST = 2**31 - 1


def wide_rows(seed, n):
    """Rows of the widest matrix, and the same in the eight columns in use and one of zeros."""
    rng = np.random.default_rng(seed)
    columns = np.array([0, 1, 2, 10**5, 10**9, 2 * 10**9, WIDEST - 2, WIDEST - 1])
    dense = np.abs(rng.normal(size=(n, 9))) * (rng.random((n, 9)) < 0.6)
    dense[:, 8] = 0.0
    entries = sp.coo_array(dense)
    places = (entries.row, columns[entries.col])
    return sp.csr_array((entries.data, places), shape=(n, WIDEST)), dense


@pytest.mark.parametrize("kernel", [*SIMPLE, *COMPOSITE, Gaussian("median")], ids=str)
def test_the_widest_sparse_rows_are_compared_in_the_columns_they_use(kernel):
    (X, A), (Z, B) = wide_rows(1, 9), wide_rows(2, 5)
    assert_allclose(kernel(X), kernel(A), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel(X, Z), kernel(A, B), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel.diagonal(X), kernel.diagonal(A), rtol=1e-12, atol=1e-14)


def test_columns_of_the_widest_rows_are_selected():
    X, A = wide_rows(1, 9)
    kernel, same = Gaussian().on(-1, 1, 6, 10**9), Gaussian().on(7, 1, 8, 4)
    assert_allclose(kernel(X), same(A), rtol=1e-12)


def test_length_scales_stay_with_the_columns_of_wide_rows(rng):
    X = sp.random_array((6, 70_000), density=1e-4, rng=rng, format="csr")
    scales = rng.uniform(0.5, 2.0, 70_000)
    scaled = X.multiply(1.0 / scales[None, :]).toarray()
    assert_allclose(Gaussian(tuple(scales))(X), Gaussian()(scaled), rtol=1e-12)
    assert_allclose(Laplacian(tuple(scales))(X), Laplacian()(scaled), rtol=1e-12)


def test_a_product_over_wide_rows_without_a_zero_is_not_zero(rng):
    X = sp.csr_array(1.0 + 1e-5 * rng.random((3, 70_000)))
    assert_allclose(Sobolev()(X), Sobolev()(X.toarray()), rtol=1e-12)
    assert_allclose(Sobolev().diagonal(X), Sobolev().diagonal(X.toarray()), rtol=1e-12)


def test_identical_sparse_rows_have_similarity_one_exactly(rng):
    X = sp.csr_array(1e6 * (rng.random((30, 40)) < 0.3) + 0.0)
    K = Gaussian(1e-3)(X)
    assert (np.diagonal(K) == 1.0).all()


def test_many_sparse_rows_are_compared_once_and_mirrored(rng):
    X = sp.random_array((1500, 20), density=0.2, rng=rng, format="csr")
    K = Gaussian()(X.toarray())
    assert_allclose(Gaussian()(X), K, rtol=1e-12)
    v = rng.normal(size=1500)
    assert_allclose(apply(Gaussian().program, X, None, v), K @ v, rtol=1e-10)


def test_a_function_receives_sparse_rows_as_they_are(rows):
    kernel = FromFunction(lambda X, Z: (X @ Z.T).toarray())
    X = rows(6)
    assert_allclose(kernel(sp.csr_array(X)), X @ X.T, atol=1e-14)


def test_many_equal_sparse_rows_are_compared_in_little_memory(rng):
    row = rng.normal(size=(1, 60)) * (rng.uniform(size=(1, 60)) < 0.5)
    X = sp.csr_array(np.repeat(row, 700, axis=0))
    assert_array_equal(Gaussian(1.0)(X), np.ones((700, 700)))


@pytest.mark.parametrize("kernel", [Chi2(1.0), AdditiveChi2(), Periodic(1.0, 1.0)])
def test_rows_of_zeros_alone_are_compared_as_dense_ones(kernel):
    X = sp.csr_array((4, 3))
    assert_allclose(kernel(X), kernel(X.toarray()))
