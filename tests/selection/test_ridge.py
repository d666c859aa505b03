"""KernelRidgeCV: what it chooses, and that its held-out errors are those of repeated fits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

from mercer.data.categories import AsCategories
from mercer.estimators import KernelRidge
from mercer.kernels import (
    AdditiveChi2,
    Exponential,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Match,
    Matern32,
    Standardize,
)
from mercer.planning.held_out import entries_held_out
from mercer.selection import KernelRidgeCV
from mercer.selection.grid import SCALES_BY_FAMILY
from mercer.selection.splits import Splits
from mercer.tiles import rows as rows_module
from refits import refitted

N = 50
ALPHAS = [1e-3, 0.1, 5.0]
KERNELS = [Gaussian(0.7), Gaussian(2.0), Linear()]


SPLITTERS = {
    "5 folds": 5,
    "45 folds": 45,
    "shuffled": KFold(7, shuffle=True, random_state=0),
    "leave one out": LeaveOneOut(),
    "repeated": RepeatedKFold(n_splits=4, n_repeats=2, random_state=0),
    "random": ShuffleSplit(5, test_size=0.3, train_size=0.5, random_state=0),
    "in time": TimeSeriesSplit(4),
}


@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_scores_are_those_of_repeated_fits(X, y, weights, cv, fit_intercept):
    model = KernelRidgeCV(KERNELS, ALPHAS, cv=cv, fit_intercept=fit_intercept).fit(X, y, weights)
    splitter = KFold(cv) if isinstance(cv, int) else cv
    expected = refitted(model, X, y, weights, list(splitter.split(X)))
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)


def test_leave_one_out_scores_are_those_of_repeated_fits(X, y, weights):
    model = KernelRidgeCV(KERNELS, ALPHAS).fit(X, y, weights)
    expected = refitted(model, X, y, weights, list(LeaveOneOut().split(X)))
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)


@pytest.mark.parametrize("cv", ["loo", 4, "random"])
def test_a_kernel_valid_on_sums_of_zero_has_the_scores_of_repeated_fits(X, y, weights, cv):
    rows, kernels = np.abs(X), [AdditiveChi2(), AdditiveChi2() + 0.5 * Gaussian(0.7)]
    splitter = {"loo": LeaveOneOut(), 4: KFold(4), "random": SPLITTERS["random"]}[cv]
    model = KernelRidgeCV(kernels, ALPHAS, cv=splitter if cv == "random" else cv)
    model.fit(rows, y, weights)
    expected = refitted(model, rows, y, weights, list(splitter.split(rows)))
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)
    alone = KernelRidge(**model.best_params_).fit(rows, y, weights)
    assert_allclose(model.predict(rows), alone.predict(rows), rtol=1e-10)
    left_out = model.best_estimator_.leave_one_out_predictions_
    assert_allclose(left_out, alone.leave_one_out_predictions_, rtol=1e-10)


def test_default_ridges_go_with_the_size_of_a_kernel_valid_on_sums_of_zero(X, y):
    small, large = (KernelRidgeCV(c * AdditiveChi2()).fit(np.abs(X), y) for c in (1.0, 1e6))
    assert_allclose(large.alpha_, 1e6 * small.alpha_, rtol=1e-10)
    assert_allclose(large.predict(np.abs(X)), small.predict(np.abs(X)), rtol=1e-8)


def test_default_ridges_of_a_kernel_valid_on_sums_of_zero_take_weights_for_copies(X, y, rng):
    copies = rng.integers(1, 5, size=len(y))
    rows = np.abs(X)
    weighted = KernelRidgeCV(AdditiveChi2()).fit(rows, y, copies)
    repeated = KernelRidgeCV(AdditiveChi2()).fit(np.repeat(rows, copies, 0), np.repeat(y, copies))
    assert_allclose(
        weighted.cv_results_["param_alpha"].astype(float),
        repeated.cv_results_["param_alpha"].astype(float),
        rtol=1e-10,
    )


@pytest.mark.parametrize("cv", ["loo", 4])
def test_a_function_on_strings_has_the_scores_of_repeated_fits(rng, cv):
    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words = ["".join(rng.choice(list("abcdefgh"), size=5)) for _ in range(30)]
    y = np.array([word.count("a") + 0.1 * len(set(word)) for word in words])
    w = rng.uniform(0.5, 2.0, size=30)
    kernels = [FromFunction(shared), FromFunction(shared).normalized()]
    model = KernelRidgeCV(kernels, [0.01, 1.0], cv=cv).fit(words, y, w)
    splits = list((LeaveOneOut() if cv == "loo" else KFold(cv)).split(words))
    expected = refitted(model, words, y, w, splits)
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)
    assert model.predict(words[:3]).shape == (3,)


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("kernels", ["precomputed", ["precomputed", "2.0 * precomputed()"]])
def test_a_precomputed_matrix_has_the_scores_of_repeated_fits(X, y, weights, kernels, cv):
    K = Gaussian(1.0)(X)
    model = KernelRidgeCV(kernels, ALPHAS, cv=cv).fit(K, y, weights)
    splits = list((LeaveOneOut() if cv == "loo" else KFold(cv)).split(X))
    expected = refitted(model, K, y, weights, splits, pairwise=True)
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)
    assert_array_equal(K, Gaussian(1.0)(X))


def test_groups_are_held_out_together(X, y, weights):
    groups = np.arange(N) % 9
    for splitter in (LeaveOneGroupOut(), GroupKFold(4)):
        model = KernelRidgeCV(KERNELS, ALPHAS, cv=splitter).fit(X, y, weights, groups=groups)
        expected = refitted(model, X, y, weights, list(splitter.split(X, y, groups)))
        assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)


def test_few_folds_are_fitted_and_many_come_from_the_identity():
    splits = [
        Splits.of(cv, np.zeros(500), np.zeros(500), None, 500)
        for cv in (3, 100, TimeSeriesSplit(100))
    ]
    by_identity = [
        whole <= parts for whole, parts in (entries_held_out(500, s, 30) for s in splits)
    ]
    assert by_identity == [False, True, False]


def test_the_choice_has_the_best_score_and_is_fitted_to_all_rows(X, y, weights):
    model = KernelRidgeCV(KERNELS, ALPHAS).fit(X, y, weights)
    results = model.cv_results_
    best = int(np.argmax(results["mean_test_score"]))
    assert model.best_index_ == best
    assert model.best_score_ == results["mean_test_score"][best]
    assert results["rank_test_score"][best] == 1
    assert model.kernel_ == results["kernel"][best] == results["param_kernel"][best]
    assert model.alpha_ == results["alpha"][best] == results["param_alpha"][best]
    assert results["params"][best] == model.best_params_
    direct = KernelRidge(model.kernel_, model.alpha_).fit(X, y, weights)
    assert_array_equal(model.predict(X), direct.predict(X))
    assert_array_equal(model.dual_coef_, direct.dual_coef_)
    assert model.intercept_ == direct.intercept_
    assert model.certificate_.satisfied
    assert_allclose(model.score(X, y), direct.score(X, y))


def test_candidates_come_kernel_by_kernel(X, y):
    results = KernelRidgeCV(KERNELS, ALPHAS).fit(X, y).cv_results_
    assert results["kernel"].tolist() == [k for k in KERNELS for _ in ALPHAS]
    assert results["alpha"].tolist() == ALPHAS * 3
    assert sorted(results["rank_test_score"]) == list(range(1, 10))


def test_generalised_cross_validation_is_its_formula(X, y):
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv="gcv").fit(X, y)
    for alpha, score in zip(ALPHAS, model.cv_results_["mean_test_score"], strict=True):
        A = np.linalg.inv(Gaussian(1.0)(X) + alpha * np.eye(N))
        u = A.sum(axis=1)
        B = A - np.outer(u, u) / u.sum()
        assert_allclose(score, -N * ((B @ y) ** 2).sum() / np.trace(B) ** 2, rtol=1e-9)


@pytest.mark.parametrize("cv", ["loo", LeaveOneOut()], ids=str)
def test_a_scorer_sees_all_predictions_of_rows_left_out_one_by_one(X, y, weights, cv):
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv, scoring="r2").fit(X, y, weights)
    for alpha, score in zip(ALPHAS, model.cv_results_["mean_test_score"], strict=True):
        predicted = np.empty(N)
        for train, test in LeaveOneOut().split(X):
            fitted = KernelRidge(Gaussian(1.0), alpha).fit(X[train], y[train], weights[train])
            predicted[test] = fitted.predict(X[test])
        assert_allclose(score, r2_score(y, predicted, sample_weight=weights), rtol=1e-8)


def test_a_scorer_that_takes_no_weights_gets_none(X, y, weights):
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, scoring="neg_max_error").fit(X, y, weights)
    again = KernelRidgeCV(Gaussian(1.0), ALPHAS, scoring="neg_max_error")
    errors = [-s for s in again.fit(X, y, weights).cv_results_["mean_test_score"]]
    assert_allclose(model.best_score_, -min(errors))


def test_a_function_that_scores_sees_rows_and_targets(X, y):
    def score(estimator, rows, targets):
        assert_array_equal(rows, X)
        assert_array_equal(targets, y)
        return -np.abs(targets - estimator.predict(rows)).mean()

    by_function = KernelRidgeCV(KERNELS, ALPHAS, scoring=score).fit(X, y)
    by_name = KernelRidgeCV(KERNELS, ALPHAS, scoring="neg_mean_absolute_error").fit(X, y)
    assert_allclose(
        by_function.cv_results_["mean_test_score"], by_name.cv_results_["mean_test_score"]
    )


def test_rows_tested_several_times_count_several_times(X, y):
    # Folds of one size: scores of a function count by folds, errors by rows.
    cv = RepeatedKFold(n_splits=5, n_repeats=2, random_state=1)
    seen = []

    def score(estimator, rows, targets):
        seen.append(rows)
        return -((targets - estimator.predict(rows)) ** 2).mean()

    by_function = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv, scoring=score).fit(X, y)
    default = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv).fit(X, y)
    for rows, (_, test) in zip(seen[:: len(ALPHAS)], cv.split(X), strict=True):
        assert_array_equal(rows, X[test])
    assert_allclose(
        by_function.cv_results_["mean_test_score"], default.cv_results_["mean_test_score"]
    )


def test_several_targets_share_kernel_and_ridge(X, y):
    Y = np.column_stack([y, X[:, 0], X[:, 1] ** 2])
    model = KernelRidgeCV(KERNELS, ALPHAS).fit(X, Y)
    alone = [KernelRidgeCV(KERNELS, ALPHAS).fit(X, Y[:, j]) for j in range(3)]
    expected = np.mean([m.cv_results_["mean_test_score"] for m in alone], axis=0)
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-9)
    assert isinstance(model.alpha_, float)
    assert model.predict(X).shape == (N, 3)


@pytest.mark.parametrize("cv", ["loo", "gcv", 5])
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_every_target_may_have_a_ridge_of_its_own(X, y, cv, scoring):
    if cv == "gcv" and scoring is not None:
        pytest.skip("generalised cross-validation has no other score")
    Y = np.column_stack([y, np.random.default_rng(0).normal(size=N)])
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv, alpha_per_target=True, scoring=scoring)
    model.fit(X, Y)
    alone = [KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv).fit(X, Y[:, j]) for j in range(2)]
    assert_array_equal(model.alpha_, [m.alpha_ for m in alone])
    assert_allclose(model.best_score_, [m.best_score_ for m in alone], rtol=1e-9)
    assert_array_equal(model.best_index_, [m.best_index_ for m in alone])
    assert len(set(model.alpha_)) == 2
    for j, m in enumerate(alone):
        column = model.cv_results_[f"target{j}_test_score"]
        assert_allclose(column, m.cv_results_["mean_test_score"], rtol=1e-9)
        assert_allclose(model.predict(X)[:, j], m.predict(X), rtol=1e-9)


def test_a_ridge_per_target_of_a_vector_is_one_ridge(X, y):
    model = KernelRidgeCV(KERNELS, ALPHAS, alpha_per_target=True).fit(X, y)
    assert isinstance(model.alpha_, float)
    assert isinstance(model.best_score_, float)


def test_kernels_may_be_a_grid_of_parameters(X, y):
    scales = np.array([0.5, 1.0, 2.0])
    model = KernelRidgeCV({"length_scale": scales}, ALPHAS).fit(X, y)
    assert model.cv_results_["kernel"][::3].tolist() == [Gaussian(s) for s in scales]
    grid = {"kernel": [Matern32(), "exponential"], "length_scale": [1.0, 2.0]}
    kernels = KernelRidgeCV(grid, [1.0]).fit(X, y).cv_results_["kernel"].tolist()
    assert kernels == [Matern32(1.0), Matern32(2.0), Exponential(1.0), Exponential(2.0)]


def test_kernels_may_be_expressions_and_names(X, y):
    model = KernelRidgeCV(["gaussian", "linear() + 1.0", "gaussian(gamma=0.5)"], [1.0]).fit(X, y)
    median = Gaussian("median").resolved(X)
    assert model.cv_results_["kernel"].tolist() == [median, Linear() + 1.0, Gaussian(1.0)]
    assert KernelRidgeCV("linear", [1.0]).fit(X, y).kernel_ == Linear()


def test_by_default_four_families_around_the_median_and_thirty_ridges_are_tried(X, y):
    results = KernelRidgeCV().fit(X, y).cv_results_
    tried = list(results["kernel"][::30])
    for family in (Gaussian, Matern32, Exponential, Laplacian):
        median = family("median").resolved(X).length_scale
        scales = [k.length_scale / median for k in tried if isinstance(k, family)]
        assert_allclose(scales, SCALES_BY_FAMILY[family])
    assert_allclose(results["alpha"][:30], np.geomspace(1e-6, 1e2, 30))


def test_default_ridges_follow_the_size_of_the_kernel(X, y, weights):
    model = KernelRidgeCV(100.0 * Linear()).fit(X, y, weights)
    unit = np.average(100.0 * (X**2).sum(axis=1), weights=weights)
    assert_allclose(model.cv_results_["alpha"], unit * np.geomspace(1e-6, 1e2, 30))


def test_sparse_rows_give_the_same_choice(X, y):
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = (KernelRidgeCV().fit(rows, y) for rows in (X, sp.csr_array(X)))
    assert sparse.best_index_ == dense.best_index_
    assert_allclose(sparse.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"])


@pytest.mark.parametrize("cv", ["loo", "gcv", 5, LeaveOneGroupOut()], ids=str)
def test_rows_of_no_weight_are_dropped_rows(X, y, weights, cv):
    weights = weights * (np.arange(N) % 3 > 0)
    used, groups = weights > 0, np.arange(N) // 6
    if cv == 5:
        cv = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(9)]
        place = np.cumsum(used) - 1
        kept = [tuple(place[rows[used[rows]]] for rows in pair) for pair in cv]
    else:
        kept = cv
    model = KernelRidgeCV(KERNELS, ALPHAS, cv=cv).fit(X, y, weights, groups=groups)
    dropped = KernelRidgeCV(KERNELS, ALPHAS, cv=kept)
    dropped.fit(X[used], y[used], weights[used], groups=groups[used])
    scores = (m.cv_results_["mean_test_score"] for m in (model, dropped))
    assert_allclose(*scores, rtol=1e-9)
    assert_allclose(model.predict(X), dropped.predict(X), rtol=1e-9)


def test_rows_that_occur_twice_have_the_scores_of_repeated_fits(X, y):
    X, y = np.tile(X[:20], (2, 1)), np.tile(y[:20], 2)
    model = KernelRidgeCV(Gaussian(0.5), [1e-6, 1e-3]).fit(X, y)
    expected = refitted(model, X, y, np.ones(40), list(LeaveOneOut().split(X)))
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)


def test_constant_targets_are_predicted_exactly(X):
    model = KernelRidgeCV().fit(X, np.full(N, 3.5))
    assert_allclose(model.predict(X), 3.5)
    assert_allclose(model.cv_results_["mean_test_score"], 0.0, atol=1e-18)


def test_two_rows_are_enough():
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS).fit([[0.0], [1.0]], [1.0, 3.0])
    assert_allclose(model.cv_results_["mean_test_score"], -4.0)


def test_no_ridge_at_all_may_be_a_candidate(X, y):
    model = KernelRidgeCV(Exponential(1.0), [0.0, 1e-3]).fit(X, y)
    expected = refitted(model, X, y, np.ones(N), list(LeaveOneOut().split(X)))
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-7)


def test_little_memory_gives_the_same_scores(X, y):
    plenty, little = (KernelRidgeCV(memory=memory).fit(X, y) for memory in ("1GB", "45KB"))
    assert_allclose(
        little.cv_results_["mean_test_score"], plenty.cv_results_["mean_test_score"], rtol=1e-9
    )


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_changes_no_bit(monkeypatch, X, y, threads):
    expected = KernelRidgeCV().fit(X, y).cv_results_["mean_test_score"]
    monkeypatch.setenv("MERCER_THREADS", threads)
    assert_array_equal(KernelRidgeCV().fit(X, y).cv_results_["mean_test_score"], expected)


def test_what_was_done_is_said(X, y):
    said = KernelRidgeCV(KERNELS, ALPHAS).fit(X, y).search_
    assert said == "3 kernels and 9 candidates by leave-one-out on 50 rows"


@pytest.mark.parametrize("cv", ["loo", "gcv", 5])
@pytest.mark.parametrize("c", [1e-300, 1e-170, 1e160, 1e290])
def test_the_choice_does_not_depend_on_the_unit_of_the_targets(X, y, weights, cv, c):
    plain = KernelRidgeCV(KERNELS, ALPHAS, cv=cv).fit(X, y, weights)
    scaled = KernelRidgeCV(KERNELS, ALPHAS, cv=cv).fit(X, c * y, weights)
    assert (scaled.kernel_, scaled.alpha_) == (plain.kernel_, plain.alpha_)
    ranks = (model.cv_results_["rank_test_score"] for model in (plain, scaled))
    assert_array_equal(*ranks)


@pytest.mark.parametrize("cv", ["loo", 5])
def test_scores_of_targets_whose_squares_are_numbers_are_in_their_unit(X, y, cv):
    plain = KernelRidgeCV(KERNELS, ALPHAS, cv=cv).fit(X, y)
    scaled = KernelRidgeCV(KERNELS, ALPHAS, cv=cv).fit(X, 1e100 * y)
    assert_allclose(scaled.best_score_, 1e200 * plain.best_score_, rtol=1e-9)
    for name, column in plain.cv_results_.items():
        if name.endswith("_test_score") and not name.startswith("rank"):
            assert_allclose(scaled.cv_results_[name], 1e200 * column, rtol=1e-9, err_msg=name)


def test_every_target_has_a_unit_of_its_own_where_it_has_a_ridge_of_its_own(X, y):
    y = y.reshape(len(y), -1)[:, :1]
    small = np.hstack([y, 1e-200 * np.cos(X[:, :1])])
    choice = KernelRidgeCV(KERNELS[0], ALPHAS, alpha_per_target=True).fit(X, small)
    alone = [KernelRidgeCV(KERNELS[0], ALPHAS).fit(X, small[:, j]).alpha_ for j in range(2)]
    assert_array_equal(choice.alpha_, alone)


def test_a_scorer_judges_predictions_in_the_unit_of_the_targets(X, y):
    plain, scaled = (
        KernelRidgeCV(KERNELS, ALPHAS, scoring="neg_max_error", cv=4).fit(X, c * y)
        for c in (1.0, 1e100)
    )
    assert_allclose(scaled.best_score_, 1e100 * plain.best_score_, rtol=1e-9)


def test_every_column_of_a_table_is_read_once_in_a_choice(rng, monkeypatch):
    read = []
    numbers, codes = rows_module.as_floats, AsCategories.__call__
    monkeypatch.setattr(
        rows_module, "as_floats", lambda X, n: read.append(list(X)) or numbers(X, n)
    )
    monkeypatch.setattr(AsCategories, "__call__", lambda g, X: read.append(list(X)) or codes(g, X))
    table = pd.DataFrame({"a": rng.normal(size=30), "site": ["n", "s", "w"] * 10})
    kernel = Gaussian("median").after(Standardize()).on("a") + Match().on("site")
    KernelRidgeCV([kernel]).fit(table, table["a"])
    assert [columns for columns in read if isinstance(columns[0], str)] == [["a"], ["site"]]
