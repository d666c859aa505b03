"""What an automatic machine says of its last fit, and that it says it once."""

import warnings

import numpy as np
import pytest

from mercer import Gaussian, KernelClassifier, KernelRegressor
from mercer.errors import ApproximationWarning
from mercer.planning import landmarks
from mercer.selection.automatic.board import Candidate, Leaderboard
from mercer.selection.automatic.cross_fit import Compared
from mercer.selection.automatic.search import KernelSearch


def candidate(kernel, **parts):
    return Candidate("a", kernel, 0.1, np.ones(4), 1.0, 1, 4, False, 0.0, **parts)


ONE = candidate(Gaussian(0.5))
MEAN = candidate(
    0.5 * Gaussian(0.5) + 0.5 * Gaussian(1.0),
    parts=(ONE, candidate(Gaussian(1.0))),
    shares=(0.5, 0.5),
)


@pytest.mark.parametrize("best", [ONE, MEAN], ids=["one", "mean"])
@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
def test_landmarks_are_told_of_once(kind, best, monkeypatch):
    # A fit to more rows than these that takes any time at all is one by landmarks.
    monkeypatch.setattr(landmarks, "FEW", 100)
    monkeypatch.setattr("mercer.planning.ridge.FEW", 100)
    monkeypatch.setattr(landmarks.ByLandmarks, "exact_seconds", 0.0)
    monkeypatch.setattr(KernelSearch, "winners", lambda _: Leaderboard([best, ONE]))
    name = "ridge" if best is ONE else "mean"
    monkeypatch.setattr(KernelClassifier, "_compared", lambda *_: {name: Compared(0.0, best)})
    X = np.random.default_rng(0).normal(size=(160, 2))
    y = np.sin(2.0 * X[:, 0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = kind().fit(X, y if kind is KernelRegressor else y > 0.0)
    assert model.estimator_.approximation_ is not None
    assert [w.category for w in told].count(ApproximationWarning) == 1
