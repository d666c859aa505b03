"""Exact or by landmarks: what the plan counts, and what a fit then says."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import is_classifier

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    Linear,
    Sigmoid,
)
from mercer.errors import ApproximationWarning, MemoryLimitError
from mercer.gram import landmark_gram, unheld_gram_of
from mercer.planning import Settings, landmarks, ridge_part
from mercer.planning.costs import Costs, direct_work, landmark_work, sketched_work
from mercer.planning.landmarks import ByLandmarks, expected_residual
from mercer.planning.rates import RATES, Work
from mercer.solvers import NystromRidge

SECOND = Work(double=1e9 / 0.04)


@pytest.fixture(autouse=True)
def rates(monkeypatch):
    monkeypatch.setattr("mercer.planning.rates.rates", lambda: RATES["v4"])


@pytest.fixture
def by_landmarks():
    """A millisecond and a megabyte for every landmark."""
    return ByLandmarks(10_000, lambda m: (1e-3 * m) * SECOND, lambda m: m * 10**6)


@pytest.fixture
def many(rng):
    X = rng.normal(size=(2500, 3))
    return X, np.sin(X[:, 0])


@pytest.mark.parametrize(
    ("limit", "memory", "least", "most"),
    [
        (2.0, 10**12, 900, 1000),
        (2.0, 10**8, 90, 100),
        (1e9, 10**12, 10_000, 10_000),
        (1e-9, 9, 0, 0),
    ],
)
def test_landmarks_are_as_many_as_time_and_memory_allow(limit, memory, least, most, by_landmarks):
    assert least <= by_landmarks.most(Settings(time_limit=limit, memory=memory)) <= most


def test_what_is_free_does_not_change_how_many_landmarks_there_are(many, monkeypatch):
    found = set()
    for free in (10**10, 3 * 10**8):
        monkeypatch.setattr("mercer.data.limits.memory.available_bytes", lambda free=free: free)
        monkeypatch.setattr("mercer.planning.landmarks.ByLandmarks.exact_seconds", 1e-9)
        monkeypatch.setattr("mercer.planning.landmarks.ByLandmarks.approximate_seconds", 0.05)
        for model in (KernelRidge(), KernelSVR(), KernelPCA()):
            plan = model.plan(*many[: 1 + (not isinstance(model, KernelPCA))])
            assert plan.solver == "nystrom"
            found.add((type(model), plan.reason))
    assert len(found) == 3


def test_a_plan_says_that_the_memory_of_the_machine_limits_it(by_landmarks, many, monkeypatch):
    gram = unheld_gram_of(Gaussian(1.0), many[0])
    monkeypatch.setattr("mercer.planning.landmarks.steady_limit", lambda *_: 10**8)
    assert "half of the memory of the machine" in by_landmarks.plan(Settings(), gram).reason
    by_time = by_landmarks.plan(Settings(time_limit=0.15), gram)
    assert by_time.reason.endswith(
        "as many as half of the 0.15 s that time_limit leaves is counted to allow"
    )


def test_a_plan_says_what_limits_landmarks_that_it_has_chosen_itself(by_landmarks, many):
    gram, settings = unheld_gram_of(Gaussian(1.0), many[0]), Settings(time_limit=0.15)
    chosen = replace(settings, solver="nystrom", n_landmarks=by_landmarks.most(settings))
    assert "half of the 0.15 s that time_limit leaves" in by_landmarks.plan(chosen, gram).reason
    fewer = replace(chosen, n_landmarks=chosen.n_landmarks - 1)
    assert "time_limit" not in by_landmarks.plan(fewer, gram).reason


def test_a_plan_says_that_the_limit_of_memory_limits_it(by_landmarks, many):
    gram = unheld_gram_of(Gaussian(1.0), many[0])
    plan = by_landmarks.plan(Settings(memory="100MB"), gram)
    assert plan.reason.endswith("as many as fit into memory='100MB'")


@pytest.mark.parametrize(
    ("limit", "seconds", "solver"),
    [(None, 119.0, "auto"), (None, 121.0, "nystrom"), (5.0, 2.4, "auto"), (5.0, 2.6, "nystrom")],
)
def test_exact_is_left_where_it_takes_longer_than_allowed(limit, seconds, solver, by_landmarks):
    settings = Settings(time_limit=limit)
    found = by_landmarks.chosen(settings, Gaussian(1.0), seconds * SECOND)
    assert found.solver == solver


def test_landmarks_that_are_given_are_taken_however_quick_exact_is(by_landmarks):
    for given in (Settings(n_landmarks=7), Settings(landmarks=np.ones((3, 2)))):
        assert by_landmarks.chosen(given, Gaussian(1.0), Work()).solver == "nystrom"


def test_where_landmarks_are_too_few_to_help_the_fit_stays_exact(by_landmarks):
    slow = Settings(time_limit=0.08)
    assert by_landmarks.chosen(slow, Gaussian(1.0), SECOND) == slow


@pytest.mark.parametrize("settings", [Settings(repair="clip"), Settings(solver="auto")])
def test_a_repair_and_a_finished_matrix_stay_exact(settings, by_landmarks):
    kernel = Sigmoid() if settings.repair else Gaussian(1.0)
    taken = by_landmarks.chosen(settings, kernel, 1e6 * SECOND)
    assert (taken.solver == "auto") == (settings.repair is not None)


@pytest.mark.parametrize("m", [40, 400])
def test_the_residual_that_is_expected_is_about_the_one_that_is_found(m, rng):
    X, k = rng.normal(size=(5000, 4)), Gaussian(2.0)
    expected = expected_residual(unheld_gram_of(k, X), m)
    found = landmark_gram(k, X, m).trace_residual()
    assert found / 4.0 < expected < 4.0 * found


@pytest.fixture
def no_time(monkeypatch):
    """Hardly any fit is exact, and landmarks are few."""
    monkeypatch.setattr(landmarks.ByLandmarks, "exact_seconds", 1e-3)
    monkeypatch.setattr(landmarks.ByLandmarks, "approximate_seconds", 0.02)


@pytest.mark.parametrize(
    ("model", "exact"),
    [
        (KernelRidge(), "cg"),
        (KernelRidgeClassifier(), "cg"),
        (KernelLogisticRegression(C=100.0), "cg"),
        (KernelSVC(), "smo"),
        (KernelSVR(epsilon=0.2), "smo"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_fit_that_has_no_time_to_be_exact_is_by_landmarks_and_says_so(
    model, exact, many, no_time
):
    X, y = many
    y = (y > 0).astype(int) if is_classifier(model) else y
    plan = model.plan(X)
    assert plan.solver == "nystrom"
    assert 0.0 < plan.residual < 1.0
    says = rf"2500 rows.* longer than a minute.* trace of K.* use solver='{exact}' to be exact"
    with pytest.warns(ApproximationWarning, match=says) as seen:
        model.fit(X, y)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert 50 <= model.approximation_.n_landmarks < 2500
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize(
    "model",
    [KernelRidge(), KernelSVC(), KernelLogisticRegression()],
    ids=lambda m: type(m).__name__,
)
def test_landmarks_that_were_asked_for_are_no_surprise(model, many, no_time):
    X, y = many
    model.set_params(n_landmarks=50).fit(X, (y > 0).astype(int))
    assert model.approximation_.n_landmarks == 50


def test_the_same_call_takes_the_same_landmarks(many, no_time):
    X, y = many
    with pytest.warns(ApproximationWarning):
        one, two = (KernelRidge(Gaussian(1.0)).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_the_number_of_threads_changes_no_choice(rng, monkeypatch):
    X = rng.normal(size=(200_000, 8))
    reasons = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        reasons.append(KernelRidge(Gaussian(1.0), memory="4GB").plan(X).reason)
    assert reasons[0] == reasons[1]


def test_a_kernel_of_few_features_is_never_approximated(rng):
    X = rng.normal(size=(100_000, 3))
    for kind in (KernelRidge, KernelSVC):
        assert kind(Linear()).plan(X).solver == "primal"


def test_a_plan_shows_the_error_of_every_candidate(rng):
    plan = KernelRidge(Gaussian(1.0), memory="4GB").plan(rng.normal(size=(200_000, 8)))
    text = str(plan)
    assert plan.solver == "nystrom"
    assert f"error        leaves about {plan.residual:.1e} of the trace of K" in text
    assert "or           cg: " in text
    assert ", exact; products store nothing" in text


@pytest.mark.parametrize(
    "model", [KernelRidge, KernelSVC, KernelLogisticRegression], ids=lambda model: model.__name__
)
def test_a_solver_of_landmarks_without_their_number_takes_as_many_as_fit(model, rng):
    X = rng.normal(size=(3000, 2))
    few = model(solver="nystrom", memory="3MB").fit(X, X[:, 0] > 0.0)
    assert few.function_.rows.shape[0] < 500


def test_a_memory_for_nothing_is_refused_with_the_least_that_would_do(rng):
    with pytest.raises(MemoryLimitError, match=r"needs .* MB but the limit is 1\.00 KB"):
        KernelRidge(Gaussian(1.0), memory=1000).fit(rng.normal(size=(3000, 3)), np.ones(3000))


@pytest.mark.parametrize("does", ["plan", "fit"])
def test_the_least_that_would_do_is_that_of_the_fewest_landmarks(does, rng):
    X, y = rng.normal(size=(200_000, 3)), np.ones(200_000)
    with pytest.raises(MemoryLimitError, match=r"needs 0\.0512 GB .*, and 54 landm") as said:
        getattr(KernelRidge(Gaussian(1.0), memory="1MB"), does)(X, y)
    least = float(re.search(r"54 landmarks ([\d.]+) GB", str(said.value))[1])
    assert least < 0.02
    # With that limit the plan does take landmarks.
    plan = KernelRidge(Gaussian(1.0), memory=f"{least * 1.01} GB").plan(X, y)
    assert plan.solver == "nystrom"


def test_a_model_without_a_ridge_is_promised_no_landmarks(rng):
    X, y = rng.normal(size=(3000, 3)), np.ones(3000)
    with pytest.raises(MemoryLimitError) as said:
        KernelRidge(Gaussian(1.0), 0.0, memory=1000).plan(X, y)
    assert "landmarks" not in str(said.value)


@pytest.mark.parametrize("does", ["plan", "fit"])
def test_a_few_components_are_refused_where_their_vectors_do_not_fit(does, rng):
    X = rng.normal(size=(3000, 3))
    with pytest.raises(MemoryLimitError, match=r"0\.744 MB"):
        getattr(KernelPCA(Gaussian(1.0), 5, memory=700_000), does)(X)
    assert KernelPCA(Gaussian(1.0), 5, memory=760_000).plan(X).solver == "iterative"


@pytest.mark.parametrize("does", ["plan", "fit"])
@pytest.mark.parametrize("machine", [KernelRidgeCV, KernelLogisticRegressionCV])
def test_a_search_beyond_the_memory_is_refused_before_it_is_planned(does, machine, rng):
    X = rng.normal(size=(60_000, 3))
    y = (X[:, 0] > 0.0).astype(float)
    with pytest.raises(MemoryLimitError, match=r"choosing on 60000 rows .*, and 54 landmarks"):
        getattr(machine([Gaussian(1.0)], memory="2MB"), does)(X, y)


def test_working_sets_are_planned_with_the_memory_that_a_fit_to_the_rows_needs(rng):
    X, y = rng.normal(size=(3000, 3)), np.arange(3000) % 2
    for does in ("plan", "fit"):
        with pytest.raises(MemoryLimitError, match=r"smo.* needs 0\.576 MB"):
            getattr(KernelSVC(Gaussian(1.0), memory=500_000), does)(X, y)


def test_a_logistic_plan_has_no_preconditioner_beyond_the_memory(rng):
    X, y = rng.normal(size=(3000, 3)), np.arange(3000) % 2
    plan = KernelLogisticRegression(Gaussian(1.0), solver="cg", memory=800_000).plan(X, y)
    assert plan.memory <= 800_000


def test_a_search_by_landmarks_is_planned_in_the_time_of_their_fits(rng):
    X = rng.normal(size=(60_000, 3))
    y = (X[:, 0] > 0.0).astype(int)
    few, many = (
        KernelLogisticRegressionCV([Gaussian(1.0)], solver="nystrom", n_landmarks=m).plan(X, y)
        for m in (20, 400)
    )
    one = KernelLogisticRegression(Gaussian(1.0), solver="nystrom", n_landmarks=20).plan(X, y)
    assert one.seconds < few.seconds < many.seconds
    # A few folds of eight penalties, and nothing of the squared number of rows.
    assert few.seconds < 40 * one.seconds + 1.0


@pytest.mark.parametrize(
    ("n", "m", "is_sketched"), [(1000, 200, False), (20_000, 300, False), (400_000, 5000, True)]
)
def test_many_landmarks_on_many_rows_are_solved_by_steps(n, m, is_sketched):
    sizes = (n, m, Work(column=15.0, function=1.0))
    cheaper = sketched_work(*sizes) if is_sketched else direct_work(*sizes)
    assert landmark_work(*sizes) == cheaper
    assert direct_work(*sizes) != sketched_work(*sizes)


@pytest.mark.parametrize("work", [direct_work, sketched_work])
def test_every_target_is_multiplied_by_all_features_there_and_back(work):
    n, m, entry = 9000, 500, Work(column=15.0, function=1.0)
    one, two, many = (work(n, m, entry, targets).cost for targets in (1, 2, 301))
    assert one == work(n, m, entry).cost
    assert many - one == pytest.approx(300 * (two - one))
    # Two products at least for each of two measures.
    assert two - one > Work(double=4.0 * n * m).cost * 0.999


def test_many_classes_leave_time_for_fewer_rows(rng):
    X = rng.normal(size=(100, 4))
    few, many = (
        ridge_part(Gaussian(1.0), X, 10**5, c, "4GB", 5.0, lambda rows: 0).rows for c in (1, 300)
    )
    assert many < few / 2


def test_the_most_rows_are_found_though_the_bytes_of_fewer_are_more(rng):
    X, n = rng.normal(size=(100, 4)), 10**5

    def affordable(read):
        return ridge_part(Gaussian(1.0), X, n, 1, "4GB", 2.0, read).rows

    at_once = affordable(lambda rows: 0)
    assert at_once < n
    # Rows that would not fit if they were fewer.
    assert affordable(lambda rows: 0 if rows >= at_once else 10**10) == at_once
    assert affordable(lambda rows: 10**10 if rows >= at_once else 0) < at_once


def test_a_named_solver_gets_the_form_that_takes_less_and_an_object_keeps_its_own(monkeypatch, rng):
    X = rng.normal(size=(60, 3))
    model = KernelRidge(Gaussian(0.5), solver="nystrom", n_landmarks=20)
    assert not model.fit(X, X[:, 0]).solver_.is_sketched
    monkeypatch.setattr("mercer.planning.costs.COSTS", Costs(moment=-1e9))
    assert model.fit(X, X[:, 0]).solver_.is_sketched
    model.set_params(solver=NystromRidge())
    assert not model.fit(X, X[:, 0]).solver_.is_sketched


@pytest.mark.parametrize(("tol", "itemsize"), [(1e-3, 4), (1e-5, 8)])
def test_features_in_float64_are_counted_where_the_tolerance_asks_for_them(tol, itemsize, many):
    X, y = many
    plan, more = (
        KernelSVR(solver="nystrom", n_landmarks=m, tol=tol, memory="1GB").plan(X, y).memory
        for m in (200, 300)
    )
    squares = 8 * landmarks.SQUARES * (300**2 - 200**2)
    blocks = 8 * landmarks.BLOCKS * 100 * len(X)
    assert more - plan == itemsize * 100 * len(X) + squares + blocks
