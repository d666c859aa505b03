"""What a report is made of: a model, rows to look at it from, and tests on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import as_seconds, column_values, is_matrix, is_table, n_rows, take_rows
from mercer.explanation import Explanation, explain
from mercer.explanation.subject import evenly
from mercer.explanation.table import column_title
from mercer.reports.page.held_out import SHOWN, HeldOut, timed
from mercer.reports.page.machine import Machine

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Facts(Machine):
    """A fitted model, with rows that it was not fitted to where there are some.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : rows, optional
        Held-out rows; without them the model is looked at from the rows that it keeps.
    y : array of shape (n,), optional
        The targets of `X`; without them nothing is tested.
    weights : array of shape (n,), optional
        The weights of `X` in the scores.
    """

    # Rows that f is looked at from.
    explained: ClassVar[int] = 500

    X: Any = None
    y: Array | None = None
    weights: Array | None = None

    @cached_property
    def tests(self) -> HeldOut | None:
        """The held-out rows with their targets, or None where there is nothing to test on."""
        return None if self.y is None else HeldOut(self, self.X, self.y, self.weights)

    @cached_property
    def rows(self) -> Any:
        """The rows that the model is looked at from: held out, or kept by it; or None."""
        rows = self.train_rows if self.X is None else self.X
        return None if rows is None or n_rows(rows) == 0 else rows

    @cached_property
    def rows_per_second(self) -> float | None:
        """How many rows it predicts in a second, where there are rows to predict."""
        if self.tests is not None:
            return self.tests.rows_per_second
        if self.rows is None:
            return None
        return timed(self.model, take_rows(self.rows, evenly(n_rows(self.rows), SHOWN)))[1]

    @cached_property
    def explanation(self) -> Explanation | None:
        """What the model has learned, as it is seen from its rows."""
        if self.function is None or self.rows is None:
            return None
        if self.X is None:
            return explain(self.model)
        return explain(self.model, take_rows(self.X, evenly(n_rows(self.X), self.explained)))

    @cached_property
    def columns(self) -> list[Any]:
        """The columns that the model reads, the most important first: names or positions."""
        if self.explanation is None:
            return []
        return [row.column for row in self.explanation.columns]

    @property
    def shuffled(self) -> dict[Any, float]:
        """What is lost where an important column of the held-out rows is shuffled."""
        return {} if self.tests is None else self.tests.shuffled(self.columns)

    def title(self, column: Any) -> str:
        """Return what a column is called."""
        return column_title(column)


def cells_of(rows: Any, place: int) -> Array:
    """Return the values of a column as an array."""
    values = column_values(rows)[place][1] if is_table(rows) else np.asarray(rows)[:, place]
    return as_seconds(np.asarray(values))


def has_columns(rows: Any) -> bool:
    """Whether rows are a table or an array of columns."""
    return is_table(rows) or (is_matrix(rows) and isinstance(rows, np.ndarray))
