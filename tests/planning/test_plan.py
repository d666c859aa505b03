"""What a plan says, and what it keeps to."""

import inspect

import numpy as np
import pytest

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
    Linear,
    MercerMap,
)
from mercer.errors import MemoryLimitError
from mercer.planning.rates import machine_slowness
from mercer.solvers import (
    Cholesky,
)


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


def test_a_plan_does_not_fit_the_estimator(rng):
    model = KernelRidge(Gaussian("median"))
    model.plan(rng.normal(size=(30, 2)))
    assert not hasattr(model, "n_features_in_")


def test_no_route_within_the_memory_is_refused_with_the_least_that_is_needed(rng):
    with pytest.raises(MemoryLimitError, match=r"solver 'cg' needs .* but the limit is 1\.00 KB"):
        KernelRidge(Gaussian(1.0), memory=1000).plan(rng.normal(size=(300, 3)))


def test_a_plan_of_a_solver_that_cannot_serve_says_so(rng):
    with pytest.raises(ValueError, match="solver='banded' cannot take gaussian"):
        KernelRidge(Gaussian(1.0), solver="banded").plan(rng.normal(size=(20, 2)))


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


@pytest.mark.parametrize("kind", [KernelRidge, KernelSVC, KernelSVR, KernelLogisticRegression])
def test_a_plan_says_when_it_takes_longer_than_the_limit(kind, rng):
    X = rng.normal(size=(300, 4))
    short, long = (kind(Gaussian(1.0), time_limit=t).plan(X) for t in (1e-6, 1e3))
    assert not short.is_in_time
    assert "more than time_limit=1e-06: what there is by then is kept" in str(short)
    assert long.is_in_time
    assert "time_limit" not in str(long)
    with pytest.raises(ValueError, match="time_limit must be a positive finite number"):
        kind(Gaussian(1.0), time_limit=-1.0).plan(X)


@pytest.mark.parametrize("kind", [KernelRidge, KernelSVC, KernelSVR, KernelLogisticRegression])
@pytest.mark.parametrize("limit", [-1.0, 0, np.inf, True, "1"])
def test_a_plan_refuses_what_is_no_time(kind, limit, rng):
    X = rng.normal(size=(300, 4))
    for rows in (X, lambda: iter([X])):
        with pytest.raises(
            ValueError, match=f"time_limit must be a positive finite number.*{limit!r}"
        ):
            kind(Gaussian(1.0), time_limit=limit).plan(rows)


def test_a_plan_of_a_machine_without_a_positive_C_is_refused(rng):
    with pytest.raises(
        ValueError, match="C must be a positive number, or inf to allow no loss, got -1"
    ):
        KernelSVC(Gaussian(1.0), C=-1.0).plan(rng.normal(size=(30, 2)))


@pytest.mark.parametrize("weight", [None, "balanced", {0: 1.0, 1: 1e-3}, {0: 1.0, 1: 1e3}])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3, np.inf])
def test_the_plan_of_a_classifier_is_what_its_fit_does(weight, C, rng):
    # A rare class, and rows that a hyperplane separates.
    X = rng.normal(size=(1500, 8))
    y = (X[:, 0] > 2.0).astype(int)
    X[:, 0] += y
    machine = KernelSVC("linear", C, class_weight=weight)
    assert machine.plan(X, y).solver == machine.fit(X, y).solver_.name


def test_the_choice_of_a_plan_depends_on_the_weights_of_classes(rng):
    X, y = rng.normal(size=(3000, 20)), np.arange(3000) % 100 == 0
    solvers = [KernelSVC("linear", class_weight=w).plan(X, y).solver for w in (None, "balanced")]
    assert solvers == ["smo", "primal"]


def test_a_plan_counts_no_class_without_weight(rng):
    X, y = rng.normal(size=(600, 3)), np.arange(600) % 3
    weighted = KernelSVC(Gaussian(1.0), class_weight={0: 1.0, 1: 1.0, 2: 0.0}).plan(X, y)
    assert weighted == KernelSVC(Gaussian(1.0)).plan(X[y < 2], y[y < 2])


@pytest.mark.parametrize("C", [1e-2, 1.0, np.inf])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_plan_of_a_tube_is_what_its_fit_does(C, unit, rng):
    X = rng.normal(size=(1500, 8))
    y = unit * (X.sum(axis=1) + 0.01 * rng.normal(size=1500))
    machine = KernelSVR("linear", C, epsilon=0.5 * unit)
    assert machine.plan(X, y).solver == machine.fit(X, y).solver_.name
