import numpy as np
import pytest


@pytest.fixture
def rng():
    """Random numbers, the same in every run of a test."""
    return np.random.default_rng(20240607)


@pytest.fixture
def points(rng):
    """A maker of read-only random points: points(n, d=3), of normal or non-negative entries."""

    def make(n, d=3, non_negative=False):
        X = rng.normal(size=(n, d))
        if non_negative:
            X = np.abs(X)
        X.flags.writeable = False
        return X

    return make
