"""Probabilities of KernelSVC."""

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from mercer.data.distinct import row_numbers
from mercer.errors import ConvergenceWarning
from mercer.estimators import KernelSVC
from mercer.estimators.svm.probabilities import in_favour_of
from mercer.kernels import Gaussian
from mercer.solvers import SMO
from mercer.solvers.logistic.temperature import smoothed_targets, temperature


def two():
    return make_moons(120, noise=0.35, random_state=0)


def several():
    return make_blobs(150, centers=4, cluster_std=2.5, random_state=3)


CASES = [(two, {}), (several, {}), (several, {"multiclass": "ovr"}), (several, {"C": 100.0})]


@pytest.mark.parametrize(("sample", "options"), CASES)
@pytest.mark.parametrize("break_ties", [True, False])
def test_the_most_probable_class_is_the_predicted_one(rng, sample, options, break_ties):
    X, y = sample()
    model = KernelSVC(Gaussian(0.5), break_ties=break_ties, **options).fit(X, y)
    grid = rng.uniform(X.min(axis=0) - 1.0, X.max(axis=0) + 1.0, size=(3000, 2))
    P = model.predict_proba(grid)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(grid))
    assert_allclose(np.exp(model.predict_log_proba(grid)), P)


def test_probabilities_are_those_of_rows_held_out_in_parts():
    X, y = two()
    model = KernelSVC(Gaussian(0.5)).fit(X, y)
    # The slow and obvious way: parts by class, in the order of what rows hold.
    parts = np.empty(len(y), int)
    for c in (0, 1):
        members = np.flatnonzero(y == c)
        parts[members] = np.argsort(np.argsort(row_numbers(X)[members])) % 5
    scores = np.empty(len(y))
    for part in range(5):
        test = parts == part
        scores[test] = KernelSVC(Gaussian(0.5)).fit(X[~test], y[~test]).decision_function(X[test])
    both = np.column_stack([-scores, scores])
    T = temperature(both, smoothed_targets(y, np.ones(len(y)), 2), np.ones(len(y)))
    f = model.decision_function(X)
    assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-2.0 * T * f)), rtol=1e-6)


def test_the_score_of_a_class_is_the_least_that_it_has_against_another():
    X, y = several()
    model = KernelSVC("linear", decision_function_shape="ovo").fit(X, y)
    D, P = model.decision_function(X), model.predict_proba(X)
    F = np.full((len(X), 4, 4), np.inf)
    for d, (i, j) in zip(D.T, combinations(range(4), 2), strict=True):
        F[:, i, j], F[:, j, i] = d, -d
    least = F.min(axis=2)
    same = least.argmax(axis=1) == model.predict(X)
    assert same.mean() > 0.95
    T = model._cross_fits_.temperature
    assert_allclose(P[same], softmax(T * least[same], axis=1), rtol=1e-8)


def test_classes_are_equally_probable_on_the_line_between_them():
    X, y = several()
    model = KernelSVC("linear", decision_function_shape="ovo").fit(X, y)
    path = np.linspace(X[y == 0].mean(axis=0), X[y == 1].mean(axis=0), 20001)
    P = np.sort(model.predict_proba(path), axis=1)
    changes = np.flatnonzero(np.diff(model.predict(path)))
    assert len(changes) > 0
    assert_allclose(P[changes, -1], P[changes, -2], rtol=1e-2)


@pytest.mark.parametrize(("sample", "options"), CASES)
def test_they_are_worth_more_than_guesses_and_than_scores_as_they_are(sample, options):
    X, y = sample()
    model = KernelSVC(Gaussian(1.0), **options)
    P = cross_val_predict(model, X, y, cv=4, method="predict_proba")
    shares = np.tile(np.bincount(y) / len(y), (len(y), 1))
    assert log_loss(y, P) < 0.8 * log_loss(y, shares)


@pytest.mark.parametrize(("sample", "options"), CASES)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_weight_counts_as_equal_rows_in_any_order(rng, sample, options, class_weight):
    X, y = sample()
    weights = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weights))
    options = {"tol": 1e-8, "class_weight": class_weight, **options}
    weighted = KernelSVC(Gaussian(1.0), **options).fit(X, y, sample_weight=weights)
    repeated = KernelSVC(Gaussian(1.0), **options).fit(X[rows], y[rows])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("form", ["sparse", "precomputed", "texts", "table"])
def test_rows_of_any_form_have_probabilities(form):
    X, y = two()
    k = Gaussian(0.5)
    expected = KernelSVC(k).fit(X, y).predict_proba(X)
    if form == "sparse":
        assert_allclose(KernelSVC(k).fit(sp.csr_array(X), y).predict_proba(X), expected)
    elif form == "precomputed":
        # Rows of a finished matrix are held out by their places, and so in other parts.
        P = KernelSVC("precomputed").fit(k(X), y).predict_proba(k(X))
        assert_allclose(P, expected, atol=0.1)
    elif form == "texts":
        texts = ["ab" * (i % 7 + 1) + "c" * (i % 3) for i in range(60)]
        y = np.arange(60) % 3 > 0
        P = KernelSVC("spectrum(k=2)").fit(texts, y).predict_proba(texts)
        assert P[y, 1].mean() > 0.8 > 0.4 > P[~y, 1].mean()
    else:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "site": np.where(X[:, 0] > 0, "e", "w")})
        model = KernelSVC("auto").fit(frame, y)
        twice = pd.concat([frame, frame], ignore_index=True)
        again = KernelSVC(model.kernel_, C=0.5).fit(twice, np.tile(y, 2))
        assert_allclose(model.predict_proba(frame), again.predict_proba(frame), atol=1e-2)


def test_asking_changes_no_answer_and_gives_the_same_again():
    X, y = several()
    model = KernelSVC().fit(X, y)
    before = model.decision_function(X)
    copy = pickle.loads(pickle.dumps(model))
    P = model.predict_proba(X)
    assert_array_equal(model.decision_function(X), before)
    assert_array_equal(model.predict_proba(X), P)
    assert_array_equal(copy.predict_proba(X), P)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), P)


def test_training_rows_are_let_go_once_they_are_not_needed():
    X, y = two()
    model = KernelSVC().fit(X, y)
    large = len(pickle.dumps(model))
    model.predict_proba(X)
    assert model._cross_fits_.X is None
    assert len(pickle.dumps(model)) < large


def test_a_later_change_of_settings_does_not_reach_a_fitted_model():
    X, y = two()
    model, other = KernelSVC(C=1.0).fit(X, y), KernelSVC(C=1.0).fit(X, y)
    model.set_params(C=1e-3, gamma=5.0)
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_a_class_of_a_single_row_is_never_held_out():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    P = KernelSVC(Gaussian(1.0)).fit(X, [0, 0, 0, 1, 1, 2]).predict_proba(X)
    assert P[5].argmax() == 2
    assert_allclose(KernelSVC("linear").fit([[0.0], [2.0]], [0, 1]).predict_proba([[1.0]]), 0.5)


def test_a_stream_keeps_no_rows_to_hold_out():
    X, y = two()
    model = KernelSVC(Gaussian(0.5)).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"partial_fit keeps none; use fit, or CalibratedClass"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="partial_fit keeps none"):
        KernelSVC(Gaussian(0.5)).fit(X, y).partial_fit(X, y).predict_proba(X)


def test_the_largest_value_goes_to_the_class_that_is_predicted():
    values = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2]])
    swapped = in_favour_of(np.array([0, 2, 0]), values)
    assert_array_equal(swapped, [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2]])


# Ties of votes


def rings(n):
    """Return rows of three classes on a ring, whose pairs often win in a circle."""
    angle = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, n)
    y = (3.0 * angle / (2.0 * np.pi)).astype(int)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * y[:, None] / 3.0, y


@pytest.mark.parametrize("break_ties", [True, False])
def test_ties_are_broken_as_in_scikit_learn(break_ties):
    X, y = rings(60)
    x = np.linspace(-1.5, 1.5, 60)
    grid = np.column_stack([v.ravel() for v in np.meshgrid(x, x)])
    options = {"C": 10.0, "tol": 1e-8, "gamma": 8.0, "break_ties": break_ties}
    ours = KernelSVC("rbf", **options).fit(X, y)
    theirs = SVC(kernel="rbf", **options).fit(X, y)
    # Where the largest votes are not apart by one there is a tie.
    votes = np.sort(np.round(theirs.decision_function(grid)), axis=1)
    assert (votes[:, -1] == votes[:, -2]).sum() > 10
    assert_array_equal(ours.predict(grid), theirs.predict(grid))
    assert_allclose(ours.decision_function(grid), theirs.decision_function(grid), atol=1e-4)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_decision_functions_have_the_shapes_and_signs_of_scikit_learn(shape):
    X, y = load_iris(return_X_y=True)
    options = {"decision_function_shape": shape, "tol": 1e-8}
    ours, theirs = KernelSVC("rbf", **options), SVC(**options)
    assert_allclose(
        ours.fit(X, y).decision_function(X), theirs.fit(X, y).decision_function(X), atol=1e-4
    )
    pair = y < 2
    ours, theirs = ours.fit(X[pair], y[pair]), theirs.fit(X[pair], y[pair])
    assert ours.decision_function(X).shape == (150,)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_ctrl_c_in_a_fit_for_probabilities_ends_all_of_them(monkeypatch):
    X, y = two()
    model = KernelSVC(Gaussian(0.5)).fit(X, y)
    expected, solve, calls = KernelSVC(Gaussian(0.5)).fit(X, y).predict_proba(X), SMO.solve, []

    def interrupted(*args, **options):
        calls.append(1)
        return replace(solve(*args, **options), is_interrupted=True)

    with monkeypatch.context() as patch:
        patch.setattr(SMO, "solve", interrupted)
        with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
            model.predict_proba(X)
    assert len(calls) == 1
    assert_array_equal(model.predict_proba(X), expected)
