"""Which solver is chosen for which kernel, rows, memory and processor, and that it runs."""

import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import (
    Exponential,
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelSVR,
    Laplacian,
    Linear,
    Polynomial,
    Sobolev,
)
from mercer.planning import Settings, planned_logistic, planned_margin, planned_ridge
from mercer.planning.costs import coordinate_work, hardened, working_set_work
from mercer.planning.forecast import Forecast
from mercer.planning.rates import RATES, Work
from mercer.solvers import (
    Banded,
    Cholesky,
    ConjugateGradient,
    LogisticProblem,
    MarginProblem,
    Primal,
    RidgeProblem,
)
from mercer.tiles import loop_twin
from mercer.tiles.evaluate import engine


@pytest.mark.skipif(
    engine() is loop_twin,
    reason="entries of the NumPy engine cost more than a factor of one target",
)
@pytest.mark.parametrize(("targets", "solver"), [(1, ConjugateGradient), (600, Cholesky)])
def test_where_a_product_with_all_targets_takes_as_long_there_is_a_factor(targets, solver, rng):
    X, ones = rng.normal(size=(3500, 3)), np.ones(3500)
    problem = RidgeProblem(np.ones((3500, targets)), np.full(targets, 0.1), ones, True)
    found, _ = planned_ridge(Settings(), Gaussian(3.0), X, problem)
    assert isinstance(found, solver)


@pytest.mark.parametrize(
    ("kernel", "columns", "memory", "solver"),
    [
        (Linear(), 3, None, Primal),
        (Polynomial(2), 3, None, Primal),
        (Polynomial(4), 9, None, Cholesky),
        (Exponential(0.5), 1, None, Banded),
        (2.0 * Sobolev(), 1, None, Banded),
        (Exponential(0.5), 2, None, Cholesky),
        (Gaussian(1.0), 3, None, Cholesky),
        (Gaussian(1.0), 3, "100KB", ConjugateGradient),
    ],
    ids=str,
)
def test_fit_takes_what_the_plan_says(kernel, columns, memory, solver, rng):
    X, y = rng.uniform(size=(200, columns)), rng.normal(size=200)
    model = KernelRidge(kernel, alpha=0.5, memory=memory, random_state=0)
    name = model.plan(X).solver
    model.fit(X, y)
    assert isinstance(model.solver_, solver)
    assert name in {"primal", "banded", "cholesky", "cg"}
    assert model.certificate_.satisfied


def test_every_route_ends_at_the_same_predictions(rng):
    X, y = rng.uniform(size=(150, 1)), rng.normal(size=150)
    kernel = Exponential(0.4)
    exact = KernelRidge(kernel, 0.3, solver="cholesky").fit(X, y).predict(X)
    for solver in ("auto", "banded", "cg", "eigen", "sgd"):
        model = KernelRidge(kernel, 0.3, solver=solver, tol=1e-9, random_state=0).fit(X, y)
        assert_allclose(model.predict(X), exact, atol=1e-7)


def test_a_finished_matrix_beyond_the_limit_is_solved_by_products(rng):
    K = Gaussian(2.0)(rng.normal(size=(300, 2)))
    model = KernelRidge("precomputed", memory="500KB", random_state=0).fit(K, np.ones(300))
    assert isinstance(model.solver_, ConjugateGradient)
    assert model.certificate_.satisfied


def test_conjugate_gradients_stand_in_for_a_factor_where_they_are_faster(rng, monkeypatch):
    monkeypatch.setattr("mercer.planning.rates.rates", lambda: RATES["v4"])
    monkeypatch.setattr("mercer.planning.ridge.forecast", lambda *_: Forecast(9.0, Work(), 100))
    X = rng.normal(size=(5000, 2))
    model = KernelRidge(Gaussian(2.0), alpha=1.0).fit(X, np.sin(X[:, 0]))
    assert isinstance(model.solver_, ConjugateGradient)
    assert model.certificate_.value <= 1e-9
    again = KernelRidge(Gaussian(2.0), alpha=1.0).fit(X, np.sin(X[:, 0]))
    np.testing.assert_array_equal(model.dual_coef_, again.dual_coef_)


def test_a_factor_is_taken_where_conjugate_gradients_would_crawl(rng):
    X = rng.normal(size=(4000, 12))
    plan = KernelRidge(Gaussian(1.0), alpha=1e-6).plan(X)
    assert plan.solver == "cholesky"
    assert next(p for p in plan.alternatives if p.solver == "cg").seconds > plan.seconds


@pytest.mark.parametrize(
    ("settings", "rows", "classes", "solver", "gram"),
    [
        ({}, 200, 2, "newton", "a dense matrix"),
        ({}, 200, 3, "cg", "a matrix in float32"),
        ({}, 700, 2, "cg", "a matrix in float32"),
        ({"kernel": Linear()}, 700, 2, "cg", "explicit features"),
        ({"memory": "2MB"}, 700, 2, "cg", "a streamed matrix"),
        ({"C": 1e6}, 700, 3, "newton", "a dense matrix"),
        ({"solver": "cg"}, 200, 2, "cg", "a matrix in float32"),
        ({"repair": "clip"}, 700, 2, "newton", "a dense matrix"),
    ],
    ids=str,
)
def test_logistic_regression_takes_what_its_plan_says(settings, rows, classes, solver, gram, rng):
    X = rng.normal(size=(rows, 3))
    model = KernelLogisticRegression(**({"kernel": Gaussian(1.0)} | settings))
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, classes) / classes))
    plan = model.plan(X, y)
    assert (plan.solver, plan.gram) == (solver, gram)
    assert plan.seconds > 0.0
    assert model.fit(X, y).solver_.name == plan.solver


@pytest.mark.parametrize(
    ("rows", "alpha", "precision"),
    [(500, 1.0, "double"), (5000, 0.1, "single"), (5000, 1e-9, "double")],
)
def test_a_factor_is_taken_in_float32_where_that_saves_more_than_refining_it_takes(
    rows, alpha, precision, rng, monkeypatch
):
    monkeypatch.setattr("mercer.planning.rates.rates", lambda: RATES["v4"])
    X, problem = (
        rng.normal(size=(rows, 2)),
        RidgeProblem(np.ones((rows, 1)), np.array([alpha]), np.ones(rows), True),
    )
    solver, _ = planned_ridge(Settings(solver="cholesky"), Gaussian(1.0), X, problem)
    assert solver.precision == precision


def chosen_for(X, signs, C):
    problem = MarginProblem.classification(signs, np.full(len(signs), C), True)
    return planned_margin(Settings(), Linear(), X, [problem])[0].name


def test_a_margin_problem_goes_by_features_where_these_are_counted_to_take_less(rng, monkeypatch):
    monkeypatch.setattr("mercer.planning.rates.rates", lambda: RATES["v4"])
    X, signs = rng.normal(size=(6000, 24)), np.where(np.arange(6000) % 2, 1.0, -1.0)
    few = np.where(np.arange(6000) % 50 == 0, 1.0, -1.0)
    # The larger the bounds, the more steps working sets take, and an interior point no more.
    assert chosen_for(X, signs, 100.0) == "primal"
    # Of a small class few rows have a coefficient, and are told of the steps of all.
    assert [chosen_for(X, few, C) for C in (1.0, 1000.0)] == ["smo", "primal"]
    # In many features classes come apart.
    assert chosen_for(rng.normal(size=(2000, 200)), signs[:2000], 1000.0) == "smo"


@pytest.mark.parametrize("clock", ["perf_counter", "thread_time"])
def test_a_clock_that_lies_changes_no_choice(clock, rng, monkeypatch):
    X = rng.normal(size=(5000, 3))
    problem = RidgeProblem(X[:, :1], np.array([0.1]), np.ones(5000), True)
    codes = (X[:, 0] > 0).astype(int)
    logistic = LogisticProblem(codes, 2, 1.0, np.ones(5000), True)

    def choices():
        return [
            type(planned_ridge(Settings(), kernel, X, problem)[0]).__name__
            + type(planned_logistic(Settings(), kernel, X, logistic)[0]).__name__
            + type(planned_margin(Settings(), kernel, X)[0]).__name__
            for kernel in (Gaussian(1.0), Linear(), Laplacian(0.5), Polynomial(3))
        ]

    honest = choices()
    lies = iter(np.random.default_rng(0).exponential(1e3, 100_000).cumsum())
    monkeypatch.setattr(time, clock, lambda: next(lies))
    for module in [m for name, m in sys.modules.items() if name.startswith("mercer.")]:
        if hasattr(module, clock):
            monkeypatch.setattr(module, clock, lambda: next(lies))
    assert choices() == honest


def test_the_choice_follows_from_the_level_of_the_processor(rng, monkeypatch):
    X = rng.normal(size=(3000, 4))
    problem = RidgeProblem(np.ones((3000, 1)), np.array([1.0]), np.ones(3000), True)
    taken = {}
    for level, rates in RATES.items():
        monkeypatch.setattr("mercer.planning.rates.rates", lambda rates=rates: rates)
        taken[level] = type(planned_ridge(Settings(), Gaussian(1.0), X, problem)[0])
    # Entries that NumPy computes are too dear to be computed in every step.
    assert taken["v4"] is ConjugateGradient
    assert taken["numpy"] is Cholesky


@pytest.mark.parametrize(
    ("limit", "solver"), [(None, "cholesky"), (1e3, "cholesky"), (2.0, "nystrom")]
)
def test_a_factor_that_takes_too_long_for_the_limit_gives_way_to_landmarks(limit, solver, rng):
    X = rng.normal(size=(20_000, 8))
    model = KernelRidge(Gaussian(1.0), alpha=1e-9, time_limit=limit, memory="8GB")
    assert model.plan(X).solver == solver


@pytest.mark.parametrize(
    ("kernel", "tol", "solver"),
    [
        (Linear(), 1e-12, "primal"),
        (Linear(), 1e-3, "smo"),
        (Linear(), None, "smo"),
        (Gaussian(1.0), 1e-12, "smo"),
    ],
)
def test_few_rows_of_few_features_go_by_these_where_many_digits_are_asked_for(
    kernel, tol, solver, rng
):
    settings = {} if tol is None else {"tol": tol}
    assert KernelSVR(kernel, **settings).plan(rng.normal(size=(300, 4))).solver == solver


def test_what_takes_over_from_coordinates_is_counted_as_the_memory_has_room_for_it():
    shape, pull = (3000, 100), 1e4
    room = 32 * 100**2
    with_room, without = (coordinate_work(shape, 3e5, pull, limit) for limit in (room, room - 1))
    working_sets = hardened(working_set_work(3000, [3000], Work(column=100.0)), 1.0, pull)
    assert with_room.cost < working_sets.cost < without.cost
