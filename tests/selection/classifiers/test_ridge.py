"""KernelRidgeClassifier: least squares on signs, chosen and calibrated by rows left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import log_loss

from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Linear, Sigmoid
from mercer.reports import SelectionDisplay
from mercer.selection import KernelRidgeClassifier, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.solvers.logistic.temperature import smoothed_targets, temperature
from refusals import refuses


def blobs(rng, classes, n=90):
    angle = 2.0 * np.pi * np.arange(classes) / classes
    centres = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    y = rng.integers(0, classes, size=n)
    return centres[y] + rng.normal(size=(n, 2)), np.array(["red", "green", "blue", "grey"])[y]


@pytest.fixture(params=[2, 4], ids=["two classes", "four classes"])
def data(request, rng):
    return blobs(rng, request.param)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"red": 3.0}])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_with_a_linear_kernel_it_is_ridge_classification(data, rng, class_weight, fit_intercept):
    X, y = data
    w = rng.integers(0, 4, size=len(y)).astype(float)
    peer = RidgeClassifier(alpha=0.7, class_weight=class_weight, fit_intercept=fit_intercept)
    ours = KernelRidgeClassifier(
        Linear(), alpha=0.7, class_weight=class_weight, fit_intercept=fit_intercept
    ).fit(X, y, w)
    if class_weight == "balanced":
        # scikit-learn balances rows without regard to their weights.
        totals = {c: w[y == c].sum() for c in np.unique(y)}
        peer.set_params(class_weight={c: w.sum() / len(totals) / t for c, t in totals.items()})
    peer.fit(X, y, w)
    assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=1e-8, atol=1e-9)
    assert_array_equal(ours.predict(X), peer.predict(X))


def test_a_class_without_weight_is_none_of_the_classes(rng):
    X, y = blobs(rng, 4)
    w = np.where(y == "blue", 0.0, 1.0)
    some = y != "blue"
    model = KernelRidgeClassifierCV(Gaussian(1.5), [0.1, 1.0]).fit(X, y, w)
    direct = KernelRidgeClassifierCV(Gaussian(1.5), [0.1, 1.0]).fit(X[some], y[some])
    assert model.classes_.tolist() == ["green", "grey", "red"]
    assert_allclose(model.predict_proba(X), direct.predict_proba(X), rtol=1e-6)
    refuses("two classes of positive weight", KernelRidgeClassifier().fit, X, y, 1.0 * (y == "red"))


def test_a_fit_that_fails_leaves_the_model_as_it_was(data):
    X, y = data
    model = KernelRidgeClassifierCV(Gaussian(1.5), [0.1, 1.0]).fit(X, y)
    before = vars(model).copy()
    model.set_params(solver="fast", alphas=[2.0])
    refuses("solver must be one of", model.fit, X, np.where(y == "red", "one", "two"))
    for name in ("best_estimator_", "cv_results_", "alpha_"):
        assert vars(model)[name] is before[name]


def test_it_is_one_regression_on_signs(data):
    X, y = data
    model = KernelRidgeClassifier(Gaussian(1.5), alpha=0.3).fit(X, y)
    classes = np.unique(y)
    signs = np.where(y[:, None] == classes, 1.0, -1.0)
    signs = signs[:, 1] if len(classes) == 2 else signs
    direct = KernelRidge(Gaussian(1.5), alpha=0.3).fit(X, signs)
    assert_array_equal(model.decision_function(X), direct.predict(X))
    assert model.function_ == direct.function_
    assert model.dual_coef_.shape == (1 if len(classes) == 2 else len(classes), len(y))
    assert_array_equal(model.intercept_, np.atleast_1d(direct.intercept_))
    assert str(model.certificate_) == str(direct.certificate_)


def test_the_most_probable_class_is_the_predicted_one(data, rng):
    X, y = data
    new = 3.0 * rng.normal(size=(500, 2))
    for weight in (None, "balanced"):
        model = KernelRidgeClassifier(Gaussian(1.0), 0.1, class_weight=weight).fit(X, y)
        probabilities = model.predict_proba(new)
        assert_allclose(probabilities.sum(axis=1), 1.0)
        assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(new))


def test_probabilities_come_from_scores_of_fits_without_the_row(data):
    X, y = data
    model = KernelRidgeClassifier(Gaussian(1.0), alpha=0.2).fit(X, y)
    scores = np.empty((len(y), len(model.classes_)))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        left = KernelRidgeClassifier(Gaussian(1.0), alpha=0.2).fit(X[others], y[others])
        f = left.decision_function(X[[i]])
        scores[i] = [-f[0], f[0]] if f.ndim == 1 else f[0]
    codes, ones = np.searchsorted(model.classes_, y), np.ones(len(y))
    T = temperature(scores, smoothed_targets(codes, ones, scores.shape[1]), ones)
    f = model.decision_function(X)
    f = np.column_stack([-f, f]) if f.ndim == 1 else f
    expected = np.exp(T * f) / np.exp(T * f).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-6)
    own = scores[:, 1] if scores.shape[1] == 2 else scores
    assert_allclose(model.leave_one_out_decision_, own, rtol=1e-6, atol=1e-9)
    assert_array_equal(model.leave_one_out_predictions_, model.classes_[scores.argmax(axis=1)])


def test_probabilities_are_calibrated_on_new_rows(rng):
    X, y = blobs(rng, 4, 400)
    new, truth = blobs(rng, 4, 4000)
    model = KernelRidgeClassifier(Gaussian(1.5), alpha=1.0).fit(X, y)
    probabilities = model.predict_proba(new)
    sure = probabilities.max(axis=1)
    right = model.predict(new) == truth
    for low, high in ((0.4, 0.7), (0.7, 0.9), (0.9, 1.01)):
        group = (low <= sure) & (sure < high)
        assert abs(right[group].mean() - sure[group].mean()) < 0.08
    sharper = probabilities**3 / (probabilities**3).sum(axis=1, keepdims=True)
    blunter = probabilities**0.33 / (probabilities**0.33).sum(axis=1, keepdims=True)
    for other in (sharper, blunter):
        assert log_loss(truth, probabilities) < log_loss(truth, other)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_whole_weight_is_that_many_rows_in_probabilities_too(data, rng, class_weight):
    X, y = data
    w = rng.integers(0, 4, size=len(y))
    model = KernelRidgeClassifier(Gaussian(1.0), 0.2, class_weight=class_weight)
    weighted = model.fit(X, y, w).predict_proba(X)
    repeated = model.fit(X.repeat(w, axis=0), y.repeat(w)).predict_proba(X)
    assert_allclose(weighted, repeated, rtol=1e-8)


def test_the_ridge_is_chosen_as_kernel_ridge_cv_does(data):
    X, y = data
    signs = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    signs = signs[:, 1] if signs.shape[1] == 2 else signs
    alphas = np.geomspace(1e-3, 1e2, 12)
    model = KernelRidgeClassifierCV(Gaussian(1.0), alphas).fit(X, y)
    cv = KernelRidgeCV(Gaussian(1.0), alphas).fit(X, signs)
    assert model.alpha_ == cv.alpha_
    assert model.best_score_ == cv.best_score_
    assert_array_equal(model.decision_function(X), cv.predict(X))


@pytest.mark.parametrize(
    "kernel", [[Gaussian(1.0), Linear()], {"length_scale": [1.0, 40.0]}, None], ids=str
)
def test_the_kernel_is_chosen_too(rng, kernel):
    X = rng.normal(size=(120, 2))
    y = (X**2).sum(axis=1) > 1.5
    model = KernelRidgeClassifierCV(kernel).fit(X, y)
    assert model.kernel_.length_scale < 4.0
    assert model.score(X, y) > 0.95
    one = KernelRidgeClassifierCV(kernel or {"length_scale": [1.0]}, [0.1]).fit(X, y)
    assert one.alpha_ == 0.1


def test_a_choice_can_be_drawn(data):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    model = KernelRidgeClassifierCV().fit(*data)
    assert len(SelectionDisplay.from_estimator(model).lines_) == len(
        set(model.cv_results_["kernel"])
    )
    plt.close("all")


def test_settings_of_the_solver_reach_it(data):
    X, y = data
    model = KernelRidgeClassifier(Gaussian(1.0), solver="cg", tol=1e-9, random_state=0).fit(X, y)
    assert model.estimator_.solution_.solver == "cg"
    assert model.certificate_.tolerance == 1e-9
    repaired = KernelRidgeClassifier(Sigmoid(), alpha=0.1, repair="clip").fit(X, y)
    assert repaired.score(X, y) > 0.5
    small = KernelRidgeClassifier(Gaussian(1.0), solver="cholesky", memory=100)
    refuses("needs 0.0648 MB but the limit is", small.fit, X, y, error=MemoryLimitError)


def test_probabilities_beyond_the_memory_are_refused_with_the_way_out(data):
    X, y = data
    model = KernelRidgeClassifier(Gaussian(2.0), solver="cg", memory="60KB", random_state=0).fit(
        X, y
    )
    assert model.predict(X).shape == (90,)
    with pytest.raises(MemoryLimitError, match=r"0\.0648 MB but the limit.*CalibratedClassifierCV"):
        model.predict_proba(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -1.0}, "alpha must be finite and not negative, got -1"),
        ({"alpha": [1.0, 2.0]}, "KernelRidgeClassifierCV chooses among alphas=[...]"),
        ({"alpha": None}, "alpha must be one, got None"),
        ({"alpha": "large"}, "alpha must be a number or one number per target, got 'large'"),
        ({"kernel": [Linear()]}, "KernelRidgeClassifierCV chooses among kernels=[...]"),
        ({"kernel": {"length_scale": [1.0]}}, "kernel must be one, got {'length_scale': [1.0]}"),
        ({"solver": "magic"}, "solver must be one of 'auto'"),
        ({"class_weight": {"red": np.inf}}, "class_weight must be finite and not negative"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(data, settings, message):
    refuses(message, KernelRidgeClassifier(**settings).fit, *data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": [1.0, -1.0]}, "alphas must be finite and not negative, got -1"),
        ({"kernels": []}, "kernels must hold at least one kernel, got []"),
    ],
    ids=str,
)
def test_nothing_is_chosen_from_what_means_nothing(data, settings, message):
    refuses(message, KernelRidgeClassifierCV(**settings).fit, *data)


def test_an_indefinite_kernel_is_not_chosen(rng):
    X, y = blobs(rng, 2)
    with pytest.raises(IndefiniteKernelError) as e:
        KernelRidgeClassifierCV([Sigmoid(1.0, -1.0), Linear()], [1.0]).fit(X, y)
    assert e.value.witness.value < 0.0


def test_probabilities_are_those_of_a_temperature_that_is_set(data):
    X, y = data
    model = KernelRidgeClassifier(Gaussian(1.0), 0.5).fit(X, y).set_temperature(0.7)
    scores = model.decision_function(X)
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    raised = np.exp(0.7 * scores)
    assert_allclose(model.predict_proba(X), raised / raised.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("T", [0.0, -1.0, np.inf, np.nan])
def test_a_temperature_that_is_not_positive_is_refused(data, T):
    X, y = data
    model = KernelRidgeClassifier(Gaussian(1.0), 0.5).fit(X, y)
    refuses(f"T must be a positive finite number, got {T!r}", model.set_temperature, T)
