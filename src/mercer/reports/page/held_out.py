"""Rows that a model was not fitted to, their targets, and how good its predictions of them are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import exchanged_column, is_table, n_rows, stack_rows, take_rows
from mercer.explanation.subject import evenly
from mercer.reports.held_out import (
    LEAST,
    ClassScore,
    Score,
    class_scores,
    classification_scores,
    regression_scores,
)
from mercer.reports.page.machine import Machine
from mercer.reports.thresholds import Threshold, rarer, thresholds

Array = NDArray[Any]

# Rows that a picture is made of.
SHOWN = 1500
# The share of new targets that intervals should hold.
COVERAGE = 0.9
# What tests a model that was not tested yet.
TEST_COMMAND = "mercer report MODEL --data FILE --target COLUMN"


class Interval(NamedTuple):
    """Prediction intervals: how they were found, held-out rows by number, and their ends."""

    kind: str
    rows: NDArray[np.intp]
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows with their targets, and what a model says of them.

    Parameters
    ----------
    machine : Machine
        The fitted model.
    X, y : rows, array of shape (n,)
        Rows that it was not fitted to, and their targets.
    weights : array of shape (n,), optional
        Their weights in the scores.
    """

    # Columns that are shuffled, the most important ones, and how often.
    most_shuffled: ClassVar[int] = 12
    repeats: ClassVar[int] = 3

    machine: Machine
    X: Any
    y: Array
    weights: Array | None = None

    @property
    def model(self) -> Any:
        """The fitted model."""
        return self.machine.model

    @property
    def n(self) -> int:
        """The number of held-out rows."""
        return n_rows(self.X)

    @cached_property
    def _timed(self) -> tuple[Array, float]:
        return timed(self.model, self.X)

    @property
    def predicted(self) -> Array:
        """What it predicts at the held-out rows."""
        return self._timed[0]

    @property
    def rows_per_second(self) -> float:
        """How many rows it predicts in a second."""
        return self._timed[1]

    @cached_property
    def probabilities(self) -> Array | None:
        """The probabilities of the classes, where it knows them."""
        has = self.machine.is_classes and hasattr(self.model, "predict_proba")
        return np.asarray(self.model.predict_proba(self.X)) if has else None

    @cached_property
    def interval(self) -> Interval | None:
        """Prediction intervals of some held-out rows, of a regression.

        They are those of the model, by jackknife+, where it has some and these take no longer than
        a fit to few thousand rows. Otherwise half of the held-out rows tell how wide they are for
        the other half (split conformal prediction).

        References
        ----------
        J. Lei et al. (2018), Distribution-free predictive inference for regression.
        """
        if self.machine.is_classes:
            return None
        # Training rows up to which intervals of the model are asked for, which take as long as a
        # fit.
        jackknife_rows = 4000
        if (
            hasattr(self.model, "predict_interval")
            and (self.machine.n_train or np.inf) <= jackknife_rows
        ):
            return self._jackknife() or self._conformal()
        return self._conformal()

    def _jackknife(self) -> Interval | None:
        some = evenly(self.n, SHOWN)
        try:
            lower, upper = self.model.predict_interval(take_rows(self.X, some), COVERAGE)
        except ValueError:
            # Of a repaired kernel, or of landmarks from a file, there is no closed form.
            return None
        is_finite = np.isfinite(lower).all() and np.isfinite(upper).all()
        found = Interval("jackknife+", some, np.asarray(lower), np.asarray(upper))
        return found if is_finite else None

    def _conformal(self) -> Interval | None:
        # Held-out rows from which their errors tell intervals.
        least = 40
        if self.n < least:
            return None
        first, second = np.arange(0, self.n, 2), np.arange(1, self.n, 2)
        missed = np.abs(np.asarray(self.y, float)[first] - self.predicted[first])
        rank = int(np.ceil(COVERAGE * (len(first) + 1)))
        width = float(np.sort(missed)[min(rank, len(first)) - 1])
        some = second[evenly(len(second), SHOWN)]
        f = np.asarray(self.predicted[some], float)
        return Interval("split conformal", some, f - width, f + width)

    @property
    def coverage(self) -> float | None:
        """The share of held-out targets that their intervals hold."""
        if self.interval is None:
            return None
        y = np.asarray(self.y, float)[self.interval.rows]
        return float(np.mean((self.interval.low <= y) & (y <= self.interval.high)))

    @cached_property
    def codes(self) -> Array:
        """The classes of the held-out rows by number."""
        return np.searchsorted(self.model.classes_, self.y)

    @cached_property
    def labels(self) -> Array:
        """The classes that it predicts, by number."""
        return np.searchsorted(self.model.classes_, self.predicted)

    @cached_property
    def scores(self) -> list[Score]:
        """How good the predictions are, with intervals and the baseline."""
        w = np.ones(self.n) if self.weights is None else self.weights
        if not self.machine.is_classes:
            y, own = (getattr(self.machine.problem, name, None) for name in ("y", "weights"))
            y, weights = (self.y, w) if y is None else (np.asarray(y)[:, 0], own)
            mean = float(np.average(y, weights=weights))
            return regression_scores(np.asarray(self.y, float), self.predicted, mean, w)
        shares = self.class_shares
        return classification_scores(self.codes, self.labels, self.probabilities, shares, w)

    @property
    def class_scores(self) -> list[ClassScore]:
        """How well every class is found, the rarest first."""
        found = class_scores(self.model.classes_, self.codes, self.labels)
        return sorted(found, key=attrgetter("rows"))

    @property
    def rarer(self) -> int | None:
        """The rarer of two classes, of which rows are here and probabilities are known."""
        if self.probabilities is None or len(self.model.classes_) != 2:
            return None
        one = rarer(self.class_shares)
        return one if len(np.unique(self.codes)) == 2 else None

    @property
    def thresholds(self) -> list[Threshold]:
        """What comes of naming the rarer of two classes from some probability on."""
        one = self.rarer
        if one is None or self.probabilities is None:
            return []
        w = np.ones(self.n) if self.weights is None else self.weights
        return thresholds(self.probabilities[:, one], self.codes == one, w)

    @property
    def class_shares(self) -> Array:
        """The shares of the classes among the training rows, or of the test rows if unknown."""
        codes = self.machine.class_codes
        # Weights may say what errors cost, and not how many rows there are.
        counts = np.bincount(
            self.codes if codes is None else codes, minlength=len(self.model.classes_)
        )
        return np.asarray(counts / counts.sum())

    def shuffled(self, columns: list[Any]) -> dict[Any, float]:
        """Return how much is lost where a column is shuffled, of the first ones.

        It is lost of R2, or of the log of the chance of the true class, so that the log loss grows
        by it; of classes without probabilities it is lost of the accuracy.

        Parameters
        ----------
        columns : list
            Names or positions, the most important first.

        References
        ----------
        L. Breiman (2001), Random forests.
        """
        wanted = columns[: self.most_shuffled]
        if not wanted or not (is_table(self.X) or isinstance(self.X, np.ndarray)):
            return {}
        # Rows that columns are shuffled on.
        most = 300
        some = evenly(self.n, most)
        rows, random = take_rows(self.X, some), np.random.default_rng(0)
        orders = [random.permutation(len(some)) for _ in range(self.repeats)]
        asked = [
            exchanged_column(rows, self.machine.place(rows, column), take_rows(rows, order))
            for column in wanted
            for order in orders
        ]
        own, ask = self.predicted, self.model.predict
        if self.probabilities is not None:
            own, ask = self.probabilities, self.model.predict_proba
        answers = np.split(np.asarray(ask(stack_rows(*asked))), len(asked))
        scores = np.array([self._quality(each, some) for each in answers])
        left = scores.reshape(len(wanted), self.repeats).mean(axis=1)
        # To digits that differences of means have.
        lost = np.round(self._quality(own[some], some) - left, 9)
        return dict(zip(wanted, lost.tolist(), strict=True))

    @property
    def measure(self) -> str:
        """What is lost in `shuffled`."""
        if not self.machine.is_classes:
            return "R2 lost"
        return "accuracy lost" if self.probabilities is None else "log loss gained"

    def _quality(self, answers: Array, some: NDArray[np.intp]) -> float:
        """Return R2, the mean log of the chance of the true class, or the accuracy of answers."""
        y = np.asarray(self.y)[some]
        if not self.machine.is_classes:
            spread = float(np.sum((y - y.mean()) ** 2)) or 1.0
            return 1.0 - float(np.sum((y - answers) ** 2)) / spread
        if self.probabilities is None:
            return float(np.mean(answers == y))
        chances = answers[np.arange(len(some)), self.codes[some]]
        return float(np.mean(np.log(np.maximum(chances, LEAST))))


def timed(model: Any, rows: Any) -> tuple[Array, float]:
    """Return what a model predicts at rows, and how many of them it does in a second."""
    began = perf_counter()
    predicted = np.asarray(model.predict(rows))
    return predicted, n_rows(rows) / max(perf_counter() - began, 1e-9)
