"""KernelSVC on a stream: rows that come in parts, each seen once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.estimators import KernelSVC
from mercer.kernels import Gaussian

GAMMA = 0.5


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 3))


@pytest.fixture
def y(X, rng):
    return np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=300) > 0, "yes", "no")


@pytest.fixture
def three(X, rng):
    return np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=300), [-0.3, 0.8])


def ours(C=1.0, **settings):
    return KernelSVC(Gaussian.from_gamma(GAMMA), C, **settings)


@pytest.mark.parametrize("labels", ["y", "three"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_partial_fit_learns_from_a_stream(X, labels, multiclass, request):
    y = request.getfixturevalue(labels)
    model = ours(multiclass=multiclass)
    for part in range(0, 300, 50):
        model.partial_fit(X[part : part + 50], y[part : part + 50], classes=np.unique(y))
    assert model.score(X, y) > 0.75
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.sum() == len(model.support_)


def test_a_balanced_stream_balances_all_that_it_has_seen(X, y):
    order = np.argsort(y, kind="stable")
    model = ours(class_weight="balanced", fit_intercept=False)
    for part in (order[:50], order[50:]):
        model.partial_fit(X[part], y[part], classes=["no", "yes"])
    # The first part has one class, the second has the rest of it and the other class.
    totals = np.array([(y == "no").sum(), (y == "yes").sum()])
    later = model.support_ >= 50
    cost = np.abs(model.dual_coef_[0])
    second = np.repeat([0, 1], model.n_support_)
    assert_allclose(cost[later], (300 / (2 * totals))[second[later]])


def test_a_balanced_stream_goes_on_from_the_counts_of_a_fit(X, y):
    model = ours(class_weight="balanced").fit(X[:200], y[:200])
    before = len(model.support_)
    model.partial_fit(X[200:], y[200:])
    totals = np.array([(y == "no").sum(), (y == "yes").sum()])
    added = model.support_ >= 200
    assert added.sum() == len(model.support_) - before > 0
    owners = np.repeat([0, 1], model.n_support_)[added]
    assert_allclose(np.abs(model.dual_coef_[0, added]), (300 / (2 * totals))[owners])


def test_rows_of_zero_weight_do_not_move_the_offset_of_a_stream(X, y):
    weights = np.repeat([0.0, 1.0], 16)
    whole = ours().partial_fit(X[:32], y[:32], np.unique(y), weights)
    part = ours().partial_fit(X[16:32], y[16:32], np.unique(y))
    assert_allclose(whole.intercept_, part.intercept_, rtol=1e-12)


def test_rows_of_a_stream_are_counted_on_from_those_of_the_fit(X, y):
    model = ours().fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:])
    assert model.support_.max() >= 100


def test_a_stream_after_a_fit_has_no_certificate(X, y):
    model = ours().fit(X, y)
    model.partial_fit(X[:5], y[:5])
    assert not hasattr(model, "certificate_")


def test_a_first_batch_that_is_refused_leaves_no_model(X, three):
    model = ours()
    with pytest.raises(ValueError, match="negative"):
        model.partial_fit(X, three, np.unique(three), sample_weight=-np.ones(len(X)))
    assert not hasattr(model, "classes_")
