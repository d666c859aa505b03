"""Choosing by landmarks: the exact search where all rows are landmarks, and refits elsewhere."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold, ShuffleSplit

import mercer
from mercer import (
    Gaussian,
    KernelLogisticRegressionCV,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
)
from mercer.errors import ApproximationWarning, MemoryLimitError
from mercer.gram import landmarks
from mercer.planning.held_out import LandmarkErrors
from mercer.selection import KernelRidgeCV
from mercer.selection.splits import Splits

ALPHAS = [0.05, 0.5, 5.0]


def wave(rng, n=60):
    X = rng.normal(size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n) + 2.0


@pytest.mark.parametrize("cv", ["loo", "gcv", 4])
def test_all_rows_as_landmarks_score_as_the_exact_search_does(cv, rng):
    X, y = wave(rng)
    weights = rng.integers(0, 3, len(y)).astype(float)
    kernels = [Gaussian(0.5), Gaussian(1.0)]
    exact = KernelRidgeCV(kernels, ALPHAS, cv=cv).fit(X, y, weights)
    n = int((weights > 0).sum())
    model = KernelRidgeCV(kernels, ALPHAS, cv=cv, solver="nystrom", n_landmarks=n)
    model.fit(X, y, weights)
    for column in ("mean_test_score", "alpha"):
        assert_allclose(model.cv_results_[column], exact.cv_results_[column], rtol=1e-7)
    assert model.approximation_.n_landmarks == n


def test_folds_are_scored_by_fits_with_the_same_landmarks(rng):
    X, y = wave(rng)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=4, solver="nystrom", n_landmarks=12)
    model.fit(X, y)
    rows, slow = model.best_estimator_.X_fit_, []
    for alpha in ALPHAS:
        losses = []
        for train, test in KFold(4).split(X):
            part = KernelRidge(Gaussian(1.0), alpha, solver="nystrom", landmarks=rows)
            losses.append(np.mean((part.fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2))
        slow.append(-np.mean(losses))
    assert_allclose(model.cv_results_["mean_test_score"], slow, rtol=1e-8)


def test_a_scorer_judges_rows_left_out_by_landmarks(rng):
    X, y = wave(rng)
    settings = {"kernels": Gaussian(1.0), "alphas": ALPHAS, "solver": "nystrom", "n_landmarks": 12}
    squares = KernelRidgeCV(**settings).fit(X, y)
    scored = KernelRidgeCV(**settings, scoring="neg_mean_squared_error").fit(X, y)
    assert_allclose(
        scored.cv_results_["mean_test_score"], squares.cv_results_["mean_test_score"], rtol=1e-8
    )


@pytest.mark.parametrize("cv", ["loo", "gcv", 4, ShuffleSplit(2, test_size=0.4, random_state=0)])
@pytest.mark.parametrize("is_judged", [False, True])
@pytest.mark.parametrize("w", ["none", "counts", "variances"])
def test_scores_are_the_same_in_many_blocks_of_rows_and_one_ridge_at_a_time(
    cv, is_judged, w, rng, monkeypatch
):
    if cv == "gcv" and is_judged:
        pytest.skip("generalised cross-validation has no other score")
    X, y = wave(rng, 2300)
    y = np.column_stack([y, X[:, 1] ** 2])
    weights = {"none": None, "counts": rng.integers(0, 4, 2300), "variances": X[:, 0] ** 2}[w]
    model = KernelRidgeCV(
        Gaussian(1.0),
        ALPHAS,
        cv=cv,
        scoring="neg_mean_absolute_error" if is_judged else None,
        alpha_per_target=True,
        solver="nystrom",
        n_landmarks=30,
    )
    whole = model.fit(X, y, weights).cv_results_
    monkeypatch.setattr(landmarks, "block_entries", lambda memory: 10_000)
    monkeypatch.setattr(LandmarkErrors, "at_once", lambda errors, memory: 1)
    blocks = model.fit(X, y, weights).cv_results_
    for name in (name for name in whole if name.endswith("_test_score") and "rank" not in name):
        assert_allclose(blocks[name], whole[name], rtol=1e-12, atol=1e-14)


def test_the_memory_for_squares_of_errors_does_not_grow_with_rows_times_ridges():
    needed = [
        LandmarkErrors(n, 1, alphas, Splits(n), False).bytes(50, 10**8)
        for n in (10**5, 10**6)
        for alphas in (30, 300)
    ]
    # Of a row more there are columns, and of a ridge more weights of features.
    assert needed[2] - needed[0] == needed[3] - needed[1] == 8 * 5 * 900_000
    assert needed[1] - needed[0] == 8 * 4 * 50 * 270


@pytest.mark.parametrize(("memory", "at_once"), [(10**9, 30), (10**8, 12), (10**6, 1)])
def test_a_scorer_is_given_as_many_ridges_at_once_as_a_quarter_of_the_memory_holds(memory, at_once):
    errors = LandmarkErrors(250_000, 1, 30, Splits(250_000), True)
    assert errors.at_once(memory) == at_once
    squares = replace(errors, is_judged=False)
    more = errors.bytes(50, memory) - squares.bytes(50, memory)
    assert more == 8 * 250_000 * (8 + at_once)


def test_landmarks_without_a_number_are_as_many_as_the_memory_allows(rng):
    X, y = wave(rng, 20_000)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv="gcv", solver="nystrom", memory="10MB")
    assert 50 <= model.fit(X, y).approximation_.n_landmarks < 1000
    assert model.plan(X, y).memory <= 10**7


def test_landmarks_that_do_not_fit_are_refused_with_a_cure_that_is_one_for_landmarks(rng):
    X, y = wave(rng, 3000)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, solver="nystrom", n_landmarks=900, memory="10MB")
    cure = r"limit is 0\.01 GB; raise memory= or use fewer rows or landmarks$"
    with pytest.raises(MemoryLimitError, match=cure):
        model.fit(X, y)


def test_the_choice_of_two_classes_agrees_with_the_exact_one(rng):
    X, y = wave(rng)
    labels = y > 2.0
    exact = KernelRidgeClassifierCV([Gaussian(1.0)], ALPHAS).fit(X, labels)
    model = KernelRidgeClassifierCV([Gaussian(1.0)], ALPHAS, solver="nystrom", n_landmarks=60)
    model.fit(X, labels)
    assert model.alpha_ == exact.alpha_
    assert_allclose(model.predict_proba(X), exact.predict_proba(X), rtol=1e-6)


def test_whole_weights_count_equal_rows_in_probabilities(rng):
    X, y = wave(rng)
    weights = rng.integers(1, 3, 60).astype(float)
    exact = KernelRidgeClassifier(Gaussian(1.0)).fit(X, y > 2.0, weights)
    model = KernelRidgeClassifier(Gaussian(1.0), solver="nystrom", n_landmarks=60)
    model.fit(X, y > 2.0, weights)
    assert_allclose(model.predict_proba(X), exact.predict_proba(X), rtol=1e-6)


def test_a_classifier_that_was_pickled_has_its_probabilities(rng):
    X, y = wave(rng)
    model = KernelRidgeClassifier(Gaussian(1.0), solver="nystrom", n_landmarks=10).fit(X, y > 2.0)
    saved = pickle.loads(pickle.dumps(model))
    assert np.array_equal(saved.predict_proba(X), model.predict_proba(X))


def test_a_model_file_holds_what_predicts(rng, tmp_path):
    X, y = wave(rng)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, solver="nystrom", n_landmarks=10).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    read = mercer.load(tmp_path / "model.mercer")
    assert np.array_equal(read.predict(X), model.predict(X))
    assert read.approximation_ == model.approximation_


@pytest.mark.parametrize("kind", [KernelRidgeCV, KernelRidgeClassifierCV])
def test_rows_that_are_too_many_for_the_memory_are_chosen_on_by_landmarks_with_one_warning(
    kind, rng
):
    X, y = wave(rng, 2400)
    y = y > 2.0 if kind is KernelRidgeClassifierCV else y
    model = kind([Gaussian(1.0)], ALPHAS, memory="20MB")
    with pytest.warns(ApproximationWarning, match="choice on 2400 rows .* solver='eigen'") as said:
        model.fit(X, y)
    assert len(said) == 1
    assert model.best_estimator_.solver == "nystrom"
    exact = kind([Gaussian(1.0)], ALPHAS, solver="eigen").fit(X, y)
    assert model.alpha_ == exact.alpha_


def test_landmarks_that_are_given_score_candidates_whatever_the_solver_is_called(rng):
    X, y = wave(rng)
    named = KernelRidgeCV(Gaussian(1.0), ALPHAS, solver="nystrom", n_landmarks=12).fit(X, y)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, n_landmarks=12).fit(X, y)
    assert_allclose(model.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])


def test_few_landmarks_are_quick_enough_for_all_rows_and_kernels(rng):
    X, y = wave(rng, 4500)
    model = KernelRidgeCV(
        [Gaussian(0.5), Gaussian(1.0)], [1.0], cv="gcv", solver="nystrom", landmarks=X[:20]
    )
    model.fit(X, y)
    assert "on 4500 rows" in model.search_
    assert model.approximation_.n_landmarks == 20


def test_more_landmarks_than_rows_are_refused(rng):
    X, y = wave(rng)
    with pytest.raises(ValueError, match="from 1 to the number of rows, 60, got 61"):
        KernelRidgeCV(Gaussian(1.0), ALPHAS, solver="nystrom", n_landmarks=61).fit(X, y)


def test_whoever_chose_a_model_does_not_train_it_further(rng):
    X, y = wave(rng)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, solver="nystrom", n_landmarks=10).fit(X, y)
    assert hasattr(model.best_estimator_, "partial_fit")
    assert not hasattr(model, "partial_fit")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cv", ["loo", 3])
def test_logistic_regression_by_all_rows_as_landmarks_is_chosen_as_the_exact_one_is(
    classes, cv, rng
):
    X, y = wave(rng, 90)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    given = {"kernels": [Gaussian(0.7), Gaussian(1.5)], "Cs": [0.1, 1.0, 10.0], "cv": cv}
    exact = KernelLogisticRegressionCV(**given).fit(X, labels)
    model = KernelLogisticRegressionCV(**given, solver="nystrom", n_landmarks=90).fit(X, labels)
    assert model.kernel_ == exact.kernel_
    assert model.C_ == exact.C_
    for name in ("C", "mean_test_score"):
        assert_allclose(model.cv_results_[name], exact.cv_results_[name], rtol=2e-3)
    assert model.approximation_.value < 1e-9


def test_logistic_regression_is_chosen_by_landmarks_where_rows_are_too_many(rng):
    X, y = wave(rng, 2400)
    model = KernelLogisticRegressionCV([Gaussian(1.0)], [0.1, 1.0, 10.0], memory="20MB")
    with pytest.warns(ApproximationWarning, match="choice on 2400 rows .* solver='cg'") as said:
        model.fit(X, y > 2.0)
    assert len(said) == 1
    assert model.approximation_ is not None
    exact = KernelLogisticRegressionCV([Gaussian(1.0)], [0.1, 1.0, 10.0], solver="cg")
    assert_allclose(model.best_score_, exact.fit(X, y > 2.0).best_score_, rtol=1e-2)
