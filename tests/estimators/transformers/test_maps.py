"""MercerMap and Monomials: features of kernels."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from contract import OF_THE_CLASS, checks
from mercer.errors import MemoryLimitError
from mercer.estimators import KernelRidge, MercerMap, Monomials
from mercer.kernels import Gaussian, Linear, Match, Polynomial, Sobolev


@checks(
    [
        MercerMap(Polynomial(), n_components=2),
        Monomials(3, offset=0.0),
        Monomials(2, scaled=False),
    ],
    but=OF_THE_CLASS,
)
def test_they_keep_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


# MercerMap


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Polynomial(3), Linear() + Gaussian(2.0), Sobolev()], ids=str
)
def test_all_components_reproduce_the_gram_matrix(kernel, points):
    X = points(40, 3, non_negative=True)
    model = MercerMap(kernel)
    F = model.fit_transform(X)
    assert_allclose(F @ F.T, kernel(X), atol=1e-10 * np.abs(kernel(X)).max())
    assert_allclose(model.transform(X), F, atol=1e-6 * np.abs(F).max())


def test_new_rows_keep_their_inner_products_with_training_rows(points):
    X, Z = points(40), points(9)
    model = MercerMap(Gaussian(1.0)).fit(X)
    assert_allclose(model.transform(Z) @ model.transform(X).T, Gaussian(1.0)(Z, X), atol=1e-9)


def test_a_few_components_are_the_best_low_rank_copy(points):
    X = points(60)
    K = Gaussian(2.0)(X)
    F = MercerMap(Gaussian(2.0), 5).fit_transform(X)
    rest = np.linalg.eigvalsh(K)[::-1][5]
    assert_allclose(np.linalg.norm(K - F @ F.T, 2), rest, rtol=1e-8)


@pytest.mark.parametrize("solver", ["iterative", "dense"])
def test_the_minimum_kernel_has_the_eigenvalues_and_functions_of_brownian_motion(solver):
    n = 2000 if solver == "iterative" else 500
    X = ((np.arange(n) + 0.5) / n)[:, None]
    model = MercerMap(Sobolev(), n_components=5, solver=solver, random_state=0).fit(X)
    j = np.arange(1, 6)
    assert_allclose(model.eigenvalues_, 1.0 / ((j - 0.5) ** 2 * np.pi**2), rtol=0.02)
    x = np.linspace(0.0, 1.0, 41)
    for i in range(5):
        expected = np.sqrt(2.0) * np.sin((i + 0.5) * np.pi * x)
        found = model.eigenfunction(i, x[:, None])
        assert_allclose(found * np.sign(found @ expected), expected, atol=0.02 * np.sqrt(2.0))


def test_eigenfunctions_are_orthonormal_over_the_rows(points):
    X = points(50)
    model = MercerMap(Gaussian(1.0), 4).fit(X)
    E = np.column_stack([model.eigenfunction(j, X) for j in range(4)])
    assert_allclose(E.T @ E / 50, np.eye(4), atol=1e-9)
    series = (E * model.eigenvalues_) @ E.T
    assert_allclose(series, model.transform(X) @ model.transform(X).T, atol=1e-9)


def test_a_linear_model_of_the_features_is_kernel_ridge(points):
    X, Z = points(40), points(9)
    y = np.sin(X[:, 0])
    linear = make_pipeline(MercerMap(Gaussian(1.0)), Ridge(0.1)).fit(X, y)
    direct = KernelRidge(Gaussian(1.0), 0.1).fit(X, y)
    assert_allclose(linear.predict(Z), direct.predict(Z), atol=1e-8)


def test_tables_have_eigenfeatures(rng):
    rows = pd.DataFrame({"site": ["a", "b", "c", "a"] * 5, "x": rng.normal(size=20)})
    model = MercerMap(Match().on("site")).set_output(transform="pandas")
    features = model.fit_transform(rows)
    assert list(features.columns) == ["mercermap0", "mercermap1", "mercermap2"]
    assert_allclose(model.eigenvalues_, [0.5, 0.25, 0.25])


@pytest.mark.parametrize("j", [-1, 3, 1.0, True])
def test_an_eigenfunction_that_does_not_exist_is_refused(j, points):
    model = MercerMap(Linear()).fit(points(20))
    with pytest.raises(ValueError, match="j must be a whole number from 0 to 2"):
        model.eigenfunction(j, points(3))


def test_an_eigenfunction_of_eigenvalue_zero_is_refused(points):
    model = MercerMap(Linear(), 5).fit(points(20))
    with pytest.raises(ValueError, match="eigenvalue 4 is zero"):
        model.eigenfunction(4, points(3))


# Monomials

entries = st.one_of(st.just(0.0), st.floats(-3.0, 3.0))


@settings(deadline=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
        lambda s: arrays(np.float64, s, elements=entries)
    ),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)
def test_inner_products_are_the_polynomial_kernel(X, degree, offset):
    model = Monomials(degree, offset).fit(X)
    F, S = model.transform(X), model.transform(sp.csr_array(X))
    K = Polynomial(degree, offset)(X)
    scale = max(1.0, np.abs(K).max())
    assert_allclose(F @ F.T, K, atol=1e-12 * scale)
    assert sp.issparse(S)
    assert_allclose(S.toarray(), F, rtol=1e-13)
    assert S.nnz == np.count_nonzero(S.toarray()) or (np.abs(X[X != 0.0]) < 1e-70).any()
    assert F.shape[1] == model.n_output_features_ == len(model.get_feature_names_out())


@pytest.mark.parametrize(("d", "p"), [(1, 5), (3, 2), (4, 3), (10, 3)])
def test_there_are_as_many_as_the_binomial_coefficient_says(d, p):
    X = np.ones((2, d))
    assert Monomials(p).fit(X).n_output_features_ == math.comb(d + p, p)
    assert Monomials(p, offset=0.0).fit(X).n_output_features_ == math.comb(d + p - 1, p)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_plain_monomials_are_those_of_scikit_learn(degree, points):
    X = points(9)
    peer = PolynomialFeatures(degree).fit(X)
    model = Monomials(degree, scaled=False).fit(X)
    assert_allclose(model.transform(X), peer.transform(X), rtol=1e-12)
    assert_array_equal(model.get_feature_names_out(), peer.get_feature_names_out())


def test_monomials_are_named_by_the_columns(points):
    frame = pd.DataFrame(points(5, 2), columns=["age", "bmi"])
    model = Monomials(2).set_output(transform="pandas").fit(frame)
    expected = ["1", "age", "bmi", "age^2", "age bmi", "bmi^2"]
    assert list(model.transform(frame).columns) == expected
    assert Monomials(2).fit(points(5, 1)).get_feature_names_out(["t"]).tolist() == [
        "1",
        "t",
        "t^2",
    ]


def test_sparse_rows_are_left_alone(points):
    X = sp.csr_array((np.ones(3), np.array([1, 0, 0]), np.array([0, 3])), shape=(1, 3))
    F = Monomials(2, offset=0.0, scaled=False).fit_transform(X)
    assert_array_equal(F.toarray(), [[4.0, 2.0, 0.0, 1.0, 0.0, 0.0]])
    assert_array_equal(X.indices, [1, 0, 0])


def test_single_precision_stays_single(points):
    X = points(5).astype(np.float32)
    assert Monomials(3).fit_transform(X).dtype == np.float32
    assert Monomials(3).fit_transform(sp.csr_array(X)).dtype == np.float32


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"degree": 0}, "degree must be a whole number of at least 1, got 0"),
        ({"degree": 1.5}, "degree must be a whole number of at least 1, got 1.5"),
        ({"offset": -1.0}, "offset must not be negative, got -1.0"),
        ({"offset": np.nan}, "offset must be finite"),
        ({"degree": 60}, "more than 16777216 monomials of degree 60"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings, said, points):
    with pytest.raises(ValueError, match=said):
        Monomials(**settings).fit(points(5, 20))


def test_features_beyond_the_memory_are_refused(points):
    with pytest.raises(MemoryLimitError):
        Monomials(3, memory=1000).fit_transform(points(20))


def test_it_survives_pickling(points):
    model = Monomials(3).fit(points(6))
    assert_array_equal(
        pickle.loads(pickle.dumps(model)).transform(points(6).round(1)).shape, (6, 20)
    )
