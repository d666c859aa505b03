"""KernelRidgeCV among the estimators of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from contract import OF_THE_CLASS, checks
from mercer.kernels import Gaussian, Linear
from mercer.selection import KernelLogisticRegressionCV, KernelRidgeCV


@checks(
    [
        KernelRidgeCV([Gaussian(3.0), Linear()], [0.1, 1.0], cv=3, fit_intercept=False),
    ],
    but=OF_THE_CLASS,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 3))
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1] + 2.0


def test_it_works_in_a_pipeline(data):
    X, y = data
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), KernelRidgeCV()).fit(X, y)
    assert_array_equal(pipeline.predict(X), KernelRidgeCV().fit(scaled, y).predict(scaled))


def test_it_may_be_cross_validated_itself(data):
    X, y = data
    direct = cross_val_score(KernelRidgeCV(Gaussian(1.5), [0.1, 1.0]), X, y, cv=3)
    K = Gaussian(1.5)(X)
    by_matrix = cross_val_score(KernelRidgeCV("precomputed", [0.1, 1.0]), K, y, cv=3)
    assert_allclose(by_matrix, direct, rtol=1e-8)


@pytest.mark.parametrize(
    ("kernels", "pairwise"),
    [(None, False), ("precomputed", True), (["precomputed"], True), ("no such kernel", False)],
)
def test_it_is_pairwise_if_its_kernels_are_precomputed(kernels, pairwise):
    assert get_tags(KernelRidgeCV(kernels)).input_tags.pairwise is pairwise


def test_a_table_keeps_its_names(data):
    X, y = data
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = KernelRidgeCV([Gaussian(1.0).on("a"), Gaussian(1.0).on("b", "c")], [0.1]).fit(table, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.kernel_ == Gaussian(1.0).on("a")
    assert model.predict(table).shape == (60,)


def test_a_fitted_model_survives_pickling(data):
    model = KernelRidgeCV().fit(*data)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(data[0]), model.predict(data[0]))
    assert again.best_params_ == model.best_params_


def test_a_clone_is_unfitted_and_equal(data):
    model = KernelRidgeCV([Gaussian(2.0)], [0.5], cv=3, memory="1GB").fit(*data)
    copy = clone(model)
    assert not hasattr(copy, "dual_coef_")
    assert copy.get_params() == model.get_params()


def test_an_attribute_that_nobody_has_is_an_attribute_error(data):
    with pytest.raises(
        AttributeError, match="'KernelRidgeCV' object has no attribute 'dual_coef_'"
    ):
        KernelRidgeCV().dual_coef_  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'support_'"):
        KernelRidgeCV().fit(*data).support_  # noqa: B018


def test_constructor_only_stores():
    model = KernelRidgeCV("no such kernel", alphas=-1.0, cv="none", scoring=3, memory="much")
    assert model.get_params()["kernels"] == "no such kernel"
    assert repr(KernelRidgeCV()) == "KernelRidgeCV()"


def test_candidates_list_every_kernel_once_with_its_best_penalty_best_first(data):
    for model, name in ((KernelRidgeCV(), "alpha"), (KernelLogisticRegressionCV(), "C")):
        X, y = data
        model.fit(X, y if name == "alpha" else y > np.median(y))
        found, results = model.candidates_, model.cv_results_
        assert found[0].kernel == model.kernel_
        assert found[0].penalty == getattr(model, f"{name}_")
        assert {c.kernel for c in found} == set(results["kernel"])
        assert len(found) == len(set(results["kernel"]))
        assert str(found).splitlines()[0].split() == ["rank", "kernel", name, "score", "rows"]
        assert len(found.to_pandas()) == len(found)
