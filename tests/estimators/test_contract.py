"""KernelRidge among the estimators of scikit-learn."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from contract import OF_THE_CLASS, checks
from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, Standardize
from mercer.solvers import Cholesky


@checks(
    [
        KernelRidge(Gaussian(3.0) + Linear(), alpha=0.1, fit_intercept=False, solver="cholesky"),
        KernelRidge(Polynomial(), solver="primal"),
        KernelRidge(Gaussian("median").after(Standardize())),
        KernelRidge(solver="eigen", repair="clip"),
    ],
    but=OF_THE_CLASS,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(80, 3))
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1] + 2.0


def test_it_works_in_a_pipeline(data):
    X, y = data
    scaled = StandardScaler().fit(X)
    pipeline = make_pipeline(StandardScaler(), KernelRidge(Gaussian(1.0), alpha=0.1)).fit(X, y)
    direct = KernelRidge(Gaussian(1.0), alpha=0.1).fit(scaled.transform(X), y)
    assert_array_equal(pipeline.predict(X), direct.predict(scaled.transform(X)))


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian()], ids=repr)
def test_grid_search_sets_the_parameters_of_the_kernel(data, kernel):
    grid = {"kernel__length_scale": [0.01, 1.0], "alpha": [1e-3, 1e3]}
    search = GridSearchCV(KernelRidge(kernel), grid, cv=4, error_score="raise").fit(*data)
    assert search.best_params_ == {"kernel__length_scale": 1.0, "alpha": 1e-3}
    assert search.best_estimator_.kernel_ == Gaussian(1.0)


def test_grid_search_reaches_into_a_pipeline_and_a_sum(data):
    model = make_pipeline(StandardScaler(), KernelRidge(Gaussian(0.01) + Linear()))
    grid = {"kernelridge__kernel__terms__0__length_scale": [0.01, 1.0]}
    search = GridSearchCV(model, grid, cv=4, error_score="raise").fit(*data)
    assert search.best_estimator_[-1].kernel_ == Gaussian(1.0) + Linear()


def test_parameters_of_the_kernel_are_listed_and_set_by_name():
    model = KernelRidge(Gaussian(2.0) + Linear())
    assert model.get_params()["kernel__terms__0__length_scale"] == 2.0
    before = model.kernel
    assert model.set_params(kernel__terms__0__length_scale=3.0, alpha=5.0) is model
    assert model.kernel == Gaussian(3.0) + Linear()
    assert model.alpha == 5.0
    assert before == Gaussian(2.0) + Linear()


def test_a_new_kernel_and_its_parameters_may_be_set_together():
    model = KernelRidge("linear").set_params(kernel=Gaussian(), kernel__length_scale=4.0)
    assert model.kernel == Gaussian(4.0)


def test_an_unknown_parameter_of_the_kernel_is_refused():
    with pytest.raises(ValueError, match=r"no parameter 'lenght_scale'; did you mean 'length_sc"):
        KernelRidge(Gaussian()).set_params(kernel__lenght_scale=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'sigma'"):
        KernelRidge(Gaussian()).set_params(sigma=1.0)


def test_a_clone_is_unfitted_and_equal(data):
    model = KernelRidge(Gaussian(2.0), alpha=[0.5], solver=Cholesky(tol=1e-3), memory="1GB")
    copy = clone(model.fit(*data))
    assert not hasattr(copy, "dual_coef_")
    assert copy.get_params() == model.get_params()


@pytest.mark.parametrize("y", [np.arange(80.0), np.arange(160.0).reshape(80, 2)], ids=np.ndim)
def test_a_fitted_model_survives_pickling(data, y):
    model = KernelRidge().fit(data[0], y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(data[0]), model.predict(data[0]))
    assert_array_equal(again.certificate_.bound(data[0]), model.certificate_.bound(data[0]))
    assert str(again.certificate_) == str(model.certificate_)


@pytest.mark.parametrize(
    ("kernel", "pairwise"),
    [
        ("gaussian", False),
        ("precomputed", True),
        (Precomputed(), True),
        (0.5 * Precomputed(), True),
        ("no such kernel", False),
        (None, False),
    ],
    ids=repr,
)
def test_it_is_pairwise_if_its_kernel_is_precomputed(kernel, pairwise):
    assert get_tags(KernelRidge(kernel)).input_tags.pairwise is pairwise


@pytest.mark.parametrize("factor", [None, 2.0])
def test_cross_validation_slices_rows_and_columns_of_a_precomputed_matrix(data, factor):
    X, y = data
    direct = cross_val_predict(KernelRidge(Gaussian(1.5), alpha=0.1), X, y, cv=4)
    if factor is None:
        model, K = KernelRidge("precomputed", alpha=0.1), Gaussian(1.5)(X)
    else:
        model, K = KernelRidge(factor * Precomputed(), alpha=0.1), Gaussian(1.5)(X) / factor
    assert_allclose(cross_val_predict(model, K, y, cv=4), direct, rtol=1e-10)


def test_it_prints_what_was_set():
    assert repr(KernelRidge()) == "KernelRidge()"
    assert repr(KernelRidge(alpha=0.5)) == "KernelRidge(alpha=0.5)"


def test_constructor_only_stores():
    model = KernelRidge("no such kernel", alpha=-1.0, solver="none", tol=-1, memory="much")
    assert model.get_params()["kernel"] == "no such kernel"
