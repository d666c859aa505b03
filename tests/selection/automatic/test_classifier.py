"""The automatic machine for classes: what its models are compared on, and by what."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import Gaussian, KernelClassifier
from mercer.data.limits.memory import room_of
from mercer.data.ranges import Outside, outside_in_words
from mercer.errors import ConvergenceWarning, OutsideRangeWarning
from mercer.selection.automatic import classifier as module
from mercer.selection.automatic.board import Candidate, Leaderboard
from mercer.selection.automatic.cross_fit import Compared
from mercer.selection.automatic.labelled import LabelledRows
from mercer.selection.automatic.ranges import warn_outside
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run

KERNEL = 4.0 * Gaussian(1.0)


def search_of(n=60, classes=2, weights=None, groups=None):
    X = np.random.default_rng(0).normal(size=(n, 2))
    codes = np.arange(n) % classes
    y = np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)
    y = y[:, 1:] if classes == 2 else y
    weights = np.ones(n) if weights is None else weights
    index = np.arange(n)
    return KernelSearch(X, y, weights, 1.0, index, 10**9, 0, Run(), groups, True)


def candidate(alpha=0.5, parts=()):
    given = ("a", KERNEL, alpha, np.ones(4), 1.0, 1, 4, False, 0.0)
    return Candidate(*given, parts=parts, shares=(0.5,) * len(parts))


@pytest.mark.parametrize(
    ("classes", "rows"),
    [(2, 1000), (3, 1000), (4, 750), (12, 250), (13, 250), (30, 250), (31, 1000)],
)
def test_models_are_compared_on_1000_rows_or_3000_numbers_of_all_classes(classes, rows):
    sample, labels = KernelClassifier()._labelled(search_of(1200, classes))
    assert len(sample) == rows
    assert_array_equal(labels, sample % classes)


@pytest.mark.parametrize(("classes", "is_noted"), [(30, False), (31, True)])
def test_of_more_than_thirty_classes_the_leaderboard_says_how_they_are_fitted(
    monkeypatch, classes, is_noted
):
    monkeypatch.setattr(KernelSearch, "winners", lambda self: Leaderboard((candidate(),)))
    board = KernelClassifier()._noted(search_of(62, classes))
    note = (
        "31 classes are fitted by least squares, one against the rest, with calibrated "
        "probabilities; logistic regression is tried for up to 30"
    )
    assert board.note == (note if is_noted else "")


@pytest.fixture
def compared(monkeypatch):
    """Compare models by losses that are given, and keep what logistic regression is given."""
    seen = SimpleNamespace()

    class Logistic:
        best_score_, C_, _is_cut = -0.25, 7.0, False

        def __init__(self, kernels, Cs, **settings):
            seen.kernels, seen.Cs, seen.settings = kernels, Cs, settings

        def fit(self, rows, labels, weights):
            seen.fitted = rows, labels, weights

    losses = {mercer.KernelRidgeClassifier: 0.5, mercer.KernelRidgeMeanClassifier: 0.75}
    monkeypatch.setattr(module, "KernelLogisticRegressionCV", Logistic)
    monkeypatch.setattr(LabelledRows, "log_loss", lambda self, model: losses[type(model)])
    seen.of = lambda search, means=(), run=None, **settings: KernelClassifier(**settings)._compared(
        search, KERNEL, candidate(), list(means), run or Run()
    )
    return seen


def test_all_models_are_compared_by_their_log_loss(compared):
    weights = np.linspace(0.5, 1.5, 60)
    mean = candidate(0.125, (candidate(), candidate()))
    found = compared.of(search_of(60, 3, weights), [mean], memory="1GB", random_state=5)
    one = found["ridge"].candidate
    assert found == {
        "ridge": Compared(0.5, one),
        "mean": Compared(0.75, mean),
        "logistic": Compared(0.25, one, C=7.0),
    }
    # Cs are in units of one over the mean of k(x, x), which is 4.
    assert_allclose(compared.Cs, [0.075, 0.75, 7.5, 75.0])
    assert compared.kernels == [KERNEL]
    told = {"cv": "loo", "memory": room_of("1GB"), "time_limit": None, "random_state": 5}
    assert compared.settings == told
    assert_array_equal(compared.fitted[1], np.arange(60) % 3)
    assert_array_equal(compared.fitted[2], weights)


def test_groups_are_folds_of_the_comparison(compared):
    groups = np.arange(60) // 6
    compared.of(search_of(60, 2, groups=groups))
    folds = compared.settings["cv"]
    assert len(folds) == 5
    assert all(not set(groups[train]) & set(groups[test]) for train, test in folds)


def test_of_many_classes_a_mean_is_compared_and_logistic_regression_is_not(compared):
    mean = candidate(0.125, (candidate(), candidate()))
    found = compared.of(search_of(62, 31), [mean])
    assert set(found) == {"ridge", "mean"}
    assert compared.of(search_of(62, 31)) == {}
    assert set(compared.of(search_of(60, 30))) == {"ridge", "logistic"}


def test_without_time_or_classes_nothing_is_compared(compared):
    assert compared.of(search_of(), run=Run(1e-9)) == {}
    # Every class has a group to itself.
    assert compared.of(search_of(60, 2, groups=np.arange(60) % 2)) == {}


def test_time_that_is_up_leaves_what_was_compared(compared, monkeypatch):
    mean = candidate(0.125, (candidate(), candidate()))
    for calls, names in (
        (1, {"ridge"}),
        (2, {"ridge", "mean"}),
        (3, {"ridge", "mean", "logistic"}),
    ):
        left = iter([False] * calls + [True] * 9)
        run = SimpleNamespace(is_over=lambda left=left: next(left), rest=3.0)
        assert set(compared.of(search_of(), [mean], run)) == names


def test_logistic_regression_that_time_cut_is_not_compared(compared, monkeypatch):
    monkeypatch.setattr(module.KernelLogisticRegressionCV, "_is_cut", True)
    assert set(compared.of(search_of())) == {"ridge"}


def test_a_search_among_cs_that_time_cut_is_told_from_one_that_ended():
    X = np.random.default_rng(0).normal(size=(60, 2))
    Cs, y = [0.3, 3.0], X[:, 0] > 0.0
    assert not mercer.KernelLogisticRegressionCV([KERNEL], Cs).fit(X, y)._is_cut
    with pytest.warns(ConvergenceWarning):
        assert mercer.KernelLogisticRegressionCV([KERNEL], Cs, time_limit=1e-9).fit(X, y)._is_cut


def test_ridges_are_in_units_of_the_mean_weight():
    model = KernelClassifier(memory="1GB")
    one = model._ridge(candidate(0.5), 3.0)
    assert (one.kernel, one.alpha, one.memory) == (KERNEL, 1.5, room_of("1GB"))
    mean = model._ridge(candidate(0.5, (candidate(0.5), candidate(0.25))), 2.0)
    assert (mean.kernels, mean.alphas) == ((KERNEL, KERNEL), (1.0, 0.5))
    assert (mean.weights, mean.memory) == ((0.5, 0.5), room_of("1GB"))
    assert model._ridge(candidate(0.5)).alpha == 0.5


@pytest.mark.parametrize(
    ("labels", "folds", "has_every"),
    [
        ([0, 1, 0, 1], None, True),
        ([0, 0, 0, 0], None, False),
        ([0, 1, 0, 1], [([0, 1], [2, 3]), ([2, 3], [0, 1])], True),
        ([0, 1, 0, 0], [([0, 1], [2, 3]), ([2, 3], [0, 1])], False),
    ],
)
def test_classes_are_told_apart_where_every_fold_trains_on_all(labels, folds, has_every):
    some = LabelledRows(KERNEL, np.zeros((4, 1)), np.array(labels), np.ones(4), folds)
    assert some.has_every_class is has_every


def test_the_log_loss_is_the_weighted_mean_over_rows_left_out():
    P = np.array([[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]])

    class Model:
        leave_one_out_proba_ = P

        def fit(self, rows, labels, weights):
            self.seen = rows, labels, weights
            return self

    labels, weights = np.array([3, 5, 3]), np.array([1.0, 2.0, 0.5])
    some = LabelledRows(KERNEL, np.zeros((3, 1)), labels, weights)
    expected = -(np.log(0.25) + 2.0 * np.log(0.5) + 0.5 * np.log(1e-15)) / 3.5
    assert some.log_loss(Model()) == pytest.approx(expected)


def test_the_log_loss_of_folds_is_that_of_fits_to_the_others():
    X = np.arange(4.0)[:, None]
    seen = []

    class Model:
        def fit(self, rows, labels, weights):
            seen.append((rows.ravel().tolist(), labels.tolist(), weights.tolist()))

        def predict_proba(self, rows):
            p = (rows.ravel() + 1.0) / 8.0
            return np.column_stack([p, 1.0 - p])

    folds = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    some = LabelledRows(KERNEL, X, np.array([0, 1, 0, 1]), np.arange(1.0, 5.0), folds)
    chances = np.log([1 / 8, 6 / 8, 3 / 8, 4 / 8])
    assert some.log_loss(Model()) == pytest.approx(
        -np.average(chances, weights=np.arange(1.0, 5.0))
    )
    assert seen == [([0.0, 1.0], [0, 1], [1.0, 2.0]), ([2.0, 3.0], [0, 1], [3.0, 4.0])]


def test_columns_far_outside_are_told_of_in_one_warning():
    found = [Outside(f"c{i}", 1, 9.0, 0.0, 1.0) for i in range(4)]
    with pytest.warns(OutsideRangeWarning) as warned:
        warn_outside(SimpleNamespace(outside=lambda X: found), np.zeros((1, 1)))
    assert [str(each.message) for each in warned] == [outside_in_words(found)]


def test_nothing_is_said_of_no_ranges_no_rows_and_none_outside(recwarn):
    warn_outside(None, np.zeros((1, 1)))
    warn_outside(SimpleNamespace(outside=lambda X: ["c"]), None)
    warn_outside(SimpleNamespace(outside=lambda X: []), np.zeros((1, 1)))
    assert not recwarn


def test_one_class_of_positive_weight_is_refused_before_the_search_by_the_name_of_the_machine():
    message = r"^KernelClassifier needs at least two classes of positive weight, got \['a'\]"
    with pytest.raises(ValueError, match=message):
        KernelClassifier().fit(np.arange(4.0)[:, None], list("abab"), [1.0, 0.0, 1.0, 0.0])
