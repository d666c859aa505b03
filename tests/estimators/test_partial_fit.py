"""Kernel ridge and logistic regression on a stream of blocks."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian, KernelLogisticRegression, KernelRidge, Spectrum
from mercer.errors import ApproximationWarning, MemoryLimitError
from refusals import refuses

N, BLOCK = 400, 50


@pytest.fixture
def X(points):
    return points(N, 2)


def targets(X):
    return np.sin(2.0 * X[:, 0]) + X[:, 1]


def streamed(model, X, y, passes=1, **first):
    for _ in range(passes):
        for start in range(0, len(y), BLOCK):
            part = slice(start, start + BLOCK)
            model.partial_fit(X[part], y[part], **first)
    return model


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("landmarks", [30, None])
def test_ridge_of_a_stream_is_the_landmark_model_of_all_rows(X, fit_intercept, landmarks):
    y, settings = targets(X), {"alpha": 0.3, "fit_intercept": fit_intercept}
    model = streamed(KernelRidge(Gaussian(1.0), n_landmarks=landmarks, **settings), X, y)
    whole = KernelRidge(Gaussian(1.0), landmarks=model.X_fit_, solver="nystrom", **settings)
    assert_allclose(model.predict(X), whole.fit(X, y).predict(X), atol=1e-8)
    assert model.approximation_.rows == N


def test_passes_over_the_data_count_its_rows_as_often(X):
    y = targets(X)
    model = streamed(KernelRidge(Gaussian(1.0), 0.3, n_landmarks=20, landmarks=X[:20]), X, y, 3)
    whole = KernelRidge(Gaussian(1.0), 0.1, landmarks=X[:20], solver="nystrom").fit(X, y)
    assert_allclose(model.predict(X), whole.predict(X), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_a_stream_approach_the_landmark_model(X, classes):
    y = np.digitize(targets(X), [0.0, 1.0][: classes - 1])
    names = np.unique(y)
    for passes in 1, 3:
        model = KernelLogisticRegression(Gaussian(1.0), landmarks=X[:30])
        streamed(model, X, y, passes, classes=names)
        # Rows that come again count again.
        settings = {"solver": "nystrom", "landmarks": X[:30]}
        whole = KernelLogisticRegression(Gaussian(1.0), passes, **settings).fit(X, y)
        assert np.abs(model.predict_proba(X) - whole.predict_proba(X)).mean() < 0.06
        assert model.score(X, y) > 0.85


@pytest.mark.parametrize("classes", [2, 3])
def test_one_block_of_all_rows_is_the_landmark_model(X, classes):
    y = np.digitize(targets(X), [0.0, 1.0][: classes - 1])
    settings = {"landmarks": X[:30], "tol": 1e-10}
    model = KernelLogisticRegression(Gaussian(1.0), **settings).partial_fit(X, y, np.unique(y))
    whole = KernelLogisticRegression(Gaussian(1.0), solver="nystrom", **settings).fit(X, y)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-3)


def test_balanced_classes_are_balanced_by_all_rows_seen_so_far(X):
    y = (targets(X) > 1.0).astype(int)
    settings = {"landmarks": X[:20], "class_weight": "balanced"}
    model = KernelLogisticRegression(Gaussian(1.0), **settings).partial_fit(X, y, [0, 1])
    whole = KernelLogisticRegression(Gaussian(1.0), solver="nystrom", **settings).fit(X, y)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-3)


def test_rows_of_no_weight_are_absent_and_weights_count_as_copies(X, rng):
    y, w = targets(X), rng.integers(0, 3, N)
    settings = {"landmarks": X[:20], "alpha": 0.3}
    weighted = KernelRidge(Gaussian(1.0), **settings).partial_fit(X, y, w)
    copied = KernelRidge(Gaussian(1.0), **settings).partial_fit(np.repeat(X, w, 0), np.repeat(y, w))
    assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-9)


def test_a_model_that_was_fitted_begins_with_its_training_rows(X):
    y = targets(X)
    settings = {"landmarks": X[:20], "alpha": 0.3}
    model = KernelRidge(Gaussian(1.0), solver="cholesky", **settings).fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:])
    whole = KernelRidge(Gaussian(1.0), **settings).partial_fit(X, y)
    assert_allclose(model.predict(X), whole.predict(X), atol=1e-9)
    logistic = KernelLogisticRegression(Gaussian(1.0), solver="newton", landmarks=X[:20])
    logistic.fit(X[:200], y[:200] > 0).partial_fit(X[200:], y[200:] > 0)
    assert logistic.score(X, y > 0) > 0.9


def test_a_fit_forgets_the_stream(X):
    y = targets(X)
    model = KernelRidge(Gaussian(1.0)).partial_fit(X, y).fit(X[:50], y[:50])
    assert_allclose(model.predict(X), KernelRidge(Gaussian(1.0)).fit(X[:50], y[:50]).predict(X))
    assert model.approximation_ is None
    assert model.leave_one_out_predictions_.shape == (50,)


def test_the_model_stays_bounded_however_long_the_stream_is(X):
    y, model = targets(X), KernelRidge(Gaussian(1.0), n_landmarks=5)
    sizes = []
    for _ in range(3):
        streamed(model, X, y)
        sizes.append(len(pickle.dumps(model)))
    assert len(model.X_fit_) == 5
    assert sizes[2] == sizes[1] < 8 * X.nbytes


def test_a_stream_of_texts_has_landmarks_too(rng):
    X = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(100)]
    y = np.array([s.count("AC") for s in X], float)
    model = KernelRidge(Spectrum(2), n_landmarks=16)
    for start in range(0, 100, 25):
        model.partial_fit(X[start : start + 25], y[start : start + 25])
    assert_allclose(model.predict(X), KernelRidge(Spectrum(2)).fit(X, y).predict(X), atol=1e-3)


def test_what_needs_all_rows_is_refused_on_a_stream(X):
    model = KernelRidge(Gaussian(1.0)).fit(X, targets(X)).partial_fit(X, targets(X))
    assert not hasattr(model, "certificate_")
    with pytest.raises(ValueError, match="block by block keeps no training rows"):
        _ = model.leave_one_out_predictions_
    refuses("block by block keeps no training rows", model.predict, X, True)
    refuses("block by block keeps no training rows", model.predict_interval, X)
    logistic = KernelLogisticRegression(Gaussian(1.0)).partial_fit(X, X[:, 0] > 0, [False, True])
    with pytest.raises(ValueError, match="a landmark model has no held-out scores"):
        _ = logistic.leave_one_out_proba_


def test_bad_blocks_are_refused_by_name(X):
    y = targets(X)
    ridge = KernelRidge(Gaussian(1.0)).partial_fit(X, y)
    before = ridge.predict(X)
    holed = X.copy()
    holed[7, 1] = np.nan
    refuses("row 7", ridge.partial_fit, holed, y)
    refuses("X has 1 features", ridge.partial_fit, X[:, :1], y)
    refuses("targets of the first call, 1, got shape (400, 2)", ridge.partial_fit, X, X)
    assert np.array_equal(ridge.predict(X), before)
    labels = (X[:, 0] > 0).astype(int)
    model = KernelLogisticRegression(Gaussian(1.0))
    refuses("classes must be passed on the first call", model.partial_fit, X, labels)
    model.partial_fit(X, labels, [0, 1])
    refuses("y holds 2, which is none of the classes [0, 1]", model.partial_fit, X, labels + 1)
    refuses("classes must be those of the first call", model.partial_fit, X, labels, [0, 2])


def test_settings_that_a_stream_cannot_have_are_refused(X):
    y = targets(X)
    refuses(
        "a precomputed Gram matrix has none", KernelRidge("precomputed").partial_fit, X @ X.T, y
    )
    with pytest.raises(AttributeError) as error:
        _ = KernelRidge("sigmoid", repair="clip").partial_fit
    assert "no whole Gram matrix to repair" in str(error.value.__cause__)
    fitted = KernelRidge(Gaussian(1.0), solver="nystrom", n_landmarks=5).fit(X, y)
    with pytest.warns(ApproximationWarning, match="it begins anew with this block"):
        fitted.partial_fit(X[:10], y[:10])
    again = KernelRidge(n_landmarks=5).partial_fit(X[:10], y[:10])
    assert again.function_.n_targets == fitted.function_.n_targets
    with pytest.raises(MemoryLimitError, match="'partial_fit' needs"):
        KernelRidge(Gaussian(1.0), memory="1MB").partial_fit(X, y)
