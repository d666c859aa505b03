"""Time limits on many rows: how long a fit takes beside what it was given."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

from datasets import classification
from timing import Figure, show

from mercer import KernelLogisticRegression, KernelPCA, KernelPerceptron, KernelRidge, KernelSVC
from mercer.errors import ConvergenceWarning

ROWS, SECONDS = 40_000, 5.0


def figures() -> list[Figure]:
    """Return the seconds of every fit; the promise is the limit, a tenth of it and a second."""
    X, y = (rows[:ROWS] for rows in classification("covtype_93k"))
    models: list[Any] = [
        KernelRidge(time_limit=SECONDS),
        KernelSVC(time_limit=SECONDS),
        KernelLogisticRegression(time_limit=SECONDS),
        KernelPerceptron(time_limit=SECONDS),
        KernelPCA(n_components=5, time_limit=SECONDS),
    ]
    found = []
    for model in models:
        began = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y == y[0])
        taken = perf_counter() - began
        detail = str(getattr(model, "certificate_", ""))
        name = type(model).__name__
        found.append(Figure(name, taken, 1.1 * SECONDS + 1.0, False, " s", detail))
    return found


def main() -> None:
    """Print the figures."""
    show(f"{ROWS} rows of covtype with time_limit={SECONDS:g}", figures())


if __name__ == "__main__":
    main()
