"""Held-out predictions, intervals and deviations in closed form, against the slow obvious way."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from mercer import FromFunction, Gaussian, KernelRidge, Linear, Polynomial
from refits import growth_of, jackknife_plus

KERNELS = [Gaussian(1.5), Polynomial(2), Gaussian("median") + Linear()]


def wave(rng, n=30, targets=None):
    X = rng.normal(size=(n, 2))
    noise = rng.normal(size=(n,) if targets is None else (n, targets))
    return X, np.sin(X[:, 0] if targets is None else X[:, :1]) + 0.3 * noise + 2.0


def refitted(model, X, y, weights, i):
    rest = np.arange(len(X)) != i
    w = None if weights is None else weights[rest]
    return model.fit(X[rest], y[rest], w).predict(X[i : i + 1])[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2)], ids=str)
def test_leave_one_out_predictions_equal_refits(kernel, fit_intercept, weighted, rng):
    X, y = wave(rng)
    weights = rng.uniform(0.2, 3.0, len(X)) if weighted else None
    model = KernelRidge(kernel, alpha=0.3, fit_intercept=fit_intercept).fit(X, y, weights)
    other = KernelRidge(kernel, alpha=0.3, fit_intercept=fit_intercept)
    slow = [refitted(other, X, y, weights, i) for i in range(len(X))]
    assert_allclose(model.leave_one_out_predictions_, slow, rtol=1e-8)


def test_leave_one_out_predictions_of_several_targets_with_their_own_alpha(rng):
    X, y = wave(rng, targets=3)
    model = KernelRidge(Gaussian(1.0), alpha=[0.1, 1.0, 0.1]).fit(X, y)
    for t, alpha in enumerate([0.1, 1.0, 0.1]):
        alone = KernelRidge(Gaussian(1.0), alpha=alpha).fit(X, y[:, t])
        expected = alone.leave_one_out_predictions_
        assert_allclose(model.leave_one_out_predictions_[:, t], expected, rtol=1e-9)


def test_a_row_of_zero_weight_is_predicted_by_the_fit_that_never_saw_it(rng):
    X, y = wave(rng)
    weights = np.ones(len(X))
    weights[4] = 0.0
    model = KernelRidge(Gaussian(1.0)).fit(X, y, weights)
    assert_allclose(model.leave_one_out_predictions_[4], model.predict(X[4:5])[0])


def test_leave_one_out_predictions_on_strings(rng):
    words = ["kernel", "ridge", "kernels", "bridge", "ridges", "colonel", "fridge", "kern"]
    y = rng.normal(size=len(words))

    def shared(a, b):
        return np.array([[len(set(s) & set(t)) for t in b] for s in a], float)

    rows = np.array(words, dtype=object)
    model = KernelRidge(FromFunction(shared), alpha=0.5).fit(rows, y)
    other = KernelRidge(FromFunction(shared), alpha=0.5)
    slow = [refitted(other, rows, y, None, i) for i in range(len(rows))]
    assert_allclose(model.leave_one_out_predictions_, slow, rtol=1e-8)


def test_leave_one_out_predictions_of_a_precomputed_matrix(rng):
    X, y = wave(rng)
    K = Gaussian(1.5)(X)
    model = KernelRidge("precomputed", alpha=0.3).fit(K, y)
    expected = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X, y).leave_one_out_predictions_
    assert_allclose(model.leave_one_out_predictions_, expected, rtol=1e-9)


def test_deviation_is_that_of_the_gaussian_process(rng):
    X, y = wave(rng)
    new = rng.normal(size=(40, 2))
    model = KernelRidge(Gaussian(1.5), alpha=0.3, fit_intercept=False).fit(X, y)
    process = GaussianProcessRegressor(RBF(1.5), alpha=0.3, optimizer=None).fit(X, y)
    mean, deviation = model.predict(new, return_std=True)
    expected_mean, expected = process.predict(new, return_std=True)
    assert_allclose(mean, expected_mean, rtol=1e-9)
    assert_allclose(deviation, expected, rtol=1e-8)


def test_deviation_with_offset_is_the_limit_of_a_wide_constant(rng):
    X, y = wave(rng)
    new = rng.normal(size=(20, 2))
    free = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X, y).predict(new, return_std=True)[1]
    wide = KernelRidge(Gaussian(1.5) + 1e6, alpha=0.3, fit_intercept=False).fit(X, y)
    assert_allclose(free, wide.predict(new, return_std=True)[1], rtol=1e-4)


def test_weights_divide_the_noise(rng):
    X, y = wave(rng)
    weights = rng.uniform(0.2, 3.0, len(X))
    model = KernelRidge(Gaussian(1.5), alpha=0.3, fit_intercept=False).fit(X, y, weights)
    process = GaussianProcessRegressor(RBF(1.5), alpha=0.3 / weights, optimizer=None).fit(X, y)
    new = rng.normal(size=(20, 2))
    deviation = model.predict(new, return_std=True)[1]
    assert_allclose(deviation, process.predict(new, return_std=True)[1], rtol=1e-8)


def test_intervals_equal_the_jackknife_plus_of_refits(rng):
    X, y = wave(rng, n=25)
    new = rng.normal(size=(6, 2))
    told = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        other = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X[rest], y[rest])
        told.append(other.predict(np.vstack([X[i], new]), return_std=True))
    found = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X, y).predict_interval(new, coverage=0.8)
    factor = growth_of(Gaussian(1.5), X, y, 0.3)
    assert factor > 1.0
    # Ranks floor(0.2 * 26) = 5 and ceil(0.8 * 26) = 21.
    assert_allclose(found, jackknife_plus(told, y, 0.3, (5, 21), factor), rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 1e-10, 1e-3])
def test_intervals_at_training_rows_do_not_vanish_with_the_ridge(alpha, rng):
    X, y = wave(rng, n=40)
    y = y + 0.3 * rng.normal(size=40)
    model = KernelRidge(Gaussian(0.3), alpha=alpha, solver="cholesky").fit(X, y)
    low, high = model.predict_interval(X, coverage=0.9)
    assert (high - low > 0.3).all()


def test_intervals_cover_about_what_they_promise(rng):
    X, y = wave(rng, n=200)
    new, truth = wave(rng, n=2000)
    model = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X, y)
    low, high = model.predict_interval(new, coverage=0.9)
    covered = ((low <= truth) & (truth <= high)).mean()
    assert 0.86 < covered < 0.94


@pytest.mark.parametrize("settings", [{}, {"solver": "nystrom", "n_landmarks": 40}])
def test_intervals_widen_between_and_beyond_the_numbers_of_the_training_rows(settings, rng):
    dose = rng.choice([1.0, 2.0, 5.0, 6.0], 200)
    y = np.sin(dose) + 0.1 * rng.normal(size=200)
    model = KernelRidge(Gaussian(0.8), 0.1, **settings).fit(dose[:, None], y)
    low, high = model.predict_interval([[2.0], [3.5], [6.0], [9.0]])
    seen, between, last, beyond = high - low
    assert between > 2.0 * seen
    assert beyond > 2.0 * last


def test_intervals_are_the_same_in_any_unit_of_weights(rng):
    X, y = wave(rng)
    w = rng.uniform(0.5, 2.0, len(y))
    one = KernelRidge(Gaussian(1.0), 0.2).fit(X, y, w).predict_interval(X[:5])
    other = KernelRidge(Gaussian(1.0), 2.0).fit(X, y, 10.0 * w).predict_interval(X[:5])
    assert_allclose(one, other, rtol=1e-8)


def test_intervals_of_several_targets_have_the_shape_of_predictions(rng):
    X, y = wave(rng, targets=2)
    model = KernelRidge(Gaussian(1.0), alpha=[0.1, 2.0]).fit(X, y)
    low, high = model.predict_interval(X[:5])
    assert low.shape == high.shape == model.predict(X[:5]).shape
    assert (low < high).all()


def test_too_few_rows_for_a_rank_give_an_infinite_end(rng):
    X, y = wave(rng, n=5)
    low, high = KernelRidge(Gaussian(1.0)).fit(X, y).predict_interval(X, coverage=0.99)
    assert (low == -np.inf).all()
    assert (high == np.inf).all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 90])
def test_a_coverage_that_is_no_share_is_refused(coverage, rng):
    X, y = wave(rng)
    model = KernelRidge().fit(X, y)
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1, got"):
        model.predict_interval(X, coverage)


def test_a_second_fit_forgets_what_was_worked_out_for_the_first(rng):
    X, y = wave(rng)
    model = KernelRidge(Gaussian(1.0)).fit(X, y)
    before = model.leave_one_out_predictions_
    model.predict(X, return_std=True)
    after = model.fit(X, 2.0 * y).leave_one_out_predictions_
    assert_allclose(after, 2.0 * before, rtol=1e-9)


def test_a_pickled_model_answers_the_same_and_carries_no_factor(rng):
    X, y = wave(rng, n=60)
    model = KernelRidge(Gaussian(1.0)).fit(X, y)
    plain = len(pickle.dumps(model))
    deviation = model.predict(X, return_std=True)[1]
    copy = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(model)) == plain
    assert_allclose(copy.predict(X, return_std=True)[1], deviation)


def test_intervals_hold_what_they_promise_where_a_telling_cell_is_missing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1600, 3))
    y = 3.0 * X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.2 * rng.normal(size=1600)
    X[rng.random(1600) < 0.15, 0] = np.nan
    X[rng.random(1600) < 0.1, 2] = np.nan
    model = KernelRidge("auto", alpha=0.1).fit(X[:400], y[:400])
    lower, upper = model.predict_interval(X[400:], 0.9)
    is_held = (lower <= y[400:]) & (y[400:] <= upper)
    gap = np.isnan(X[400:, 0])
    assert 0.8 < is_held[gap].mean() < 0.97
    assert 0.86 < is_held[~gap].mean() < 0.97
    assert (upper - lower)[gap].mean() > 4.0 * (upper - lower)[~gap].mean()


def test_predictions_of_rows_left_out_do_not_ask_how_errors_of_slices_grow(rng, monkeypatch):
    X, y = wave(rng)
    model = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X, y)
    monkeypatch.setattr(KernelRidge, "_growth", None)
    assert np.isfinite(model.leave_one_out_predictions_).all()
    with pytest.raises(TypeError):
        model.predict_interval(X)


def test_one_row_has_intervals_without_ends_and_no_warning(rng):
    X, y = wave(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X[:1], y[:1]).predict_interval(X)
    assert np.isinf(ends).all()
