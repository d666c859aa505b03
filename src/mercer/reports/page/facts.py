"""What a report is made of: a model, rows to test it on, and what it says of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import (
    as_seconds,
    column_names,
    column_values,
    exchanged_column,
    is_matrix,
    is_table,
    n_rows,
    stack_rows,
    take_rows,
)
from mercer.explanation import Explanation, explain
from mercer.explanation.subject import evenly
from mercer.functions import Function
from mercer.reports.held_out import Score, classification_scores, inside, regression_scores

Array = NDArray[Any]

# Rows that a picture is made of, rows that f is looked at from, and that columns are shuffled on.
SHOWN, EXPLAINED, SHUFFLED = 1500, 500, 300
# Columns that are shuffled, the most important ones, and how often.
MOST_SHUFFLED, REPEATS = 12, 3
# The share of new targets that intervals should hold; the training rows up to which those of the
# model are asked for, which take as long as a fit; and the held-out rows from which others are.
COVERAGE, JACKKNIFE_ROWS, LEAST_HELD_OUT = 0.9, 4000, 40


class Interval(NamedTuple):
    """Prediction intervals: how they were found, held-out rows by number, and their ends."""

    kind: str
    rows: NDArray[np.intp]
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Facts:
    """A fitted model and rows that it was not fitted to.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y : rows, array of shape (n,)
        Held-out rows and their targets.
    """

    model: Any
    X: Any
    y: Array

    @property
    def inner(self) -> Any:
        """The model itself, where another one has chosen it."""
        return inside(self.model)

    @cached_property
    def function(self) -> Function | None:
        """The fitted function of a kernel machine, or None."""
        f = getattr(getattr(self.inner, "estimator_", self.inner), "function_", None)
        return f if isinstance(f, Function) else None

    @property
    def is_classes(self) -> bool:
        """Whether it predicts classes."""
        return hasattr(self.model, "classes_")

    @property
    def n(self) -> int:
        """The number of held-out rows."""
        return n_rows(self.X)

    @cached_property
    def train_rows(self) -> Any:
        """The training rows that the model holds, or None."""
        dual = None if self.function is None else self.function.dual
        return None if dual is None else dual.rows

    @cached_property
    def problem(self) -> Any:
        """Targets and weights of the training rows, where the model keeps them, or None."""
        return getattr(getattr(self.inner, "estimator_", self.inner), "_problem_", None)

    @cached_property
    def n_train(self) -> int | None:
        """The number of rows that the model was fitted to, if it is known."""
        weights = getattr(self.problem, "weights", None)
        return None if weights is None else len(weights)

    @cached_property
    def holds_all_rows(self) -> bool:
        """Whether the model holds the rows that it was fitted to, and not some of them."""
        rows = self.train_rows
        return rows is not None and n_rows(rows) == self.n_train

    @cached_property
    def _timed(self) -> tuple[Array, float]:
        began = perf_counter()
        predicted = np.asarray(self.model.predict(self.X))
        return predicted, perf_counter() - began

    @property
    def predicted(self) -> Array:
        """What it predicts at the held-out rows."""
        return self._timed[0]

    @property
    def rows_per_second(self) -> float:
        """How many rows it predicts in a second."""
        return self.n / max(self._timed[1], 1e-9)

    @cached_property
    def probabilities(self) -> Array | None:
        """The probabilities of the classes, where it knows them."""
        has = self.is_classes and hasattr(self.model, "predict_proba")
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
        if self.is_classes:
            return None
        if hasattr(self.model, "predict_interval") and (self.n_train or np.inf) <= JACKKNIFE_ROWS:
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
        if self.n < LEAST_HELD_OUT:
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
    def scores(self) -> list[Score]:
        """How good the predictions are, with intervals and the baseline."""
        ones = np.ones(self.n)
        if not self.is_classes:
            seen = getattr(self.problem, "y", None)
            mean = float(np.mean(self.y if seen is None else np.asarray(seen)[:, 0]))
            return regression_scores(np.asarray(self.y, float), self.predicted, mean, ones)
        labels = np.searchsorted(self.model.classes_, self.predicted)
        shares = self._class_shares
        return classification_scores(self.codes, labels, self.probabilities, shares, ones)

    @property
    def _class_shares(self) -> Array:
        """The shares of the classes among the training rows, or of the test rows if unknown."""
        codes = getattr(self.problem, "codes", self.codes)
        weights = getattr(self.problem, "weights", np.ones(len(codes)))
        counts = np.bincount(codes, weights, len(self.model.classes_))
        return np.asarray(counts / counts.sum())

    @cached_property
    def explanation(self) -> Explanation | None:
        """What the model has learned, as it is seen from the held-out rows."""
        if self.function is None:
            return None
        return explain(self.model, take_rows(self.X, evenly(self.n, EXPLAINED)))

    @cached_property
    def columns(self) -> list[Any]:
        """The columns that the model reads, the most important first: names or positions."""
        if self.explanation is None:
            return []
        return [row.column for row in self.explanation.columns]

    def place(self, column: Any) -> int:
        """Return where a column stands in the held-out rows."""
        if is_table(self.X):
            names = [str(name) for name in column_names(self.X)]
            return names.index(column) if column in names else int(column)
        return int(column)

    def title(self, column: Any) -> str:
        """Return what a column is called."""
        return f"column {column}" if isinstance(column, int) else str(column)

    def cells(self, column: Any) -> Array:
        """Return the values of a column of the held-out rows."""
        return cells_of(self.X, self.place(column))

    @cached_property
    def shuffled(self) -> dict[Any, float]:
        """How much of R2 or accuracy is lost where a column is shuffled, of the important ones.

        References
        ----------
        L. Breiman (2001), Random forests.
        """
        wanted = self.columns[:MOST_SHUFFLED]
        if not wanted or not (is_table(self.X) or isinstance(self.X, np.ndarray)):
            return {}
        some = evenly(self.n, SHUFFLED)
        rows, y = take_rows(self.X, some), np.asarray(self.y)[some]
        random = np.random.default_rng(0)
        orders = [random.permutation(len(some)) for _ in range(REPEATS)]
        asked = [
            exchanged_column(rows, self.place(column), take_rows(rows, order))
            for column in wanted
            for order in orders
        ]
        answers = np.split(np.asarray(self.model.predict(stack_rows(*asked))), len(asked))
        if self.is_classes:
            scores = np.array([np.mean(answer == y) for answer in answers])
            before = float(np.mean(self.predicted[some] == y))
        else:
            spread = float(np.sum((y - y.mean()) ** 2)) or 1.0
            scores = np.array([1.0 - np.sum((y - answer) ** 2) / spread for answer in answers])
            before = 1.0 - float(np.sum((y - self.predicted[some]) ** 2)) / spread
        lost = before - scores.reshape(len(wanted), REPEATS).mean(axis=1)
        return dict(zip(wanted, lost.tolist(), strict=True))


def cells_of(rows: Any, place: int) -> Array:
    """Return the values of a column as an array."""
    values = column_values(rows)[place][1] if is_table(rows) else np.asarray(rows)[:, place]
    return as_seconds(np.asarray(values))


def has_columns(rows: Any) -> bool:
    """Whether rows are a table or an array of columns."""
    return is_table(rows) or (is_matrix(rows) and isinstance(rows, np.ndarray))
