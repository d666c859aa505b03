"""Explicit features: their inner products are the kernel, and their number is known beforehand."""

from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import (
    Bilinear,
    Chi2,
    Constant,
    Cosine,
    FromFeatures,
    FromFunction,
    Gaussian,
    Linear,
    Normalized,
    Polynomial,
    PolynomialOf,
    Power,
    Precomputed,
    Product,
    Scaled,
    ScaledBy,
    Sigmoid,
    Sum,
)

SEMIDEFINITE = ((2.0, 1.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 0.0))


def squares(X):
    return np.hstack([X, X**2])


def turned(X):
    return X[:, ::-1] + 0.5


def first(X):
    return 1.0 + X[:, 0] ** 2


def gap(kernel, X, Z):
    """Return the largest error of phi(x)'phi(z), relative to sqrt(k(x, x) k(z, z))."""
    F, G = kernel.features(X), kernel.features(Z)
    size = np.sqrt(np.outer(kernel.diagonal(X), kernel.diagonal(Z)))
    error = np.abs(F @ G.T - kernel.resolved(X)(X, Z))
    return (error / np.maximum(size, 1e-300)).max()


numbers = st.one_of(st.just(0.0), st.floats(0.01, 3.0))
leaves = st.one_of(
    st.builds(Linear, numbers),
    st.builds(Polynomial, st.integers(1, 3), numbers, numbers),
    st.builds(Constant, numbers),
    st.sampled_from(
        [
            Cosine(),
            FromFeatures(squares),
            Bilinear(SEMIDEFINITE),
            Linear(1.0).on(2, 0),
            Polynomial(2).on(1),
            Polynomial(2).after(turned),
        ]
    ),
)


def composites(parts):
    terms = st.lists(parts, min_size=1, max_size=3).map(tuple)
    coefficients = st.lists(numbers, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Sum, terms),
        st.builds(Product, terms),
        st.builds(Scaled, parts, numbers),
        st.builds(Power, parts, st.integers(1, 3)),
        st.builds(PolynomialOf, parts, coefficients),
        st.builds(Normalized, parts),
        st.builds(ScaledBy, parts, st.just(first)),
    )


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(kernel=st.recursive(leaves, composites, max_leaves=4), seed=st.integers(0, 1000))
def test_inner_products_of_features_are_the_kernel(kernel, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    count = kernel.n_features(X)
    assume(count is not None and count <= 20_000)
    assert kernel.features(X).shape == (5, count)
    # Where k(x, x) itself is the rest of a cancellation, 1/sqrt(k(x, x)) knows fewer digits.
    assert gap(kernel, X, Z) < 1e-11


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_a_polynomial_has_all_monomials_up_to_its_degree(degree, d, points):
    X = points(4, d)
    kernel = Polynomial(degree, 0.7, 1.3)
    assert kernel.n_features(X) == comb(d + degree, degree)
    assert gap(kernel, X, X[::-1]) < 1e-14


def test_without_an_offset_only_the_monomials_of_highest_degree_are_there(points):
    assert Polynomial(3, offset=0.0).n_features(points(2, 4)) == comb(4 + 2, 3)


def test_the_monomials_of_two_columns_are_those_of_the_textbook():
    # (1 + x'z)^2 = (1, sqrt2 x, sqrt2 y, x^2, sqrt2 x y, y^2)'(...)
    x, y, r = 3.0, 5.0, np.sqrt(2.0)
    expected = [[1.0, r * x, r * y, x**2, r * x * y, y**2]]
    assert_allclose(Polynomial(2).features(np.array([[x, y]])), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        (Linear(), 3),
        (Linear(2.0), 4),
        (Constant(2.0), 1),
        (Constant(0.0), 1),
        (Cosine(), 3),
        (Cosine() ** 2, 6),
        (FromFeatures(squares), 6),
        (2.0 * Linear(), 3),
        (Linear() + Linear(1.0) + 2.0, 4),
        (Linear() + Polynomial(2), 10),
        (Linear().on(0) + Linear().on(1, 2), 3),
        (Linear(1.0).on(0) * Linear(1.0).on(1, 2), 6),
        (Linear() ** 3, 10),
        (Linear().polynomial([1.0, 0.0, 2.0]), 1 + 6),
        (Polynomial(3).normalized(), 20),
        (Linear(1.0).scaled_by(first), 4),
        (Polynomial(2).after(squares), comb(8, 2)),
        (Bilinear(SEMIDEFINITE), 2),
        (Bilinear(np.zeros((3, 3))), 1),
        (Polynomial(3, scale="columns"), 20),
    ],
    ids=str,
)
def test_like_terms_are_counted_once(kernel, count, points):
    X = points(6)
    assert kernel.n_features(X) == count
    assert kernel.features(X).shape == (6, count)
    assert gap(kernel, X, X[:4]) < 1e-13


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Gaussian("median") + Linear(),
        Linear().exp(),
        Sigmoid(),
        Chi2(),
        FromFunction(np.dot),
        Precomputed(),
        Linear(-1.0),
        Polynomial(2, -1.0),
        Polynomial(3, 1.0, -0.5),
        Bilinear(np.diag([1.0, -1.0, 0.0])),
        Constant(-1.0),
        (Linear() + Gaussian()).normalized(),
        Polynomial(2, -1.0).scaled_by(first),
        Polynomial(100).after(squares),
        Polynomial(10**30),
        Polynomial(400, 1e3),
    ],
    ids=str,
)
def test_kernels_without_few_features_say_so(kernel, points):
    X = points(5)
    assert kernel.n_features(X) is None
    with pytest.raises(ValueError, match="no finite features that are known, or too many"):
        kernel.features(X)


def test_a_sum_may_make_up_for_a_term_that_is_no_kernel(points):
    assert gap(Linear(-1.0) + 2.0, points(5), points(3)) < 1e-14


def test_a_power_of_one_column_has_one_feature_whatever_the_power():
    X = np.array([[0.5], [-1.0], [1.0]])
    assert Polynomial(10**30, offset=0.0).n_features(X) == 1
    assert_allclose(Polynomial(31, offset=0.0).features(X)[:, 0], [0.5**31, -1.0, 1.0])


def test_features_are_counted_without_being_computed():
    X = np.zeros((10**6, 200))
    X.flags.writeable = False
    assert Polynomial(3).n_features(X) == comb(203, 3)


def test_a_function_is_asked_about_one_row_to_count_its_features(points):
    seen = []

    def phi(X):
        seen.append(len(X))
        return np.hstack([X, X])

    assert FromFeatures(phi).n_features(points(50)) == 6
    assert seen == [1]


def test_the_rows_themselves_are_the_features_of_an_inner_product(points):
    X = points(5)
    assert np.shares_memory(Linear().features(X), X)


@pytest.mark.parametrize("kernel", [Linear(), Linear(1.0), 2.0 * Linear().on(2, 0), Cosine()])
def test_sparse_rows_keep_sparse_features(kernel, points):
    S = sp.csr_array(np.where(np.abs(points(20)) > 0.7, points(20), 0.0))
    F = kernel.features(S)
    assert sp.issparse(F) and F.format == "csr"
    assert_allclose((F @ F.T).toarray(), kernel(S), atol=1e-13)


def test_sparse_rows_are_filled_for_higher_degrees(points):
    S = sp.csr_array(np.where(np.abs(points(20)) > 0.7, points(20), 0.0))
    F = Polynomial(3).features(S)
    assert_allclose(F @ F.T, Polynomial(3)(S), rtol=1e-12, atol=1e-12)


def test_blocks_of_rows_give_the_same_features(points, monkeypatch):
    X = points(30)
    kernel = Polynomial(3).normalized() * Linear(1.0).on(1)
    whole = kernel.features(X)
    theta = np.arange(whole.shape[1] * 2.0).reshape(-1, 2)
    monkeypatch.setattr("mercer.data.blocks.MEMORY", 200)
    assert_array_equal(kernel.features(X), whole)
    assert_allclose(kernel.feature_map.product(X, theta), whole @ theta, rtol=1e-12)
    assert_allclose(kernel.feature_map.transposed(X, X), whole.T @ X, rtol=1e-12, atol=1e-12)


def test_float32_rows_give_float32_features(points):
    X = points(8).astype(np.float32)
    for kernel in (Linear(), Linear(1.0), Polynomial(3)):
        F = kernel.features(X)
        assert F.dtype == np.float32
        assert_allclose(F @ F.T, kernel(X), rtol=1e-4, atol=1e-5)


def test_no_rows_have_no_features(points):
    assert Polynomial(2).features(points(0)).shape == (0, 10)
    assert Linear(1.0).features(points(0)).shape == (0, 4)


def test_named_columns_of_a_table_have_features(points):
    X = points(6)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(text="word")
    kernel = Polynomial(2).on("a", "b") + Linear().on("c")
    assert kernel.n_features(table) == 7
    by_position = (Polynomial(2).on(0, 1) + Linear().on(2)).features(X)
    assert_array_equal(kernel.features(table), by_position)


def test_features_come_in_the_same_order_in_every_run(points):
    # theta of a saved model relies on it: by degree, and by the order of the terms within one.
    X = points(3)
    F = (Linear().on(2) + Linear(4.0).on(0)).features(X)
    assert_allclose(F, np.column_stack([np.full(3, 2.0), X[:, 2], X[:, 0]]))
