"""KernelRidge by landmarks: the exact model where all rows are landmarks, and refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from mercer import AdditiveChi2, FromFunction, Gaussian, KernelRidge, KernelRidgeCV, Spectrum
from mercer.data.limits.deadline import TimeIsUpError
from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.solvers import NystromRidge


def wave(rng, n=60, targets=None):
    X = rng.normal(size=(n, 2))
    noise = rng.normal(size=(n,) if targets is None else (n, targets))
    return X, np.sin(X[:, 0] if targets is None else X[:, :1]) + 0.3 * noise + 2.0


def both(n, **settings):
    exact = KernelRidge(Gaussian(1.0), **settings)
    return exact, KernelRidge(Gaussian(1.0), solver="nystrom", n_landmarks=n, **settings)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_all_rows_as_landmarks_give_the_exact_model(fit_intercept, weighted, rng):
    X, y = wave(rng, targets=2)
    weights = rng.uniform(0.3, 3.0, len(y)) if weighted else None
    exact, model = both(60, alpha=[0.2, 1.0], fit_intercept=fit_intercept)
    exact.fit(X, y, weights), model.fit(X, y, weights)
    new = rng.normal(size=(20, 2))
    assert_allclose(model.predict(new), exact.predict(new), rtol=1e-8, atol=1e-8)
    assert_allclose(
        model.predict(new, return_std=True)[1], exact.predict(new, return_std=True)[1], rtol=1e-8
    )
    assert_allclose(
        model.leave_one_out_predictions_, exact.leave_one_out_predictions_, rtol=1e-7, atol=1e-7
    )
    for ends, expected in zip(
        model.predict_interval(new), exact.predict_interval(new), strict=True
    ):
        assert_allclose(ends, expected, rtol=1e-7, atol=1e-7)


def test_the_model_is_that_of_scikit_learn_with_the_same_landmarks(rng):
    X, y = wave(rng, 200)
    peer = make_pipeline(Nystroem(gamma=0.5, n_components=20, random_state=0), Ridge(0.1))
    peer.fit(X, y)
    rows = X[peer[0].component_indices_]
    model = KernelRidge(Gaussian(1.0), 0.1, solver="nystrom", landmarks=rows).fit(X, y)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-6)


def test_it_says_what_the_landmarks_leave_and_what_is_certified(rng):
    X, y = wave(rng)
    model = KernelRidge(Gaussian(1.0), solver="nystrom", n_landmarks=10).fit(X, y)
    assert model.certificate_.kind == "relative residual in the landmark model"
    assert model.certificate_.satisfied
    assert model.approximation_.n_landmarks == 10 == len(model.X_fit_) == len(model.dual_coef_)
    assert 0.0 < model.approximation_.value < 0.5
    assert KernelRidge().fit(X, y).approximation_ is None


def test_copies_among_the_landmarks_are_left_out(rng):
    X, y = wave(rng, 20)
    twice = np.repeat(X, 2, axis=0)
    model = KernelRidge(Gaussian(1.0), solver="nystrom", n_landmarks=40)
    model.fit(twice, np.repeat(y, 2))
    assert model.approximation_.n_landmarks == 20
    exact = KernelRidge(Gaussian(1.0)).fit(twice, np.repeat(y, 2))
    assert_allclose(model.predict(X), exact.predict(X), rtol=1e-8)


def test_a_constant_kernel_has_one_landmark_and_predicts_the_mean(rng):
    X, y = wave(rng, 20)
    model = KernelRidge("1.0 + 0 * linear", solver="nystrom", n_landmarks=5).fit(X, y)
    assert model.approximation_.n_landmarks == 1
    assert_allclose(model.predict(X), y.mean())


@pytest.mark.parametrize(
    "turned", [sp.csr_array, pd.DataFrame, np.float32], ids=["sparse", "table", "float32"]
)
def test_other_forms_of_rows_give_the_same_model(turned, rng):
    X, y = wave(rng)
    X = np.round(X, 2).astype(np.float32).astype(float)
    model = KernelRidge(Gaussian(1.0), solver="nystrom", n_landmarks=60)
    expected = model.fit(X, y).predict(X)
    rows = turned(X)
    assert_allclose(model.fit(rows, y).predict(rows), expected, rtol=2e-5)


def test_texts_have_landmarks(rng):
    texts = ["".join(rng.choice(list("acgt"), 30)) for _ in range(40)]
    y = np.array([t.count("ac") for t in texts], float)
    model = KernelRidge(Spectrum(2), solver="nystrom", n_landmarks=40).fit(texts, y)
    exact = KernelRidge(Spectrum(2)).fit(texts, y)
    assert_allclose(model.predict(texts), exact.predict(texts), rtol=1e-6)


def test_a_row_of_zero_weight_is_no_landmark_and_has_its_plain_prediction(rng):
    X, y = wave(rng, 30)
    weights = np.ones(30)
    weights[4] = 0.0
    model = KernelRidge(Gaussian(1.0), solver="nystrom", n_landmarks=29).fit(X, y, weights)
    assert not (model.X_fit_ == X[4]).all(axis=1).any()
    assert_allclose(model.leave_one_out_predictions_[4], model.predict(X[4:5])[0])


def test_a_saved_model_predicts_and_says_what_it_lacks(rng):
    X, y = wave(rng)
    model = KernelRidge(Gaussian(1.0), solver="nystrom", n_landmarks=10).fit(X, y)
    saved = pickle.loads(pickle.dumps(model))
    assert np.array_equal(saved.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="no part of a landmark model that was saved"):
        saved.predict(X, return_std=True)


def test_the_plan_counts_the_landmarks(rng):
    plan = KernelRidge(solver="nystrom", n_landmarks=30).plan(rng.normal(size=(100, 2)))
    assert plan.solver == "nystrom"
    assert "30 landmarks" in plan.reason


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_landmarks": 31}, "from 1 to the number of rows, 30, got 31"),
        ({"n_landmarks": 0}, "from 1 to the number of rows, 30, got 0"),
        ({"n_landmarks": 2.5}, "from 1 to the number of rows, 30, got 2.5"),
        ({"landmarks": "best"}, "landmarks must be one of 'rpcholesky'"),
        ({"repair": "clip"}, "repair='clip' works on the eigenvalues of the whole"),
        ({"kernel": "precomputed"}, "a precomputed Gram matrix has none"),
        ({"kernel": AdditiveChi2(), "fit_intercept": False}, "use fit_intercept=True"),
    ],
)
def test_it_refuses(settings, message, rng):
    X = np.abs(rng.normal(size=(30, 30)))
    model = KernelRidge(**{"solver": "nystrom", "n_landmarks": 5, **settings})
    with pytest.raises(ValueError, match=message):
        model.fit(X @ X.T if settings.get("kernel") == "precomputed" else X, X[:, 0])


@pytest.mark.parametrize("solver", ["auto", "cholesky"])
def test_a_name_that_chooses_no_landmarks_is_refused_whether_there_are_any_or_not(solver, rng):
    X, y = wave(rng)
    with pytest.raises(ValueError, match="landmarks must be one of 'rpcholesky'"):
        KernelRidge(solver=solver, landmarks="best").fit(X, y)


def test_more_memory_than_allowed_is_refused_with_what_it_needs(rng):
    X, y = wave(rng)
    with pytest.raises(MemoryLimitError, match="'nystrom' needs"):
        KernelRidge(solver="nystrom", n_landmarks=20, memory=1000).fit(X, y)


def test_an_indefinite_kernel_is_refused_with_a_witness(rng):
    X, y = wave(rng)
    kernel = FromFunction(lambda A, B: -np.abs(A[:, :1] - B[:, 0]) + 1.0)
    with pytest.raises(IndefiniteKernelError):
        KernelRidge(kernel, solver="nystrom", n_landmarks=10).fit(X, y)


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        (np.ones((3, 1)), "landmarks are rows like those of X: X has 1 features"),
        (np.full((3, 2), np.nan), "landmarks are rows like those of X: X contains NaN at row 0"),
        (np.empty((0, 2)), "landmarks are rows like those of X: Found array with 0 sample"),
    ],
)
@pytest.mark.parametrize("kind", [KernelRidge, KernelRidgeCV])
def test_landmarks_that_are_no_rows_like_those_to_fit_are_refused(kind, landmarks, message, rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match=message):
        kind(solver="nystrom", landmarks=landmarks).fit(X, X[:, 0])


def test_a_model_does_not_change_with_the_landmarks_that_were_given(rng):
    X = rng.normal(size=(30, 2))
    given = X[:10].copy()
    model = KernelRidge(Gaussian(1.0), solver="nystrom", landmarks=given).fit(X, X[:, 0])
    before = model.predict(X)
    given += 1.0
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize("is_sketched", [False, True])
def test_the_free_memory_changes_no_bit(is_sketched, rng, monkeypatch):
    X, y = wave(rng, 20_000)
    models = []
    for free in (8e9, 6e7):
        monkeypatch.setattr(
            "mercer.data.limits.memory.available_bytes", lambda free=free: int(free)
        )
        solver = NystromRidge(is_sketched=is_sketched)
        models.append(KernelRidge(Gaussian(0.5), solver=solver, n_landmarks=60).fit(X, y))
    assert_array_equal(*(model.predict(X[:100]) for model in models))


def test_without_time_for_rows_left_out_there_is_the_model_without_them(rng, monkeypatch):
    def out_of_time(*_):
        raise TimeIsUpError

    monkeypatch.setattr("mercer.estimators.posterior.sampled_residuals", out_of_time)
    X, y = wave(rng)
    model = both(20)[1].set_params(time_limit=60.0).fit(X, y)
    assert model.certificate_.satisfied
    assert np.isfinite(model.predict_interval(X[:3])).all()
    with pytest.raises(ValueError, match="training rows"):
        pickle.loads(pickle.dumps(model)).predict_interval(X[:3])
