"""Kernel ridge and logistic regression by small random batches of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian, KernelLogisticRegression, KernelRidge, Spectrum
from mercer.errors import ConvergenceWarning, MemoryLimitError
from mercer.native.lapack import one_blas_thread
from mercer.solvers import StochasticLogistic, StochasticRidge

N = 120


@pytest.fixture
def X(points):
    return points(N, 2)


def targets(X):
    return np.sin(2.0 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_is_the_exact_one_with_weights_and_several_targets(X, rng, fit_intercept):
    y, w = np.column_stack([targets(X), X[:, 0] ** 2]), rng.integers(0, 3, N)
    settings = {"alpha": [0.5, 2.0], "fit_intercept": fit_intercept}
    batches = StochasticRidge(1e-9, 300, batch=25)
    model = KernelRidge(Gaussian(1.0), solver=batches, **settings).fit(X, y, w)
    exact = KernelRidge(Gaussian(1.0), solver="cholesky", **settings).fit(X, y, w)
    assert model.certificate_.satisfied
    assert model.certificate_.method == "sgd"
    assert model.n_iter_ > 1
    assert_allclose(model.predict(X), exact.predict(X), atol=1e-7)
    assert (model.dual_coef_[w == 0] == 0.0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_the_exact_ones(X, rng, classes):
    y, w = np.digitize(targets(X), [0.0, 1.0][: classes - 1]), rng.uniform(0.5, 2.0, N)
    batches = StochasticLogistic(1e-10, 300, batch=25)
    model = KernelLogisticRegression(Gaussian(1.0), solver=batches).fit(X, y, w)
    exact = KernelLogisticRegression(Gaussian(1.0), solver="newton", tol=1e-12).fit(X, y, w)
    assert model.certificate_.satisfied
    assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=1e-5)


def test_it_is_known_by_its_name_and_planned(X):
    y = targets(X)
    ridge = KernelRidge(Gaussian(1.0), solver="sgd", random_state=0)
    assert ridge.plan(X).solver == "sgd"
    assert isinstance(ridge.fit(X, y).solver_, StochasticRidge)
    logistic = KernelLogisticRegression(Gaussian(1.0), solver="sgd")
    assert logistic.plan(X).solver == "sgd"
    assert isinstance(logistic.fit(X, y > 0).solver_, StochasticLogistic)


def test_a_memory_limit_too_small_for_two_rows_is_refused(X):
    model = KernelRidge(Gaussian(1.0), solver="sgd", memory=1000)
    with pytest.raises(MemoryLimitError, match=r"solver 'sgd' needs 3\.84 KB but the limit"):
        model.fit(X, targets(X))


def test_few_epochs_warn_with_what_to_do(X):
    batches = StochasticRidge(1e-12, batch=10)
    with pytest.warns(ConvergenceWarning, match=r"after 1 epochs.*use solver='cg', raise max_iter"):
        KernelRidge(Gaussian(1.0), solver=batches, max_iter=1).fit(X, targets(X))


def test_texts_are_compared_by_batches_as_well(rng):
    X = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(60)]
    y = np.array([s.count("AC") for s in X], float)
    batches = StochasticRidge(batch=15, max_iter=300)
    model = KernelRidge(Spectrum(2), solver=batches).fit(X, y)
    assert_allclose(model.predict(X), KernelRidge(Spectrum(2)).fit(X, y).predict(X), atol=1e-4)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = np.sin(X[:, 0])
    settings = {"solver": "sgd", "random_state": 0}
    found = set()
    for threads in "1", "3":
        monkeypatch.setenv("MERCER_THREADS", threads)
        with one_blas_thread():
            ridge = KernelRidge(Gaussian(1.0), 3.0, **settings).fit(X, y)
            logistic = KernelLogisticRegression(Gaussian(1.0), 0.5, **settings).fit(X, y > 0)
        found.add((ridge.dual_coef_.tobytes(), logistic.dual_coef_.tobytes()))
    assert len(found) == 1
