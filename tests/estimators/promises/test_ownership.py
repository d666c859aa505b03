"""A model owns its data: what becomes of the rows, targets and weights later changes nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    MercerMap,
)
from mercer.kernels import Gaussian, Linear, Match, Polynomial, Precomputed, Sobolev, Spectrum

N = 24
MIXED = Gaussian(1.0).on("age") + Match().on("site")


def matrix(rng):
    return rng.normal(size=(N, 3)), Gaussian(1.0), lambda X: X.fill(7.0)


def csr(rng):
    X = sp.csr_array(np.maximum(rng.normal(size=(N, 3)), 0.0))
    return X, Gaussian(1.0), lambda X: X.data.fill(7.0)


def table(library):
    def make(rng):
        site = ["north", "south", "west"] * (N // 3)
        X = library({"age": rng.normal(size=N), "site": site})
        return X, MIXED, lambda X: X.__setitem__("age", 7.0)

    return make


def texts(rng):
    X = ["".join(rng.choice(list("ab"), 6)) for _ in range(N)]
    return X, Spectrum(2), lambda X: X.__setitem__(slice(None), ["b"] * N)


def tokens(rng):
    X = [list(rng.choice(list("ab"), 6)) for _ in range(N)]
    return X, Spectrum(2), lambda X: [row.clear() for row in X]


def lists(rng):
    return rng.normal(size=(N, 3)).tolist(), Linear(1.0), lambda X: [row.clear() for row in X]


def finished(rng):
    X = rng.normal(size=(N, 3))
    return Gaussian(1.0)(X), Precomputed(), lambda K: K.fill(7.0)


KINDS = [matrix, csr, table(pd.DataFrame), texts, tokens, lists, finished]
IDS = ["array", "csr", "pandas", "texts", "tokens", "lists", "finished"]

ESTIMATORS = [
    KernelRidge(solver="cholesky"),
    KernelRidge(solver="cg", random_state=0),
    KernelRidgeClassifier(),
    KernelLogisticRegression(),
    KernelSVC(),
    KernelSVR(),
    KernelPerceptron(),
    KernelPCA(n_components=2),
    MercerMap(n_components=2),
]
ASKED = (
    "predict",
    "decision_function",
    "predict_proba",
    "transform",
    "leave_one_out_predictions_",
    "leave_one_out_decision_",
)


def answers(model, X):
    """Return all that a fitted model says about rows, and about those that it was fitted to."""
    said = {}
    for name in ASKED:
        if hasattr(model, name):
            method = getattr(model, name)
            said[name] = method(X) if callable(method) else np.array(method)
    if hasattr(model, "predict_interval"):
        said["lower"], said["upper"] = model.predict_interval(X)
    return said


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert_array_equal(values, second[name], err_msg=name)


def again(kind):
    """Return the same rows twice, with the kernel and how to change them."""
    X, kernel, change = kind(np.random.default_rng(5))
    return X, kind(np.random.default_rng(5))[0], kernel, change


def fitted(model, X, y, weights):
    with np.errstate(all="ignore"):
        return model.fit(X) if hasattr(model, "transform") else model.fit(X, y, weights)


@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_changing_the_data_after_a_fit_changes_nothing(model, kind):
    X, same, kernel, change = again(kind)
    y, weights = np.tile([0.0, 1.0, 1.0], N // 3), np.tile([1.0, 2.0], N // 2)
    model = fitted(type(model)(**{**model.get_params(deep=False), "kernel": kernel}), X, y, weights)
    reference = fitted(type(model)(**model.get_params(deep=False)), same, y.copy(), weights.copy())
    change(X)
    y.fill(0.0)
    weights.fill(9.0)
    assert_same(answers(model, same), answers(reference, same))


@pytest.mark.parametrize(
    "model", [KernelRidgeCV(alphas=[0.1, 1.0]), KernelLogisticRegressionCV(Cs=[1.0, 2.0])], ids=str
)
@pytest.mark.parametrize("kind", [matrix, table(pd.DataFrame)], ids=["array", "pandas"])
def test_changing_the_data_after_a_search_changes_nothing(model, kind):
    X, same, kernel, change = again(kind)
    y, weights = np.tile([0, 1, 1], N // 3), np.tile([1.0, 2.0], N // 2)
    model.set_params(kernels=[kernel]).fit(X, y, weights)
    before = answers(model, same)
    change(X)
    y.fill(0)
    weights.fill(9.0)
    assert_same(answers(model, same), before)


@pytest.mark.parametrize(
    ("kernel", "solver"), [(Polynomial(2), "primal"), (Sobolev().on(0), "banded")], ids=str
)
def test_functions_of_features_and_of_a_line_own_their_data(rng, kernel, solver):
    X, y, weights = rng.uniform(size=(N, 2)), rng.normal(size=N), rng.uniform(1, 2, size=N)
    same = X.copy()
    model = KernelRidge(kernel, solver=solver).fit(X, y, weights)
    reference = KernelRidge(kernel, solver=solver).fit(same, y.copy(), weights.copy())
    X.fill(7.0), y.fill(0.0), weights.fill(9.0)
    assert_same(answers(model, same), answers(reference, same))


@pytest.mark.parametrize("model", [KernelSVC(), KernelSVR(), KernelPerceptron()], ids=str)
def test_rows_of_a_stream_are_kept_as_they_came(model):
    X, same, kernel, change = again(tokens)
    y = np.tile([0, 1], N // 2)
    options = {} if isinstance(model, KernelSVR) else {"classes": [0, 1]}
    model.set_params(kernel=kernel)
    model.partial_fit(X[:10], y[:10], **options).partial_fit(X[10:], y[10:])
    before = answers_of_stream(model, same)
    change(X)
    assert_array_equal(answers_of_stream(model, same), before)


def answers_of_stream(model, X):
    return model.predict(X) if isinstance(model, KernelSVR) else model.decision_function(X)


def test_a_frame_that_gets_other_columns_changes_nothing(rng):
    X, same, kernel, _ = again(table(pl.DataFrame))
    model = KernelRidge(kernel).fit(X, np.arange(N))
    expected = model.predict(same)
    X[0, "age"] = 99.0
    assert_array_equal(model.predict(same), expected)


def test_a_read_only_memory_map_is_not_copied(rng, tmp_path):
    np.save(tmp_path / "X.npy", rng.normal(size=(N, 3)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    for model in (KernelRidge(Gaussian(1.0)), KernelPCA(Gaussian(1.0), n_components=2)):
        assert np.shares_memory(model.fit(X, np.arange(N)).X_fit_, X)


def test_a_memory_map_that_can_be_written_to_is_copied(rng, tmp_path):
    np.save(tmp_path / "X.npy", rng.normal(size=(N, 3)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r+")
    model = KernelRidge(Gaussian(1.0)).fit(X, np.arange(N))
    expected = model.predict(np.zeros((1, 3)))
    X.fill(7.0)
    assert_array_equal(model.predict(np.zeros((1, 3))), expected)


def test_a_finished_matrix_that_nobody_can_write_to_is_not_copied(points):
    K = Gaussian(1.0)(points(N))
    K.flags.writeable = False
    assert KernelRidge("precomputed").fit(K, np.arange(N)).X_fit_ is K


def test_rows_of_a_model_cannot_be_written_to(rng):
    model = KernelRidge(Gaussian(1.0)).fit(rng.normal(size=(N, 3)), np.arange(N))
    with pytest.raises(ValueError, match="read-only"):
        model.X_fit_[0] = 1.0


def test_a_classifier_shares_its_rows_with_its_regression(rng):
    X = rng.normal(size=(N, 3))
    model = KernelRidgeClassifier(Gaussian(1.0)).fit(X, np.arange(N) % 2)
    assert model.function_.dual.rows is model.estimator_.X_fit_
