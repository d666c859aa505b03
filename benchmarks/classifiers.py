"""Classification by least squares and by perceptrons, against scikit-learn and plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from datasets import classification, sparse_text
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelPerceptron, KernelRidge, KernelRidgeClassifier

Array = NDArray[Any]


def listed(best: dict[str, float]) -> str:
    """Return times as text."""
    return ", ".join(f"{who} {s:.3g} s" for who, s in best.items())


def signs_of(y: Array) -> Array:
    """Return 1 for the rows of every class and -1 for the rest."""
    return np.where(y[:, None] == np.unique(y), 1.0, -1.0)


def ridge_figures(n: int = 4000) -> list[Figure]:
    """Return what ten classes cost beside one, and beside scikit-learn's kernel ridge."""
    X, y = (rows[:n] for rows in classification("usps"))
    signs, scale = signs_of(y), 12.0
    gamma = 0.5 / scale**2
    one = KernelRidge(Gaussian(scale), alpha=0.1)
    ten = KernelRidgeClassifier(Gaussian(scale), alpha=0.1)
    peer = Peer(kernel="rbf", gamma=gamma, alpha=0.1)

    best = interleaved(
        {
            "ten classes": lambda: ten.fit(X, y),
            "one target": lambda: one.fit(X, signs[:, 0]),
            "scikit-learn, all at once": lambda: peer.fit(X, signs),
        },
        rounds=3,
    )
    ratio = best["ten classes"] / best["one target"]
    speed = best["scikit-learn, all at once"] / best["ten classes"]
    case = f"usps, n = {n}"
    return [
        Figure(
            f"10 classes over 1 target, {case}", ratio, 1.2, at_least=False, detail=listed(best)
        ),
        Figure(f"KernelRidge on signs, {case}", speed, 2.0),
    ]


def probability_figures(n: int = 2000) -> list[Figure]:
    """Return the time and loss of probabilities beside those of cross-fitted Platt scaling."""
    X, y = classification("usps")
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n], order[n : n + 3000]
    ours = KernelRidgeClassifier(Gaussian(12.0), alpha=0.1)
    peer = CalibratedClassifierCV(
        KernelRidgeClassifier(Gaussian(12.0), alpha=0.1), cv=5, ensemble=False
    )
    losses = {}

    def run(name: str, model: Any) -> None:
        model.fit(X[train], y[train])
        losses[name] = log_loss(y[test], model.predict_proba(X[test]))

    best = interleaved(
        {
            "left-out rows": lambda: run("left-out rows", ours),
            "CalibratedClassifierCV": lambda: run("CalibratedClassifierCV", peer),
        },
        rounds=3,
    )
    speed = best["CalibratedClassifierCV"] / best["left-out rows"]
    lower = losses["CalibratedClassifierCV"] / losses["left-out rows"]
    detail = ", ".join(f"{who} {loss:.4f}" for who, loss in losses.items())
    return [
        Figure(f"probabilities, usps, n = {n}", speed, 2.0, detail=listed(best)),
        Figure("their log loss on 3000 new rows", lower, 1.0, detail=detail),
    ]


def plain(K: Array, y: Array, epochs: int) -> Array:
    """Return the mistakes of a perceptron in plain NumPy."""
    f, counts = np.zeros(len(y)), np.zeros(len(y), int)
    for _ in range(epochs):
        before = counts.sum()
        for i in range(len(y)):
            if y[i] * f[i] <= 0.0:
                counts[i] += 1
                f += y[i] * K[i]
        if counts.sum() == before:
            break
    return counts


def perceptron_figures(name: str, epochs: int, target: float) -> list[Figure]:
    """Return the speed of a fit over scikit-learn's Gram matrix and a loop in NumPy."""
    X, y = classification(name)
    X, y = X[:5000], y[:5000]
    signs = signs_of(y)
    signs = signs[:, 1:] if signs.shape[1] == 2 else signs
    scale = float(np.sqrt(X.shape[1]))
    model = KernelPerceptron(Gaussian(scale), max_epochs=epochs)
    counts = {}

    def by_hand() -> None:
        K = rbf_kernel(X, gamma=0.5 / scale**2)
        counts["NumPy"] = sum(int(plain(K, column, epochs).sum()) for column in signs.T)

    best = interleaved({"mercer": lambda: model.fit(X, y), "NumPy": by_hand}, rounds=3)
    detail = f"{listed(best)}; {model.mistakes_} mistakes, NumPy {counts['NumPy']}"
    case = f"perceptron, {name}, n = {len(y)}, {signs.shape[1]} problems"
    return [Figure(case, best["NumPy"] / best["mercer"], target, detail=detail)]


def stream_figures() -> list[Figure]:
    """Return how many rows a second a stream goes, with and without a budget."""
    X, y = sparse_text("cod-rna")
    # The file has one class after the other.
    order = np.random.default_rng(0).permutation(len(y))
    new, truth = X[order[50_000:]], y[order[50_000:]]
    X, y = X[order[:50_000]], y[order[:50_000]]
    figures = []
    for budget in (None, 200):
        model = KernelPerceptron(Gaussian(2.0), max_epochs=1, budget=budget, memory="1GB")
        best = interleaved({"fit": lambda model=model: model.fit(X, y)}, rounds=1)
        case = f"one pass over cod-rna, {len(y)} rows, budget {budget}"
        detail = (
            f"{best['fit']:.2f} s, {len(model.support_)} support vectors, "
            f"{model.score(new, truth):.3f} of new rows right"
        )
        figures.append(Figure(case, len(y) / best["fit"] / 1e3, unit="k rows/s", detail=detail))
    return figures


def main() -> None:
    """Print all figures of the ridge classifier and the perceptron."""
    show(
        "Ridge classifier and perceptron",
        ridge_figures()
        + probability_figures()
        + perceptron_figures("phoneme", 20, 3.0)
        + perceptron_figures("usps", 20, 2.0)
        + stream_figures(),
    )


if __name__ == "__main__":
    main()
