"""What a fit of a logistic regression works on, and what the plan of classes is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mercer.data.columns import n_rows
from mercer.estimators.validation import checked_classification, checked_unlabelled
from mercer.gram import Repair
from mercer.kernels import Kernel
from mercer.planning import Settings
from mercer.solvers import LogisticProblem, LogisticSolver


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit works on: checked rows, the classes that count, the problem and its solver.

    Parameters
    ----------
    X : rows
        All training rows.
    used : array of bool
        The rows of positive weight.
    classes : array
        The classes that these have.
    kernel : Kernel
        k with numbers for parameters.
    settings : Settings
        What the estimator was told.
    rows : rows
        The rows that are used.
    problem : LogisticProblem
        Their problem.
    solver : LogisticSolver
        What solves it.
    repair : Repair
        The Gram matrix after its repair.
    """

    X: Any
    used: NDArray[np.bool_]
    classes: NDArray[Any]
    kernel: Kernel
    settings: Settings
    rows: Any
    problem: LogisticProblem
    solver: LogisticSolver
    repair: Repair


def checked_for_plan(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any
) -> tuple[Any, NDArray[np.intp], int]:
    """Return training rows, a class for each and how many there are; two alike without labels."""
    if y is None:
        X = checked_unlabelled(estimator, kernel, X)
        return X, np.arange(n_rows(X)) % 2, 2
    X, codes, classes = checked_classification(estimator, kernel, X, y)
    return X, codes, len(classes)
