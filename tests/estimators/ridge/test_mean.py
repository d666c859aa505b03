"""The weighted mean of kernel ridges."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import Gaussian, KernelRidge, KernelRidgeMean, KernelRidgeMeanClassifier, Laplacian
from mercer.data.limits.deadline import TimeIsUpError
from mercer.estimators.estimator import KernelMachine
from mercer.solvers.few_rows import FEW
from refits import growth_of

KERNELS = (Gaussian(1.0), Laplacian(3.0), Gaussian(0.5) + Laplacian(1.0))
ALPHAS = (0.3, 0.1, 0.2)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 2))
    return X, np.sin(2.0 * X[:, 0]) + np.abs(X[:, 1]) + 0.3 * rng.normal(size=40)


def without_a_row(model, X, y, w, row, new):
    """The predictions at new rows of the model fitted without a row."""
    kept = np.arange(len(y)) != row
    each = [
        KernelRidge(k, a).fit(X[kept], y[kept], w[kept]).predict(new)
        for k, a in zip(model.kernels, model.alphas, strict=True)
    ]
    return np.tensordot(model.weights_, np.array(each), 1)


@pytest.mark.parametrize("targets", [None, 2])
def test_it_predicts_the_mean_of_the_ridges_with_the_weights(data, targets):
    X, y = data
    y = y if targets is None else np.column_stack([y, X[:, 0]])
    model = KernelRidgeMean(KERNELS, ALPHAS, (2.0, 1.0, 1.0)).fit(X, y)
    each = [KernelRidge(k, a).fit(X, y) for k, a in zip(KERNELS, ALPHAS, strict=True)]
    assert_array_equal(model.weights_, [0.5, 0.25, 0.25])
    means = [0.5 * each[0].predict(X) + 0.25 * (each[1].predict(X) + each[2].predict(X))]
    assert_allclose(model.predict(X), means[0], rtol=1e-10)
    slopes = sum(v * m.gradient(X) for v, m in zip(model.weights_, each, strict=True))
    assert_allclose(model.gradient(X), slopes, rtol=1e-8, atol=1e-12)
    offsets = sum(v * m.intercept_ for v, m in zip(model.weights_, each, strict=True))
    assert_allclose(model.intercept_, offsets)


def test_its_weights_miss_the_least_at_rows_left_out(data):
    X, y = data
    # No counts: a row is left out with all its weight.
    w = np.linspace(0.5, 2.0, len(y))
    model = KernelRidgeMean(KERNELS, ALPHAS).fit(X, y, w)
    each = [KernelRidge(k, a).fit(X, y, w) for k, a in zip(KERNELS, ALPHAS, strict=True)]
    P = np.column_stack([m.leave_one_out_predictions_ for m in each])

    def missed(v):
        return w @ (y - P @ v) ** 2

    for other in np.eye(3):
        assert missed(model.weights_) <= missed(0.99 * model.weights_ + 0.01 * other) + 1e-12


def test_rows_left_out_are_predicted_as_by_fits_without_them(data):
    X, y = data
    w = np.linspace(0.5, 2.0, len(y))
    model = KernelRidgeMean(KERNELS, ALPHAS, (0.2, 0.5, 0.3)).fit(X, y, w)
    for row in (0, 17):
        expected = without_a_row(model, X, y, w, row, X[[row]])
        assert_allclose(model.leave_one_out_predictions_[row], expected[0], rtol=1e-8)


def test_intervals_are_the_jackknife_plus_of_means_without_a_row(data, rng):
    X, y = data
    n, new, coverage = len(y), rng.normal(size=(5, 2)), 0.8
    model = KernelRidgeMean(KERNELS, ALPHAS, (0.2, 0.5, 0.3)).fit(X, y)
    without, variances = np.zeros((n, 6)), np.zeros((n, 6))
    for v, kernel, alpha in zip(model.weights_, KERNELS, ALPHAS, strict=True):
        each = [
            KernelRidge(kernel, alpha).fit(np.delete(X, i, 0), np.delete(y, i)) for i in range(n)
        ]
        told = [m.predict(np.vstack([X[i], new]), True) for i, m in enumerate(each)]
        f, deviation = np.array(told).transpose(1, 0, 2)
        without += v * f
        level = (deviation[:, 0] ** 2 + alpha).mean()
        variance = growth_of(kernel, X, y, alpha) * deviation**2 + alpha + level
        # The unit in which the squares of errors in those of their deviations are one.
        variances += v * np.mean((y - f[:, 0]) ** 2 / variance[:, 0]) * variance
    spread = np.abs(y - without[:, 0])[:, None] * np.sqrt(variances[:, 1:] / variances[:, :1])
    rank = int(np.floor((1.0 - coverage) * (n + 1) + 1e-9))
    low, high = model.predict_interval(new, coverage)
    assert_allclose(low, np.sort(without[:, 1:] - spread, axis=0)[rank - 1], rtol=1e-7)
    assert_allclose(high, np.sort(without[:, 1:] + spread, axis=0)[-rank], rtol=1e-7)


def test_its_kernel_shows_the_weights_and_bounds_the_distance_from_the_exact_mean(data):
    X, y = data
    model = KernelRidgeMean(KERNELS, ALPHAS, (0.2, 0.5, 0.3), solver="cg", tol=1e-3).fit(X, y)
    exact = KernelRidgeMean(KERNELS, ALPHAS, (0.2, 0.5, 0.3)).fit(X, y)
    assert [term.factor for term in model.kernel_.terms] == [0.2, 0.5, 0.3]
    ours, theirs = (m.predict(X) - m.intercept_ for m in (model, exact))
    assert np.all(np.abs(ours - theirs) <= model.certificate_.bound(X) + 1e-9)
    radii = [m.certificate_.radius for m in model.estimators_]
    assert_allclose(model.certificate_.radius, np.sqrt(np.square(radii) @ [0.2, 0.5, 0.3]))


def test_a_kernel_that_is_no_help_is_left_out(data):
    X, y = data
    model = KernelRidgeMean([Gaussian(1.0), mercer.Constant(1.0)], 0.1).fit(X, y)
    assert_array_equal(model.weights_, [1.0, 0.0])
    assert len(model.estimators_) == 1
    assert model.kernel_ == Gaussian(1.0)


def test_landmark_models_are_averaged_and_keep_what_they_miss(data, tmp_path):
    X, y = data
    model = KernelRidgeMean(KERNELS, ALPHAS, (1, 1, 1), solver="nystrom", n_landmarks=10).fit(X, y)
    assert model.approximation_.n_landmarks <= 10
    mean = np.mean([m.predict(X) for m in model.estimators_], axis=0)
    assert_allclose(model.predict(X), mean)
    missed = y - model.leave_one_out_predictions_
    assert_allclose(model._sampled_residuals_[:, 0], missed, rtol=1e-6)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    low, high = loaded.predict_interval(X, 0.5)
    assert_allclose(high - loaded.predict(X), np.full(40, (high - low)[0] / 2.0))


def test_a_kernel_without_time_has_no_weight(data, monkeypatch):
    X, y = data
    fitted = KernelRidge.fit_checked

    def cut(self, run, kernel, *rest):
        model = fitted(self, run, kernel, *rest)
        if kernel == KERNELS[1]:
            model.certificate_ = replace(model.certificate_, method="offset alone")
        return model

    monkeypatch.setattr(KernelRidge, "fit_checked", cut)
    model = KernelRidgeMean(KERNELS, ALPHAS, (1.0, 1.0, 2.0)).fit(X, y)
    assert_allclose(model.weights_, [1.0 / 3.0, 0.0, 2.0 / 3.0])


def test_kernels_on_columns_of_a_table_share_its_rows(rng):
    table = pd.DataFrame({"a": rng.normal(size=30), "site": rng.choice(["n", "s"], 30)})
    y = table.a + (table.site == "s")
    kernels = ["gaussian.on(a)", "gaussian.on(a) * match.on(site)"]
    model = KernelRidgeMean(kernels, 0.1, [0.5, 0.5]).fit(table, y)
    first, second = (m.function_.rows for m in model.estimators_)
    assert first is second
    assert list(model.feature_names_in_) == ["a", "site"]
    assert_allclose(model.predict(table[["site", "a"]]), model.predict(table))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kernels": "gaussian"}, "kernels must be a sequence of kernels, got 'gaussian'"),
        ({"kernels": []}, "kernels is empty"),
        ({"alphas": [1.0, 2.0, 3.0]}, "one entry for each of 2 kernels, got shape"),
        ({"alphas": -1.0}, "alphas must be finite and not negative, got -1"),
        ({"weights": [1.0]}, "a number for each of 2 kernels"),
        ({"weights": [0.0, 0.0]}, "not all zero"),
        ({"weights": [-1.0, 2.0]}, "weights must be finite and not negative, got -1"),
    ],
)
def test_bad_settings_are_refused(data, settings, said):
    with pytest.raises(ValueError, match=said):
        KernelRidgeMean(**settings).fit(*data)


def test_it_has_no_coefficients_of_its_own(data):
    model = KernelRidgeMean(KERNELS, ALPHAS).fit(*data)
    with pytest.raises(AttributeError, match="those of estimators_ do"):
        _ = model.dual_coef_
    with pytest.raises(ValueError, match="Invalid parameter 'kernel'"):
        model.set_params(kernel__length_scale=2.0)


def test_the_plan_is_that_of_the_slowest_kernel(data):
    X, y = data
    plans = [KernelRidge(k, a).plan(X, y) for k, a in zip(KERNELS, ALPHAS, strict=True)]
    assert KernelRidgeMean(KERNELS, ALPHAS).plan(X, y).seconds >= min(p.seconds for p in plans)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_decides_by_the_mean_of_the_scores(data, classes):
    X, y = data
    labels = np.digitize(y, np.quantile(y, np.linspace(0.0, 1.0, classes + 1)[1:-1]))
    w = np.tile([1.0, 3.0], 20)
    given = (KERNELS[:2], ALPHAS[:2], (0.4, 0.6))
    model = KernelRidgeMeanClassifier(*given).fit(X, labels, w)
    each = [
        mercer.KernelRidgeClassifier(k, a).fit(X, labels, w)
        for k, a in zip(*given[:2], strict=True)
    ]
    scores = 0.4 * each[0].decision_function(X) + 0.6 * each[1].decision_function(X)
    assert_allclose(model.decision_function(X), scores, rtol=1e-9)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    # A row of weight 3 is three rows, of which one is left out for the temperature.
    copies = np.repeat(np.arange(40), w.astype(int))
    rows = KernelRidgeMeanClassifier(*given).fit(X[copies], labels[copies])
    assert_allclose(model.predict_proba(X), rows.predict_proba(X), atol=1e-6)


def test_what_a_mean_has_learned_is_explained(rng):
    X = rng.normal(size=(60, 3))
    model = KernelRidgeMean(weights=[0.5, 0.5]).fit(X, np.sin(X[:, 1]))
    assert mercer.explain(model).columns[0].column == 1
    texts = ["abab", "bcbc", "acac", "abca", "bbca"] * 6
    kernels = ["spectrum(1)", "spectrum(2)"]
    y = rng.normal(size=30)
    words = KernelRidgeMean(kernels, 1.0, [0.3, 0.7]).fit(texts, y)
    found = {row.gram: row.weight for row in mercer.explain(words).kgrams}
    for share, k in ((0.3, kernels[0]), (0.7, kernels[1])):
        alone = mercer.explain(KernelRidge(k, 1.0).fit(texts, y)).kgrams
        for row in alone:
            assert_allclose(found[row.gram], share * row.weight, rtol=1e-9)


def cut_short(monkeypatch, kinds):
    """Leave no time for kernels of some kinds."""
    usual = KernelMachine._fit_settings

    def settings(model, *given):
        if isinstance(model.kernel, kinds):
            raise TimeIsUpError
        return usual(model, *given)

    monkeypatch.setattr(KernelMachine, "_fit_settings", settings)


@pytest.fixture
def many(rng):
    X = rng.normal(size=(FEW + 50, 1))
    return X, np.sin(X[:, 0])


@pytest.mark.parametrize("weights", [None, (0.5, 0.5)])
@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
def test_a_kernel_that_had_time_for_a_few_rows_alone_has_no_weight(many, monkeypatch, weights):
    cut_short(monkeypatch, Laplacian)
    model = KernelRidgeMean(KERNELS[:2], 0.1, weights, time_limit=60.0).fit(*many)
    assert_array_equal(model.weights_, [1.0, 0.0])
    assert model.certificate_.satisfied


@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
def test_without_time_for_any_kernel_the_mean_is_that_of_a_few_rows(many, monkeypatch):
    cut_short(monkeypatch, (Gaussian, Laplacian))
    model = KernelRidgeMean(KERNELS[:2], 0.1, time_limit=60.0).fit(*many)
    assert_array_equal(model.weights_, [1.0, 0.0])
    assert model.score(*many) > 0.9
    with pytest.raises(ValueError, match="raise time_limit"):
        model.predict_interval(many[0])


def test_a_small_weight_that_was_given_is_kept(data):
    model = KernelRidgeMean(KERNELS[:2], 0.1, (1e-5, 1.0)).fit(*data)
    assert_allclose(model.weights_, [1e-5, 1.0], rtol=1e-4)


def test_its_plan_is_the_time_of_all_kernels_and_the_most_memory(data):
    plans = [KernelRidge(k, 0.1).plan(*data) for k in KERNELS[:2]]
    found = KernelRidgeMean(KERNELS, 0.1, (1.0, 1.0, 0.0)).plan(*data)
    assert_allclose(found.seconds, sum(plan.seconds for plan in plans), rtol=1e-6)
    assert found.memory == max(plan.memory for plan in plans)


def test_rows_of_parts_with_their_own_landmarks_have_no_norms(many):
    model = KernelRidgeMean(["gaussian", "linear"], 0.1, (0.5, 0.5), n_landmarks=20).fit(*many)
    with pytest.raises(ValueError, match="rows of their own"):
        model.function_.row_norms()
