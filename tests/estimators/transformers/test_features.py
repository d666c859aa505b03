"""Nystroem and RandomFourier: approximate features of kernels."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_approximation import Nystroem as Peer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from contract import OF_THE_CLASS, checks
from mercer import KernelRidge, Nystroem, RandomFourier
from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.kernels import Gaussian, Laplacian, Linear, Match, Matern32, Sigmoid, Spectrum

BOTH = [Nystroem, RandomFourier]


@checks(
    [
        Nystroem(Matern32(2.0), 10, landmarks="uniform"),
        Nystroem("poly"),
        RandomFourier(Laplacian(2.0) + 1.0, 20),
    ],
    but=OF_THE_CLASS,
)
def test_they_keep_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", BOTH)
def test_rows_in_float32_have_features_in_float32(kind, points):
    X = points(40)
    model = kind(Gaussian(1.0), 10).fit(X)
    single = X.astype(np.float32)
    for rows in (single, sp.csr_array(single), pd.DataFrame(single)):
        assert model.transform(rows).dtype == np.float32
        assert_allclose(model.transform(rows), model.transform(X), atol=1e-4)
    assert model.transform(sp.csr_array(X)).dtype == np.float64


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_tables_in_give_tables_out_where_that_is_set(kind, library, points):
    table = library({"a": points(20)[:, 0], "b": points(20)[:, 1]})
    model = kind(Gaussian(1.0).on("a"), 4).set_output(transform=library.__module__.split(".")[0])
    found = model.fit_transform(table)
    assert list(found.columns) == list(model.get_feature_names_out())
    assert found.columns[0] == f"{kind.__name__.lower()}0"
    assert found.shape[0] == 20


@pytest.mark.parametrize("kind", BOTH)
def test_the_same_seed_gives_the_same_features_and_so_does_none(kind, points):
    X = points(60)
    first, again, other = (kind(Gaussian(1.0), 8, random_state=s).fit(X) for s in (None, None, 1))
    assert_array_equal(first.transform(X), again.transform(X))
    assert not np.allclose(first.transform(X), other.transform(X))


@pytest.mark.parametrize("kind", BOTH)
def test_features_survive_a_pickle(kind, points):
    model, Z = kind(Gaussian("median"), 8).fit(points(30)), points(9)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(Z), model.transform(Z))


@pytest.mark.parametrize("kind", BOTH)
def test_features_beyond_the_memory_are_refused(kind, points):
    model = kind(Gaussian(1.0), 20, memory=8000).fit(points(40))
    with pytest.raises(MemoryLimitError, match="60 x 20"):
        model.transform(points(60))


@pytest.mark.parametrize("kind", BOTH)
def test_a_search_reaches_the_parameters_of_the_kernel(kind, points):
    X = points(60)
    pipeline = make_pipeline(kind(Gaussian(1.0), 20), Ridge())
    grid = {f"{kind.__name__.lower()}__kernel__length_scale": [0.01, 2.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, np.sin(X[:, 0]))
    assert next(iter(search.best_params_.values())) == 2.0


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("m", [0, 2.5, "many", True])
def test_a_number_of_components_that_is_none_is_refused(kind, m, points):
    with pytest.raises(ValueError, match=f"n_components must be .* got {m!r}"):
        kind(Gaussian(1.0), m).fit(points(20))


# Nystroem


def test_all_rows_as_landmarks_reproduce_the_kernel(points):
    X, Z = points(50), points(9)
    model = Nystroem(Gaussian(1.0)).fit(X)
    assert model.map_.n_features == len(model.components_) == 50
    assert_allclose(model.transform(Z) @ model.transform(X).T, Gaussian(1.0)(Z, X), atol=1e-9)
    assert model.approximation_.value < 1e-9


def test_inner_products_are_those_of_scikit_learn_with_the_same_landmarks(points):
    X = points(60)
    peer = Peer(gamma=0.5, n_components=12, random_state=0).fit(X)
    ours = Nystroem("rbf", landmarks=peer.components_, gamma=0.5).fit(X)
    F, G = ours.transform(X), peer.transform(X)
    assert_allclose(F @ F.T, G @ G.T, atol=1e-8)


def test_a_linear_model_of_the_features_is_the_landmark_model(points):
    X = points(80)
    y = np.sin(X[:, 0])
    pipeline = make_pipeline(Nystroem(Gaussian(1.0), 80), Ridge(alpha=0.1, fit_intercept=False))
    exact = KernelRidge(Gaussian(1.0), 0.1, fit_intercept=False).fit(X, y)
    assert_allclose(pipeline.fit(X, y).predict(X), exact.predict(X), atol=1e-8)


def test_the_trace_residual_is_what_the_features_leave(points):
    X = points(100)
    model = Nystroem(Gaussian(0.5), 10).fit(X)
    kept = (model.transform(X) ** 2).sum() / 100
    assert model.approximation_.value == pytest.approx(1.0 - kept, abs=1e-12)
    assert (model.approximation_.n_landmarks, model.approximation_.rows) == (10, 100)


def test_superfluous_landmarks_leave_fewer_features(points):
    X = points(40, 3)
    assert Nystroem(Linear(), 20).fit(X).transform(X).shape == (40, 3)
    copies = np.vstack([X[:5], X[:5]])
    assert Nystroem(Gaussian(1.0), landmarks=copies).fit(X).transform(X).shape == (40, 5)


def test_more_components_than_the_rank_of_the_kernel_are_as_many_as_it_is(points):
    X = points(40)
    model = Nystroem(Linear(), 30).fit(X)
    assert model.n_components_ == X.shape[1] == model.transform(X).shape[1]


def test_texts_and_categories_have_landmarks():
    texts = ["abcab", "bcabc", "cabca", "aaaa", "abcab", "ccc"]
    F = Nystroem(Spectrum(k=2)).fit_transform(texts)
    assert_allclose(F @ F.T, Spectrum(k=2)(texts), atol=1e-10)
    table = pd.DataFrame({"colour": ["red", "blue", "red", "green"], "size": [1.0, 2.0, 3.0, 4.0]})
    k = Match().on("colour") + Gaussian(1.0).on("size")
    F = Nystroem(k).fit_transform(table)
    assert_allclose(F @ F.T, k(table), atol=1e-10)


def test_landmarks_that_are_given_are_copied_and_checked_like_rows(points):
    X, Z = points(30), points(5).copy()
    model = Nystroem(Gaussian(1.0), landmarks=Z).fit(X)
    before = model.transform(X)
    Z[:] = 0.0
    assert_array_equal(model.transform(X), before)
    with pytest.raises(ValueError, match="features"):
        Nystroem(Gaussian(1.0), landmarks=np.ones((4, 7))).fit(X)


def test_an_indefinite_kernel_is_refused_with_a_witness(points):
    with pytest.raises(IndefiniteKernelError, match="not positive semi-definite"):
        Nystroem(Sigmoid(1.0, -2.0), 30).fit(points(40))


def test_a_finished_gram_matrix_is_refused(points):
    with pytest.raises(ValueError, match=r"precomputed.*use MercerMap"):
        Nystroem("precomputed").fit(np.eye(5))


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do(points):
    with pytest.raises(ValueError, match="'rpcholesky', 'uniform', 'kmeans' or rows, got 'best'"):
        Nystroem(Gaussian(1.0), landmarks="best").fit(points(20))


# RandomFourier


def test_random_features_are_nearer_to_the_kernel_the_more_there_are(points):
    X = points(30)
    K = Gaussian(1.0)(X)
    few, many = (RandomFourier(Gaussian(1.0), p).fit_transform(X) for p in (20, 20_000))
    assert np.abs(many @ many.T - K).max() < 0.05 < np.abs(few @ few.T - K).max()


def test_a_kernel_without_frequencies_is_refused_with_the_way_out(points):
    with pytest.raises(ValueError, match=r"linear.*use Nystroem"):
        RandomFourier("linear").fit(points(20))


def test_names_of_scikit_learn_mean_what_they_mean_there(points):
    X = points(20)
    model = RandomFourier("rbf", gamma=0.3).fit(X)
    assert model.kernel_ == Gaussian.from_gamma(0.3)


def test_texts_have_no_frequencies(texts=("abc", "acb", "xyz")):
    with pytest.raises(ValueError, match=r"spectrum\(k=2.* has no spectral density"):
        RandomFourier(Spectrum(k=2)).fit(list(texts))


def test_a_factor_beyond_the_memory_is_refused_with_what_to_do(points):
    with pytest.raises(MemoryLimitError, match=r"factor of 50 landmarks .* or use fewer landmarks"):
        Nystroem(Gaussian(1.0), 50, memory=5000).fit(points(60))


def test_what_is_wrong_with_landmarks_is_said_of_them(points):
    wrong = points(4).copy()
    wrong[1] = np.nan
    with pytest.raises(ValueError, match=r"landmarks are rows like those of X: .*NaN at row 1"):
        Nystroem(Gaussian(1.0), landmarks=wrong).fit(points(9))
