"""Targets whose squares are no numbers: everything that follows from them is in their units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import (
    KernelRegressor,
    KernelRidge,
    KernelRidgeCV,
    KernelRidgeMean,
    KernelSVR,
)
from mercer.reports.held_out import regression_scores

# Powers of two, which change no digit.
SIZES = [2.0**665, 2.0**-665]
KERNEL = "gaussian(1.0)"
MODELS = {
    "cholesky": KernelRidge(KERNEL, 0.1),
    "cg": KernelRidge(KERNEL, 0.1, solver="cg"),
    "eigen": KernelRidge(KERNEL, 0.1, solver="eigen"),
    "nystrom": KernelRidge(KERNEL, 0.1, solver="nystrom", n_landmarks=40),
    "sgd": KernelRidge(KERNEL, 0.1, solver="sgd", tol=1e-3),
    "primal": KernelRidge("linear", 0.1, solver="primal"),
    "search": KernelRidgeCV(["gaussian", "linear"], [0.01, 1.0]),
    "folds": KernelRidgeCV(["gaussian", "linear"], [0.01, 1.0], cv=3),
    "mean": KernelRidgeMean(["gaussian", "linear"], [0.1, 0.1]),
    "automatic": KernelRegressor(),
}


def rows(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    noise = 0.1 * np.random.default_rng(seed + 1).normal(size=n)
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + noise


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_predictions_intervals_and_scores_are_in_the_units_of_the_targets(model, size):
    X, y = rows(90, 0)
    new, truth = rows(40, 7)
    expected = model.fit(X, y)
    predicted, ends = expected.predict(new), expected.predict_interval(new)
    score, bound = expected.score(new, truth), expected.certificate_.bound(new)
    board = [c.score for c in getattr(expected, "candidates_", ())]
    found = model.fit(X, size * y)
    assert_allclose(found.predict(new) / size, predicted, rtol=1e-9)
    assert_allclose(np.array(found.predict_interval(new)) / size, ends, rtol=1e-6)
    assert_allclose(found.score(new, size * truth), score, rtol=1e-9)
    assert np.isfinite(found.certificate_.bound(new)).all()
    assert_allclose(found.certificate_.bound(new) / size, bound, rtol=1e-3, atol=1e-9)
    if isinstance(model, KernelRegressor):
        assert_allclose(found.candidates_[0].score / size, board[0], rtol=1e-6)
        assert all(c.score < 2.0 * size * max(board) for c in found.candidates_)


@pytest.mark.parametrize("size", SIZES)
def test_a_tube_in_the_units_of_the_targets_is_the_same(size):
    X, y = rows(60, 0)
    tube = KernelSVR(KERNEL, 1.0, 0.1).fit(X, y)
    if size < 1.0:
        scaled = KernelSVR(KERNEL, size, 0.1 * size).fit(X, size * y)
        assert_allclose(scaled.predict(X) / size, tube.predict(X), rtol=1e-6)
    else:
        with pytest.raises(ValueError, match=r"^C times the largest weight is .*; use at most"):
            KernelSVR(KERNEL, size, 0.1 * size).fit(X, size * y)
    # Coefficients of at most C cannot reach targets of 1e200, nor leave a tube of 0.1 for 1e-200.
    wide = KernelSVR(KERNEL, 1.0, 0.1).fit(X, size * y)
    assert np.isfinite(wide.predict(X)).all()
    assert np.isfinite(wide.score(X, size * y))
    assert (np.abs(wide.predict(X)) <= max(size * np.abs(y).max(), 0.1)).all()


@pytest.mark.parametrize("size", SIZES)
def test_scales_are_learned_from_targets_of_any_size(size):
    X, y = rows(60, 0)
    learned = mercer.learn("gaussian", X, size * y)
    plain = mercer.learn("gaussian", X, y)
    assert learned.ended_by == plain.ended_by
    assert_allclose(np.argsort(learned.kernel.length_scale), np.argsort(plain.kernel.length_scale))
    model = KernelRidge(learned.kernel, learned.alpha).fit(X, size * y)
    assert model.score(X, size * y) > 0.98


@pytest.mark.parametrize("size", SIZES)
def test_several_targets_are_each_in_their_units(size):
    X, y = rows(60, 0)
    Y = np.column_stack([y, size * X[:, 0]])
    model = KernelRidge(KERNEL, 0.1).fit(X, Y)
    lower, upper = model.predict_interval(X)
    alone = [KernelRidge(KERNEL, 0.1).fit(X, column) for column in Y.T]
    for j, one in enumerate(alone):
        for ends, own in zip((lower, upper), one.predict_interval(X), strict=True):
            assert_allclose(ends[:, j], own, rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1.0, 60)], ids=["alike", "weighted"])
def test_the_score_of_several_targets_is_the_mean_of_their_own(size, weights):
    X, y = rows(60, 0)
    Y = np.column_stack([size * y, np.random.default_rng(1).normal(size=60)])
    together = KernelRidge(KERNEL, 10.0).fit(X, Y).score(X, Y, weights)
    alone = [KernelRidge(KERNEL, 10.0).fit(X, v).score(X, v, weights) for v in Y.T]
    assert alone[1] < alone[0] - 0.2
    assert_allclose(together, np.mean(alone), rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_a_likelihood_of_several_targets_counts_each_in_its_units(size):
    X = np.random.default_rng(0).normal(size=(60, 3))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]), np.cos(X[:, 1])])
    plain = mercer.learn("gaussian", X, Y)
    learned = mercer.learn("gaussian", X, Y * (1.0, size))
    assert_allclose(learned.kernel.length_scale, plain.kernel.length_scale, rtol=0.05)


@pytest.mark.parametrize("size", SIZES)
def test_squared_errors_of_several_targets_are_those_of_the_largest_where_it_is_all(size):
    X = np.random.default_rng(0).normal(size=(60, 3))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]), np.cos(X[:, 1])]) * (1.0, size)
    largest = Y[:, [int(size > 1.0)]]
    learned = mercer.learn("gaussian", X, Y, criterion="loo")
    alone = mercer.learn("gaussian", X, largest, criterion="loo")
    assert_allclose(learned.kernel.length_scale, alone.kernel.length_scale, rtol=0.05)


def test_a_scorer_that_may_square_such_errors_is_refused_in_a_line():
    X, y = rows(40, 0)
    model = KernelRidgeCV("gaussian", [0.1, 1.0], cv=3, scoring="r2")
    with pytest.raises(
        ValueError, match=r"^scoring='r2' may square errors, got y of up to .*e\+200"
    ):
        model.fit(X, 1e200 * y)
    assert model.fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("size", SIZES)
def test_scores_of_a_report_are_in_the_units_of_the_targets(size):
    _, y = rows(40, 0)
    predicted, w = y + 0.1 * np.cos(np.arange(40)), np.ones(40)
    expected = regression_scores(y, predicted, 0.0, w)
    found = regression_scores(size * y, size * predicted, 0.0, w)
    for one, other, unit in zip(expected, found, (1.0, size, size), strict=True):
        told = [other.value, other.low, other.high, other.baseline]
        assert_allclose(np.array(told) / unit, [one.value, one.low, one.high, one.baseline])
