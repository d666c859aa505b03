"""Probabilities of a support vector machine: its scores of rows held out, and a temperature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import clone

from mercer.data.distinct import row_numbers
from mercer.data.stream import Stream
from mercer.estimators.validation import checked_rows, training_subset
from mercer.kernels import Kernel
from mercer.solvers import Run
from mercer.solvers.logistic.temperature import smoothed_targets, temperature

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(eq=False)
class CrossFits:
    """The temperature of a fitted machine, found when it is first asked for.

    Rows are held out in five parts, those of a class in equal numbers, and scored by the machine
    that is fitted to the others: scores of rows that a machine was fitted to are too good. Equal
    rows are held out together and the parts follow from what rows hold, so that neither their order
    nor whether they are written twice or weigh twice makes a difference.

    Parameters
    ----------
    machine : KernelSVC
        Not fitted; with numbers for the parameters of the kernel, and no weights of classes.
    kernel : Kernel
        That kernel.
    X : rows
        The training rows of positive weight.
    codes : array of shape (n,)
        Their classes by number.
    weights : array of shape (n,)
        w, with those of the classes.
    known : float, optional
        The temperature once it was found, when the rows are needed no more.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines; C. Guo, G. Pleiss, Y. Sun
    and K. Weinberger (2017), On calibration of modern neural networks.
    """

    folds: ClassVar[int] = 5

    machine: Any
    kernel: Kernel
    X: Any
    codes: Any
    weights: Any
    known: float | None = None

    @property
    def temperature(self) -> float:
        """T, for which softmax(T scores) of the rows held out has the largest likelihood."""
        if self.known is None:
            self.known = self._found()
            self.X = self.codes = self.weights = None
        return self.known

    def __getstate__(self) -> dict[str, Any]:
        # Rows that are read block by block are no part of a model: it has what follows from them.
        if isinstance(self.X, Stream):
            self.known = self.temperature
        return dict(vars(self))

    def _found(self) -> float:
        classes = int(self.codes.max()) + 1
        parts = self._parts(classes)
        scores = np.full((len(self.codes), classes), np.nan)
        run = Run(self.machine.time_limit)
        for part in range(self.folds):
            test = np.flatnonzero(parts == part)
            if len(test):
                limit = run.share(1.0 / (self.folds - part)).rest
                with run.guarded(lambda: False), run.limited():
                    scores[test] = self._scores(np.flatnonzero(parts != part), test, limit)
        # Rows that were never held out have no scores, and do not count.
        targets = smoothed_targets(self.codes, self.weights, classes)
        return temperature(scores, targets, self.weights)

    def _parts(self, classes: int) -> Codes:
        """Return the part that every row is held out with, -1 for the only row of its class."""
        is_finished = self.kernel.is_precomputed
        numbers = np.arange(len(self.codes)) if is_finished else row_numbers(self.X)
        parts = np.full(len(self.codes), -1)
        for c in range(classes):
            members = np.flatnonzero(self.codes == c)
            distinct, places = np.unique(numbers[members], return_inverse=True)
            if len(distinct) > 1:
                parts[members] = places % self.folds
        return parts

    def _scores(self, train: Codes, test: Codes, time_limit: float | None) -> Array:
        machine = clone(self.machine)
        machine.set_params(time_limit=time_limit, memory=machine._room)
        machine.fit(
            training_subset(self.kernel, self.X, train), self.codes[train], self.weights[train]
        )
        if machine._is_interrupted_:
            # Whoever pressed Ctrl-C meant all of the fits, and the next call begins anew.
            raise KeyboardInterrupt
        is_finished = self.kernel.is_precomputed
        rows = (
            self.X[np.ix_(test, train)]
            if is_finished
            else training_subset(self.kernel, self.X, test)
        )
        scores, _ = machine._class_scores(rows)
        return np.asarray(scores)


class CrossFittedProbabilities(ABC):
    """A classifier whose scores become probabilities by temperature scaling on held-out rows."""

    classes_: NDArray[Any]
    _cross_fits_: CrossFits | None

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, accurate however small those are."""
        X = checked_rows(self, X)
        if self._cross_fits_ is None:
            raise ValueError(
                "probabilities need rows to hold out, and partial_fit keeps none; use fit, or "
                "CalibratedClassifierCV of scikit-learn on other rows"
            )
        scores, codes = self._class_scores(X)
        return in_favour_of(codes, log_softmax(self._cross_fits_.temperature * scores, axis=1))

    @abstractmethod
    def _class_scores(self, X: Any) -> tuple[Array, Codes]:
        """Return a score for every class at checked rows, and which class every row is of."""


def score_columns(scores: Array) -> Array:
    """Return a score for every class, of shape (n, classes): of two classes -f and f."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def in_favour_of(codes: Codes, values: Array) -> Array:
    """Return values of which the largest belongs to the class that is predicted.

    Where it belongs to another one, as may be if pairs of classes win in a circle, the two swap.
    """
    best = values.argmax(axis=1)
    rows = np.flatnonzero(best != codes)
    swapped = values.copy()
    swapped[rows, best[rows]] = values[rows, codes[rows]]
    swapped[rows, codes[rows]] = values[rows, best[rows]]
    return swapped
