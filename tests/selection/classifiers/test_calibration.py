"""The temperature of a ridge classifier, against fits without one of the equal rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.data.limits.deadline import TimeIsUpError
from mercer.errors import ConvergenceWarning, MemoryLimitError
from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection.classifiers.calibration import Calibration
from mercer.solvers.logistic.temperature import smoothed_targets, temperature

N = 14


@pytest.fixture(params=[2, 3])
def rows(request, rng):
    """Rows, their classes, and targets -1 and 1: one column for two classes, else one for each."""
    X, codes = rng.normal(size=(N, 2)), np.arange(N) % request.param
    X[:, 0] += codes
    signs = np.where(codes[:, None] == np.arange(request.param), 1.0, -1.0)
    return X, codes, signs[:, 1] if request.param == 2 else signs


def calibration(rows, weights, copies, time_limit=None):
    X, codes, targets = rows
    model = KernelRidge(Gaussian(1.0), alpha=0.3).fit(X, targets, weights)
    return Calibration(model, targets, codes, weights, copies, time_limit)


# Weights of less than one each, and of more: the copies tell how many rows share a weight.
@pytest.mark.parametrize("unit", [0.2, 1.0, 7.0])
@pytest.mark.parametrize("most", [1, 3])
def test_scores_are_those_of_fits_without_one_of_the_copies(rows, rng, unit, most):
    X, codes, targets = rows
    copies = 1.0 + np.arange(N) % most
    weights = unit * copies * rng.uniform(0.8, 1.2, size=N)
    found = calibration(rows, weights, copies)
    scores = np.empty_like(targets)
    for i in range(N):
        less = weights - (np.arange(N) == i) * weights / copies
        left = np.flatnonzero(less > 0.0)
        model = KernelRidge(Gaussian(1.0), alpha=0.3).fit(X[left], targets[left], less[left])
        scores[i] = model.predict(X[[i]])[0]
    assert_allclose(found._held_out_scores(), scores, rtol=1e-6, atol=1e-9)
    columns = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    T = temperature(columns, smoothed_targets(codes, weights, columns.shape[1]), weights)
    assert_allclose(found.temperature, T, rtol=1e-5)
    chances = np.exp(T * columns)
    assert_allclose(found(scores), chances / chances.sum(axis=1, keepdims=True), rtol=1e-4)


def test_a_row_of_no_weight_keeps_its_score(rows):
    weights, copies = np.ones(N), np.full(N, 2.0)
    weights[3] = 0.0
    found = calibration(rows, weights, copies)
    assert_allclose(found._held_out_scores()[3], found.model.predict(rows[0])[3], rtol=1e-8)


def test_without_time_the_temperature_is_one(rows, monkeypatch):
    found = calibration(rows, np.ones(N), np.ones(N), 2.5)

    def late(self):
        raise TimeIsUpError

    monkeypatch.setattr(Calibration, "_left_out", late)
    with pytest.warns(ConvergenceWarning, match=r"the time limit of 2.5 s was up"):
        assert found.temperature == 1.0


def test_without_memory_another_way_to_probabilities_is_told(rows, monkeypatch):
    found = calibration(rows, np.ones(N), np.ones(N))

    class Small:
        certificate_ = found.model.certificate_

        @property
        def leave_one_out_predictions_(self):
            raise MemoryLimitError("too many rows")

    found.model = Small()
    with pytest.raises(MemoryLimitError, match=r"too many rows; or use CalibratedClassifierCV"):
        _ = found.temperature
