"""The same call gives the same bits, whatever else the machine does."""

import sys

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor
from mercer.data.limits import memory


def table(n=50):
    """Return numbers, categories, and rare marks, of which one is a class of its own."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.gamma(1.0, size=(n, 3)), columns=list("abc"))
    X["kind"] = rng.choice(list("uvw"), n)
    for j in range(3):
        X[f"mark{j}"] = (rng.random(n) < 0.08).astype(int)
    y = np.sin(X.a) + (X.kind == "u") + 2.0 * X.mark0 + 0.2 * rng.normal(size=n)
    return X, y.to_numpy()


def told(machine, X, y):
    """Return all that a fit says: every candidate with its errors, kernel and ridge, and f."""
    machine.fit(X, y)
    board = [(c.name, c.squares.tobytes(), str(c.kernel), c.alpha) for c in machine.candidates_]
    predicted = machine.predict_proba(X) if hasattr(machine, "losses_") else machine.predict(X)
    return board, getattr(machine, "losses_", None), predicted.tobytes()


@pytest.mark.parametrize("machine", [KernelRegressor, KernelClassifier])
def test_clocks_free_memory_and_threads_are_no_matter(machine, monkeypatch):
    X, y = table()
    y = y if machine is KernelRegressor else np.digitize(y, [0.8, 1.6, 2.6])
    expected = told(machine(), X, y)
    ticks = np.random.default_rng(0)
    for name, module in list(sys.modules.items()):
        if name.startswith("mercer.") and hasattr(module, "perf_counter"):
            monkeypatch.setattr(module, "perf_counter", lambda: ticks.uniform(0.0, 1e6))
    # Enough for all matrices, and less than any machine has.
    monkeypatch.setattr(memory, "available_bytes", lambda: 40_000_000)
    monkeypatch.setenv("MERCER_THREADS", "3")
    assert told(machine(), X, y) == expected
