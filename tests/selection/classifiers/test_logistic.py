"""KernelLogisticRegressionCV: what it chooses, and that it chooses as repeated fits would."""

import pickle
from functools import partial
from time import perf_counter, process_time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold
from sklearn.utils import get_tags

from contract import OF_THE_CLASS, checks
from mercer.errors import ConvergenceWarning, IndefiniteKernelError, MemoryLimitError
from mercer.estimators import KernelLogisticRegression
from mercer.kernels import Gaussian, Linear, Sigmoid
from mercer.selection import KernelLogisticRegressionCV
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.classifiers.schedule import Schedule
from refusals import refuses

N = 60
CS = [0.1, 1.0, 10.0]
KERNELS = [Gaussian(0.7), Gaussian(2.0), Linear()]


@checks(
    [
        KernelLogisticRegressionCV("gaussian", [0.1, 1.0], fit_intercept=False),
        KernelLogisticRegressionCV([Gaussian(2.0), Linear()], [1.0], cv=3, scoring="accuracy"),
    ],
    but=OF_THE_CLASS,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 2))


@pytest.fixture(params=[2, 3])
def y(request, X, rng):
    noisy = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=N)
    return np.digitize(noisy, np.quantile(noisy, np.arange(1, request.param) / request.param))


@pytest.fixture
def weights(rng):
    return rng.uniform(0.2, 2.0, size=N)


def test_left_out_log_losses_are_close_to_those_of_repeated_fits(X, y, weights):
    model = KernelLogisticRegressionCV(KERNELS[:2], CS, random_state=0).fit(X, y, weights)
    expected = []
    for params in model.cv_results_["params"]:
        chances = np.empty(N)
        for i in range(N):
            rest = np.arange(N) != i
            fitted = KernelLogisticRegression(**params).fit(X[rest], y[rest], weights[rest])
            chances[i] = fitted.predict_log_proba(X[i : i + 1])[0, y[i]]
        expected.append(np.average(chances, weights=weights))
    # One Newton step is optimistic where a row of 60 counts for much: a narrow kernel, a large C.
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=0.04)
    assert_allclose(np.array(model.cv_results_["mean_test_score"])[:2], expected[:2], rtol=0.005)
    assert expected[model.best_index_] >= 1.04 * max(expected)


def test_folds_have_the_scores_of_repeated_fits(X, y, weights):
    folds = StratifiedKFold(4)
    model = KernelLogisticRegressionCV(KERNELS, CS, cv=4, random_state=0).fit(X, y, weights)
    for params, score in zip(
        model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True
    ):
        chances = np.empty(N)
        for train, test in folds.split(X, y):
            fitted = KernelLogisticRegression(**params).fit(X[train], y[train], weights[train])
            chances[test] = fitted.predict_log_proba(X[test])[np.arange(len(test)), y[test]]
        assert_allclose(score, np.average(chances, weights=weights), rtol=1e-2)


def test_the_best_candidate_is_fitted_to_all_rows(X, y):
    model = KernelLogisticRegressionCV(KERNELS, CS, random_state=0).fit(X, y)
    direct = KernelLogisticRegression(**model.best_params_, random_state=0).fit(X, y)
    assert_array_equal(model.predict_proba(X), direct.predict_proba(X))
    assert_array_equal(model.predict(X), direct.predict(X))
    assert_array_equal(model.decision_function(X), direct.decision_function(X))
    assert model.best_score_ == model.cv_results_["mean_test_score"].max()
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1
    assert model.certificate_.satisfied
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_log_proba(X), model.predict_log_proba(X))


def test_a_scorer_of_scikit_learn_judges_the_left_out_predictions(X, y):
    losses = KernelLogisticRegressionCV(KERNELS, CS, scoring="neg_log_loss").fit(X, y)
    default = KernelLogisticRegressionCV(KERNELS, CS).fit(X, y)
    assert_allclose(
        losses.cv_results_["mean_test_score"], default.cv_results_["mean_test_score"], rtol=1e-4
    )
    accuracy = KernelLogisticRegressionCV(Gaussian(0.7), 1.0, scoring="accuracy").fit(X, y)
    left_out = accuracy.best_estimator_.leave_one_out_proba_.argmax(axis=1)
    assert accuracy.best_score_ == np.mean(left_out == y)


def test_a_scorer_has_the_weights_of_the_classes(X, y):
    factors = {0: 5.0, 1: 1.0, 2: 1.0}
    model = KernelLogisticRegressionCV(
        Gaussian(0.7), 1.0, scoring="accuracy", class_weight={c: factors[c] for c in np.unique(y)}
    ).fit(X, y)
    left_out = model.best_estimator_.leave_one_out_proba_.argmax(axis=1)
    assert_allclose(model.best_score_, np.average(left_out == y, weights=np.where(y == 0, 5.0, 1)))


def test_leave_one_out_of_scikit_learn_is_the_closed_form(X, y):
    ours = KernelLogisticRegressionCV(Gaussian(0.7), CS).fit(X, y)
    named = KernelLogisticRegressionCV(Gaussian(0.7), CS, cv=LeaveOneOut()).fit(X, y)
    assert_array_equal(named.cv_results_["mean_test_score"], ours.cv_results_["mean_test_score"])


def scheduled(monkeypatch, *settings, **more):
    """Let the searches of the estimator go by another schedule."""
    search = partial(LogisticSearch, schedule=Schedule(*settings, **more))
    monkeypatch.setattr("mercer.selection.classifiers.logistic.LogisticSearch", search)


def test_a_rare_class_is_in_every_fold_of_the_sample(rng, monkeypatch):
    scheduled(monkeypatch, (360, 10**6))
    X = rng.normal(size=(1000, 2))
    y = np.where(np.arange(1000) % 90 == 0, 2, X[:, 0] > 0.0)
    model = KernelLogisticRegressionCV([Gaussian(1.0), Linear()], CS, cv=4).fit(X, y)
    assert model.cv_results_["n_resources"][0] == 120
    assert np.isfinite(model.cv_results_["split3_test_score"]).all()
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_class_of_two_rows_is_trained_on_by_both_folds_of_a_sample(rng, monkeypatch):
    scheduled(monkeypatch, (180, 10**6))
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0.0).astype(int)
    y[[5, 250]] = 2
    for seed in range(3):
        settings = dict(cv=2, scoring="accuracy", random_state=seed)
        model = KernelLogisticRegressionCV(KERNELS[1:], CS, **settings).fit(X, y)
        assert model.cv_results_["n_resources"].min() == 60
        assert np.isfinite(model.cv_results_["split1_test_score"]).all()


def test_the_seed_decides_which_rows_are_drawn(X, y):
    def seed(random_state):
        model = KernelLogisticRegressionCV(KERNELS, CS, random_state=random_state)
        return model._search(KERNELS, X, y, None, None)[1].seed

    assert seed(0) == seed(0) == seed(None)
    assert len({seed(s) for s in range(5)}) == 5


def test_without_a_seed_many_rows_have_the_same_answer_twice(rng):
    X = rng.normal(size=(300, 2))
    y = X[:, 0] * X[:, 1] + rng.normal(size=300) > 0.0
    once, again = (KernelLogisticRegressionCV().fit(X, y) for _ in range(2))
    assert_array_equal(once.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])
    assert_array_equal(once.predict_proba(X), again.predict_proba(X))


def test_groups_are_held_out_together(X, y):
    groups = np.arange(N) % 6
    model = KernelLogisticRegressionCV("gaussian", CS, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert model.best_score_ < 0.0


def test_by_default_it_tries_length_scales_around_the_median(X):
    y = X[:, 0] > 0.0
    model = KernelLogisticRegressionCV(random_state=0).fit(X, y)
    assert len(model.cv_results_["C"]) == 80
    assert log_loss(y, model.predict_proba(X)) < 0.3


def test_many_rows_choose_the_kernel_on_a_sample_with_all_classes(rng, monkeypatch):
    scheduled(monkeypatch, (300, 450))
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0.0).astype(int)
    y[3] = 2
    model = KernelLogisticRegressionCV([Gaussian(1e-3), Linear()], CS, random_state=0).fit(X, y)
    assert model.kernel_ == Linear()
    assert set(model.cv_results_["n_resources"]) == {100, 150, 200}
    assert model.best_index_ in np.flatnonzero(model.cv_results_["n_resources"] == 200)


@pytest.mark.parametrize("classes", [2, 4])
def test_successive_halving_chooses_among_the_best_of_exact_leave_one_out(
    rng, monkeypatch, classes
):
    X = rng.normal(size=(300, 3))
    noisy = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300)
    y = np.digitize(noisy, np.quantile(noisy, np.arange(1, classes) / classes))
    scheduled(monkeypatch, (80 * classes, 160 * classes), (80, 160), left_out=200)
    halved = KernelLogisticRegressionCV(random_state=0).fit(X, y)
    scheduled(monkeypatch, (10**6, 10**6), (10**6, 10**6))
    exact = KernelLogisticRegressionCV(random_state=0).fit(X, y)
    assert len(halved.cv_results_["C"]) < len(exact.cv_results_["C"]) == 80
    position = exact.cv_results_["params"].index(halved.best_params_)
    # Log losses within 3 % are what another sample of 300 rows would change.
    assert exact.cv_results_["mean_test_score"][position] > 1.03 * exact.best_score_


def test_the_search_takes_no_more_than_twenty_fits(rng):
    X = rng.normal(size=(500, 8))
    y = np.argmax(X[:, :7] + 0.7 * rng.normal(size=(500, 7)), axis=1)
    model = KernelLogisticRegressionCV(random_state=0)
    began = process_time()
    model.fit(X, y)
    search = process_time() - began
    alone = []
    for _ in range(3):
        began = process_time()
        KernelLogisticRegression(**model.best_params_, random_state=0).fit(X, y)
        alone.append(process_time() - began)
    # Twice as many for what else runs on the machine.
    assert search < 40.0 * max(alone)


def test_a_time_limit_ends_the_search_with_the_best_so_far(rng):
    X = rng.normal(size=(1500, 5))
    y = np.argmax(X + rng.normal(size=(1500, 5)), axis=1)
    model = KernelLogisticRegressionCV(time_limit=0.5, random_state=0)
    began = perf_counter()
    # The fit to all rows may say so as well.
    with pytest.warns(ConvergenceWarning) as seen:
        model.fit(X, y)
    assert perf_counter() - began < 1.1 * 0.5 + 1.0
    assert any("time_limit=0.5 was up after" in str(warning.message) for warning in seen)
    assert model.score(X, y) > 0.3
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1


@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("lasts", [True, False])
def test_time_that_is_up_is_said_only_where_something_was_left_out(X, cv, lasts, monkeypatch):
    y, Cs = X[:, 0] > 0.0, CS if lasts else [*CS, 100.0]
    fits = 0
    fit = LogisticSearch._judged

    def judged(search, F, rows):
        nonlocal fits
        fits += 1
        return fit(search, F, rows)

    # The time is up with the last score of the first three Cs of the last fold.
    last = 3 if cv == "loo" else 2 * len(Cs) + 3
    over = property(lambda search: fits >= last)
    monkeypatch.setattr(LogisticSearch, "_judged", judged)
    monkeypatch.setattr(LogisticSearch, "is_over", over)
    model = KernelLogisticRegressionCV(Gaussian(0.7), Cs, cv=cv, time_limit=1000.0)
    if lasts:
        assert len(model.fit(X, y).cv_results_["C"]) == 3
    else:
        with pytest.warns(ConvergenceWarning, match="was up after 3 candidates"):
            model.fit(X, y)


def test_time_enough_changes_nothing(X, y):
    model = KernelLogisticRegressionCV(KERNELS, CS, time_limit=1000.0, random_state=0).fit(X, y)
    expected = KernelLogisticRegressionCV(KERNELS, CS, random_state=0).fit(X, y)
    assert_array_equal(
        model.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_bad_input_is_refused(X):
    y = X[:, 0] > 0.0
    refuses("Cs must be finite and positive, got 0", KernelLogisticRegressionCV(Cs=[0.0]).fit, X, y)
    for name in ("gcv", "once"):
        refuses("cv must be 'loo'", KernelLogisticRegressionCV(cv=name).fit, X, y)
    several = KernelLogisticRegressionCV(scoring=["accuracy", "neg_log_loss"])
    refuses("scoring must be one scorer, by its name or as a function", several.fit, X, y)
    refuses(
        "choosing on 60 rows needs",
        KernelLogisticRegressionCV(memory="50KB").fit,
        X,
        y,
        error=MemoryLimitError,
    )
    order = np.argsort(y)
    refuses(
        "fold whose training rows lack",
        KernelLogisticRegressionCV(cv=[(order[:20], order[20:])]).fit,
        X,
        y,
    )
    with pytest.raises(IndefiniteKernelError, match="sigmoid"):
        KernelLogisticRegressionCV(Sigmoid(1.0, -2.0), [1e3]).fit(X, y)


def test_it_is_pairwise_if_its_kernels_are_precomputed():
    assert get_tags(KernelLogisticRegressionCV("precomputed")).input_tags.pairwise
    assert not get_tags(KernelLogisticRegressionCV()).input_tags.pairwise
