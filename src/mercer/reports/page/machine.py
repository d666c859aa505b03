"""A fitted model: its function, the rows that it keeps, and where its columns stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_names, is_table, n_rows
from mercer.functions import Function
from mercer.reports.held_out import inside


@dataclass(frozen=True, eq=False)
class Machine:
    """A fitted model, and what it keeps.

    Parameters
    ----------
    model : estimator
        Fitted.
    """

    model: Any

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
    def is_balanced(self) -> bool:
        """Whether classes weighed alike in the fit, however many rows they have."""
        weights = (getattr(model, "class_weight", None) for model in (self.model, self.inner))
        return any(isinstance(each, str) and each == "balanced" for each in weights)

    @cached_property
    def train_rows(self) -> Any:
        """The training rows that the model holds, or None."""
        dual = None if self.function is None else self.function.dual
        return None if dual is None else dual.rows

    @cached_property
    def problem(self) -> Any:
        """Targets and weights of the training rows, where the model keeps them, or None."""
        return getattr(getattr(self.inner, "estimator_", self.inner), "_problem_", None)

    @property
    def class_codes(self) -> NDArray[Any] | None:
        """The classes of the training rows by number, where the model keeps them."""
        codes, signs = (getattr(self.problem, name, None) for name in ("codes", "y"))
        if codes is None and signs is not None and signs.ndim == 2:
            # A regression on 1 for a class and -1 for the rest.
            codes = signs[:, 0] > 0.0 if signs.shape[1] == 1 else signs.argmax(axis=1)
        return None if codes is None else np.asarray(codes, np.intp)

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

    def place(self, rows: Any, column: Any) -> int:
        """Return where a column stands in rows; those of a matrix are named as in training."""
        own = getattr(self.inner, "feature_names_in_", ())
        names = [str(name) for name in (column_names(rows) if is_table(rows) else own)]
        return names.index(column) if column in names else int(column)
