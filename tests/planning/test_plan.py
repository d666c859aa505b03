"""The planner: what it takes for which kernel and memory, and what it says about it."""

import inspect
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import (
    Exponential,
    Gaussian,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    Laplacian,
    Linear,
    MercerMap,
    Polynomial,
    Sobolev,
)
from mercer.errors import MemoryLimitError
from mercer.planning import Settings, planned_logistic, planned_margin, planned_ridge
from mercer.planning.forecast import Forecast
from mercer.planning.held_out import share_of_search
from mercer.planning.rates import RATES, Work, machine_slowness
from mercer.solvers import (
    Banded,
    Cholesky,
    ConjugateGradient,
    LogisticProblem,
    Primal,
    RidgeProblem,
)


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


def test_a_plan_reads_as_text_with_memory_time_reason_and_alternatives(rng):
    plan = KernelRidge(Gaussian(1.0)).plan(rng.normal(size=(300, 3)))
    text = str(plan)
    assert plan.solver == "cholesky"
    assert plan.memory == 8 * 300**2
    assert plan.seconds > 0.0
    assert [other.solver for other in plan.alternatives] == ["eigen", "sgd", "cg"]
    for word in ("cholesky", "MB", "time", "because", plan.reason, "or           cg"):
        assert word in text


def test_a_plan_allocates_nothing_of_the_size_of_the_gram_matrix():
    X = np.zeros((400_000, 1)) + np.arange(400_000)[:, None]
    plan = KernelRidge(Gaussian(1.0), memory="1GB").plan(X)
    assert plan.solver == "nystrom"
    assert plan.memory <= 10**9
    assert [other.solver for other in plan.alternatives] == ["sgd", "cg"]
    assert all(other.memory <= 10**9 for other in plan.alternatives)


@pytest.mark.parametrize(
    ("settings", "solver"),
    [
        ({"solver": "cg"}, "cg"),
        ({"solver": Cholesky()}, "cholesky"),
        ({"repair": "clip"}, "cholesky"),
        ({"alpha": [1.0, 2.0]}, "primal"),
    ],
    ids=str,
)
def test_a_plan_keeps_to_the_settings_of_the_estimator(settings, solver, rng):
    assert KernelRidge(Linear(), **settings).plan(rng.normal(size=(50, 2))).solver == solver


def test_a_finished_matrix_beyond_the_limit_is_solved_by_products(rng):
    K = Gaussian(2.0)(rng.normal(size=(300, 2)))
    model = KernelRidge("precomputed", memory="500KB", random_state=0).fit(K, np.ones(300))
    assert isinstance(model.solver_, ConjugateGradient)
    assert model.certificate_.satisfied


def test_a_plan_does_not_fit_the_estimator(rng):
    model = KernelRidge(Gaussian("median"))
    model.plan(rng.normal(size=(30, 2)))
    assert not hasattr(model, "n_features_in_")


def test_no_route_within_the_memory_is_refused_with_the_least_that_is_needed(rng):
    with pytest.raises(MemoryLimitError, match=r"solver 'cg' needs .* but the limit is 1\.00 KB"):
        KernelRidge(Gaussian(1.0), memory=1000).plan(rng.normal(size=(300, 3)))


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


def test_a_plan_of_a_solver_that_cannot_serve_says_so(rng):
    with pytest.raises(ValueError, match="solver='banded' cannot take gaussian"):
        KernelRidge(Gaussian(1.0), solver="banded").plan(rng.normal(size=(20, 2)))


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


def test_a_plan_of_logistic_regression_beyond_the_memory_is_refused(rng):
    X = rng.normal(size=(900, 2))
    model = KernelLogisticRegression(Gaussian(1.0), solver="newton", memory="5MB")
    assert [o.solver for o in KernelLogisticRegression(Gaussian(1.0)).plan(X).alternatives] == [
        "newton",
        "sgd",
    ]
    with pytest.raises(
        MemoryLimitError, match=r"'newton' needs 6\.48 MB but the limit is 5\.00 MB"
    ):
        model.plan(X)


@pytest.mark.parametrize("kind", [KernelSVC, KernelSVR])
def test_a_support_vector_machine_plans_its_working_sets_or_batches(kind, rng):
    X = rng.normal(size=(400, 3))
    plan = kind(Gaussian(1.0)).plan(X)
    assert plan.solver == "smo"
    assert plan.memory == 8 * 400**2
    assert [other.solver for other in plan.alternatives] == ["sgd"]
    assert kind(Gaussian(1.0), memory="300KB").plan(X).memory <= 300_000
    assert kind(Gaussian(1.0), solver="sgd").plan(X).solver == "sgd"


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


@pytest.mark.parametrize(
    ("model", "instead"),
    [
        (KernelRidge(Gaussian(1.0), solver="cholesky"), ", or use solver='cg'"),
        (KernelRidge(Gaussian(1.0), solver="eigen"), ", or use solver='cg'"),
        (KernelRidge(Gaussian(1.0), repair="clip"), ""),
        (KernelLogisticRegression(Gaussian(1.0), solver="newton"), ", or use solver='cg'"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_before_an_entry_is_computed(model, instead, rng, monkeypatch):
    def refuse(*_):
        pytest.fail("entries were computed")

    X = rng.normal(size=(2000, 2))
    for routine in ("evaluate", "apply"):
        monkeypatch.setattr(f"mercer.gram.streamed.{routine}", refuse)
    with pytest.raises(MemoryLimitError, match=rf"GB but the limit is .* fewer rows{instead}$"):
        model.set_params(memory="15MB").fit(X, (X[:, 0] > 0.0).astype(int))


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


def test_no_file_in_the_home_of_the_user_is_read_or_written(tmp_path, rng, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    machine_slowness.cache_clear()
    X = rng.normal(size=(30, 3))
    assert KernelRidge().fit(X, X[:, 0]).plan(X).seconds > 0.0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [KernelRidge, KernelSVC, KernelLogisticRegression])
def test_a_plan_is_the_same_twice_in_a_row(kind, rng):
    X = rng.normal(size=(3000, 4))
    assert kind(Gaussian(1.0)).plan(X) == kind(Gaussian(1.0)).plan(X)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_more_classes_are_promised_more_time(multiclass, rng):
    X = rng.normal(size=(3000, 4))
    model = KernelSVC(Gaussian(1.0), multiclass=multiclass)
    if multiclass == "ovr":
        model.decision_function_shape = "ovr"
    seconds = [model.plan(X, np.arange(3000) % classes).seconds for classes in (2, 5, 20)]
    assert seconds == sorted(seconds)


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


@pytest.mark.parametrize(("fit", "share"), [(0.0, 0.5), (3.0, 0.4), (100.0, 0.2)])
def test_a_search_leaves_twice_the_time_of_a_fit(fit, share, monkeypatch):
    monkeypatch.setattr(Work, "expected", fit)
    assert share_of_search(Work(), 10.0) == pytest.approx(share)


ALL = [
    KernelLogisticRegression(),
    KernelLogisticRegressionCV(),
    KernelPCA(),
    KernelRidge(),
    KernelRidgeCV(),
    KernelRidgeClassifier(),
    KernelRidgeClassifierCV(),
    KernelSVC(),
    KernelSVR(),
    MercerMap(),
]


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_every_estimator_plans_for_rows_and_for_rows_with_targets(model, rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    alone, known = model.plan(X), model.plan(X, y)
    assert (alone.solver, alone.memory) == (known.solver, known.memory)
    assert list(inspect.signature(type(model).plan).parameters) == ["self", "X", "y"]
    # A plan is of the parameters, and leaves nothing behind.
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("model", [m for m in ALL if not isinstance(m, KernelPCA | MercerMap)])
def test_a_plan_refuses_targets_that_a_fit_refuses(model, rng):
    with pytest.raises(ValueError, match=r"30.*29|29.*30"):
        model.plan(rng.normal(size=(30, 2)), np.arange(29) % 2)


def test_as_many_targets_as_there_are_take_more_memory(rng):
    X, y = rng.uniform(size=(300, 1)), rng.normal(size=(300, 20))
    one, many = (KernelRidge(Exponential(0.5)).plan(X, given) for given in (y[:, 0], y))
    assert one.solver == many.solver == "banded"
    assert many.memory > 2 * one.memory


def test_a_machine_plans_for_the_classes_as_large_as_they_are(rng):
    X = rng.normal(size=(3000, 4))
    even, uneven = np.arange(3000) % 3, np.minimum(np.arange(3000) // 2900, 2)
    uneven[-1] = 2
    seconds = [KernelSVC(Gaussian(1.0)).plan(X, y).seconds for y in (even, uneven)]
    assert seconds[0] < seconds[1]


@pytest.mark.parametrize("kind", [KernelRidgeCV, KernelRidgeClassifierCV])
def test_the_plan_of_a_search_counts_its_candidates_and_their_rows(kind, rng):
    X = rng.normal(size=(300, 3))
    small = kind([Gaussian(1.0)], [1.0]).plan(X)
    large = kind([Gaussian(s) for s in (0.5, 1.0, 2.0)], [0.1, 1.0]).plan(X)
    assert small.reason.startswith("1 candidates are scored on 300 rows; then, ")
    assert large.reason.startswith("6 candidates are scored on 300 rows; then, ")
    assert large.seconds > small.seconds > KernelRidge(Gaussian(1.0)).plan(X).seconds
    assert small.memory == large.memory == 16 * 300**2
    assert not large.alternatives


def test_the_plan_of_a_search_on_many_rows_names_its_sample(rng):
    X = rng.normal(size=(5000, 3))
    model = KernelRidgeCV([Gaussian(1.0), Gaussian(2.0)], [1.0])
    said = "2 candidates are scored on 3000 rows, and those of the best kernel on all 5000; then, "
    assert model.plan(X).reason.startswith(said)


@pytest.mark.parametrize(
    ("rows", "classes", "said"),
    [
        (200, 2, "40 candidates are scored on 200 rows; then, "),
        (900, 2, "40 candidates are scored on 250 rows, the best of them on 900 rows; then, "),
        (900, 3, "40 candidates are scored on 200 rows, the best of them on 800 rows, "),
    ],
)
def test_the_plan_of_a_logistic_search_names_the_rows_of_its_rounds(rows, classes, said, rng):
    X, y = rng.normal(size=(rows, 3)), np.arange(rows) % classes
    kernels = [Gaussian(s) for s in (0.5, 1.0, 2.0, 4.0)]
    model = KernelLogisticRegressionCV(kernels, np.geomspace(0.1, 10.0, 10))
    plan = model.plan(X, y)
    assert plan.reason.startswith(said)
    assert plan.seconds > KernelLogisticRegression().plan(X, y).seconds


def test_few_candidates_are_planned_on_all_rows_and_folds_count(rng):
    X, y = rng.normal(size=(900, 3)), np.arange(900) % 2
    plans = [KernelLogisticRegressionCV(Gaussian(1.0), 1.0, cv=cv).plan(X, y) for cv in (2, 5)]
    assert all("1 candidates are scored on 900 rows; then, " in plan.reason for plan in plans)
    assert plans[0].seconds < plans[1].seconds


def test_a_search_that_does_not_fit_in_time_says_so(rng):
    plan = KernelRidgeCV(time_limit=1e-6).plan(rng.normal(size=(200, 2)))
    assert not plan.is_in_time


@pytest.mark.parametrize("kind", [KernelRidge, KernelSVC, KernelSVR, KernelLogisticRegression])
def test_a_plan_says_when_it_takes_longer_than_the_limit(kind, rng):
    X = rng.normal(size=(300, 4))
    short, long = (kind(Gaussian(1.0), time_limit=t).plan(X) for t in (1e-6, 1e3))
    assert not short.is_in_time
    assert "more than time_limit=1e-06: what there is by then is kept" in str(short)
    assert long.is_in_time
    assert "time_limit" not in str(long)
    with pytest.raises(ValueError, match="time_limit must be a positive number"):
        kind(Gaussian(1.0), time_limit=-1.0).plan(X)


@pytest.mark.parametrize("kind", [KernelRidge, KernelSVC, KernelSVR, KernelLogisticRegression])
@pytest.mark.parametrize("limit", [-1.0, 0, np.inf, True, "1"])
def test_a_plan_refuses_what_is_no_time(kind, limit, rng):
    X = rng.normal(size=(300, 4))
    for rows in (X, lambda: iter([X])):
        with pytest.raises(ValueError, match=f"time_limit must be a positive number.*{limit!r}"):
            kind(Gaussian(1.0), time_limit=limit).plan(rows)


def test_a_plan_of_a_machine_without_a_positive_C_is_refused(rng):
    with pytest.raises(ValueError, match="C must be a positive finite number, got -1"):
        KernelSVC(Gaussian(1.0), C=-1.0).plan(rng.normal(size=(30, 2)))


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
