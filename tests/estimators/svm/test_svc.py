"""KernelSVC: the optimum, its proof, and its place among the estimators of scikit-learn."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from contract import OF_THE_CLASS, checks
from mercer.errors import ConvergenceWarning, IndefiniteKernelError
from mercer.estimators import KernelSVC
from mercer.functions.pairs import PairFunction
from mercer.kernels import FromFunction, Gaussian, Linear, Sigmoid
from mercer.solvers.margin.screening import Screening


@checks(
    [
        KernelSVC(Gaussian(2.0) + Linear(), C=10.0, multiclass="ovr", class_weight="balanced"),
    ],
    but=OF_THE_CLASS,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 3))


@pytest.fixture
def y(X, rng):
    return np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=300) > 0, "yes", "no")


@pytest.fixture
def three(X, rng):
    return np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=300), [-0.3, 0.8])


GAMMA = 0.5


def ours(C=1.0, **settings):
    return KernelSVC(Gaussian.from_gamma(GAMMA), C, **settings)


def dual_objective(model, X, labels):
    a = model.dual_coef_[0]
    K = Gaussian.from_gamma(GAMMA)(X[model.support_])
    return np.abs(a).sum() - 0.5 * a @ K @ a


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0, 1e4])
def test_it_finds_the_optimum_of_libsvm(X, y, C):
    model = ours(C).fit(X, y)
    peer = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, y)
    assert dual_objective(model, X, y) >= dual_objective(peer, X, y) * (1 - 1e-4)
    assert model.certificate_.satisfied
    near = np.abs(peer.decision_function(X)) < 1e-2
    assert_array_equal(model.predict(X)[~near], peer.predict(X)[~near])


def test_a_tighter_tolerance_gives_the_same_scores_as_libsvm(X, y):
    model = ours(10.0, tol=1e-8).fit(X, y)
    peer = SVC(C=10.0, gamma=GAMMA, tol=1e-9).fit(X, y)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)
    assert_array_equal(model.support_, peer.support_)
    assert_allclose(model.dual_coef_, peer.dual_coef_, atol=1e-2)


def test_attributes_have_the_shapes_of_scikit_learn(X, three):
    model, peer = ours().fit(X, three), SVC(gamma=GAMMA).fit(X, three)
    for name in ("dual_coef_", "intercept_", "n_support_", "support_", "support_vectors_"):
        assert len(getattr(model, name).shape) == len(getattr(peer, name).shape), name
    assert model.dual_coef_.shape[0] == peer.dual_coef_.shape[0] == 2
    assert model.intercept_.shape == peer.intercept_.shape
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.sum() == len(model.support_)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_scores_of_several_classes_are_those_of_libsvm(X, three, shape):
    model = ours(10.0, tol=1e-7, decision_function_shape=shape).fit(X, three)
    peer = SVC(C=10.0, gamma=GAMMA, tol=1e-8, decision_function_shape=shape).fit(X, three)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)


def test_ties_of_votes_are_broken_by_sums_of_scores(X, three):
    model = ours().fit(X, three)
    peer = SVC(gamma=GAMMA, break_ties=True, tol=1e-6).fit(X, three)
    assert (model.predict(X) == peer.predict(X)).mean() >= 0.99
    assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_one_against_the_rest_is_a_binary_machine_for_every_class(X, three):
    model = ours(multiclass="ovr", tol=1e-6).fit(X, three)
    assert model.dual_coef_.shape[0] == 3
    for c in range(3):
        binary = ours(tol=1e-6).fit(X, three == c)
        assert_allclose(model.decision_function(X)[:, c], binary.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_whole_weights_are_repeated_rows_and_zero_is_none(X, y, rng, fit_intercept):
    weights = rng.integers(0, 4, size=300)
    again = np.repeat(np.arange(300), weights)
    settings = dict(C=3.0, fit_intercept=fit_intercept, tol=1e-8)
    weighted = ours(**settings).fit(X, y, weights)
    repeated = ours(**settings).fit(X[again], y[again])
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)
    assert not np.isin(weighted.support_, np.flatnonzero(weights == 0)).any()


def test_class_weights_multiply_sample_weights(X, y):
    by_class = ours(class_weight={"yes": 3.0, "no": 0.5}, tol=1e-8).fit(X, y)
    by_row = ours(tol=1e-8).fit(X, y, np.where(y == "yes", 3.0, 0.5))
    assert_array_equal(by_class.decision_function(X), by_row.decision_function(X))


def test_the_certificate_is_the_duality_gap_in_float64(X, y):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = ours(2.0, max_iter=1).fit(X, y)
    signs = np.where(y == "yes", 1.0, -1.0)
    a = np.zeros(300)
    a[model.support_] = model.dual_coef_[0]
    f = Gaussian.from_gamma(GAMMA)(X) @ a
    loss = 2.0 * np.maximum(0.0, 1.0 - signs * (f + model.intercept_[0])).sum()
    primal, dual = 0.5 * a @ f + loss, np.abs(a).sum() - 0.5 * a @ f
    assert abs(a.sum()) < 1e-10
    assert_allclose(model.certificate_.value, (primal - dual) / primal, rtol=1e-9)
    assert model.certificate_.value > 1e-3


def test_the_bound_of_the_certificate_holds(X, y):
    rough, exact = (ours(5.0, fit_intercept=False, tol=tol).fit(X, y) for tol in (0.1, 1e-9))
    distance = np.abs(rough.decision_function(X) - exact.decision_function(X))
    assert (distance <= rough.certificate_.bound(X) + exact.certificate_.bound(X)).all()


def test_sparse_rows_give_the_machine_of_dense_ones(rng):
    X = sp.random(200, 30, density=0.2, random_state=0, format="csr")
    y = (X.sum(axis=1) > 3.0).A1 if hasattr(X.sum(axis=1), "A1") else X.sum(axis=1) > 3.0
    dense, sparse = (ours().fit(rows, y) for rows in (X.toarray(), X))
    assert_allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), atol=1e-10)


def test_a_precomputed_matrix_gives_the_machine_of_its_kernel(X, three):
    k = Gaussian.from_gamma(GAMMA)
    direct = ours(tol=1e-7).fit(X, three)
    model = KernelSVC("precomputed", tol=1e-7).fit(k(X), three)
    new = X[:40] + 0.1
    assert_allclose(model.decision_function(k(new, X)), direct.decision_function(new), atol=1e-3)


def test_a_function_is_evaluated_at_support_vectors_only(X, y):
    asked = []

    def similarity(A, B):
        asked.append(len(B))
        return np.exp(-GAMMA * ((A[:, None, :] - B[None]) ** 2).sum(axis=2))

    model = KernelSVC(FromFunction(similarity)).fit(X, y)
    asked.clear()
    model.predict(X[:20])
    assert sum(asked) == len(model.support_) < len(X)


def test_an_indefinite_kernel_is_refused_with_a_witness(X, y):
    with pytest.raises(IndefiniteKernelError, match=r"use another kernel, or repair=") as caught:
        KernelSVC(Sigmoid(2.0, -1.0)).fit(X, y)
    witness = caught.value.witness
    c = witness.coefficients
    assert c @ Sigmoid(2.0, -1.0)(witness.points) @ c < 0.0


@pytest.mark.parametrize("repair", ["clip", "flip", "shift"])
@pytest.mark.parametrize("labels", ["y", "three"])
def test_a_repair_makes_an_indefinite_kernel_usable(X, repair, labels, request):
    y = request.getfixturevalue(labels)
    model = KernelSVC(Sigmoid(2.0, -1.0), C=0.1, repair=repair).fit(X, y)
    assert model.certificate_.satisfied
    assert model.score(X, y) > 0.4


@pytest.mark.parametrize("memory", ["300KB", "20MB"])
def test_little_memory_gives_the_same_machine(X, y, memory):
    model = ours(10.0, tol=1e-6, memory=memory).fit(X, y)
    assert_allclose(
        model.decision_function(X), ours(10.0, tol=1e-6).fit(X, y).decision_function(X), atol=1e-3
    )


def test_warm_starts_need_fewer_steps(X, y):
    cold = ours(12.0).fit(X, y)
    warm = ours(10.0, warm_start=True).fit(X, y)
    warm.set_params(C=12.0).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=0.05)


def test_too_few_steps_warn_and_say_what_to_do(X, y):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = ours(100.0, max_iter=1).fit(X, y)
    assert not model.certificate_.satisfied
    assert abs(model.dual_coef_.sum()) < 1e-9


def test_a_time_limit_ends_with_a_feasible_model(X, y):
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        model = ours(1e6, time_limit=1e-6).fit(X, y)
    assert (np.abs(model.dual_coef_) <= 1e6).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ctrl_c_ends_with_a_feasible_model(rng, n_classes):
    X, y = rng.normal(size=(1500, 2)), rng.integers(0, n_classes, size=1500)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the iteration"):
            model = KernelSVC(Gaussian(3.0), 1e7, tol=1e-9, time_limit=60.0).fit(X, y)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert model.predict(X[:5]).shape == (5,)
    assert (np.abs(model.dual_coef_) <= 1e7).all()


@pytest.mark.parametrize("labels", ["y", "three"])
def test_the_number_of_threads_does_not_change_a_bit(X, labels, request, monkeypatch):
    y = request.getfixturevalue(labels)
    scores = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        scores.append(ours(10.0).fit(X, y).decision_function(X))
    assert_array_equal(*scores)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_stochastic_solver_reaches_the_optimum(X, y, C, fit_intercept):
    settings = {"fit_intercept": fit_intercept, "solver": "sgd", "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="solver='smo'"):
        early = ours(C, max_iter=2, **settings).fit(X, y)
    assert early.certificate_.value < 0.25
    model = ours(C, **settings).fit(X, y)
    assert model.certificate_.value < 1e-3
    exact = ours(C, fit_intercept=fit_intercept, tol=1e-8).fit(X, y)
    assert_allclose(model.decision_function(X), exact.decision_function(X), atol=0.05)


def test_a_large_C_takes_the_stochastic_solver_longer(X, y):
    with pytest.warns(ConvergenceWarning, match="after 64 epochs the gap is still open"):
        model = ours(10.0, solver="sgd", random_state=0).fit(X, y)
    assert model.certificate_.value < 0.1


def test_it_works_in_pipeline_search_and_calibration(X, y):
    grid = {"kernelsvc__kernel__length_scale": [0.1, 1.0], "kernelsvc__C": [0.1, 1.0]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), KernelSVC()), grid, cv=3, error_score="raise"
    ).fit(X, y)
    assert search.best_params_["kernelsvc__kernel__length_scale"] == 1.0
    calibrated = CalibratedClassifierCV(ours(), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (300, 2)


def test_a_clone_is_equal_and_a_pickle_predicts_alike(X, three):
    model = ours(class_weight="balanced").fit(X, three)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, r"C must be a positive number, or inf to allow no loss, got 0\.0"),
        ({"C": -1}, "C must be a positive number, or inf to allow no loss, got -1"),
        ({"C": -np.inf}, "C must be a positive number, or inf to allow no loss, got -inf"),
        ({"C": np.nan}, "C must be a positive number, or inf to allow no loss, got nan"),
        ({"C": np.ones(2)}, r"C must be a positive number, or inf to allow no loss, got array"),
        ({"C": 1e200}, r"C times the largest weight is 1e\+200, whose squares overflow"),
        ({"multiclass": "all"}, "multiclass must be 'ovo' or 'ovr', got 'all'"),
        ({"decision_function_shape": "x"}, "decision_function_shape must be 'ovo' or 'ovr'"),
        ({"multiclass": "ovr", "decision_function_shape": "ovo"}, "use multiclass='ovo'"),
        ({"solver": "newton"}, "solver must be one of 'auto', 'smo', 'primal', 'sgd'"),
        ({"tol": -1.0}, "tol must be a positive finite number"),
        ({"repair": "mend"}, "repair must be None or one of"),
    ],
)
def test_bad_settings_are_named(X, y, settings, message):
    with pytest.raises(ValueError, match=message):
        KernelSVC(**settings).fit(X, y)


def test_weights_that_leave_one_class_are_refused(X, y):
    with pytest.raises(ValueError, match="at least two classes of positive weight"):
        ours().fit(X, y, (y == "yes").astype(float))


def test_a_start_of_other_rows_is_not_taken(X, three):
    model = ours(warm_start=True).fit(X, three)
    kept = [rows for rows, _ in model._last_[1]]
    model.fit(X, np.roll(three, 1))
    assert not np.array_equal(kept[0], model._last_[1][0][0])
    assert model.certificate_.satisfied


def test_rows_are_predicted_alike_whether_at_once_or_in_parts(X, three, monkeypatch):
    model = ours().fit(X, three)
    at_once = model.decision_function(X)
    monkeypatch.setattr(PairFunction, "rows_at_a_time", 7)
    assert_allclose(model.decision_function(X), at_once, rtol=1e-12)


def test_threads_change_no_bit_of_problems_large_and_small(rng, monkeypatch):
    monkeypatch.setattr(Screening, "least_rows", 900)
    X = rng.normal(size=(1300, 4))
    y = np.repeat([0, 1, 2, 3], [900, 200, 150, 50])

    def fitted(threads):
        monkeypatch.setenv("MERCER_THREADS", threads)
        return KernelSVC(Gaussian(1.0), 10.0).fit(X, y)

    alone, together = fitted("1"), fitted("2")
    assert_array_equal(alone.dual_coef_, together.dual_coef_)
    assert_array_equal(alone.intercept_, together.intercept_)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()])
def test_the_largest_c_separates_and_ends_with_what_float64_can_tell(rng, kernel):
    X = rng.normal(size=(40, 2))
    X = X[np.abs(X[:, 0]) > 0.2]
    # The limit is there for the test to fail and not to hang.
    model = KernelSVC(kernel, 1e100, solver="smo", time_limit=5.0)
    with pytest.warns(ConvergenceWarning, match="lost in rounding; lower C"):
        model.fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) == 1.0
