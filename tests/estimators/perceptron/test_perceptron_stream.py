"""The perceptron on rows that come in parts: streams, budgets and what they refuse."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import ConvergenceWarning
from mercer.estimators import KernelPerceptron
from mercer.kernels import FromFunction, Gaussian
from mercer.solvers.online import perceptron as room
from refusals import refuses


def test_a_stream_is_one_pass_over_its_rows(three):
    X, y = three
    once = KernelPerceptron(Gaussian(1.0), max_epochs=1).fit(X, y)
    model = KernelPerceptron(Gaussian(1.0))
    for start in range(0, 90, 13):
        part = slice(start, start + 13)
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert_array_equal(model.support_, once.support_)
    assert_array_equal(model.counts_, once.counts_)
    assert_allclose(model.dual_coef_, once.dual_coef_, rtol=1e-12)
    assert (model.mistakes_, model.n_seen_) == (once.mistakes_, 90)
    assert model.margin_ is None


@pytest.mark.parametrize("budget", [None, 12])
def test_a_fit_may_be_followed_by_a_stream(three, budget):
    X, y = three
    settings = {"max_epochs": 1, "budget": budget}
    once = KernelPerceptron(Gaussian(1.0), **settings).fit(X, y)
    model = KernelPerceptron(Gaussian(1.0), **settings).fit(X[:64], y[:64])
    model.partial_fit(X[64:], y[64:])
    assert_array_equal(model.support_, once.support_)
    assert_allclose(model.dual_coef_, once.dual_coef_, rtol=1e-6)
    assert model.mistakes_ == once.mistakes_


def table_of(X):
    return pd.DataFrame(X, columns=["a", "b"])


def words_of(X):
    return ["a" * int(6 + x) + "b" * int(6 + z) for x, z in X]


def shared_letters(X, Z):
    counts = [np.array([[w.count("a"), w.count("b")] for w in W], float) for W in (X, Z)]
    return Gaussian(2.0)(*counts)


@pytest.mark.parametrize("budget", [None, 10])
@pytest.mark.parametrize(
    ("form", "kernel"),
    [
        (np.asarray, Gaussian(1.0)),
        (sp.csr_matrix, Gaussian(1.0)),
        (table_of, Gaussian(1.0).on("a", "b")),
        (words_of, FromFunction(shared_letters)),
    ],
    ids=["array", "csr", "table", "words"],
)
def test_streams_come_in_every_form(three, form, kernel, budget):
    X, y = three
    model = KernelPerceptron(kernel, budget=budget)
    for part in (slice(0, 50), slice(50, 90)):
        model.partial_fit(form(X[part]), y[part], classes=[0, 1, 2])
    assert model.score(form(X), y) > 0.9
    if budget:
        assert len(model.support_) <= budget
        assert model.counts_ is None


def test_a_stream_that_turns_is_followed_within_the_budget(rng):
    model = KernelPerceptron(Gaussian(0.7), budget=25, averaged=False)
    for turn in range(8):
        X = rng.normal(size=(200, 2)) + np.array([turn, 0.0])
        y = (X[:, 1] > np.sin(2.0 * X[:, 0])).astype(int)
        model.partial_fit(X, y, classes=[0, 1])
        assert len(model.support_) <= 25
    assert model.support_.max() >= 1400
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("budget", [None, 10])
def test_a_part_of_a_stream_may_have_nothing_that_counts(three, budget):
    X, y = three
    model = KernelPerceptron(Gaussian(1.0), budget=budget, class_weight={0: 1.0, 1: 1.0, 2: 0.0})
    third, others = y == 2, y < 2
    model.partial_fit(X[third], y[third], classes=[0, 1, 2])
    assert_array_equal(model.decision_function(X), np.zeros((90, 3)))
    model.partial_fit(X[others], y[others]).partial_fit(X[third], y[third])
    assert model.n_seen_ == 90 + third.sum()
    assert model.score(X[others], y[others]) > 0.95


def test_an_interrupted_part_of_a_stream_says_so(rings, monkeypatch):
    X, y = rings
    model = KernelPerceptron(Gaussian(0.3)).partial_fit(X[:50], y[:50], np.unique(y))
    monkeypatch.setattr(room, "sweep", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.warns(ConvergenceWarning, match="some of the rows were not visited"):
        model.partial_fit(X[50:], y[50:])


def test_a_stream_refuses_what_it_cannot_follow(three):
    X, y = three
    refuses("classes must be passed on the first call", KernelPerceptron().partial_fit, X, y)
    refuses("at least two classes, got [1]", KernelPerceptron().partial_fit, X, y, [1])
    refuses("use fit", KernelPerceptron("precomputed").partial_fit, X @ X.T, y, [0, 1, 2])
    balanced = KernelPerceptron(class_weight="balanced")
    refuses("class_weight='balanced' needs all rows", balanced.partial_fit, X, y, [0, 1, 2])
    model = KernelPerceptron().partial_fit(X, y, [0, 1, 2])
    refuses("y holds 7, which is none of the classes [0, 1, 2]", model.partial_fit, X, y + 7)
    refuses("classes must be those of the first call, [0, 1, 2]", model.partial_fit, X, y, [0, 1])
    model.set_params(budget=5)
    refuses("budget was None in the first call and is 5", model.partial_fit, X, y)
    model = KernelPerceptron(budget=5).partial_fit(X, y, [0, 1, 2]).set_params(budget=None)
    refuses("budget was a number in the first call and is None", model.partial_fit, X, y)


def test_a_smaller_budget_holds_from_the_next_call_on(rings):
    X, y = rings
    model = KernelPerceptron(Gaussian(0.3), budget=20).partial_fit(X[:100], y[:100], np.unique(y))
    assert len(model.support_) == 20
    model.set_params(budget=6).partial_fit(X[100:], y[100:])
    assert len(model.support_) <= 6
    assert_array_equal(model.support_vectors_, X[model.support_])


def test_a_first_part_that_fails_is_not_the_first(rings):
    X, y = rings
    model = KernelPerceptron(budget=0)
    refuses("budget must be a whole number", model.partial_fit, X, y, np.unique(y))
    model.set_params(budget=5).partial_fit(X, y, np.unique(y))
    assert model.n_seen_ == 150


def test_partial_fit_certifies_the_rows_of_the_call(rng):
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    model = KernelPerceptron("linear").partial_fit(X, y, classes=[-1, 1])
    assert model.certificate_.value == model.mistakes_


def test_a_first_call_that_came_to_nothing_leaves_the_next_one_the_first(rng, monkeypatch):
    X = rng.normal(size=(40, 2))
    y = np.sign(X[:, 0])
    machine, expected = (KernelPerceptron(Gaussian(1.0)) for _ in range(2))
    with monkeypatch.context() as patched:
        patched.setattr(KernelPerceptron, "_learnt", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            machine.partial_fit(X, y, classes=[-1.0, 1.0])
    machine.partial_fit(X, y, classes=[-1.0, 1.0])
    expected.partial_fit(X, y, classes=[-1.0, 1.0])
    assert_array_equal(machine.decision_function(X), expected.decision_function(X))
    assert machine.n_seen_ == 40
