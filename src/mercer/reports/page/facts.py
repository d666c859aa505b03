"""What a report is made of: a model, rows to test it on, and what it says of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance

from mercer.data.columns import is_table, n_rows, select_columns, take_rows
from mercer.reports.held_out import Score, classification_scores, inside, regression_scores

Array = NDArray[Any]

# Rows that a picture is made of, and rows and repetitions that importances are measured on.
SHOWN, MEASURED, REPEATS = 2000, 1000, 5
# The share of new targets that intervals should hold.
COVERAGE = 0.9


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
        dual = getattr(getattr(self.inner, "function_", None), "dual", None)
        return None if dual is None else dual.rows

    @cached_property
    def train_y(self) -> Array | None:
        """The targets of the training rows, as far as the model knows them."""
        problem = getattr(self.inner, "_problem_", None)
        targets = getattr(problem, "y", None)
        return None if targets is None else np.asarray(targets)

    @cached_property
    def predicted(self) -> Array:
        """What it predicts at the held-out rows."""
        return np.asarray(self.model.predict(self.X))

    @cached_property
    def probabilities(self) -> Array | None:
        """The probabilities of the classes, where it knows them."""
        has = self.is_classes and hasattr(self.model, "predict_proba")
        return np.asarray(self.model.predict_proba(self.X)) if has else None

    @cached_property
    def interval(self) -> tuple[Array, Array] | None:
        """Prediction intervals of the held-out rows, where it has some."""
        if self.is_classes or not hasattr(self.inner, "predict_interval"):
            return None
        try:
            lower, upper = self.inner.predict_interval(self.X, COVERAGE)
        except (ValueError, NotImplementedError):
            return None
        return np.asarray(lower), np.asarray(upper)

    @cached_property
    def codes(self) -> Array:
        """The classes of the held-out rows by number."""
        return np.searchsorted(self.model.classes_, self.y)

    @cached_property
    def scores(self) -> list[Score]:
        """How good the predictions are, with intervals and the baseline."""
        ones = np.ones(self.n)
        if not self.is_classes:
            mean = float(np.mean(self.y if self.train_y is None else self.train_y[:, 0]))
            return regression_scores(np.asarray(self.y, float), self.predicted, mean, ones)
        shares = self._class_shares
        labels = np.searchsorted(self.model.classes_, self.predicted)
        return classification_scores(self.codes, labels, self.probabilities, shares, ones)

    @property
    def _class_shares(self) -> Array:
        """The shares of the classes among the training rows, or of the test rows if unknown."""
        problem = getattr(self.inner, "_problem_", None)
        codes = getattr(problem, "codes", self.codes)
        weights = getattr(problem, "weights", np.ones(len(codes)))
        counts = np.bincount(codes, weights, len(self.model.classes_))
        return np.asarray(counts / counts.sum())

    @cached_property
    def holds_all_rows(self) -> bool:
        """Whether the model holds the rows that it was fitted to, and not some of them."""
        problem = getattr(self.inner, "_problem_", None)
        weights = getattr(problem, "weights", None)
        rows = self.train_rows
        return rows is not None and weights is not None and n_rows(rows) == len(weights)

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns, or their numbers."""
        names = getattr(self.inner, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        shape = np.shape(self.X) if isinstance(self.X, np.ndarray) else ()
        return [f"column {j}" for j in range(shape[1])] if len(shape) == 2 else []

    @cached_property
    def importance(self) -> list[tuple[str, float, float]]:
        """How much worse the score gets where a column is shuffled: mean and deviation.

        References
        ----------
        L. Breiman (2001), Random forests.
        """
        if not self.columns:
            return []
        X = self.X
        if is_table(X):
            X = select_columns(X, self.columns)
            X = X.to_pandas() if hasattr(X, "to_pandas") else X
        few = np.linspace(0, self.n - 1, min(self.n, MEASURED)).astype(np.intp)
        X, y = take_rows(X, few), np.asarray(self.y)[few]
        try:
            found = permutation_importance(self.model, X, y, n_repeats=REPEATS, random_state=0)
        except (TypeError, ValueError):
            return []
        listed = zip(self.columns, found.importances_mean, found.importances_std, strict=True)
        return sorted(listed, key=lambda entry: -entry[1])

    def column(self, name: str) -> Array:
        """Return the values of a column of the held-out rows."""
        if is_table(self.X):
            import narwhals as nw

            frame = nw.from_native(self.X, eager_only=True)
            return np.asarray(frame.get_column(name).to_numpy())
        return np.asarray(self.X)[:, self.columns.index(name)]

    def with_column(self, rows: Any, name: str, value: Any) -> Any:
        """Return rows that all have the same value in a column."""
        if is_table(rows):
            import narwhals as nw

            frame = nw.from_native(rows, eager_only=True)
            dtype = frame.get_column(name).dtype
            return frame.with_columns(nw.lit(value).cast(dtype).alias(name)).to_native()
        changed = np.array(rows)
        changed[:, self.columns.index(name)] = value
        return changed
