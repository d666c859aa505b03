"""Classifiers by landmarks against scikit-learn's Nystroem with its linear classifiers.

Same kernel, same penalty, one fixed tenth of the rows to test on, two threads; the two take turns.
Seconds are those of a fit and of nothing else; processor time stands beside them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from datasets import classification
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning as PeerWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from timing import Figure, show

from mercer import Gaussian, KernelLogisticRegression, KernelSVC
from mercer.errors import ApproximationWarning, ConvergenceWarning

Array = NDArray[Any]

LANDMARKS, SECONDS = 2000, 30.0
# The class of the binary task, the most frequent.
POSITIVE = "2"
# A fit ends within the limit, a tenth of it and a second.
PROMISED = 1.1 * SECONDS + 1.0


class Task(NamedTuple):
    """Training rows and test rows, with their classes, and the width of the kernel."""

    X: Array
    y: Array
    T: Array
    t: Array
    gamma: float


class Result(NamedTuple):
    """A fitted model, and what it took."""

    model: Any
    seconds: float
    processor: float


def task(is_binary: bool) -> Task:
    """Return nine tenths of covtype to train on and one to test on."""
    X, y = classification("covtype_93k")
    if is_binary:
        y = (y == POSITIVE).astype(int)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = np.split(order, [len(X) // 10])
    return Task(X[train], y[train], X[test], y[test], 1.0 / X.shape[1])


def fitted(make: Callable[[], Any], data: Task) -> Result:
    """Return a model that is fitted once."""
    model = make()
    began, processor = perf_counter(), process_time()
    with warnings.catch_warnings():
        for kind in (PeerWarning, ConvergenceWarning, ApproximationWarning):
            warnings.simplefilter("ignore", kind)
        model.fit(data.X, data.y)
    return Result(model, perf_counter() - began, process_time() - processor)


def peer(classifier: Any, gamma: float) -> Any:
    """Return scikit-learn's pipeline."""
    return make_pipeline(Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0), classifier)


def lines(ours: Result, theirs: Result) -> str:
    """Return what both took."""
    return (
        f"{ours.seconds:.1f} s ({ours.processor:.1f} s of processors) against "
        f"{theirs.seconds:.1f} s ({theirs.processor:.1f} s)"
    )


def binary_figures() -> list[Figure]:
    """Return the figures of one class against the rest."""
    data = task(is_binary=True)
    kernel = Gaussian.from_gamma(data.gamma)
    settings = {"solver": "nystrom", "n_landmarks": LANDMARKS}
    ours = fitted(lambda: KernelSVC(kernel, **settings), data)
    theirs = fitted(lambda: peer(LinearSVC(loss="hinge"), data.gamma), data)
    scores = [r.model.score(data.T, data.t) for r in (ours, theirs)]
    found = [
        Figure("SVM, speed", theirs.seconds / ours.seconds, 4.0, detail=lines(ours, theirs)),
        Figure("SVM, accuracy", scores[0], scores[1], unit=""),
    ]
    ours = fitted(lambda: KernelLogisticRegression(kernel, **settings), data)
    theirs = fitted(lambda: peer(LogisticRegression(), data.gamma), data)
    losses = [log_loss(data.t, r.model.predict_proba(data.T)) for r in (ours, theirs)]
    return [
        *found,
        Figure("logistic, speed", theirs.seconds / ours.seconds, 4.0, detail=lines(ours, theirs)),
        Figure("logistic, log loss", losses[0], losses[1], at_least=False, unit=""),
    ]


def limited_figures() -> list[Figure]:
    """Return the figures of all classes with a time limit and no other argument."""
    data, found = task(is_binary=False), []
    kernel = Gaussian.from_gamma(data.gamma)
    pairs = ((KernelSVC, LinearSVC()), (KernelLogisticRegression, LogisticRegression()))
    for kind, classifier in pairs:
        name = kind.__name__
        ours = fitted(lambda kind=kind: kind(kernel, time_limit=SECONDS), data)
        theirs = fitted(lambda classifier=classifier: peer(classifier, data.gamma), data)
        scores = [r.model.score(data.T, data.t) for r in (ours, theirs)]
        said = f"{ours.model.approximation_}; {lines(ours, theirs)}"
        found += [
            Figure(f"{name}, accuracy", scores[0], scores[1], unit="", detail=said),
            Figure(f"{name}, seconds", ours.seconds, PROMISED, at_least=False, unit=" s"),
        ]
    return found


def main(parts: tuple[str, ...] = ("binary", "limited")) -> None:
    """Print the figures."""
    if "binary" in parts:
        show(f"covtype, class 2 against the rest, {LANDMARKS} landmarks", binary_figures())
    if "limited" in parts:
        show(f"covtype, all classes, time_limit={SECONDS:g}", limited_figures())


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or ("binary", "limited"))
