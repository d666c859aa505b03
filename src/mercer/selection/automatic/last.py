"""The last fit of an automatic machine, for which the search has left some time or none."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from mercer.data.columns import take_rows
from mercer.errors import ConvergenceWarning, warn_caller
from mercer.solvers import Run

# The share of a time limit below which all rows are too many for what is left of it.
ENOUGH = 0.1


class Machine(Protocol):
    """An estimator with a time limit."""

    time_limit: float | None

    def fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Fit it."""


Fitted = TypeVar("Fitted", bound=Machine)


def fitted_last(
    model: Fitted, run: Run, judged: NDArray[np.intp], X: Any, y: Any, sample_weight: Any
) -> Fitted:
    """Return a model fitted to all rows, or to some where the search took nearly all the time.

    The time that is left is then less than a fit needs, and would give an offset alone. A model of
    the rows that its kernel was judged on takes as long as that did, and is said to be one.

    Parameters
    ----------
    model : estimator
        The model to fit.
    run : Run
        The run of the search and the last fit together.
    judged : array of int
        The rows of `X` on which kernels were judged.
    X, y, sample_weight
        As they were given to the machine.
    """
    limit = run.time_limit
    if limit is None or run.seconds_left >= ENOUGH * limit:
        model.time_limit = run.rest
        model.fit(X, y, sample_weight)
        return model
    targets = np.asarray(y)
    if is_classifier(model):
        # The first row of every class, lest the model lack one.
        judged = np.union1d(judged, np.unique(targets, return_index=True)[1])
    model.time_limit = max(run.seconds_left, 0.0) + run.grace
    weights = np.asarray(sample_weight)[judged] if np.ndim(sample_weight) else sample_weight
    model.fit(take_rows(X, judged), targets[judged], weights)
    if len(judged) < len(targets):
        warn_caller(
            f"the search for a kernel took nearly all of time_limit={limit:g}: the model is fitted "
            f"to {len(judged)} of {len(targets)} rows; raise time_limit",
            ConvergenceWarning,
        )
    return model
