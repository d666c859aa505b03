"""Rows, targets and weights that the tests of selection share."""

import numpy as np
import pytest

N = 50


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 2))


@pytest.fixture
def y(X, rng):
    return np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=N) + 3.0


@pytest.fixture
def weights(rng):
    return rng.uniform(0.2, 2.0, size=N)
