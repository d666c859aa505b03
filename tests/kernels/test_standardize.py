"""Standardize: a kernel that carries the scaling of its columns."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.data.moments import Moments, sparse_moments
from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Linear, Polynomial, Standardize
from mercer.testing import check_kernel
from refusals import refuses

SCALED = Gaussian(1.5).after(Standardize())


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3)) * [1.0, 100.0, 1e-3] + [5.0, -1e4, 0.0]


def test_it_is_the_scaling_of_scikit_learn(X):
    scaled = StandardScaler().fit_transform(X)
    assert_allclose(Standardize().resolved(X)(X), scaled, atol=1e-12)
    assert_allclose(SCALED(X), Gaussian(1.5)(scaled), rtol=1e-9)


def test_new_rows_are_scaled_by_the_first_ones(X):
    scaler = StandardScaler().fit(X[:20])
    K = SCALED(X[:20], X[20:])
    assert_allclose(K, Gaussian(1.5)(scaler.transform(X[:20]), scaler.transform(X[20:])), 1e-9)


def test_rules_are_resolved_on_the_scaled_rows(X):
    k = Gaussian("median").after(Standardize()).resolved(X)
    expected = Gaussian("median").resolved(StandardScaler().fit_transform(X))
    assert_allclose(k.kernel.length_scale, expected.length_scale, rtol=1e-12)


def test_constant_columns_become_zero():
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0), np.zeros(7)])
    g = Standardize().resolved(X)
    assert g.scale[0] == g.scale[2] == 1.0
    assert_array_equal(g(X)[:, [0, 2]], 0.0)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_columns_of_any_size_are_scaled(size):
    rows = np.array([[-1.0], [0.0], [1.0], [0.5]]) * size
    assert_allclose(Standardize().resolved(rows)(rows).std(), 1.0, rtol=1e-12)


def test_single_precision_stays_single(X):
    assert SCALED(X.astype(np.float32)).dtype == np.float32


numbers = st.floats(allow_nan=False, allow_infinity=False)
positives = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)


@given(st.lists(st.tuples(numbers, positives), max_size=4))
def test_it_is_written_and_read_with_all_its_digits(columns):
    g = Standardize([m for m, _ in columns], [s for _, s in columns])
    k = Gaussian("median").after(g).on("a", "body mass") + Linear().on("c")
    assert mercer.kernel(str(k)) == k


def test_it_is_a_value(X):
    k = SCALED.resolved(X)
    assert pickle.loads(pickle.dumps(k)) == k
    assert hash(mercer.kernel(str(k))) == hash(k)
    assert Gaussian(1.5).after(Standardize()) == SCALED
    assert k != SCALED
    assert str(SCALED) == "gaussian(length_scale=1.5).after(standardize())"


def test_it_keeps_the_contract_of_kernels(points):
    check_kernel(SCALED, points(9), points(7))
    check_kernel(SCALED.on(0, 2) * Linear(1.0), points(9), points(7))


def test_it_is_proved():
    assert SCALED.check().status == "PROVED"


def test_a_kernel_without_proof_is_searched():
    assert mercer.kernel("sigmoid.after(standardize())").check().status == "REFUTED"


def test_explicit_features_are_those_of_the_scaled_rows(X):
    k = Polynomial(2).after(Standardize())
    assert k.n_features(X) == 10
    F = k.features(X)
    assert_allclose(F @ F.T, k(X), rtol=1e-10)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "eigen"])
def test_a_model_keeps_the_scaling_of_its_training_rows(X, solver):
    y = np.sin(X[:, 0])
    scaler = StandardScaler().fit(X[:30])
    model = KernelRidge(SCALED, 0.1, solver=solver).fit(X[:30], y[:30])
    plain = KernelRidge(Gaussian(1.5), 0.1, solver=solver).fit(scaler.transform(X[:30]), y[:30])
    assert_allclose(model.predict(X), plain.predict(scaler.transform(X)), rtol=1e-5, atol=1e-8)
    assert model.kernel_.is_resolved
    assert_allclose(model.kernel_.g.mean, scaler.mean_, rtol=1e-12)
    assert mercer.kernel(str(model.kernel_)) == model.kernel_


def test_rows_of_no_weight_do_not_count(X):
    weights = (np.arange(40) < 30).astype(float)
    model = KernelRidge(SCALED).fit(X, X[:, 0], weights)
    assert model.kernel_ == SCALED.resolved(X[:30])


def test_a_whole_weight_counts_as_that_many_rows(X):
    weights = np.arange(40) % 4
    weighted = KernelRidge(SCALED).fit(X, X[:, 0], weights)
    repeated = KernelRidge(SCALED).fit(np.repeat(X, weights, axis=0), np.repeat(X[:, 0], weights))
    assert_allclose(weighted.kernel_.g.mean, repeated.kernel_.g.mean, rtol=1e-12)
    assert_allclose(weighted.kernel_.g.scale, repeated.kernel_.g.scale, rtol=1e-12)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_length_scales_of_columns_are_in_their_own_units(X, table):
    rows = table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    k = Gaussian((1.0, 2.0)).after(Standardize()).on("c", "a")
    scaled = StandardScaler().fit_transform(X)[:, [2, 0]]
    assert_allclose(k(rows), Gaussian((1.0, 2.0))(scaled), rtol=1e-9)


def test_sparse_rows_become_dense_where_they_fit(points):
    X = np.where(np.abs(points(20)) > 0.7, points(20), 0.0)
    assert_array_equal(SCALED(sp.csr_array(X)), SCALED(X))
    vast = sp.csr_array((1 << 22, 1 << 22))
    with pytest.raises(mercer.errors.MemoryLimitError, match="sparse rows become dense: 140737"):
        Standardize().resolved(vast)


def test_what_cannot_be_scaled_is_refused(X):
    fitted = SCALED.resolved(X)
    refuses("Standardize was fitted to 3 columns, got 2", fitted, X[:, :2])
    refuses("standardize() has no numbers yet", Standardize(), X)
    with pytest.raises(ValueError, match="mean has 2 entries and scale 1"):
        Standardize([0.0, 1.0], [1.0])
    with pytest.raises(ValueError, match=r"Standardize: scale must be positive, got \[0.0\]"):
        Standardize([0.0], [0.0])
    with pytest.raises(ValueError, match="Standardize: mean must be finite"):
        Standardize([np.inf], [1.0])


FILLED = Gaussian(1.5).after(Standardize(missing="mean"))


@pytest.fixture
def gappy(X):
    X[[3, 7], 1] = np.nan
    return X


def test_missing_numbers_are_imputed_and_marked_as_scikit_learn_does(gappy):
    imputed = SimpleImputer(add_indicator=True).fit_transform(gappy)
    known = np.nanmean(gappy, axis=0), np.nanstd(gappy, axis=0)
    expected = np.column_stack([(imputed[:, :3] - known[0]) / known[1], imputed[:, 3:]])
    g = Standardize(missing="mean").resolved(gappy)
    assert g.indicators == (1,)
    assert_allclose(g(gappy), expected, atol=1e-12)
    assert_allclose(FILLED(gappy), Gaussian(1.5)(expected), rtol=1e-9)


def test_new_rows_are_filled_from_the_first_ones(gappy):
    g = Standardize(missing="mean").resolved(gappy)
    assert_allclose(g(np.array([[np.nan, np.nan, g.mean[2]]])), [[0.0, 0.0, 0.0, 1.0]])


def test_an_indicator_may_be_asked_for_where_nothing_is_missing_yet(X):
    g = Standardize(missing="mean", indicators=(0, 2)).resolved(X)
    assert g(X).shape == (40, 5)
    assert_array_equal(g(np.full((1, 3), np.nan)), [[0.0, 0.0, 0.0, 1.0, 1.0]])


def test_without_missing_numbers_it_is_the_same(X):
    assert_array_equal(FILLED(X), SCALED(X))


@pytest.mark.parametrize("rows", ["dense", "single", "sparse", "objects", "table"])
def test_missing_numbers_may_come_in_any_form(gappy, rows):
    expected = Standardize(missing="mean").resolved(gappy)(gappy)
    forms = {
        "dense": gappy,
        "single": gappy.astype(np.float32),
        "sparse": sp.csr_array(gappy),
        "objects": np.where(np.isnan(gappy), None, gappy.astype(object)),
        "table": pd.DataFrame(gappy).convert_dtypes(),
    }
    g = Standardize(missing="mean").resolved(forms[rows])
    assert_allclose(g(forms[rows]), expected, atol=1e-4 if rows == "single" else 1e-12)


def test_columns_without_a_known_number_become_zero():
    X = np.column_stack([np.full(5, np.nan), np.arange(5.0)])
    g = Standardize(missing="mean").resolved(X)
    assert_array_equal(g(X)[:, [0, 2]], [[0.0, 1.0]] * 5)


def test_weights_count_for_the_known_numbers(gappy):
    weights = np.arange(40) % 3 + 1
    weighted = Standardize(missing="mean").resolved(gappy, weights)
    repeated = Standardize(missing="mean").resolved(np.repeat(gappy, weights, axis=0))
    assert_allclose(weighted.mean, repeated.mean, rtol=1e-12)
    assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)


def test_missing_numbers_are_a_part_of_the_value(gappy):
    k = FILLED.resolved(gappy).on("a", "b", "c")
    assert mercer.kernel(str(k)) == k
    assert pickle.loads(pickle.dumps(k)) == k
    assert str(FILLED) == "gaussian(length_scale=1.5).after(standardize(missing='mean'))"
    assert SCALED.with_params(g__missing="mean") == FILLED
    check_kernel(FILLED, gappy[:9], gappy[9:16])
    assert FILLED.check().status == "PROVED"


def test_explicit_features_have_the_indicators(gappy):
    k = Polynomial(2).after(Standardize(missing="mean"))
    F = k.features(gappy)
    assert_allclose(F @ F.T, k(gappy), rtol=1e-10)


def test_a_missing_number_is_named_with_the_way_to_keep_it(gappy):
    with pytest.raises(ValueError, match=r"row 3, column 1; .* or Standardize\(missing='mean'\)"):
        SCALED(gappy)


def test_indicators_without_a_place_are_refused():
    with pytest.raises(ValueError, match=r"indicators=\(0,\) are for missing='mean'"):
        Standardize(indicators=(0,))
    with pytest.raises(ValueError, match="indicators must be below 2, the number of columns"):
        Standardize((0.0, 0.0), (1.0, 1.0), "mean", (2,))
    with pytest.raises(ValueError, match="indicators must not name a position twice"):
        Standardize(missing="mean", indicators=(1, 1))


@pytest.mark.parametrize("text", ["standardize()", "linear + standardize()", "linear.after(2.0)"])
def test_a_map_is_no_kernel(text):
    with pytest.raises(mercer.errors.KernelSyntaxError):
        mercer.kernel(text)


def test_without_the_mean_sparse_rows_stay_sparse_at_the_same_distances(X):
    sparse = sp.csr_array(np.where(X.mean(axis=0) < X, X, 0.0))
    dense = sparse.toarray()
    by_scale = Standardize(with_mean=False).resolved(sparse)
    scaled = by_scale(sparse)
    assert sp.issparse(scaled)
    expected = StandardScaler(with_mean=False).fit_transform(dense)
    assert_allclose(scaled.toarray(), expected, rtol=1e-12)
    assert_allclose(by_scale(dense), expected, rtol=1e-12)
    K = Gaussian(1.5).after(Standardize(with_mean=False))(sparse)
    assert_allclose(K, SCALED(dense), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_have_the_moments_of_dense_ones(X, weighted, rng):
    dense = np.column_stack([np.where(X.mean(axis=0) < X, X, 0.0), np.full(40, 3.0), np.zeros(40)])
    weights = rng.uniform(size=40) if weighted else None
    for wanted, found in zip(
        Moments.of(dense, weights).scales(),
        sparse_moments(sp.csr_array(dense), weights),
        strict=True,
    ):
        assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_a_gap_without_the_mean_stands_at_the_mean():
    X = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    k = Standardize(missing="mean", with_mean=False).resolved(X)
    assert_allclose(k(X)[1, 1] * k.scale[1], 4.0)


def test_threads_that_ask_whether_a_mapped_kernel_is_resolved_do_not_wait_for_each_other():
    # Each of two locks, taken in either order, was held for so short that it took many kernels.
    code = """
import sys, threading
from mercer import Gaussian, Standardize
sys.setswitchinterval(1e-6)
g = Standardize((0.0,), (1.0,))
for _ in range(100):
    inner = [Gaussian(i + 1.0).after(g) + Gaussian(1.0).after(g) for i in range(8)]
    outer = [k.after(g) for k in inner]
    jobs = [threading.Thread(target=lambda ks=ks: [k.is_resolved for k in ks], daemon=True)
            for ks in (outer, inner, outer, inner)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(20)
        assert not job.is_alive()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
