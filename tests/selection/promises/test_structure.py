"""Kernels whose structure spares the n x n matrix: features that are few, points on a line."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit

from mercer.errors import MemoryLimitError
from mercer.estimators import KernelRidge
from mercer.kernels import Exponential, Gaussian, Laplacian, Linear, Polynomial, Sobolev
from mercer.selection import KernelRidgeCV, ridge as room
from refits import refitted

N = 50
ALPHAS = [1e-3, 0.1, 5.0]
# Less than the 40 KB that a reduction of 50 x 50 entries takes.
LITTLE = "35KB"

KINDS = {
    "features": [Linear(), Polynomial(2), 2.0 * Linear() + 1.0],
    "line": [Exponential(0.5), Laplacian(2.0), Exponential(1.0).on(0), Sobolev() + 1.0],
}
SPLITTERS = {
    "rows": "loo",
    "listed rows": LeaveOneOut(),
    "5 folds": KFold(5, shuffle=True, random_state=0),
    "25 folds": KFold(25),
    "random": ShuffleSplit(4, test_size=0.3, train_size=0.5, random_state=0),
}


def rows_for(kind, rng):
    return rng.normal(size=(N, 2)) if kind == "features" else rng.uniform(0.0, 3.0, size=(N, 1))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_repeated_fits(rng, kind, cv, fit_intercept):
    X, w = rows_for(kind, rng), rng.uniform(0.2, 2.0, size=N)
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=N) + 3.0
    kernels = KINDS[kind][-2:]
    model = KernelRidgeCV(
        kernels, [1e-3, 0.1], cv=cv, fit_intercept=fit_intercept, memory=LITTLE
    ).fit(X, y, w)
    splitter = LeaveOneOut() if cv == "loo" else cv
    expected = refitted(model, X, y, w, list(splitter.split(X)))
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)


@pytest.mark.parametrize("cv", ["loo", "gcv", 4])
@pytest.mark.parametrize("kind", KINDS)
def test_several_targets_have_the_scores_of_a_finished_matrix(rng, kind, cv):
    X, w = rows_for(kind, rng), rng.uniform(0.2, 2.0, size=N)
    Y = np.column_stack([np.sin(X[:, 0]), rng.normal(size=N)])
    for kernel in KINDS[kind]:
        settings = dict(alphas=ALPHAS, cv=cv, alpha_per_target=True)
        model = KernelRidgeCV(kernel, memory=LITTLE, **settings).fit(X, Y, w)
        other = KernelRidgeCV("precomputed", **settings).fit(kernel(X), Y, w)
        assert_array_equal(model.alpha_, other.alpha_)
        for name in ("target0_test_score", "target1_test_score"):
            assert_allclose(model.cv_results_[name], other.cv_results_[name], rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scorer_sees_the_held_out_predictions(rng, kind):
    X, groups = rows_for(kind, rng), np.arange(N) // 5
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=N)
    for cv in ("loo", GroupKFold(4)):
        settings = dict(alphas=ALPHAS, cv=cv, scoring="neg_median_absolute_error")
        model = KernelRidgeCV(KINDS[kind][0], memory=LITTLE, **settings)
        other = KernelRidgeCV("precomputed", **settings)
        scores = [
            m.fit(rows, y, groups=groups).cv_results_["mean_test_score"]
            for m, rows in ((model, X), (other, KINDS[kind][0](X)))
        ]
        assert_allclose(*scores, rtol=1e-8)


def test_a_linear_kernel_chooses_as_the_ridge_of_scikit_learn(rng):
    X = rng.normal(size=(200, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=200) + 7.0
    alphas = np.geomspace(1e-3, 1e3, 13)
    other = RidgeCV(alphas).fit(X, y)
    model = KernelRidgeCV(Linear(), alphas).fit(X, y)
    assert model.alpha_ == other.alpha_
    assert_allclose(model.best_score_, other.best_score_, rtol=1e-9)
    assert_allclose(model.coef_, other.coef_, rtol=1e-8)


def test_least_squares_may_be_a_candidate(rng):
    X = rng.normal(size=(N, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=N)
    model = KernelRidgeCV(Linear(), [0.0, 100.0]).fit(X, y)
    expected = refitted(model, X, y, np.ones(N), list(LeaveOneOut().split(X)))
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-8)
    assert model.alpha_ == 0.0


def test_many_rows_on_a_line_are_all_searched(rng):
    x = rng.uniform(0.0, 10.0, size=(20_000, 1))
    y = np.sin(3.0 * x[:, 0]) + 0.1 * rng.normal(size=len(x))
    model = KernelRidgeCV([Exponential(1.0), Exponential(3.0)], memory="40MB").fit(x, y)
    assert model.search_ == "2 kernels and 60 candidates by leave-one-out on 20000 rows"
    direct = KernelRidge(model.kernel_, model.alpha_).fit(x, y)
    error = y - direct.leave_one_out_predictions_
    assert_allclose(model.best_score_, -(error**2).mean(), rtol=1e-9)


@pytest.mark.parametrize("cv", ["loo", "gcv", 3])
def test_many_rows_of_few_features_are_all_searched(rng, cv):
    X = rng.normal(size=(20_000, 4))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=len(X))
    model = KernelRidgeCV(["linear", "polynomial"], memory="40MB", cv=cv).fit(X, y)
    assert model.cv_results_["n_resources"].tolist() == [20_000] * 60
    assert model.kernel_ == Polynomial(2)


def test_kernels_without_structure_beside_them_are_chosen_on_a_sample(rng, monkeypatch):
    monkeypatch.setattr(room.KernelRidgeCV, "rows_for_kernels", 40)
    monkeypatch.setattr(room.KernelRidgeCV, "rows_of_sample", 30)
    x = rng.uniform(size=(N, 1))
    y = np.sin(3.0 * x[:, 0])
    model = KernelRidgeCV([Exponential(1.0), Gaussian(1.0)], ALPHAS, random_state=0).fit(x, y)
    assert model.cv_results_["n_resources"].tolist() == [30] * 6 + [N] * 3


def test_what_does_not_fit_even_so_is_refused(rng):
    X = rng.normal(size=(400, 150))
    with pytest.raises(MemoryLimitError, match="choosing on 400 rows needs"):
        KernelRidgeCV("linear", memory="100KB").fit(X, X[:, 0])
