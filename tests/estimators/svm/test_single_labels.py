"""Labels that float32 settles: they are those of float64."""

from functools import partial

import numpy as np
import pytest

from mercer import Gaussian, KernelSVC, Polynomial
from mercer.estimators.svm import svc
from mercer.estimators.svm.one_vs_one import clear_winners, tally
from mercer.estimators.svm.single_labels import settled_classes


@pytest.fixture
def rows(rng):
    return rng.normal(size=(600, 3))


def labels(X, n_classes):
    return np.digitize(X[:, 0] + X[:, 1] ** 2, np.linspace(-0.5, 2.5, n_classes - 1))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(3)], ids=str)
def test_labels_are_those_of_float64(rows, rng, monkeypatch, kernel, n_classes, multiclass):
    model = KernelSVC(kernel, 10.0, multiclass=multiclass).fit(rows, labels(rows, n_classes))
    new = rng.normal(size=(3000, 3))
    monkeypatch.setattr(svc, "settled_classes", partial(settled_classes, many_entries=2**62))
    exact = model.predict(new)
    monkeypatch.setattr(svc, "settled_classes", partial(settled_classes, many_entries=0))
    np.testing.assert_array_equal(model.predict(new), exact)


def counted_exact(monkeypatch, model):
    """Return the list that rows decided in float64 are added to."""
    counts, decided = [], model._decided
    monkeypatch.setattr(model, "_decided", lambda X: counts.append(len(X)) or decided(X))
    monkeypatch.setattr(svc, "settled_classes", partial(settled_classes, many_entries=0))
    return counts


def test_float64_decides_few_rows_only(rows, rng, monkeypatch):
    model = KernelSVC(Gaussian(1.0), 10.0).fit(rows, labels(rows, 5))
    counts = counted_exact(monkeypatch, model)
    model.predict(rng.uniform(-1.0, 1.0, size=(2000, 3)))
    assert sum(counts) < 100


def test_rows_on_the_boundary_are_decided_in_float64(monkeypatch):
    X = np.array([[-1.0], [1.0]] * 40)
    model = KernelSVC(Gaussian(1.0)).fit(X, X[:, 0] > 0.0)
    counts = counted_exact(monkeypatch, model)
    model.predict(np.zeros((7, 1)))
    assert counts == [7]


def test_rows_beyond_the_support_vectors_are_decided_in_float64(rows, monkeypatch):
    model = KernelSVC(Polynomial(3)).fit(rows, labels(rows, 2))
    counts = counted_exact(monkeypatch, model)
    model.predict(1e6 * rows[:5])
    assert counts == [5]


def test_a_far_origin_is_decided_in_float64(rows, rng, monkeypatch):
    # float32 cannot tell these rows from each other.
    far = rows + 1e8
    y = labels(rows, 3)
    model = KernelSVC(Gaussian(1.0), 10.0).fit(far, y)
    monkeypatch.setattr(svc, "settled_classes", partial(settled_classes, many_entries=0))
    assert (model.predict(far) == y).mean() > 0.9


def test_a_clear_winner_has_the_most_votes_however_the_others_err(rng):
    scores, error = rng.normal(size=(500, 10)), np.full(10, 0.2)
    winner, is_clear = clear_winners(scores, error, 5)
    assert 0 < is_clear.sum() < 500
    for _ in range(20):
        other = scores + rng.uniform(-0.2, 0.2, size=scores.shape)
        assert (tally(other, 5).argmax(axis=1) == winner)[is_clear].all()


def test_rows_beyond_float32_are_decided_in_float64(rows, monkeypatch):
    model = KernelSVC(Gaussian(1.0)).fit(rows, rows[:, 0] > 0.0)
    new = np.vstack([rows[:5], np.full((1, 3), 1e300)])
    exact = model.predict(new)
    monkeypatch.setattr(svc, "settled_classes", partial(settled_classes, many_entries=0))
    np.testing.assert_array_equal(model.predict(new), exact)
