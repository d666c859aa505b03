"""Estimators on rows of text: any form, any solver, weights of k-grams."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import strings
from mercer import (
    GappedKmer,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    Spectrum,
    explain,
)
from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.kernels.families.sequence import Grams
from refusals import refuses


@pytest.fixture
def data(rng):
    X = strings.words(rng, 120, "ACGT", 30)
    return X, np.array([x.count("ACG") - 2.0 * x.count("GTT") for x in X])


KERNELS = [
    "spectrum",
    "spectrum(k=3)",
    "spectrum(k=[1, 2, 3], normalize=True)",
    "2.0 * spectrum(k=2).normalized() + 1.0",
    "gapped_kmer(g=4, m=2)",
    "mismatch(k=3, m=1)",
    "subsequence",
    "words",
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_are_those_of_the_dual_expansion(kernel, data):
    X, y = data
    model = KernelRidge(kernel, alpha=0.1).fit(X[:80], y[:80])
    values = model.kernel_(X, X[:80]) @ model.dual_coef_ + model.intercept_
    assert_allclose(model.predict(X), values, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS[:6])
def test_the_primal_solver_agrees_with_the_exact_one(kernel, data):
    X, y = data
    primal, exact = (
        KernelRidge(kernel, alpha=0.3, solver=solver).fit(X[:80], y[:80])
        for solver in ("primal", "cholesky")
    )
    assert_allclose(primal.predict(X), exact.predict(X), atol=1e-7)
    assert primal.certificate_.satisfied


def test_conjugate_gradients_multiply_by_the_sparse_features(data):
    X, y = data
    iterated = KernelRidge("spectrum(k=3)", alpha=1.0, solver="cg", tol=1e-10).fit(X, y)
    exact = KernelRidge("spectrum(k=3)", alpha=1.0, solver="cholesky").fit(X, y)
    assert_allclose(iterated.predict(X), exact.predict(X), atol=1e-7)


def test_few_k_grams_are_solved_in_the_primal(data):
    X, y = data
    model = KernelRidge("spectrum(k=2)").fit(X, y)
    assert model.plan(X).solver == "primal"
    assert model.solution_.solver == "primal"
    assert model.coef_.shape == model.function_.columns.shape == (16,)


def test_a_model_of_k_grams_predicts_without_its_rows(data):
    X, y = data
    model = KernelRidge("spectrum(k=3)", solver="cholesky").fit(X, y)
    expected = model.predict(X)
    model.function_ = replace(model.function_, dual=None)
    assert_allclose(model.predict(X), expected, atol=1e-12)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_machine_of_k_grams_predicts_by_their_weights(multiclass, n_classes, data):
    X, _ = data
    y = [x.count("A") % n_classes for x in X]
    model = KernelSVC("spectrum(k=2)", multiclass=multiclass, decision_function_shape=multiclass)
    by_weights = model.fit(X, y).decision_function(X)
    assert model.coef_.shape == (max(1, 3 * n_classes - 6), 16)
    model.function_ = model.function_.dual
    assert_allclose(by_weights, model.decision_function(X), atol=1e-10)


def test_a_regression_of_k_grams_predicts_by_their_weights(data):
    X, y = data
    model = KernelSVR("spectrum(k=2)").fit(X, y)
    expected = model.kernel_(X, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_
    assert model.coef_.shape == (1, 16)
    assert_allclose(model.predict(X), expected, atol=1e-10)


def test_weights_of_k_grams_follow_a_stream(data):
    X, y = data
    model = KernelSVR("spectrum(k=2)").partial_fit(X[:70], y[:70]).partial_fit(X[70:], y[70:])
    expected = model.kernel_(X, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_
    assert_allclose(model.predict(X), expected, atol=1e-10)


@pytest.mark.parametrize(
    "form",
    [
        tuple,
        np.array,
        lambda X: np.array(X, dtype=object)[:, None],
        lambda X: pd.Series(X, index=np.arange(len(X))[::-1]),
        pl.Series,
        lambda X: [x.encode() for x in X],
        lambda X: [list(x) for x in X],
    ],
    ids=["tuple", "array", "column", "pandas", "polars", "bytes", "tokens"],
)
@pytest.mark.parametrize("kernel", ["spectrum(k=2)", "subsequence"])
def test_every_form_of_rows_gives_the_same_model(kernel, form, data):
    X, y = data
    weights = np.arange(len(X)) % 3
    expected = KernelRidge(kernel).fit(X, y, weights).predict(X[:9])
    assert_allclose(KernelRidge(kernel).fit(form(X), y, weights).predict(form(X[:9])), expected)


@pytest.mark.parametrize("estimator", [KernelRidge(), KernelSVC(), KernelPerceptron(), KernelPCA()])
def test_lists_of_tokens_may_have_any_length(estimator):
    X = [["a", "b"], ["c"], ["b", "c", "c"], ["a"]]
    estimator.set_params(kernel="spectrum(k=1)").fit(X, [0, 1, 1, 0])
    transform = getattr(estimator, "predict", None) or estimator.transform
    assert_allclose(transform(X[1:2]), transform(X)[1:2], atol=1e-12)
    assert not hasattr(estimator, "n_features_in_")


def test_lists_of_tokens_are_cross_validated():
    X = [["a"] * (1 + i % 3) + ["b"] * (i % 2) for i in range(30)]
    y = [i % 2 for i in range(30)]
    assert cross_val_score(KernelSVC("spectrum(k=1)", C=100.0), X, y).min() == 1.0


def test_a_model_of_a_column_asks_for_a_table(data):
    X, y = data
    model = KernelRidge("spectrum(k=2)").fit(pd.DataFrame({"s": X}), y)
    with pytest.raises(ValueError, match=r"columns by name, such as 's', and X has no names"):
        model.predict(X)
    assert_allclose(
        model.fit(X, y).predict(X[:2]), KernelRidge("spectrum(k=2)").fit(X, y).predict(X[:2])
    )


def test_tokens_of_equal_length_are_no_matrix():
    model = KernelRidge("spectrum(k=1)", alpha=1e-6).fit([[1, 2], [2, 3], [3, 3]], [0.0, 1.0, 2.0])
    assert_allclose(model.predict([[1, 2], [3, 3]]), [0.0, 2.0], atol=1e-4)


def test_unseen_symbols_and_empty_rows_get_the_offset(data):
    X, y = data
    model = KernelRidge("spectrum(k=3)").fit(X, y)
    assert_allclose(model.predict(["", "zzzz", "日本語"]), model.intercept_)


def test_several_targets_have_weights_each(data):
    X, y = data
    Y = np.column_stack([y, -y])
    model = KernelRidge("spectrum(k=3)").fit(X, Y)
    assert_allclose(model.predict(X)[:, 0], -model.predict(X)[:, 1], atol=1e-9)
    assert_allclose(
        explain(model, target=1).kgrams.weights, -explain(model, target=0).kgrams.weights, atol=1e-9
    )


def test_weighted_words_of_a_pipeline_stay_sparse():
    texts = ["good film", "bad film", "good good plot", "bad plot twist"]
    y = [1.0, 0.0, 1.0, 0.0]
    for kernel in ("cosine", "linear"):
        model = make_pipeline(TfidfVectorizer(), KernelRidge(kernel, alpha=0.01)).fit(texts, y)
        assert_allclose(model.predict(texts), y, atol=0.1)


def test_cross_validation_takes_rows_of_text(data):
    X, y = data
    search = GridSearchCV(KernelRidge("spectrum"), {"kernel__k": [1, 3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__k": 3}
    assert cross_val_score(KernelRidge("spectrum(k=3)", alpha=0.1), X, y, cv=3).min() > 0.8


def test_the_ridge_is_chosen_on_text(data):
    X, y = data
    model = KernelRidgeCV(["spectrum(k=1)", "spectrum(k=3)", "subsequence"]).fit(X, y)
    assert model.kernel_ == Spectrum(3)
    assert_allclose(model.predict(X), y, atol=0.5)


def test_held_out_predictions_and_intervals_on_text(data):
    X, y = data
    model = KernelRidge("spectrum(k=2)", alpha=1.0).fit(X, y)
    without = KernelRidge("spectrum(k=2)", alpha=1.0).fit(X[1:], y[1:])
    assert_allclose(model.leave_one_out_predictions_[0], without.predict(X[:1])[0], atol=1e-8)
    lower, upper = model.predict_interval(X[:5])
    assert (lower <= upper).all()


def test_a_model_on_text_is_pickled(data):
    X, y = data
    model = KernelRidge("spectrum(k=3)").fit(X, y)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize("bad", [None, 3.0, float("nan")])
def test_rows_that_are_no_text_are_refused_with_their_number(bad, data):
    X, y = data
    with pytest.raises(ValueError, match="at row 7; text, bytes or a list of tokens is needed"):
        KernelRidge("spectrum").fit([*X[:7], bad, *X[8:]], y)
    model = KernelRidge("spectrum").fit(X, y)
    with pytest.raises(ValueError, match="at row 1; text, bytes or a list of tokens is needed"):
        model.predict(["a", bad])


@pytest.mark.parametrize("kernel", ["edit_distance", "subsequence", "words"])
def test_a_row_that_is_no_text_is_named_with_its_column(kernel):
    table = pd.DataFrame({"n": [1.0, 2.0, 3.0], "s": ["a", None, "b"]}, dtype=object)
    whole = table.assign(s=["a", "c", "b"])
    for model in (KernelRidge(f"{kernel}.on(s)"), KernelPCA(f"{kernel}.on(s)")):
        refuses("column 's' holds None at row 1", model.fit, table, [1.0, 2.0, 3.0])
        fitted = model.fit(whole, [1.0, 2.0, 3.0])
        ask = fitted.predict if hasattr(fitted, "predict") else fitted.transform
        refuses("column 's' holds None at row 1", ask, table)


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.array,
        lambda X: np.array(X)[:, None],
        lambda X: pd.Series(X, index=np.arange(len(X)) + 7),
        lambda X: [list(x) for x in X],
        lambda X: [[1.0, x] for x in X],
    ],
    ids=["list", "tuple", "array", "column", "pandas", "tokens", "mixed"],
)
def test_text_is_refused_by_a_kernel_of_numbers(form, data):
    X, y = data
    said = "X holds text, .* at row 0.*; make .* use a kernel of text such as 'spectrum' or of"
    with pytest.raises(ValueError, match=said):
        KernelRidge("gaussian").fit(form(X), y)


def test_the_edit_distance_needs_a_repair(rng):
    X = ["", "b", "aa", "ab", "ba", "bb"]
    y = rng.normal(size=6)
    with pytest.raises(IndefiniteKernelError, match="repair="):
        KernelRidge("edit_distance(scale=5.0)", alpha=1e-6).fit(X, y)
    model = KernelRidge("edit_distance(scale=5.0)", alpha=1e-6, repair="clip").fit(X, y)
    assert np.isfinite(model.predict([*X, "abab"])).all()


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_of_a_table_have_kernels_each(library, data, rng):
    X, y = data
    numbers = rng.normal(size=len(X))
    table = library.DataFrame({"mass": numbers, "smiles": X})
    model = KernelRidge("spectrum(k=3).on(smiles) + linear.on(mass)", alpha=0.1)
    fitted = model.fit(table, y + numbers)
    assert_allclose(fitted.predict(table), y + numbers, atol=0.7)


# Wide windows


@pytest.fixture
def wide(rng):
    X = strings.words(rng, 60, "ACGT", 60)
    return X, np.array([x.count("ACG") - 2.0 * x.count("GTT") for x in X])


@pytest.mark.parametrize("solver", ["auto", "cholesky", "cg", "eigen"])
def test_wide_windows_are_fitted_without_features(wide, solver, monkeypatch):
    X, y = wide
    kernel = GappedKmer(13, 7).normalized()
    K, B = kernel(X[:50]), kernel(X[50:], X[:50])
    whole = []
    count = Grams.__call__
    monkeypatch.setattr(Grams, "__call__", lambda g, X: whole.append(len(X)) or count(g, X))
    model = KernelRidge(kernel, alpha=0.1, solver=solver, fit_intercept=False, tol=1e-10)
    values = model.fit(X[:50], y[:50]).predict(X[50:])
    assert_allclose(values, B @ np.linalg.solve(K + 0.1 * np.eye(50), y[:50]), atol=1e-6)
    assert not hasattr(model, "coef_")
    # A few rows tell that there are too many features.
    assert max(whole, default=0) < 10


def test_features_that_do_not_fit_are_refused_before_they_are_counted(wide):
    X, y = wide
    with pytest.raises(MemoryLimitError, match="sparse features of 60 rows need"):
        KernelRidge(GappedKmer(13, 7), solver="primal", memory="10MB").fit(X, y)


def test_a_plan_for_wide_windows_does_without_features(wide):
    X, _ = wide
    plan = KernelRidge(GappedKmer(13, 7).normalized(), memory="100MB").plan(X)
    assert plan.solver == "cholesky"
    assert "primal" not in [other.solver for other in plan.alternatives]


def test_classifiers_take_wide_windows(wide):
    X, y = wide
    signs = y > np.median(y)
    kernel = GappedKmer(11, 6).normalized()
    for model in (KernelSVC(kernel, C=100.0), KernelLogisticRegression(kernel, C=100.0)):
        values = model.fit(X, signs).decision_function(X[:9])
        precomputed = type(model)("precomputed", C=100.0).fit(kernel(X), signs)
        assert_allclose(values, precomputed.decision_function(kernel(X[:9], X)), atol=1e-3)


def test_probabilities_of_many_texts_come_from_the_weights_of_their_grams(rng):
    texts = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(700)]
    y = [text.count("AC") > 0 for text in texts]
    model = KernelLogisticRegression(Spectrum(2), random_state=0).fit(texts, y)
    dual = model.kernel_(texts[:5], model.X_fit_) @ model.dual_coef_[0]
    assert_allclose(model.decision_function(texts[:5]), dual + model.intercept_, rtol=1e-6)
    assert model.predict(["NNNN"]).shape == (1,)


def test_grams_that_no_training_row_has_keep_their_prior_deviation(rng):
    texts = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(90)]
    y = rng.normal(size=90)
    new = [*texts[:3], "NNNNNN", "ACNN"]
    primal = KernelRidge(Spectrum(2), solver="primal").fit(texts, y)
    dual = KernelRidge(Spectrum(2), solver="cholesky").fit(texts, y)
    dual.function_ = dual.function_.dual
    expected = dual.predict(new, return_std=True)[1]
    assert_allclose(primal.predict(new, return_std=True)[1], expected, rtol=1e-6)


def test_a_row_of_zero_weight_may_have_grams_of_its_own(rng):
    texts = ["".join(rng.choice(list("AC"), 6)) for _ in range(40)] + ["GGGGGG"]
    y, weights = rng.normal(size=41), np.r_[np.ones(40), 0.0]
    model = KernelRidge(Spectrum(2)).fit(texts, y, weights)
    without = KernelRidge(Spectrum(2)).fit(texts[:40], y[:40])
    for mine, other in zip(
        model.predict(texts, return_std=True), without.predict(texts, return_std=True), strict=True
    ):
        assert_allclose(mine, other, rtol=1e-8)


def test_no_texts_at_all_are_refused():
    with pytest.raises(ValueError, match="X has 0 rows; at least one is needed"):
        KernelRidge(Spectrum(2)).fit([], [])
