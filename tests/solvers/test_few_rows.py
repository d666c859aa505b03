"""The answer of a few rows, which stands in for one that there was no time for."""

import tracemalloc
from time import perf_counter
from weakref import ref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    KernelSVR,
)
from mercer.data.limits.deadline import TimeIsUpError, until
from mercer.errors import ConvergenceWarning
from mercer.estimators.estimator import KernelMachine
from mercer.gram import landmark_gram, unheld_gram_of
from mercer.native.lapack import one_blas_thread
from mercer.solvers import (
    Cholesky,
    LogisticProblem,
    MarginProblem,
    OffsetAlone,
    RidgeProblem,
    Run,
    few_rows,
)
from mercer.solvers.few_rows import FEW, FEWER, some_rows
from mercer.solvers.logistic.solver import NewtonOnRows

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, (1500, 2))
f = np.sin(2.0 * X[:, 0]) + X[:, 1]
CLASSES = np.digitize(f, [-1.0, 0.0, 1.0])
ONES = np.ones(len(X))
KERNEL = Gaussian(0.8)
GRAM = unheld_gram_of(KERNEL, X)

RIDGE = RidgeProblem(np.column_stack([f, -f]), np.full(2, 0.1), ONES, True)
PROBLEMS = {
    "ridge": RIDGE,
    "logistic": LogisticProblem(CLASSES, 4, 10.0, ONES, True),
    "classes": MarginProblem.classification(np.sign(f), 10.0 * ONES, True),
    "tube": MarginProblem.regression(f, 10.0 * ONES, 0.1, True),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_without_time_for_an_answer_it_is_that_of_some_rows_of_which_nothing_is_proved(name):
    problem, run = PROBLEMS[name], Run(60.0)
    found = OffsetAlone(1e-4).answer(GRAM, problem, run)
    index = some_rows(problem.groups)
    other = np.delete(np.arange(len(X)), index)
    assert len(index) == FEW
    assert found.coefficients[index].any(axis=0).all()
    assert not found.coefficients[other].any()
    assert np.isinf(found.residual).all()
    assert np.isinf(found.radius).all()
    assert found.solver == "few rows"
    assert found.advice == (
        "the model is that of 500 of 1500 rows alone, as the time limit of 60 s was up; "
        "raise time_limit"
    )


def test_it_is_the_exact_answer_of_these_rows():
    found, index = OffsetAlone(1e-4).answer(GRAM, RIDGE, Run(60.0)), some_rows(RIDGE.groups)
    # On one thread as there: factors of LAPACK depend on their number.
    with one_blas_thread():
        exact = Cholesky().solve(GRAM.part(index), RIDGE.on(index))
    assert_array_equal(found.coefficients[index], exact.coefficients)
    assert_array_equal(found.intercept, exact.intercept)


def test_by_landmarks_its_function_is_in_their_features():
    gram = landmark_gram(KERNEL, X, 60)
    found = OffsetAlone(1e-4).answer(gram, RIDGE, Run(60.0))
    F = gram.landmarks(X)
    assert_allclose(F @ found.theta, F @ (F.T @ found.coefficients), atol=1e-9)
    missed = F @ found.theta + found.intercept - RIDGE.y
    assert missed.var() < 0.01 * RIDGE.y.var()


def test_every_class_has_a_row_in_the_sample_that_is_the_same_in_every_call():
    codes = np.zeros(10_000, np.intp)
    codes[[17, 4711]] = 1, 2
    index = some_rows(codes)
    assert set(codes[index]) == {0, 1, 2}
    assert len(index) == FEW
    assert_array_equal(index, some_rows(codes))


def test_few_of_millions_of_rows_are_drawn_without_an_array_of_their_number():
    groups = np.zeros(2_000_000, np.int8)
    tracemalloc.start()
    index = some_rows(groups)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(np.unique(index)) == FEW
    # One comparison of a byte each.
    assert most < 2 * len(groups)


def test_on_a_machine_that_is_late_it_is_the_answer_of_fewer_rows():
    run = Run(1.0, began=perf_counter() - 100.0)
    found = OffsetAlone(1e-4).answer(GRAM, RIDGE, run)
    assert np.count_nonzero(found.coefficients.any(axis=1)) == FEWER


def test_on_a_machine_that_is_late_the_last_try_has_half_of_the_grace(monkeypatch):
    ends = []
    monkeypatch.setattr(few_rows, "_of_rows", lambda *given: ends.append(given[-1]))
    run = Run(1.0, began=perf_counter() - 100.0)
    before = perf_counter()
    OffsetAlone(1e-4).answer(GRAM, RIDGE, run)
    assert ends[0] == pytest.approx(run.began + 1.0 + 1.5 * run.grace)
    assert before <= ends[1] - 0.5 * run.grace <= perf_counter()


def test_a_deadline_of_whoever_calls_leaves_the_offset_alone():
    run = Run(1.0, began=perf_counter() - 100.0)
    with until(perf_counter() - 1.0):
        found = OffsetAlone(1e-4).answer(GRAM, RIDGE, run)
    assert found.solver == "offset alone"
    assert not found.coefficients.any()


def test_an_answer_in_time_is_left_alone():
    run = Run(60.0)
    found = Cholesky().answer(GRAM, RIDGE, run)
    assert_array_equal(found.coefficients, Cholesky().solve(GRAM, RIDGE).coefficients)


@pytest.fixture
def without_time(monkeypatch):
    def out_of_time(*_):
        raise TimeIsUpError

    monkeypatch.setattr(KernelMachine, "_fit_settings", out_of_time)


@pytest.mark.parametrize(
    ("model", "target", "least"),
    [
        (KernelRidge(KERNEL, 0.1), f, 0.99),
        (KernelSVR(KERNEL, 10.0), f, 0.97),
        (KernelSVC(KERNEL, 10.0), f > 0.0, 0.95),
        (KernelSVC(KERNEL, 10.0), CLASSES, 0.9),
    ],
)
def test_a_model_without_time_for_a_plan_predicts_by_some_rows_and_says_so(
    model, target, least, without_time
):
    with pytest.warns(ConvergenceWarning, match="rows alone, as the time limit of 60 s was up"):
        model.set_params(time_limit=60.0).fit(X, target)
    assert model.score(X, target) > least
    assert model.certificate_.method == "few rows"
    assert not model.certificate_.satisfied
    assert np.isinf(model.certificate_.bound(X[:3])).all()


def test_logistic_regression_without_time_for_a_step_predicts_by_some_rows(monkeypatch):
    usual = NewtonOnRows._descent

    def descent(solver, gram, problem):
        if len(gram) > FEW:
            raise TimeIsUpError
        return usual(solver, gram, problem)

    monkeypatch.setattr(NewtonOnRows, "_descent", descent)
    model = KernelLogisticRegression(KERNEL, 10.0, time_limit=60.0)
    with pytest.warns(ConvergenceWarning, match="that of 500 of 1500 rows alone"):
        model.fit(X, CLASSES)
    assert model.score(X, CLASSES) > 0.9


@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
def test_a_model_of_some_rows_tells_nothing_of_the_fit_to_all_that_there_was_no_time_for(
    without_time,
):
    model = KernelRidge(KERNEL, 0.1, time_limit=60.0).fit(X, f)
    for asked in (
        lambda: model.leave_one_out_predictions_,
        lambda: model.residuals_less_one(np.ones(len(X))),
        lambda: model.predict_interval(X[:3]),
        lambda: model.predict(X[:3], return_std=True),
    ):
        with pytest.raises(ValueError, match=r"time was up before .* raise time_limit"):
            asked()


def test_classes_of_a_model_of_some_rows_have_probabilities_that_are_said_to_be_uncalibrated(
    without_time,
):
    model = KernelRidgeClassifier(KERNEL, 0.1, time_limit=60.0)
    with pytest.warns(ConvergenceWarning, match="rows alone"):
        model.fit(X, f > 0.0)
    with pytest.warns(ConvergenceWarning, match="temperature of one; raise time_limit"):
        P = model.predict_proba(X[:3])
    assert np.isfinite(P).all()


def test_what_a_solver_held_is_let_go_before_its_stand_in_is_found(monkeypatch):
    held, was_there = [], []

    class Late(OffsetAlone):
        def _solved(self, gram, problem, run):
            large = np.zeros(9)
            held.append(ref(large))
            raise TimeIsUpError

    zero_solution = RidgeProblem.zero_solution

    def watched(self, tol):
        was_there.append(held[0]() is not None)
        return zero_solution(self, tol)

    monkeypatch.setattr(RidgeProblem, "zero_solution", watched)
    Late(1e-4).solve(GRAM, RIDGE, Run(60.0))
    assert was_there == [False]
