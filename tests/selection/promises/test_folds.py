"""Scores of folds: losses of all held-out rows, or one score for each fold, as of GridSearchCV."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.metrics import get_scorer, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)

from mercer.estimators import KernelLogisticRegression, KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.selection import KernelLogisticRegressionCV, KernelRidgeCV
from refits import refitted

ALPHAS = [1e-3, 0.1, 10.0]
KERNELS = [Gaussian(0.7), Linear()]
# Folds of several sizes, whose mean is not that of the rows.
FOLDS = {
    "folds": KFold(7),
    "groups": GroupKFold(4),
    "one split": ShuffleSplit(1, test_size=0.3, random_state=0),
    "random": ShuffleSplit(4, test_size=0.3, train_size=0.5, random_state=0),
}


def searched(model, parameter, values, X, y, weights, groups, cv, scoring):
    """The search of scikit-learn over the same grid, with weights in fits and in scores."""
    grid = {"kernel": KERNELS, parameter: values}
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer(scoring).set_score_request(sample_weight=weights is not None)
        model.set_fit_request(sample_weight=weights is not None)
        splits = list(cv.split(X, y, groups))
        search = GridSearchCV(model, grid, scoring=scorer, cv=splits, error_score="raise")
        options = {} if weights is None else {"sample_weight": weights}
        # Our grid goes kernel by kernel, theirs by the names of the parameters in order.
        search.fit(X, y, **options)
    order = [
        search.cv_results_["params"].index({"kernel": k, parameter: v})
        for k in KERNELS
        for v in values
    ]
    return search, order


@pytest.mark.parametrize("cv", FOLDS.values(), ids=FOLDS)
@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_root_mean_squared_error", "r2"])
@pytest.mark.parametrize("is_weighted", [False, True], ids=["", "weighted"])
def test_ridges_are_scored_as_grid_search_does(X, y, weights, cv, scoring, is_weighted):
    groups = np.minimum(np.arange(len(y)) // 4, 8) if isinstance(cv, GroupKFold) else None
    w = weights if is_weighted else None
    ours = KernelRidgeCV(KERNELS, ALPHAS, cv=cv, scoring=scoring).fit(X, y, w, groups=groups)
    theirs, order = searched(KernelRidge(), "alpha", ALPHAS, X, y, w, groups, cv, scoring)
    for column in theirs.cv_results_:
        if column.endswith("test_score") and not column.startswith("rank"):
            expected = theirs.cv_results_[column][order]
            assert_allclose(ours.cv_results_[column], expected, rtol=1e-6, atol=1e-12)
    assert ours.best_params_ == theirs.best_params_
    assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)


@pytest.mark.parametrize("cv", FOLDS.values(), ids=FOLDS)
@pytest.mark.parametrize("is_weighted", [False, True], ids=["", "weighted"])
def test_by_default_the_score_is_the_loss_of_all_held_out_rows_of_folds_of_any_size(
    X, y, weights, cv, is_weighted
):
    groups = np.minimum(np.arange(len(y)) // 4, 8) if isinstance(cv, GroupKFold) else None
    w = weights if is_weighted else np.ones(len(y))
    pairs = list(cv.split(X, y, groups))
    model = KernelRidgeCV(KERNELS, ALPHAS, cv=cv).fit(X, y, w, groups=groups)
    expected = refitted(model, X, y, w, pairs)
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-6)
    assert_allclose(model.best_score_, max(expected), rtol=1e-6)


@pytest.mark.parametrize("is_weighted", [False, True], ids=["", "weighted"])
def test_by_default_the_log_loss_is_that_of_all_held_out_rows_of_folds_of_any_size(
    X, y, weights, is_weighted
):
    labels = (y > np.median(y)).astype(int)
    w = weights if is_weighted else np.ones(len(y))
    used = np.flatnonzero(w > 0.0)
    # One fold of five rows beside one of all others.
    few = np.concatenate([used[labels[used] == 0][:3], used[labels[used] == 1][:2]])
    many = np.setdiff1d(np.arange(len(y)), few)
    pairs = [(many, few), (many[::2], many[1::2])]
    model = KernelLogisticRegressionCV(Gaussian(0.7), [1.0], cv=pairs).fit(X, labels, w)
    losses, tested = [], np.concatenate([test for _, test in pairs])
    for train, test in pairs:
        fit = KernelLogisticRegression(Gaussian(0.7), 1.0, tol=1e-8)
        said = fit.fit(X[train], labels[train], w[train]).predict_proba(X[test])
        losses.append(-np.log(said[np.arange(len(test)), labels[test]]))
    expected = -np.average(np.concatenate(losses), weights=w[tested])
    assert_allclose(model.best_score_, expected, rtol=1e-2)
    by_fold = [np.average(each, weights=w[t]) for each, (_, t) in zip(losses, pairs, strict=True)]
    assert abs(np.mean(by_fold) + expected) > 0.03 * abs(expected)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", "roc_auc"])
@pytest.mark.parametrize("is_weighted", [False, True], ids=["", "weighted"])
def test_classes_are_scored_as_grid_search_does(X, y, weights, scoring, is_weighted):
    labels = np.where(y > np.median(y), "high", "low")
    w, cv = weights if is_weighted else None, StratifiedKFold(4)
    Cs = [0.1, 10.0]
    ours = KernelLogisticRegressionCV(KERNELS, Cs, cv=cv, scoring=scoring).fit(X, labels, w)
    model = KernelLogisticRegression(tol=1e-8)
    theirs, order = searched(model, "C", Cs, X, labels, w, None, cv, scoring)
    for column in (
        "mean_test_score",
        "std_test_score",
        *(f"split{i}_test_score" for i in range(4)),
    ):
        expected = theirs.cv_results_[column][order]
        assert_allclose(ours.cv_results_[column], expected, rtol=1e-2, atol=1e-3)
    assert ours.best_params_ == theirs.best_params_


def test_the_mean_over_folds_is_chosen_by_and_not_the_score_of_all_rows_together():
    rng = np.random.default_rng(60)
    X = rng.normal(size=(20, 1))
    y = np.sin(2.0 * X[:, 0]) + rng.normal(size=20)
    alphas, cv = [0.1, 10.0], KFold(4)
    pooled = [
        r2_score(y, cross_val_predict(KernelRidge(Gaussian(1.0), alpha), X, y, cv=cv))
        for alpha in alphas
    ]
    assert alphas[np.argmax(pooled)] == 10.0
    grid = {"alpha": alphas}
    theirs = GridSearchCV(KernelRidge(Gaussian(1.0)), grid, cv=cv, scoring="r2").fit(X, y)
    model = KernelRidgeCV(Gaussian(1.0), alphas, cv=cv, scoring="r2").fit(X, y)
    assert model.alpha_ == theirs.best_params_["alpha"] == 0.1


def test_every_target_has_the_mean_of_its_folds(X, y):
    Y = np.column_stack([y, X[:, 0] ** 2])
    model = KernelRidgeCV(KERNELS, ALPHAS, cv=KFold(7), alpha_per_target=True, scoring="r2")
    model.fit(X, Y)
    for j in range(2):
        alone = KernelRidgeCV(KERNELS, ALPHAS, cv=KFold(7), scoring="r2").fit(X, Y[:, j])
        column = model.cv_results_[f"target{j}_test_score"]
        assert_allclose(column, alone.cv_results_["mean_test_score"], rtol=1e-8)


def test_rows_left_out_one_by_one_are_no_folds(X, y):
    results = KernelRidgeCV(KERNELS, ALPHAS).fit(X, y).cv_results_
    assert "std_test_score" not in results
    assert "split0_test_score" not in results


@pytest.mark.parametrize("missed", [0, 1])
def test_a_fold_that_a_sample_does_not_reach_has_no_score_there(rng, monkeypatch, missed):
    monkeypatch.setattr("mercer.selection.ridge.KernelRidgeCV.rows_for_kernels", 50)
    monkeypatch.setattr("mercer.selection.ridge.KernelRidgeCV.rows_of_sample", 20)
    X = rng.normal(size=(80, 2))
    cv = [(np.arange(2, 80), np.arange(2)), (np.arange(40), np.arange(40, 80))]
    cv = cv if missed == 0 else cv[::-1]
    model = KernelRidgeCV(KERNELS, ALPHAS, cv=cv, random_state=0).fit(X, X[:, 0])
    last = model.cv_results_["iter"] == 1
    assert np.isfinite(model.cv_results_[f"split{missed}_test_score"][last]).all()
    assert_array_equal(model.cv_results_["n_resources"], np.where(last, 80, 20))
    assert np.isnan(model.cv_results_[f"split{missed}_test_score"][~last]).all()
    assert np.isfinite(model.cv_results_[f"split{1 - missed}_test_score"]).all()
