"""KernelPCA: principal components on any domain."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA, KernelPCA as Peer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline

from contract import OF_THE_CLASS, checks
from mercer.data.limits.deadline import TimeIsUpError
from mercer.errors import ApproximationWarning, IndefiniteKernelError, MemoryLimitError
from mercer.estimators import KernelPCA, MercerMap
from mercer.kernels import (
    AdditiveChi2,
    FromFunction,
    Gaussian,
    Linear,
    Match,
    Polynomial,
    Sigmoid,
    Standardize,
    from_sklearn,
)
from mercer.planning import landmarks as counted


@checks(
    [
        KernelPCA(n_components=2),
        KernelPCA(Polynomial(), n_components=3, solver="dense"),
        KernelPCA(n_components=1, n_landmarks=1, random_state=0),
        KernelPCA(n_components=2, fit_inverse_transform=True),
    ],
    but=OF_THE_CLASS,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_components", [None, 2, 20])
@pytest.mark.parametrize("solver", ["auto", "dense"])
def test_it_is_the_kernel_pca_of_scikit_learn(n_components, solver, points):
    X, Z = points(250, 4), points(30, 4)
    mine = KernelPCA(Gaussian.from_gamma(0.1), n_components, solver=solver).fit(X)
    peer = Peer(n_components, kernel="rbf", gamma=0.1, random_state=0).fit(X)
    m = n_components or 20
    assert_allclose(mine.eigenvalues_[:m], peer.eigenvalues_[:m], rtol=1e-9)
    a, b = mine.transform(Z)[:, :m], peer.transform(Z)[:, :m]
    signs = np.sign((a * b).sum(axis=0))
    assert_allclose(a, b * signs, atol=1e-7)


def test_the_linear_kernel_gives_plain_principal_components(points):
    X, Z = points(60, 5) + 10.0, points(9, 5)
    mine, plain = KernelPCA(Linear(), 3).fit(X), PCA(3).fit(X)
    a, b = mine.transform(Z), plain.transform(Z)
    assert_allclose(np.abs(a), np.abs(b), atol=1e-9)
    assert_allclose(mine.eigenvalues_, plain.explained_variance_ * 59, rtol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"n_components": 3}, {"n_landmarks": 40}], ids=str)
def test_training_rows_are_mapped_as_new_ones(settings, points):
    X = points(260)
    model = KernelPCA(Gaussian(1.0), random_state=0, **settings)
    scores = model.fit_transform(X)
    assert_allclose(model.transform(X), scores, atol=1e-7)
    assert_allclose(scores.mean(axis=0), 0.0, atol=1e-9)


def test_scores_have_the_distances_of_the_kernel(points):
    X = points(40)
    scores = KernelPCA(Gaussian(1.0)).fit_transform(X)
    D = np.linalg.norm(scores[:, None] - scores[None], axis=2)
    assert_allclose(D, Gaussian(1.0).distance(X), atol=1e-7)


def test_landmarks_approach_the_exact_components(points):
    X, Z = points(400), points(20)
    exact = KernelPCA(Gaussian(2.0), 4, solver="dense").fit(X)
    close = KernelPCA(Gaussian(2.0), 4, n_landmarks=80, random_state=0).fit(X)
    assert len(close.X_fit_) == 80
    assert_allclose(close.transform(Z), exact.transform(Z), atol=1e-4)


def test_a_matrix_that_does_not_fit_is_never_held(points):
    X = points(600)
    small = KernelPCA(Gaussian(1.0), 2, memory="1MB", random_state=0).fit(X)
    assert_allclose(small.eigenvalues_, KernelPCA(Gaussian(1.0), 2).fit(X).eigenvalues_, 1e-9)
    with pytest.raises(MemoryLimitError, match="limit is"):
        KernelPCA(Gaussian(1.0), memory="1MB").fit(X)


def test_signs_do_not_change_from_fit_to_fit(points):
    X = points(300)
    scores = [KernelPCA(Gaussian(1.0), 4, random_state=i).fit_transform(X) for i in range(3)]
    assert_allclose(scores[0], scores[1], atol=1e-8)
    assert_allclose(scores[0], scores[2], atol=1e-8)


def test_a_precomputed_matrix_is_centred_too(points):
    X, Z = points(50), points(7)
    k = Gaussian(1.0)
    direct = KernelPCA(k, 3).fit(X).transform(Z)
    for settings in ({}, {"n_landmarks": 50, "random_state": 0}):
        model = KernelPCA("precomputed", 3, **settings).fit(k(X))
        assert_allclose(model.transform(k(Z, X)), direct, atol=1e-6)


def test_words_have_principal_components():
    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words = ["abc", "abe", "abf", "xyz", "xyw", "xyv"]
    scores = KernelPCA(FromFunction(shared), 1).fit(words).transform(["ab", "xy"])
    assert scores[0, 0] * scores[1, 0] < 0.0


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_tables_of_numbers_and_categories_have_principal_components(table, rng):
    rows = table({"age": rng.normal(size=40), "site": ["a", "b"] * 20, "note": ["x"] * 40})
    model = KernelPCA(Gaussian(1.0) + Match().on("site"), 2).fit(rows)
    assert model.feature_names_in_.tolist() == ["age", "site"]
    assert_allclose(model.transform(rows), model.fit_transform(rows), atol=1e-10)


def test_sparse_rows_give_the_same_components(points):
    X = np.where(np.abs(points(50)) > 0.7, points(50), 0.0)
    dense = KernelPCA(Gaussian(1.0), 2).fit_transform(X)
    assert_allclose(KernelPCA(Gaussian(1.0), 2).fit_transform(sp.csr_array(X)), dense, atol=1e-9)


def test_columns_have_names(points):
    frame = KernelPCA(n_components=2).set_output(transform="pandas").fit_transform(points(20))
    assert list(frame.columns) == ["kernelpca0", "kernelpca1"]


def test_it_survives_pickling_and_pipelines(points):
    X = points(40)
    model = KernelPCA(n_components=3).fit(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    assert make_pipeline(KernelPCA(n_components=5), Ridge()).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5


def test_bad_settings_are_refused(points):
    X = points(10)
    with pytest.raises(ValueError, match="n_components must be a whole number of at least 1"):
        KernelPCA(n_components=0).fit(X)
    with pytest.raises(ValueError, match="n_landmarks must be a whole number"):
        KernelPCA(n_landmarks=2.5).fit(X)
    with pytest.raises(ValueError, match="n_landmarks must be a whole number"):
        KernelPCA(n_landmarks="abc").plan(X)
    with pytest.raises(ValueError, match="max_iter must be a whole number"):
        KernelPCA(max_iter=0).fit(X)
    with pytest.raises(ValueError, match="tol must be a number from 0 to below 1, got -1"):
        KernelPCA(tol=-1).fit(X)
    with pytest.raises(ValueError, match="solver must be 'auto', 'dense'"):
        KernelPCA(solver="svd").fit(X)


@pytest.mark.parametrize("kind", [KernelPCA, MercerMap])
def test_a_number_in_the_place_of_the_kernel_is_told_its_name(kind, points):
    with pytest.raises(TypeError, match=r"got 2; the number of components .* n_components=2"):
        kind(2).fit(points(10))


def test_new_rows_of_nothing_but_zero_components_have_none(points):
    model = KernelPCA("linear").fit(np.ones((5, 3)))
    assert model.transform(points(4)).shape == (4, 0)
    assert model.get_feature_names_out().shape == (0,)


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_a_conditional_kernel_is_right_where_it_is_centred(n_landmarks, points):
    X, new = points(60, non_negative=True), points(7, non_negative=True)
    k, x0 = AdditiveChi2(), X[:1]
    rooted = k(X) - k(X, x0) - k(x0, X) + k(x0, x0)
    across = k(new, X) - k(new, x0) - k(x0, X) + k(x0, x0)
    model = KernelPCA(k, 5, solver="auto", n_landmarks=n_landmarks, random_state=0).fit(X)
    peer = Peer(5, kernel="precomputed").fit(rooted)
    assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-8)
    assert_allclose(np.abs(model.transform(new)), np.abs(peer.transform(across)), atol=1e-7)


# The way back.


@pytest.mark.parametrize(
    "settings",
    [dict(kernel="rbf", gamma=0.3), dict(kernel="rbf"), dict(kernel="poly", degree=2), {}],
    ids=str,
)
@pytest.mark.parametrize("n_components", [2, None])
def test_the_way_back_is_that_of_scikit_learn(settings, n_components, points):
    X, new = points(50), points(6)
    peer = Peer(n_components, fit_inverse_transform=True, alpha=0.1, **settings)
    rest = {name: value for name, value in settings.items() if name != "kernel"}
    kernel = from_sklearn(settings.get("kernel", "linear"), **rest)
    model = KernelPCA(kernel, n_components, fit_inverse_transform=True, alpha=0.1).fit(X)
    peer.fit(X)
    expected = peer.inverse_transform(peer.transform(new))
    assert_allclose(model.inverse_transform(model.transform(new)), expected, atol=1e-8)


def test_the_way_back_restores_the_rows_where_the_ridge_is_small(points):
    X = 100.0 * points(60)
    model = KernelPCA(fit_inverse_transform=True, alpha=1e-8).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1.0)
    assert model.inverse_.kernel_ != model.kernel_


def test_the_way_back_takes_all_rows_however_few_are_landmarks(points):
    X = points(80)
    settings = dict(n_components=3, fit_inverse_transform=True, random_state=0)
    few, all_rows = (KernelPCA(Gaussian(2.0), n_landmarks=m, **settings).fit(X) for m in (40, 80))
    assert few.inverse_.X_fit_.shape == (80, 3)
    back = [m.inverse_transform(m.transform(X)) for m in (few, all_rows)]
    assert_allclose(*back, atol=0.1)


def test_the_way_back_of_sparse_rows_is_dense(points):
    X = points(20)
    settings = dict(n_components=2, fit_inverse_transform=True)
    back = [KernelPCA("linear", **settings).fit(form(X)) for form in (np.array, sp.csr_array)]
    scores = back[0].transform(X)
    expected = back[0].inverse_transform(scores)
    assert_allclose(back[1].inverse_transform(scores), expected, atol=1e-9)


def test_without_the_way_back_it_is_told_how_to_get_it(points):
    X = points(20)
    model = KernelPCA(n_components=2, fit_inverse_transform=True).fit(X)
    model.set_params(fit_inverse_transform=False).fit(X)
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        model.inverse_transform(X[:, :2])


@pytest.mark.parametrize(
    ("kernel", "rows", "said"),
    [
        ("spectrum(k=2)", ["abc", "abe", "bce"], "rows of numbers only"),
        ("match", [["a"], ["b"], ["c"]], "rows of numbers only"),
        ("precomputed", np.eye(3), "made for the columns of the rows or for a Gram matrix"),
        ("linear.on(0)", np.eye(3), "made for the columns"),
        (Gaussian(1.0).after(Standardize()) + Linear(), np.eye(3), "made for the columns"),
    ],
    ids=str,
)
def test_rows_without_a_way_back_are_refused_with_the_reason(kernel, rows, said):
    with pytest.raises(ValueError, match=said):
        KernelPCA(kernel, 1, fit_inverse_transform=True).fit(rows)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_rows_that_are_all_the_same_have_no_way_back(kernel):
    with pytest.raises(ValueError, match="these rows have none, since they are all the same to"):
        KernelPCA(kernel, fit_inverse_transform=True).fit(np.ones((6, 3)))


def test_an_indefinite_kernel_is_refused_with_its_rows(points):
    with pytest.raises(IndefiniteKernelError, match="use another kernel") as caught:
        KernelPCA(Sigmoid(1.0, -2.0)).fit(points(30))
    K = Sigmoid(1.0, -2.0)(caught.value.witness.points)
    c = caught.value.witness.coefficients
    assert c @ K @ c < 0.0


# Neighbours by the distance of a kernel, through scikit-learn.


def test_nearest_neighbours_by_the_distance_of_a_kernel(points):
    X, Z = points(50), points(8)
    k = Polynomial(2) + Gaussian(1.0)
    search = NearestNeighbors(n_neighbors=3, metric="precomputed").fit(k.distance(X))
    _, found = search.kneighbors(k.distance(Z, X))
    features = KernelPCA(k).fit(X)
    plain = NearestNeighbors(n_neighbors=3).fit(features.transform(X))
    assert_array_equal(found[:, 0], plain.kneighbors(features.transform(Z))[1][:, 0])


def test_neighbours_classify_rows_of_numbers_and_categories(rng):
    rows = pd.DataFrame({"x": rng.normal(size=80), "site": ["a", "b"] * 40})
    label = (rows.x > 0) ^ (rows.site == "a")
    k = (Gaussian(1.0).on("x") + Match().on("site")).normalized()
    train, test = rows.iloc[:60], rows.iloc[60:]
    model = KNeighborsClassifier(5, metric="precomputed").fit(k.distance(train), label[:60])
    assert model.score(k.distance(test, train), label[60:]) > 0.8


def test_components_of_too_many_rows_are_those_of_landmarks_and_a_warning_says_so(
    points, monkeypatch
):
    monkeypatch.setattr(counted.ByLandmarks, "exact_seconds", 1e-3)
    monkeypatch.setattr(counted.ByLandmarks, "approximate_seconds", 0.05)
    X = points(2100)
    model = KernelPCA(Gaussian(2.0), n_components=12)
    plan = model.plan(X)
    assert plan.solver == "nystrom"
    assert 0.0 < plan.residual < 1.0
    with pytest.warns(
        ApproximationWarning, match=r"2100 rows .* leave .* of the trace of K.* use solver='iter"
    ) as seen:
        model.fit(X)
    assert len(seen) == 1
    monkeypatch.undo()
    exact = KernelPCA(Gaussian(2.0), n_components=12, solver="iterative").fit(X)
    assert_allclose(model.eigenvalues_[:3], exact.eigenvalues_[:3], rtol=1e-3)


def test_components_of_few_rows_are_not_said_to_be_those_of_landmarks(points, monkeypatch):
    def is_up(*given):
        raise TimeIsUpError

    # Landmarks are planned, and the time is up before they are chosen.
    monkeypatch.setattr(counted.ByLandmarks, "counted", 0.005)
    monkeypatch.setattr(KernelPCA, "_looked_at", is_up)
    model = KernelPCA(Gaussian(2.0), n_components=12, time_limit=10.0)
    assert model.plan(points(2100)).solver == "nystrom"
    with pytest.warns(ConvergenceWarning, match="the components are those of") as seen:
        model.fit(points(2100))
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("settings", "solver"),
    [({}, "dense"), ({"n_components": 3}, "iterative"), ({"n_landmarks": 20}, "nystrom")],
    ids=str,
)
def test_fit_takes_what_the_plan_of_components_says(settings, solver, points):
    X = points(250)
    model = KernelPCA(Gaussian(1.0), **settings)
    assert model.plan(X).solver == solver
    assert type(model.fit(X).solver_).__name__.lower().startswith(solver)
