"""Small random batches: solver="sgd" and partial_fit against SGD on features of scikit-learn."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from datasets import classification, regression
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from timing import Figure, show

from mercer import Gaussian, KernelLogisticRegression, KernelRidge

Array = NDArray[Any]

REGRESSION, CLASSES = "kin8nm", "phoneme"
TEST_SHARE = 0.1
LANDMARKS, BLOCK = 500, 1000
ALPHA, C = 0.1, 10.0


def split(X: Array, y: Array) -> tuple[Array, Array, Array, Array]:
    """Return training rows and targets in a seeded order, and the rest to test on."""
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [int(TEST_SHARE * len(y))])
    return X[train], y[train], X[test], y[test]


def streamed(model: Any, X: Array, y: Array, **first: Any) -> Any:
    for start in range(0, len(y), BLOCK):
        model.partial_fit(X[start : start + BLOCK], y[start : start + BLOCK], **first)
    return model


def figures(case: str, contenders: dict[str, Any], error: Any) -> list[Figure]:
    """Return the error and the time of every contender, each run once."""
    found = []
    for name, run in contenders.items():
        began = perf_counter()
        model = run()
        seconds = perf_counter() - began
        found.append(Figure(f"{case}, {name}", error(model), unit="", detail=f"{seconds:.2f} s"))
    return found


def main() -> None:
    X, y, T, t = split(*regression(REGRESSION))
    scale = 0.5 * X.shape[1] ** 0.5
    kernel, gamma = Gaussian(scale), 0.5 / scale**2
    peer = Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0)
    ridge = {
        "exact": lambda: KernelRidge(kernel, ALPHA, solver="cholesky").fit(X, y),
        "sgd": lambda: KernelRidge(kernel, ALPHA, solver="sgd", tol=1e-3).fit(X, y),
        "partial_fit": lambda: streamed(KernelRidge(kernel, ALPHA, n_landmarks=LANDMARKS), X, y),
        "Nystroem + SGDRegressor": lambda: make_pipeline(
            peer, SGDRegressor(alpha=ALPHA / len(y), random_state=0)
        ).fit(X, y),
    }
    show(
        f"root mean square error over the spread of the targets, {REGRESSION}",
        figures(
            f"n = {len(y)}",
            ridge,
            lambda m: float(np.sqrt(np.mean((m.predict(T) - t) ** 2)) / t.std()),
        ),
    )

    X, y, T, t = split(*classification(CLASSES))
    scale = 0.5 * X.shape[1] ** 0.5
    kernel, gamma = Gaussian(scale), 0.5 / scale**2
    peer = Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0)
    names = np.unique(y)
    logistic = {
        "exact": lambda: KernelLogisticRegression(kernel, C).fit(X, y),
        "sgd": lambda: KernelLogisticRegression(kernel, C, solver="sgd").fit(X, y),
        "partial_fit": lambda: streamed(
            KernelLogisticRegression(kernel, C, n_landmarks=LANDMARKS), X, y, classes=names
        ),
        "Nystroem + SGDClassifier": lambda: make_pipeline(
            peer, SGDClassifier("log_loss", alpha=1.0 / (C * len(y)), random_state=0)
        ).fit(X, y),
    }
    show(
        f"log loss, {CLASSES}",
        figures(f"n = {len(y)}", logistic, lambda m: log_loss(t, m.predict_proba(T))),
    )


if __name__ == "__main__":
    main()
