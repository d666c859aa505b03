"""KernelLogisticRegression among the estimators of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contract import OF_THE_CLASS, checks
from mercer.estimators import KernelLogisticRegression
from mercer.kernels import FromFunction, Gaussian, Linear


@checks(
    [
        KernelLogisticRegression(Gaussian(2.0) + Linear(), repair="clip"),
        KernelLogisticRegression(solver="cg", tol=1e-16, random_state=0),
    ],
    but=OF_THE_CLASS,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=90) > 0.8, "yes", "no")
    return X, y


def test_labels_may_be_strings(data):
    X, y = data
    model = KernelLogisticRegression(C=10.0).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.score(X, y) > 0.8


def test_rows_may_be_sparse_tables_or_a_finished_matrix(data):
    X, y = data
    model = KernelLogisticRegression(Gaussian(1.5)).fit(X, y)
    expected = model.predict_proba(X)
    sparse = KernelLogisticRegression(Gaussian(1.5)).fit(sp.csr_array(X), y)
    assert_allclose(sparse.predict_proba(sp.csr_array(X)), expected, rtol=1e-8)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    named = KernelLogisticRegression(Gaussian(1.5).on("a", "b", "c")).fit(table, y)
    assert_allclose(named.predict_proba(table), expected, rtol=1e-8)
    K = Gaussian(1.5)(X)
    finished = KernelLogisticRegression("precomputed").fit(K, y)
    assert_allclose(finished.predict_proba(K), expected, rtol=1e-8)


@pytest.mark.parametrize("solver", ["newton", "cg"])
def test_a_function_of_strings_is_a_kernel(rng, solver):
    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words = ["".join(rng.choice(list("abcdefgh"), size=5)) for _ in range(60)]
    y = ["a" in word for word in words]
    model = KernelLogisticRegression(FromFunction(shared), C=10.0, solver=solver, random_state=0)
    assert model.fit(words, y).score(words, y) > 0.9
    assert model.predict_proba(words[:3]).shape == (3, 2)


def test_it_works_in_a_pipeline_and_a_grid_search(data):
    model = make_pipeline(StandardScaler(), KernelLogisticRegression(Gaussian(1.0)))
    grid = {
        "kernellogisticregression__kernel__length_scale": [1e-3, 1.0],
        "kernellogisticregression__C": [1e-6, 10.0],
    }
    search = GridSearchCV(model, grid, cv=3, scoring="neg_log_loss", error_score="raise").fit(*data)
    assert search.best_estimator_[-1].kernel_ == Gaussian(1.0)
    assert search.best_estimator_[-1].C == 10.0


def test_it_may_be_calibrated_and_cross_validated(data):
    X, y = data
    CalibratedClassifierCV(KernelLogisticRegression(), ensemble=False).fit(X, y).predict_proba(X)
    direct = cross_val_predict(
        KernelLogisticRegression(Gaussian(1.5)), X, y, cv=4, method="predict_proba"
    )
    by_matrix = cross_val_predict(
        KernelLogisticRegression("precomputed"), Gaussian(1.5)(X), y, cv=4, method="predict_proba"
    )
    assert_allclose(by_matrix, direct, rtol=1e-8)


def test_a_fitted_model_survives_pickling_and_a_clone_is_unfitted(data):
    model = KernelLogisticRegression().fit(*data)
    before = model.leave_one_out_proba_
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))
    assert_array_equal(again.leave_one_out_proba_, before)
    assert str(again.certificate_) == str(model.certificate_)
    assert not hasattr(clone(model), "dual_coef_")


def test_constructor_only_stores():
    model = KernelLogisticRegression("no such kernel", C=-1.0, solver="none", memory="much")
    assert model.get_params()["kernel"] == "no such kernel"
    assert repr(KernelLogisticRegression()) == "KernelLogisticRegression()"
