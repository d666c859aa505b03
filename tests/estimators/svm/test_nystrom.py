"""Support vector machines by landmarks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    Spectrum,
)
from mercer.data.limits.deadline import TimeIsUpError
from mercer.errors import ConvergenceWarning, MemoryLimitError
from mercer.functions import DualFunction
from mercer.planning import margin

random = np.random.default_rng(0)
X = random.normal(size=(150, 3))
Y = np.where(X[:, 0] > 0.3, "a", np.where(X[:, 1] * X[:, 2] > 0.0, "b", "c"))
TARGETS = np.sin(X[:, 0]) + X[:, 1] ** 2


def svc(**settings):
    return KernelSVC(Gaussian(1.5), **{"solver": "nystrom", "n_landmarks": 40, **settings})


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", ["abc", "ab"])
def test_all_rows_as_landmarks_have_the_exact_scores(multiclass, classes):
    used = np.isin(Y, list(classes))
    settings = {"multiclass": multiclass, "C": 2.0, "class_weight": {"a": 3.0}}
    exact = KernelSVC(Gaussian(0.7), tol=1e-13, **settings).fit(X[used], Y[used])
    settings |= {"solver": "nystrom", "n_landmarks": int(used.sum()), "tol": 1e-13}
    found = KernelSVC(Gaussian(0.7), **settings).fit(X[used], Y[used])
    assert_allclose(found.function_(X), exact.function_(X), atol=1e-8)
    assert_array_equal(found.predict(X), exact.predict(X))


def test_all_rows_as_landmarks_have_the_exact_tube():
    exact = KernelSVR(Gaussian(0.7), 5.0, tol=1e-13).fit(X, TARGETS)
    found = KernelSVR(Gaussian(0.7), 5.0, solver="nystrom", n_landmarks=150, tol=1e-13)
    assert_allclose(found.fit(X, TARGETS).predict(X), exact.predict(X), atol=1e-8)


def test_the_model_is_one_sum_over_the_landmarks_for_all_pairs():
    model = svc().fit(X, Y)
    assert type(model.function_) is DualFunction
    assert model.dual_coef_.shape == (3, 40)
    assert_array_equal(X[model.support_].astype(np.float32), model.support_vectors_)
    assert_array_equal(model.n_support_, [(Y[model.support_] == c).sum() for c in "abc"])
    f = Gaussian(1.5)(X, model.support_vectors_) @ model.dual_coef_.T + model.intercept_
    assert_allclose(model.function_(X), f)


def test_landmarks_that_are_no_training_rows_have_no_numbers_of_rows():
    given = X[:20] + 0.01
    model = svc(landmarks=given, n_landmarks=None).fit(X, Y)
    assert_array_equal(
        model.support_vectors_[np.lexsort(model.support_vectors_.T)], given[np.lexsort(given.T)]
    )
    assert len(model.support_) == 0
    assert_array_equal(model.n_support_, [0, 0, 0])


def test_it_says_what_the_gap_is_of_and_what_the_landmarks_leave():
    model = svc().fit(X, Y)
    assert model.certificate_.kind == "relative duality gap in the landmark model"
    assert model.certificate_.satisfied
    assert model.approximation_.n_landmarks == 40
    assert 0.0 < model.approximation_.value < 0.1
    exact = KernelSVC(Gaussian(1.5)).fit(X, Y)
    assert exact.approximation_ is None
    assert exact.certificate_.kind == "relative duality gap"


def test_probabilities_come_from_the_same_landmarks():
    model = svc(C=10.0, n_landmarks=150).fit(X, Y)
    exact = KernelSVC(Gaussian(1.5), C=10.0).fit(X, Y)
    assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.02)
    assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


def test_tables_sparse_rows_and_texts_have_landmarks():
    table = pd.DataFrame(X, columns=["u", "v", "w"]).assign(kind=np.where(X[:, 0] > 0, "p", "q"))
    model = KernelSVC("auto", solver="nystrom", n_landmarks=150).fit(table, Y)
    assert (model.predict(table) == KernelSVC("auto").fit(table, Y).predict(table)).all()
    given = KernelSVC("auto", solver="nystrom", landmarks=table[:50]).fit(table, Y)
    assert given.approximation_.n_landmarks <= 50
    sparse = svc().fit(sp.csr_array(X), Y)
    assert_allclose(sparse.function_(X), svc().fit(X, Y).function_(X), atol=1e-6)
    texts = ["ab" * (i % 3 + 1) + "ca" * (i % 2) for i in range(30)]
    signs = ["ca" in t for t in texts]
    by_texts = KernelSVC(Spectrum(2), 100.0, solver="nystrom", n_landmarks=6).fit(texts, signs)
    assert by_texts.score(texts, signs) == 1.0


def test_weights_of_zero_leave_rows_out():
    weights = (np.arange(150) % 3 > 0).astype(float)
    kept = weights > 0
    found = svc(landmarks=X[:40], n_landmarks=None, tol=1e-8).fit(X, Y, weights)
    alone = svc(landmarks=X[:40], n_landmarks=None, tol=1e-8).fit(X[kept], Y[kept])
    assert_allclose(found.function_(X), alone.function_(X), atol=1e-6)


def test_it_is_the_same_to_the_last_bit_on_any_number_of_threads(monkeypatch):
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        found.append(svc().fit(X, Y).function_(X))
    assert_array_equal(*found)


def test_a_warm_start_takes_up_the_last_coefficients():
    model = svc(warm_start=True, tol=1e-6).fit(X, Y)
    assert model.n_iter_ > 1
    assert model.fit(X, Y).n_iter_ == 1


def test_time_that_is_up_leaves_the_best_model_so_far():
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        model = svc(time_limit=1e-9).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_landmarks": 151}, "from 1 to the number of rows, 150"),
        ({"landmarks": "best"}, "landmarks must be one of"),
        ({"landmarks": X[:5]}, "leave n_landmarks out"),
        ({"landmarks": X[:40, :2]}, "X has 2 features, but KernelSVC is expecting 3"),
        ({"kernel": "precomputed"}, "a precomputed Gram matrix has none"),
    ],
)
def test_what_is_no_choice_of_landmarks_is_refused(settings, said):
    rows = X @ X.T if "kernel" in settings else X
    with pytest.raises(ValueError, match=said):
        svc().set_params(**settings).fit(rows, Y)


def test_a_memory_limit_is_refused_with_the_landmarks_that_would_fit():
    with pytest.raises(MemoryLimitError, match="use n_landmarks=33"):
        svc(memory=20000).fit(X, Y)


def test_a_stream_goes_on_from_the_landmarks():
    model = svc().fit(X[:100], Y[:100])
    first = model.dual_coef_
    model.partial_fit(X[100:], Y[100:])
    added = len(model.support_vectors_) - 40
    assert 0 < added == model.n_support_.sum() - 40
    assert_array_equal(X[model.support_][40:], model.support_vectors_[40:])
    assert_array_equal(X[model.support_][:40].astype(np.float32), model.support_vectors_[:40])
    assert_array_equal(model.dual_coef_[:, :40], first)
    tube = KernelSVR(Gaussian(1.5), solver="nystrom", n_landmarks=40).fit(X[:100], TARGETS[:100])
    assert len(tube.partial_fit(X[100:], TARGETS[100:]).support_vectors_) > 40


def test_the_plan_names_the_landmarks():
    plan = svc().plan(X, Y)
    assert plan.solver == "nystrom"
    assert "40 landmarks" in plan.reason
    assert plan.memory >= 4 * 150 * 40
    assert "nystrom" not in {p.solver for p in KernelSVC(Gaussian(1.5)).plan(X).alternatives}


def test_an_unfinished_exact_fit_to_many_rows_is_told_of_landmarks():
    many = np.random.default_rng(0).normal(size=(2001, 3))
    signs = many[:, 0] > 0.0
    with pytest.warns(ConvergenceWarning, match="or use solver='nystrom'"):
        KernelSVC(Gaussian(1.0), max_iter=1, solver="smo").fit(many, signs)
    with pytest.warns(ConvergenceWarning) as said:
        KernelSVC(Gaussian(1.0), max_iter=1, solver="smo").fit(many[:900], signs[:900])
    assert "nystrom" not in str(said[0].message)


@pytest.mark.parametrize(
    ("model", "is_exact"),
    [
        (KernelSVC(solver="nystrom"), False),
        (KernelLogisticRegression(n_landmarks=50, time_limit=1e-9), False),
        (KernelRidge(landmarks=np.zeros((1, 3))), False),
        (KernelSVC(), True),
    ],
    ids=str,
)
def test_a_fit_by_landmarks_that_time_ends_is_not_told_of_them(model, is_exact, monkeypatch):
    def is_up(*given, **named):
        raise TimeIsUpError

    for home in ("ridge", "logistic", "svm.supports"):
        name = f"planned_{'margin' if 'svm' in home else home}"
        monkeypatch.setattr(f"mercer.estimators.{home}.{name}", is_up)
    many = np.random.default_rng(0).normal(size=(2001, 3))
    with pytest.warns(ConvergenceWarning, match="after") as said:
        model.set_params(kernel=Gaussian(1.0)).fit(many, many[:, 0] > 0.0)
    is_told = any("or use solver='nystrom'" in str(warning.message) for warning in said)
    assert is_told is is_exact


def test_a_time_limit_leaves_as_many_landmarks_as_it_allows():
    assert svc(n_landmarks=None).plan(X, Y).reason.startswith("122 landmarks")
    limited = svc(n_landmarks=None, time_limit=1e-9).plan(X, Y)
    assert limited.reason.startswith("50 landmarks")
    assert svc(time_limit=1e-9).plan(X, Y).reason.startswith("40 landmarks")


def test_a_memory_for_no_landmark_is_refused_with_what_one_needs(rng):
    X = rng.normal(size=(400, 2))
    with pytest.raises(MemoryLimitError, match=r"raise memory= to 1\.60 KB for one landmark"):
        KernelSVC(Gaussian(1.0), solver="nystrom", n_landmarks=50, memory="1KB").fit(X, X[:, 0] > 0)


def test_what_rows_take_beside_their_features_counts_in_a_limit_of_the_process(rng, monkeypatch):
    monkeypatch.setattr(margin, "FOR_WORK", 10**5)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] > 0.0
    model = KernelSVC(Gaussian(1.0), solver="nystrom", n_landmarks=50)
    # 50 features in float32 take 0.6 MB and the other numbers of the rows about as much.
    with pytest.raises(MemoryLimitError, match=r"rows by 50 landmarks .* use n_landmarks=35"):
        model.set_params(memory=10**6).fit(X, y)
    model.set_params(n_landmarks=35).fit(X, y)
