"""KernelSVR: the optimum, its proof, and its place among the estimators of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVR

from mercer.errors import ConvergenceWarning, IndefiniteKernelError
from mercer.estimators import KernelSVR
from mercer.kernels import Gaussian, Sigmoid
from refusals import refuses

GAMMA = 0.5


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 3))


@pytest.fixture
def y(X, rng):
    return np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=300) + 5.0


def ours(C=1.0, **settings):
    return KernelSVR(Gaussian.from_gamma(GAMMA), C, **settings)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_it_is_the_machine_of_libsvm(X, y, C, epsilon):
    model = ours(C, epsilon=epsilon, tol=1e-7).fit(X, y)
    peer = SVR(C=C, epsilon=epsilon, gamma=GAMMA, tol=1e-8).fit(X, y)
    assert_allclose(model.predict(X), peer.predict(X), atol=1e-3)
    assert model.dual_coef_.shape[0] == 1
    assert model.intercept_.shape == peer.intercept_.shape


def test_the_certificate_is_the_duality_gap_in_float64(X, y):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = ours(2.0, epsilon=0.2, max_iter=1).fit(X, y)
    a = np.zeros(300)
    a[model.support_] = model.dual_coef_[0]
    f = Gaussian.from_gamma(GAMMA)(X) @ a
    loss = 2.0 * np.maximum(0.0, np.abs(f + model.intercept_[0] - y) - 0.2).sum()
    primal = 0.5 * a @ f + loss
    dual = y @ a - 0.2 * np.abs(a).sum() - 0.5 * a @ f
    assert_allclose(model.certificate_.value, (primal - dual) / max(primal, dual), rtol=1e-9)
    assert model.certificate_.value > 1e-3


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_whole_weights_are_repeated_rows_and_zero_is_none(X, y, rng, fit_intercept):
    weights = rng.integers(0, 4, size=300)
    again = np.repeat(np.arange(300), weights)
    weighted = ours(3.0, fit_intercept=fit_intercept, tol=1e-8).fit(X, y, weights)
    repeated = ours(3.0, fit_intercept=fit_intercept, tol=1e-8).fit(X[again], y[again])
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


def test_rows_within_the_tube_are_not_kept(X, y):
    model = ours(100.0, epsilon=0.5, tol=1e-6).fit(X, y)
    inside = np.abs(model.predict(X) - y) < 0.5 - 1e-3
    assert inside.any()
    assert not inside[model.support_].any()


def test_a_wide_tube_needs_no_support_vectors(X):
    model = ours(epsilon=10.0).fit(X, X[:, 0])
    assert len(model.support_) == 0
    assert_allclose(model.predict(X), model.intercept_[0])


def test_a_precomputed_matrix_gives_the_machine_of_its_kernel(X, y):
    k = Gaussian.from_gamma(GAMMA)
    model = KernelSVR("precomputed", tol=1e-7).fit(k(X), y)
    direct = ours(tol=1e-7).fit(X, y)
    assert_allclose(model.predict(k(X[:9], X)), direct.predict(X[:9]), atol=1e-4)


def test_the_number_of_threads_does_not_change_a_bit(X, y, monkeypatch):
    predictions = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        predictions.append(ours(10.0).fit(X, y).predict(X))
    assert_array_equal(*predictions)


def test_the_stochastic_solver_reaches_the_optimum(X, y):
    model = ours(1.0, solver="sgd", random_state=0).fit(X, y)
    assert model.certificate_.value < 1e-3
    assert_allclose(model.predict(X), ours(1.0, tol=1e-8).fit(X, y).predict(X), atol=0.1)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_partial_fit_learns_from_a_stream(rng, C):
    X = rng.normal(size=(900, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=900) + 5.0
    model = ours(C)
    for part in range(0, 600, 50):
        model.partial_fit(X[part : part + 50], y[part : part + 50])
    assert model.score(X[600:], y[600:]) > 0.85
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.tolist() == [len(model.support_)]
    assert np.abs(model.dual_coef_).max() <= C
    assert not hasattr(model, "certificate_")


def test_a_stream_may_follow_a_fit_and_rows_without_weight_add_nothing(X, y):
    model = ours().fit(X[:200], y[:200])
    before = model.predict(X)
    shifted = ours().fit(X[:200], y[:200]).partial_fit(X[200:], y[200:] + 3.0)
    assert shifted.score(X[200:], y[200:] + 3.0) > model.score(X[200:], y[200:] + 3.0)
    some = np.arange(100) < 50
    weighted = model.partial_fit(X[200:], np.where(some, y[200:], 99.0), some.astype(float))
    assert not np.isin(weighted.support_, 250 + np.arange(50)).any()
    assert np.abs(weighted.predict(X) - before).max() < 2.0
    assert weighted.score(X, y) > 0.8


def test_a_stream_refuses_what_it_cannot_follow(X, y):
    refuses("not a Gram matrix", KernelSVR("precomputed").partial_fit, X @ X.T, y)
    refuses("they must agree", ours().partial_fit, X, y[:5])
    refuses("C must be a positive finite number", ours(-1.0).partial_fit, X, y)


def test_an_indefinite_kernel_is_refused(X, y):
    with pytest.raises(IndefiniteKernelError, match="not positive semi-definite"):
        KernelSVR(Sigmoid(2.0, -1.0)).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": -0.1}, r"epsilon must be a finite number and not negative, got -0\.1"),
        ({"C": "much"}, "C must be a positive number, or inf to allow no loss, got 'much'"),
    ],
)
def test_bad_settings_are_named(X, y, settings, message):
    with pytest.raises(ValueError, match=message):
        KernelSVR(**settings).fit(X, y)


@given(exponent=st.integers(-200, 100), fit_intercept=st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_unit_of_targets_tube_and_price_is_that_of_the_predictions(exponent, fit_intercept):
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(25, 2)), 10.0**exponent
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=25)
    plain = ours(1.0, epsilon=0.05, fit_intercept=fit_intercept).fit(X, y)
    scaled = ours(c, epsilon=0.05 * c, fit_intercept=fit_intercept).fit(X, c * y)
    assert_allclose(scaled.predict(X), c * plain.predict(X), rtol=1e-9)


@pytest.mark.parametrize("size", [1e-12, 1e-50, 1e-100])
def test_targets_far_below_c_end_with_what_float64_can_tell(rng, size):
    X, y = rng.normal(size=(15, 2)), size * rng.normal(size=15)
    # The limit is there for the test to fail and not to hang.
    model = KernelSVR(Gaussian(0.3), epsilon=0.01 * size, time_limit=5.0)
    with pytest.warns(ConvergenceWarning, match="lost in rounding; lower C"):
        model.fit(X, y)
    assert (np.abs(model.predict(X) - y) < 0.011 * size).all()
