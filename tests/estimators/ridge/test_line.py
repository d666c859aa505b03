"""Kernel ridge regression in one column, by the banded solver and by interpolation."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contract import OF_THE_CLASS, checks
from mercer.estimators import KernelRidge
from mercer.kernels import Exponential, Gaussian, Laplacian, Sobolev
from mercer.solvers import Banded, Cholesky
from refits import growth_of, jackknife_plus

KERNELS = [
    Sobolev(),
    Exponential(0.7),
    Laplacian("median"),
    2.0 * Sobolev() + 1.5,
    0.5 * Exponential(2.0) + 0.3,
]


@checks([KernelRidge(Exponential())], but=OF_THE_CLASS)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def X(rng):
    x = rng.uniform(0.0, 5.0, size=(60, 1))
    x[[4, 7]] = x[9]
    x[12] = 0.0
    return x


@pytest.fixture
def y(X, rng):
    return np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=60) + 7.0


@pytest.fixture
def new(X, rng):
    return np.vstack([rng.uniform(0.0, 9.0, size=(40, 1)), X])


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_predicts_what_cholesky_predicts(X, y, new, rng, kernel, fit_intercept):
    weights = rng.uniform(0.1, 2.0, size=60)
    settings = dict(kernel=kernel, alpha=0.1, fit_intercept=fit_intercept)
    mine = KernelRidge(**settings).fit(X, y, weights)
    other = KernelRidge(**settings, solver="cholesky").fit(X, y, weights)
    assert isinstance(mine.solver_, Banded)
    assert isinstance(other.solver_, Cholesky)
    assert mine.kernel_ == other.kernel_
    assert_allclose(mine.predict(new), other.predict(new), rtol=1e-10, atol=1e-10)
    assert_allclose(mine.dual_coef_, other.dual_coef_, atol=1e-10)
    assert_allclose(mine.intercept_, other.intercept_, rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e12])
def test_predictions_are_the_sum_over_the_rows(X, y, new, kernel, fit_intercept, alpha):
    model = KernelRidge(kernel, alpha, fit_intercept=fit_intercept).fit(X, y)
    f = model.kernel_(new, X) @ model.dual_coef_ + model.intercept_
    assert_allclose(model.predict(new), f, rtol=1e-10, atol=1e-20)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_whole_weights_are_repeated_rows_and_zeros_dropped_ones(
    X, y, new, rng, kernel, fit_intercept
):
    weights = rng.integers(0, 4, size=60)
    settings = dict(kernel=kernel, alpha=0.1, fit_intercept=fit_intercept)
    weighted = KernelRidge(**settings).fit(X, y, weights)
    repeated = KernelRidge(**settings).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_allclose(weighted.predict(new), repeated.predict(new), rtol=1e-10, atol=1e-12)
    assert_array_equal(weighted.dual_coef_[weights == 0], 0.0)
    per_row = np.zeros(60)
    np.add.at(per_row, np.arange(60).repeat(weights), repeated.dual_coef_)
    assert_allclose(weighted.dual_coef_, per_row, atol=1e-10)


def test_several_targets_are_fitted_one_by_one(X, y, new):
    Y = np.column_stack([y, y**2, np.ones(60)])
    model = KernelRidge(Exponential(), alpha=[0.1, 1.0, 10.0]).fit(X, Y)
    assert model.dual_coef_.shape == (60, 3)
    assert model.predict(new).shape == (100, 3)
    assert model.certificate_.bound(new).shape == (100, 3)
    for j, alpha in enumerate([0.1, 1.0, 10.0]):
        alone = KernelRidge(Exponential(), alpha=alpha).fit(X, Y[:, j])
        assert_allclose(model.predict(new)[:, j], alone.predict(new), rtol=1e-10)


def test_one_target_in_a_column_stays_a_column(X, y, new):
    model = KernelRidge(Sobolev()).fit(X, y[:, None])
    assert model.dual_coef_.shape == (60, 1)
    assert model.predict(new).shape == (100, 1)
    assert_array_equal(model.predict(new)[:, 0], KernelRidge(Sobolev()).fit(X, y).predict(new))


def test_a_column_of_a_table_is_enough(X, y, new, rng):
    model = KernelRidge(Exponential(0.5).on("time"), 0.1)
    tables = [
        pd.DataFrame({"noise": rng.normal(size=len(rows)), "time": rows[:, 0]}) for rows in (X, new)
    ]
    direct = KernelRidge(Exponential(0.5), 0.1).fit(X, y)
    assert_allclose(model.fit(tables[0], y).predict(tables[1]), direct.predict(new), rtol=1e-12)
    assert isinstance(model.solver_, Banded)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_fitted_model_survives_pickling(X, y, new, kernel):
    model = KernelRidge(kernel).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(new), model.predict(new))
    assert str(again.certificate_) == str(model.certificate_)


def test_a_refit_with_another_kernel_forgets_the_line(X, y, new):
    model = KernelRidge(Exponential(), solver="auto").fit(X, y)
    model.set_params(kernel=Gaussian(1.0)).fit(X, y)
    assert_array_equal(model.predict(new), KernelRidge(Gaussian(1.0)).fit(X, y).predict(new))


def test_the_certificate_is_satisfied_and_bounds_the_error(X, y, new):
    model = KernelRidge(Exponential(), 0.1).fit(X, y)
    assert model.certificate_.satisfied
    assert model.certificate_.value < 1e-13
    assert (model.certificate_.bound(new) < 1e-12).all()


def test_rows_left_of_zero_are_refused_in_prediction(X, y):
    model = KernelRidge(Sobolev()).fit(X, y)
    with pytest.raises(ValueError, match="needs rows without negative entries"):
        model.predict([[-1.0]])


def test_a_kernel_that_is_no_chain_is_refused_by_name(X, y):
    with pytest.raises(ValueError, match=r"'banded' needs Sobolev.* use solver='cholesky'"):
        KernelRidge(Gaussian(), solver="banded").fit(X, y)
    with pytest.raises(ValueError, match=r"'banded' needs .* several columns"):
        KernelRidge(Exponential(), solver="banded").fit(np.hstack([X, X]), y)


def test_it_needs_no_memory_for_a_matrix(rng):
    x = rng.uniform(size=(20_000, 1))
    model = KernelRidge(Sobolev(), memory="1MB").fit(x, np.sin(9.0 * x[:, 0]))
    assert model.score(x, np.sin(9.0 * x[:, 0])) > 0.99


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_intervals_are_those_of_refits_without_every_row(X, y, kernel, fit_intercept, rng):
    X, y, weights = X[:25], y[:25], rng.uniform(0.1, 2.0, size=25)
    new = rng.uniform(0.0, 9.0, size=(12, 1))
    model = KernelRidge(kernel, 0.1, fit_intercept=fit_intercept).fit(X, y, weights)
    told = []
    for i in range(25):
        rest = np.delete(np.arange(25), i)
        one = KernelRidge(model.kernel_, 0.1, fit_intercept=fit_intercept, solver="cholesky")
        one.fit(X[rest], y[rest], weights[rest])
        told.append(one.predict(np.vstack([X[i], new]), return_std=True))
    found = model.predict_interval(new, coverage=0.8)
    # With the noise of a mean weight.
    factor = growth_of(model.kernel_, X, y, 0.1, weights, fit_intercept)
    expected = jackknife_plus(told, y, 0.1 / weights.mean(), (5, 21), factor)
    assert_allclose(found, expected, rtol=1e-8)


def test_deviations_and_intervals_need_no_memory_for_a_matrix(rng):
    x = rng.uniform(size=(20_000, 1))
    model = KernelRidge(Exponential(), 0.1, memory="1MB").fit(x, np.sin(9.0 * x[:, 0]))
    few = KernelRidge(Exponential(), 0.1).fit(x[:200], np.sin(9.0 * x[:200, 0]))
    _, deviation = model.predict(x[:7], return_std=True)
    assert (deviation < few.predict(x[:7], return_std=True)[1]).all()
    lower, upper = model.predict_interval(x[:7])
    assert (lower < model.predict(x[:7])).all()
    assert (upper > model.predict(x[:7])).all()
