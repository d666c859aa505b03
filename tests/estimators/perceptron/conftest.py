"""Rows of two and of three classes."""

import numpy as np
import pytest


@pytest.fixture
def rings(rng):
    X = rng.normal(size=(150, 2))
    return X, np.where((X**2).sum(axis=1) > 1.4, "outside", "inside")


@pytest.fixture
def three(rng):
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    y = rng.integers(0, 3, size=90)
    return centres[y] + rng.normal(size=(90, 2)), y
