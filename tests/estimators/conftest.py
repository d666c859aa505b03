"""A table of all kinds of columns, and targets."""

import numpy as np
import pytest


@pytest.fixture
def columns(rng):
    return {
        "age": rng.normal(40.0, 10.0, 60),
        "site": [f"site {i % 3}" for i in range(60)],
        "dose": rng.integers(0, 5, 60),
        "smoker": [bool(i % 2) for i in range(60)],
    }


@pytest.fixture
def y(columns):
    offsets = np.array([0.0, 1.0, -1.0])[np.arange(60) % 3]
    return np.sin(columns["age"] / 10.0) + offsets + 0.3 * columns["dose"]
