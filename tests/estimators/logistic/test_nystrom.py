"""Logistic regression by landmarks."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Gaussian, KernelLogisticRegression, Spectrum
from mercer.errors import ConvergenceWarning
from mercer.planning.landmarks import landmark_bytes, landmark_newton_bytes, newton_step_bytes

random = np.random.default_rng(0)
X = random.normal(size=(150, 3))
Y = np.where(X[:, 0] > 0.3, "a", np.where(X[:, 1] * X[:, 2] > 0.0, "b", "c"))


def regression(**settings):
    settings = {"solver": "nystrom", "n_landmarks": 40, **settings}
    return KernelLogisticRegression(Gaussian(1.5), **settings)


@pytest.mark.parametrize("classes", ["abc", "ab"])
def test_all_rows_as_landmarks_have_the_exact_scores(classes):
    used = np.isin(Y, list(classes))
    settings = {"C": 2.0, "class_weight": {"a": 3.0}, "tol": 1e-17}
    exact = KernelLogisticRegression(Gaussian(0.7), **settings).fit(X[used], Y[used])
    settings |= {"solver": "nystrom", "n_landmarks": int(used.sum())}
    found = KernelLogisticRegression(Gaussian(0.7), **settings).fit(X[used], Y[used])
    scores = exact.function_(X)
    assert_allclose(found.function_(X), scores, atol=1e-8 * np.abs(scores).max())
    assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_with_all_rows_as_landmarks_f_is_the_sum_of_its_residuals_to_ten_digits(C):
    # What the exact optimum satisfies: f = sum_i a_i k(x_i, .) + b with a = C (y - p), 1'a = 0.
    y = (Y == "a").astype(float)
    settings = {"C": C, "landmarks": X, "n_landmarks": None, "tol": 1e-12}
    model = KernelLogisticRegression(Gaussian(0.7), solver="nystrom", **settings).fit(X, y)
    f = model.decision_function(X)
    a = C * (y - 1.0 / (1.0 + np.exp(-f)))
    assert_allclose(Gaussian(0.7)(X) @ a + model.intercept_, f, atol=1e-9)
    assert_allclose(a.sum(), 0.0, atol=1e-9)


def test_the_model_is_a_sum_over_the_landmarks():
    model = regression().fit(X, Y)
    assert model.dual_coef_.shape == (3, 40)
    f = Gaussian(1.5)(X, model.X_fit_) @ model.dual_coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), f)


def test_it_says_what_the_gap_is_of_and_what_the_landmarks_leave():
    model = regression().fit(X, Y)
    assert model.certificate_.kind == "relative duality gap in the landmark model"
    assert model.certificate_.satisfied
    assert model.approximation_.n_landmarks == 40
    assert KernelLogisticRegression(Gaussian(1.5)).fit(X, Y).approximation_ is None


def test_weights_of_zero_leave_rows_out():
    weights = (np.arange(150) % 3 > 0).astype(float)
    kept = weights > 0
    given = {"landmarks": X[:40], "n_landmarks": None, "tol": 1e-12}
    found = regression(**given).fit(X, Y, weights)
    alone = regression(**given).fit(X[kept], Y[kept])
    assert_allclose(found.function_(X), alone.function_(X), atol=1e-7)


def test_tables_sparse_rows_and_texts_have_landmarks():
    table = pd.DataFrame(X, columns=["u", "v", "w"]).assign(kind=np.where(X[:, 0] > 0, "p", "q"))
    model = KernelLogisticRegression("auto", solver="nystrom", n_landmarks=150).fit(table, Y)
    exact = KernelLogisticRegression("auto").fit(table, Y)
    assert_allclose(model.predict_proba(table), exact.predict_proba(table), atol=1e-3)
    sparse = regression().fit(sp.csr_array(X), Y)
    assert_allclose(sparse.function_(X), regression().fit(X, Y).function_(X), atol=1e-4)
    texts = ["ab" * (i % 3 + 1) + "ca" * (i % 2) for i in range(30)]
    signs = ["ca" in t for t in texts]
    model = KernelLogisticRegression(Spectrum(2), 100.0, solver="nystrom", n_landmarks=6)
    assert model.fit(texts, signs).score(texts, signs) == 1.0


def test_features_that_do_not_fit_are_computed_again():
    # Beside blocks and factors there is room for fewer than the features of all rows.
    given = {"landmarks": X[:40], "n_landmarks": None}
    least = landmark_bytes(len(X), 40, 0, 1) + newton_step_bytes(len(X), 40, 3)
    assert least < landmark_newton_bytes(len(X), 40, 3, 1)
    held, streamed = (regression(**given, memory=b).fit(X, Y) for b in (None, least))
    assert_allclose(streamed.function_(X), held.function_(X), atol=0.02)
    assert streamed.certificate_.satisfied


def test_a_fit_to_many_classes_stays_within_what_the_plan_counts():
    rows, classes = np.random.default_rng(0).normal(size=(1500, 3)), np.arange(1500) % 40
    model = regression(n_landmarks=20, memory="32MB", max_iter=1)
    counted = model.plan(rows, classes).memory
    assert counted < 32e6
    tracemalloc.start()
    try:
        with pytest.warns(ConvergenceWarning):
            model.fit(rows, classes)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < counted


def test_a_path_has_a_model_for_every_cost():
    for C, model in zip([1.0, 0.1], regression().path(X, Y, [1.0, 0.1]), strict=True):
        alone = regression(C=C, tol=1e-12).fit(X, Y)
        assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=0.01)


def test_time_that_is_up_leaves_the_best_model_so_far():
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        model = regression(time_limit=1e-9).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_warm_start_takes_up_the_last_answer():
    model = regression(warm_start=True, tol=1e-12).fit(X, Y)
    before = model.n_iter_
    assert model.fit(X, Y).n_iter_ < before


def test_the_plan_names_the_landmarks():
    plan = regression().plan(X, Y)
    assert plan.solver == "nystrom"
    assert "40 landmarks" in plan.reason


def test_scores_held_out_in_closed_form_are_refused():
    with pytest.raises(ValueError, match="use cross_val_predict"):
        _ = regression().fit(X, Y).leave_one_out_proba_


def test_the_same_seed_gives_the_same_bits():
    first, again = (regression(random_state=3).fit(X, Y).function_(X) for _ in range(2))
    assert_array_equal(first, again)
