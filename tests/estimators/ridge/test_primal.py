"""KernelRidge by explicit features, and by a spectrum: the same model as by the factor."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from mercer.errors import MemoryLimitError
from mercer.estimators import KernelRidge
from mercer.kernels import Cosine, FromFeatures, Gaussian, Linear, Polynomial, from_sklearn
from mercer.solvers import Eigen, Primal


def waves(X):
    return np.hstack([np.sin(X), np.cos(X)])


KERNELS = [
    Linear(),
    Polynomial(3, scale="columns"),
    Cosine() + 0.5,
    FromFeatures(waves),
    2.0 * Linear().on(0, 2) * Polynomial(2).on(1),
    Polynomial(2).normalized(),
]


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3))


@pytest.fixture
def y(X, rng):
    return np.column_stack([np.sin(X[:, 0]) + 7.0, X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=60)])


@pytest.mark.parametrize("solver", ["primal", "eigen"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_model_is_that_of_the_factor(X, y, rng, solver, kernel, fit_intercept):
    settings = dict(alpha=[0.5, 2.0], fit_intercept=fit_intercept)
    weights = rng.uniform(0.5, 2.0, size=60) * (np.arange(60) % 5 > 0)
    model = KernelRidge(kernel, solver=solver, **settings).fit(X, y, weights)
    expected = KernelRidge(kernel, solver="cholesky", **settings).fit(X, y, weights)
    new = rng.normal(size=(9, 3))
    assert_allclose(model.predict(new), expected.predict(new), rtol=1e-8, atol=1e-9)
    assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-8, atol=1e-9)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-8)
    assert_array_equal(model.dual_coef_[weights == 0.0], 0.0)
    assert model.certificate_.satisfied


@pytest.mark.parametrize("solver", ["primal", "eigen"])
def test_whole_weights_are_repeated_rows(X, y, rng, solver):
    weights = rng.integers(0, 4, size=60)
    model = KernelRidge(Polynomial(2), 0.1, solver=solver)
    new = rng.normal(size=(9, 3))
    weighted = model.fit(X, y, weights).predict(new)
    repeated = model.fit(X.repeat(weights, axis=0), y.repeat(weights, axis=0)).predict(new)
    assert_allclose(weighted, repeated, rtol=1e-10)


def test_features_are_mapped_in_prediction_and_no_training_row_is_needed(X, y):
    model = KernelRidge(Polynomial(2), 0.1, solver="primal").fit(X, y[:, 0])
    assert model.coef_.shape == (10,)
    assert isinstance(model.solver_, Primal)
    expected = Polynomial(2).features(X) @ model.coef_ + model.intercept_
    model.function_ = replace(model.function_, dual=None)
    assert_allclose(model.predict(X), expected, rtol=1e-13)


def test_every_solver_has_the_weights_of_features(X, y):
    model = KernelRidge(Linear(), solver="primal").fit(X, y)
    weights = model.coef_
    assert weights.shape == (2, 3)
    model.set_params(solver="eigen").fit(X, y)
    assert isinstance(model.solver_, Eigen)
    assert_allclose(model.coef_, weights, rtol=1e-10)


def test_weights_of_features_are_computed_once_for_a_fit(X, y):
    model = KernelRidge(Linear(), solver="cholesky").fit(X, y)
    weights = model.coef_
    assert np.shares_memory(model.coef_, weights)
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 1.0
    assert_allclose(model.fit(X, 2.0 * y).coef_, 2.0 * weights, rtol=1e-10)


def test_a_kernel_without_features_has_no_weights_of_them(X, y):
    model = KernelRidge("gaussian").fit(X, y)
    with pytest.raises(AttributeError, match="has no explicit features, or too many; use dual_c"):
        model.coef_  # noqa: B018


def test_linear_ridge_regression_of_scikit_learn_is_the_primal(X, y):
    model = KernelRidge(Linear(), 0.3, solver="primal").fit(X, y)
    peer = Ridge(0.3).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, rtol=1e-11)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-12)


def test_names_of_scikit_learn_work_in_the_primal(X, y):
    kernel = from_sklearn("poly", gamma=0.5, degree=3, coef0=2.0)
    model = KernelRidge(kernel, solver="primal").fit(X, y)
    assert_allclose(model.predict(X), KernelRidge(kernel).fit(X, y).predict(X), rtol=1e-9)


@pytest.mark.parametrize("kernel", [Linear(), Linear(1.0), Cosine(), Polynomial(2)], ids=str)
def test_sparse_rows_give_the_same_model(X, y, kernel):
    S = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    model = KernelRidge(kernel, 0.1, solver="primal").fit(S, y)
    expected = KernelRidge(kernel, 0.1, solver="primal").fit(S.toarray(), y)
    assert_allclose(model.predict(S), expected.predict(S.toarray()), rtol=1e-10, atol=1e-12)


def test_a_table_gives_the_same_model(X, y):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(text="word")
    named = Polynomial(2).on("a", "b") + Linear().on("c")
    by_position = Polynomial(2).on(0, 1) + Linear().on(2)
    model = KernelRidge(named, solver="primal").fit(table, y)
    expected = KernelRidge(by_position, solver="primal").fit(X, y)
    assert_allclose(model.predict(table[:7]), expected.predict(X[:7]), rtol=1e-12)


def test_a_fitted_model_survives_pickling(X, y):
    model = KernelRidge(Polynomial(2), solver="primal").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))


def test_many_rows_take_few_unknowns(rng):
    X = rng.normal(size=(50_000, 4))
    y = X[:, 0] * X[:, 1] + rng.normal(size=50_000)
    model = KernelRidge(Polynomial(2), solver="primal", memory="40MB").fit(X, y)
    assert model.coef_.shape == (15,)
    assert model.certificate_.value < 1e-13
    with pytest.raises(MemoryLimitError):
        KernelRidge(Polynomial(2), solver="cholesky", memory="40MB").fit(X, y)


def test_columns_of_very_different_size_are_no_reason_for_a_warning(X, y):
    scaled = X * [1.0, 1e12, 1.0]
    model = KernelRidge(Linear(), 1.0, solver="primal").fit(scaled, y)
    same = KernelRidge(Linear().on(0, 2) + 1e24 * Linear().on(1), 1.0, solver="primal").fit(X, y)
    assert model.certificate_.satisfied
    assert_allclose(model.predict(scaled), same.predict(X), rtol=1e-10)


@pytest.mark.parametrize("solver", ["primal", "eigen"])
def test_constant_targets_are_all_offset(X, solver):
    model = KernelRidge(Polynomial(2), solver=solver).fit(X, np.full(60, 3.5))
    assert_allclose(model.intercept_, 3.5, rtol=1e-14)
    assert_allclose(model.dual_coef_, 0.0, atol=1e-13)


@pytest.mark.parametrize("solver", ["primal", "eigen"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_row_is_enough(solver, alpha):
    model = KernelRidge(Linear(), alpha, solver=solver).fit([[1.0, 2.0]], [3.0])
    assert_allclose(model.predict([[1.0, 2.0], [50.0, 0.0]]), [3.0, 3.0])


def test_without_a_ridge_the_primal_is_least_squares_on_more_rows_than_features(X, y):
    model = KernelRidge(Polynomial(2), 0.0, solver="primal").fit(X, y)
    F = np.hstack([Polynomial(2).features(X)[:, 1:], np.ones((60, 1))])
    assert_allclose(model.predict(X), F @ np.linalg.lstsq(F, y)[0], rtol=1e-10)
    assert model.certificate_.satisfied
    with pytest.raises(ValueError, match="singular to working precision"):
        KernelRidge(Polynomial(2), 0.0, solver="cholesky").fit(X, y)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear() + Gaussian(), Polynomial(2, -1.0)])
def test_a_kernel_without_finite_features_is_refused_with_solvers_that_work(X, y, kernel):
    with pytest.raises(
        ValueError, match=r"finitely many features.*; use solver='cholesky'"
    ) as said:
        KernelRidge(kernel, solver="primal").fit(X, y)
    assert "\n" not in str(said.value)
