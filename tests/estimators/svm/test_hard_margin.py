"""An infinite cost is a hard margin: no row is within it, or the classes are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC, SVR

from mercer import KernelSVC, KernelSVR
from mercer.errors import ConvergenceWarning
from mercer.estimators.svm import hard_margin as room
from mercer.solvers import Run
from mercer.solvers.checkpoint import Checkpoint

SCIKIT_LEARN = {"linear": {"kernel": "linear"}, "gaussian(0.5)": {"gamma": 2.0}}


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(150, 2))
    return X[np.abs(X.sum(axis=1)) > 0.2]


def sides(X, *ends):
    return np.digitize(X.sum(axis=1), [0.0, *ends])


@pytest.mark.parametrize("kernel", SCIKIT_LEARN)
@pytest.mark.parametrize("ends", [(), (1.0,)], ids=["two classes", "three"])
def test_it_is_the_margin_that_libsvm_finds(rows, kernel, ends):
    rows = rows[np.abs(rows.sum(axis=1) - 1.0) > 0.1] if ends else rows
    y = sides(rows, *ends)
    ours = KernelSVC(kernel, C=np.inf, tol=1e-8, decision_function_shape="ovo").fit(rows, y)
    peer = SVC(C=np.inf, tol=1e-8, decision_function_shape="ovo", **SCIKIT_LEARN[kernel])
    expected = peer.fit(rows, y).decision_function(rows)
    assert_allclose(ours.decision_function(rows), expected, atol=1e-4)
    assert ours.certificate_.satisfied


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_all_rows_are_on_the_margin_or_outside_whatever_their_unit(rows, scale):
    y = np.where(sides(rows) == 1, 1.0, -1.0)
    model = KernelSVC("linear", C=np.inf, tol=1e-8).fit(scale * rows, y)
    least = (y * model.decision_function(scale * rows)).min()
    assert_allclose(least, 1.0, atol=1e-4)


def test_weights_only_say_which_rows_count(rows, rng):
    y, weights = sides(rows), rng.uniform(0.1, 10.0, len(rows))
    weights[:10] = 0.0
    weighted = KernelSVC("gaussian(0.5)", C=np.inf, tol=1e-9).fit(rows, y, weights)
    plain = KernelSVC("gaussian(0.5)", C=np.inf, tol=1e-9).fit(rows[10:], y[10:])
    expected = plain.decision_function(rows)
    assert_allclose(weighted.decision_function(rows), expected, atol=1e-4)


def test_the_price_is_raised_until_no_row_pays_it(monkeypatch):
    costs, plain = [], room.Solved.has_errors

    def has_errors(found):
        costs.append(found.C)
        return plain.fget(found)

    monkeypatch.setattr(room.Solved, "has_errors", property(has_errors))
    # Two rows have the coefficient 2 / ||phi(x) - phi(z)||^2, here 5000.
    model = KernelSVC("4.0 * gaussian(1.0)", C=float("inf")).fit([[0.0], [0.01]], [0, 1])
    assert_allclose(costs, np.array([1e3, 1e6]) / 4.0)
    assert_allclose(np.abs(model.dual_coef_), 0.25 / (1.0 - np.exp(-0.5e-4)), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_regression_keeps_all_rows_in_the_tube_as_that_of_libsvm(rng, scale):
    X = rng.uniform(-1.0, 1.0, size=(40, 1))
    y = scale * np.sin(3.0 * X[:, 0])
    model = KernelSVR("gaussian(0.5)", C=np.inf, epsilon=0.1 * scale, tol=1e-8).fit(X, y)
    assert np.abs(y - model.predict(X)).max() <= 0.1 * scale * (1.0 + 1e-4)
    peer = SVR(gamma=2.0, C=np.inf, epsilon=0.1, tol=1e-8).fit(X, y / scale)
    assert_allclose(model.predict(X) / scale, peer.predict(X), atol=1e-4)


def test_targets_outside_of_any_tube_are_refused(rng):
    X = np.repeat(rng.normal(size=(10, 1)), 2, axis=0)
    with pytest.raises(ValueError, match="targets are outside the tube"):
        KernelSVR("gaussian(0.5)", C=np.inf, epsilon=0.1).fit(X, np.arange(20.0))


def test_classes_that_are_not_separated_are_refused(rows, rng):
    y = rng.integers(0, 2, len(rows))
    with pytest.raises(ValueError, match=r"C=inf allows no loss, .* at C = .* still"):
        KernelSVC("linear", C=np.inf).fit(rows, y)


def test_time_that_is_up_ends_with_what_there_is(rows, rng):
    y = rng.integers(0, 2, len(rows))
    with pytest.warns(ConvergenceWarning) as said:
        model = KernelSVC("linear", C=np.inf, time_limit=1e-9).fit(rows, y)
    told = " ".join(str(warning.message) for warning in said)
    assert "this is no hard margin" in told
    assert "the time limit of 1e-09 s was up" in told
    assert model.predict(rows).shape == y.shape


def test_probabilities_and_plans_take_it_and_a_stream_of_rows_does_not(rows):
    model = KernelSVC("gaussian(0.5)", C=np.inf)
    assert model.plan(rows).solver == "smo"
    assert_allclose(model.fit(rows, sides(rows)).predict_proba(rows).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="C must be a positive finite number, got inf"):
        KernelSVC(C=np.inf).partial_fit(rows, sides(rows), classes=[0, 1])
    with pytest.raises(ValueError, match="C must be a positive finite number, got inf"):
        KernelSVR(C=np.inf).partial_fit(rows, rows[:, 0])


def test_a_solver_that_did_not_converge_says_that_this_is_none(rows, rng):
    y = rng.integers(0, 2, len(rows))
    with pytest.warns(ConvergenceWarning) as said:
        KernelSVC("linear", C=np.inf, solver="sgd", random_state=0).fit(rows, y)
    assert any("this is no hard margin" in str(warning.message) for warning in said)


def test_weights_bound_no_coefficient(rows):
    y, light = sides(rows), np.full(len(rows), 1e-9)
    weighted = KernelSVC("linear", C=np.inf, tol=1e-8).fit(rows, y, light)
    plain = KernelSVC("linear", C=np.inf, tol=1e-8).fit(rows, y)
    assert_allclose(weighted.decision_function(rows), plain.decision_function(rows), atol=1e-6)
    curve = KernelSVR("linear", C=np.inf, epsilon=0.1).fit(rows, rows[:, 0], light)
    assert np.abs(curve.predict(rows) - rows[:, 0]).max() < 0.1 + 1e-3


def test_an_infinite_price_of_any_precision_is_one(rows):
    y = sides(rows)
    found = KernelSVC("linear", C=np.float32(np.inf)).fit(rows, y)
    expected = KernelSVC("linear", C=np.inf).fit(rows, y)
    assert_allclose(found.decision_function(rows), expected.decision_function(rows))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_that_was_killed_at_the_second_price_goes_on(tmp_path, monkeypatch, classes):
    X = np.array([[0.0], [0.01], [0.02]][:classes])
    path = tmp_path / "fit.npz"
    monkeypatch.setattr(Checkpoint, "seconds", 0.0)
    settings = {"C": np.inf, "solver": "nystrom", "n_landmarks": classes, "tol": 1e-6}
    model = KernelSVC("4.0 * gaussian(1.0)", **settings, checkpoint=path)
    keep = Run.keep

    def killed(run, state):
        keep(run, state)
        if run.problem.startswith("2.5e+05"):
            raise RuntimeError("killed")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="killed"):
        patched.setattr(Run, "keep", killed)
        model.fit(X, np.arange(classes))
    assert path.exists()
    found = model.fit(X, np.arange(classes))
    expected = KernelSVC("4.0 * gaussian(1.0)", **settings).fit(X, np.arange(classes))
    assert_allclose(found.dual_coef_, expected.dual_coef_, rtol=0.0, atol=0.0)
    assert not path.exists()
