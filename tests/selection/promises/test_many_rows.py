"""Where there are many rows, the kernel is chosen on a sample and the ridge on all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import ConvergenceWarning
from mercer.kernels import Gaussian, Linear
from mercer.selection import KernelRidgeCV, ridge as room
from mercer.selection.search import Search

KERNELS = [Linear(), Gaussian(1.0), Gaussian(0.01)]
ALPHAS = [1e-2, 1.0, 100.0]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(room.KernelRidgeCV, "rows_for_kernels", 100)
    monkeypatch.setattr(room.KernelRidgeCV, "rows_of_sample", 60)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=120)


@pytest.mark.parametrize("cv", ["loo", "gcv", 4])
def test_the_ridge_is_chosen_on_all_rows(data, cv):
    model = KernelRidgeCV(KERNELS, ALPHAS, cv=cv, random_state=0).fit(*data)
    alone = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv).fit(*data)
    assert model.kernel_ == Gaussian(1.0)
    assert model.alpha_ == alone.alpha_
    assert model.best_score_ == alone.best_score_
    assert_array_equal(model.predict(data[0]), alone.predict(data[0]))


def test_the_sample_decides_where_time_ends_before_all_rows_are_scored(data, monkeypatch):
    full = KernelRidgeCV(KERNELS, ALPHAS, random_state=0).fit(*data)
    scored = Search.scored

    def timed(self, kernels, alphas):
        found = scored(self, kernels, alphas)
        return [np.full_like(s, np.nan) for s in found] if len(self) == 120 else found

    monkeypatch.setattr(Search, "scored", timed)
    model = KernelRidgeCV(KERNELS, ALPHAS, random_state=0).fit(*data)
    assert model.kernel_ == full.kernel_
    assert model.alpha_ == full.alpha_
    assert np.isfinite(model.best_score_)


def test_the_sample_keeps_the_ridge_per_row(data):
    X, y = data
    model = KernelRidgeCV(KERNELS, ALPHAS, random_state=0).fit(X, y)
    rows = np.sort(np.random.RandomState(0).choice(120, 60, replace=False))
    sample = KernelRidgeCV(KERNELS, 0.5 * np.array(ALPHAS)).fit(X[rows], y[rows])
    first = model.cv_results_["iter"] == 0
    assert_allclose(
        model.cv_results_["mean_test_score"][first], sample.cv_results_["mean_test_score"]
    )
    assert model.cv_results_["alpha"][first].tolist() == ALPHAS * 3


def test_both_rounds_are_in_the_results(data):
    results = KernelRidgeCV(KERNELS, ALPHAS, random_state=0).fit(*data).cv_results_
    assert results["n_resources"].tolist() == [60] * 9 + [120] * 3
    assert results["iter"].tolist() == [0] * 9 + [1] * 3
    assert sorted(results["rank_test_score"][-3:]) == [1, 2, 3]
    assert results["rank_test_score"][:9].min() == 4


def test_the_choice_is_among_the_candidates_of_the_last_round(data):
    model = KernelRidgeCV(KERNELS, ALPHAS, random_state=0).fit(*data)
    assert model.best_index_ >= 9
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1
    assert model.cv_results_["params"][model.best_index_] == model.best_params_


def test_the_seed_decides_the_sample(data):
    scores = [
        KernelRidgeCV(KERNELS, ALPHAS, random_state=seed).fit(*data).cv_results_["mean_test_score"]
        for seed in (0, 0, 1)
    ]
    assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()


def test_one_kernel_needs_no_sample(data):
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(*data)
    assert model.cv_results_["n_resources"].tolist() == [120] * 3


def test_groups_stay_together_in_the_sample(data):
    from sklearn.model_selection import LeaveOneGroupOut

    X, y = data
    groups = np.arange(120) // 12
    model = KernelRidgeCV(KERNELS, ALPHAS, cv=LeaveOneGroupOut(), random_state=0)
    rows = np.sort(np.random.RandomState(0).choice(120, 60, replace=False))
    sample = KernelRidgeCV(KERNELS, 0.5 * np.array(ALPHAS), cv=LeaveOneGroupOut())
    scores = model.fit(X, y, groups=groups).cv_results_["mean_test_score"][:9]
    sample.fit(X[rows], y[rows], groups=groups[rows])
    assert_allclose(scores, sample.cv_results_["mean_test_score"], rtol=1e-9)


def test_a_sample_of_a_precomputed_matrix_has_its_rows_and_columns(data):
    X, y = data
    K = Gaussian(1.0)(X)
    model = KernelRidgeCV(["precomputed", "precomputed() ** 2"], ALPHAS, random_state=0).fit(K, y)
    direct = KernelRidgeCV([Gaussian(1.0), Gaussian(1.0) ** 2], ALPHAS, random_state=0).fit(X, y)
    scores = (m.cv_results_["mean_test_score"] for m in (model, direct))
    assert_allclose(*scores, rtol=1e-8)


def test_what_was_done_is_said(data):
    model = KernelRidgeCV(KERNELS, ALPHAS, random_state=0).fit(*data)
    assert model.search_ == (
        "3 kernels and 9 candidates by leave-one-out on 60 rows out of 120, with alpha over the "
        "sum of the weights kept; then 3 alphas of the best kernel on all rows"
    )


def test_without_a_seed_the_same_rows_have_the_same_answer_twice(data):
    first, second = (KernelRidgeCV(KERNELS, ALPHAS).fit(*data).cv_results_ for _ in range(2))
    assert_array_equal(first["mean_test_score"], second["mean_test_score"])


def test_where_time_is_short_candidates_are_scored_on_fewer_rows(data, monkeypatch):
    monkeypatch.setattr(room.KernelRidgeCV, "least_rows", 30)
    monkeypatch.setattr(Search, "expected", lambda self, kernels, alphas: 1e3 * len(self))
    model = KernelRidgeCV(KERNELS, ALPHAS, time_limit=60.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit=60 .* on more than 30 rows"):
        model.fit(*data)
    assert set(model.cv_results_["n_resources"]) == {30}
    assert model.kernel_ == Gaussian(1.0)
    assert model.best_estimator_.function_.dual.rows.shape == (120, 2)


@pytest.mark.parametrize(("share", "rounds"), [(0.4, {30, 120}), (0.6, {30})])
def test_a_kernel_is_tried_on_all_rows_where_half_of_the_time_does(
    data, monkeypatch, share, rounds
):
    def expected(search, kernels, alphas):
        return share * len(kernels) * search.seconds

    monkeypatch.setattr(room.KernelRidgeCV, "least_rows", 30)
    monkeypatch.setattr(Search, "expected", expected)
    model = KernelRidgeCV(KERNELS, ALPHAS, time_limit=60.0, random_state=0)
    if 120 in rounds:
        model.fit(*data)
    else:
        with pytest.warns(ConvergenceWarning, match="on more than 30 rows"):
            model.fit(*data)
    assert set(model.cv_results_["n_resources"]) == rounds


def test_where_there_is_time_few_rows_are_tried_at_once(data):
    X, y = (part[:90] for part in data)
    model = KernelRidgeCV(KERNELS, ALPHAS, time_limit=1e6, random_state=0).fit(X, y)
    assert set(model.cv_results_["n_resources"]) == {90}


@pytest.mark.parametrize(("enough", "rows"), [(40, 40), (30, 26), (5, 10)])
def test_a_sample_has_a_third_of_its_rows_less_until_there_is_time_for_it(
    data, monkeypatch, enough, rows
):
    monkeypatch.setattr(room.KernelRidgeCV, "least_rows", 10)
    monkeypatch.setattr(Search, "expected", lambda s, *_: s.seconds * (len(s) / enough))
    model = KernelRidgeCV(KERNELS, ALPHAS, time_limit=60.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match=f"on more than {rows} rows"):
        model.fit(*data)
    assert set(model.cv_results_["n_resources"]) == {rows}


def test_a_sample_of_fewer_rows_than_the_least_is_taken_as_it_is(data, monkeypatch):
    monkeypatch.setattr(room.KernelRidgeCV, "least_rows", 500)
    monkeypatch.setattr(Search, "expected", lambda s, *_: 1e3 * len(s))
    model = KernelRidgeCV(KERNELS, ALPHAS, time_limit=60.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="on more than 60 rows"):
        model.fit(*data)
    assert set(model.cv_results_["n_resources"]) == {60}


def test_without_time_for_any_score_the_choice_is_the_one_in_the_middle(data, monkeypatch):
    def scored(search, kernels, alphas):
        search.run.ended_by = "time"
        return [search._unscored(a) for a in alphas]

    monkeypatch.setattr(Search, "scored", scored)
    model = KernelRidgeCV(KERNELS, ALPHAS, random_state=0, time_limit=60.0)
    with pytest.warns(ConvergenceWarning, match="time_limit=60 is too short"):
        model.fit(*data)
    assert model.best_params_ == {"kernel": Gaussian(1.0), "alpha": 1.0}
