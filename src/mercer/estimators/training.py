"""What a fit works on, what tells it from others, and what the plan of classes is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mercer.data.columns import take_rows
from mercer.data.stream import Stream
from mercer.estimators.classes import Labelled
from mercer.estimators.validation import checked_unlabelled, used_rows
from mercer.gram import Gram, Repair
from mercer.kernels import Kernel
from mercer.planning import Settings
from mercer.solvers.checkpoint import Checkpoint
from mercer.solvers.digest import digest
from mercer.tiles import Rows

Asked = TypeVar("Asked")


@dataclass(frozen=True, eq=False)
class Training(Generic[Asked]):
    """What a fit works on: checked rows, the kernel on them, the problem and what solves it.

    Parameters
    ----------
    X : rows
        All training rows.
    used : array of bool
        The rows of positive weight.
    rows : Rows
        These rows.
    kernel : Kernel
        k with numbers for parameters.
    problem : problem
        That of the rows.
    settings : Settings
        What the estimator was told.
    solver : solver
        What solves the problem.
    repair : Repair
        The Gram matrix after its repair.
    """

    X: Any
    used: NDArray[np.bool_]
    rows: Rows
    kernel: Kernel
    problem: Asked
    settings: Settings
    solver: Any
    repair: Repair


def checkpoint_of(
    estimator: Any, solver: Any, gram: Gram, kernel: Kernel, rows: Any, problem: Any
) -> Checkpoint:
    """Return the checkpoint of an estimator, with the states of the same fit alone.

    Parameters
    ----------
    estimator : estimator
        Whose checkpoint it is.
    solver, gram
        What is going to be solved, and by what.
    kernel, rows
        k, and the rows; of a stream a sample tells them from others.
    problem : problem, or several
        What is solved: targets, weights, penalties.
    """
    landmarks = None if gram.landmarks is None else gram.landmarks.rows
    if isinstance(rows, Stream):
        # So many rows of a stream tell it from others.
        n, compared = len(gram), 200
        rows = take_rows(rows, np.linspace(0, n - 1, min(n, compared)).astype(np.intp))
    settings = (type(estimator).__name__, kernel, repr(solver), estimator.repair, len(gram))
    return Checkpoint(estimator.checkpoint, digest(*settings, rows, landmarks, problem))


def checked_for_plan(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any, class_weight: Any = None
) -> Labelled:
    """Return the training rows that count, with classes; without labels two of the same size."""
    if y is None:
        rows = checked_unlabelled(estimator, kernel, X)
        ones = np.ones(rows.n)
        return Labelled(rows, np.arange(2), np.arange(rows.n) % 2, ones, ones)
    data = Labelled.of(estimator, kernel, X, y, None, class_weight)
    used = data.used
    if used.all():
        return data
    rows = Rows.checked(used_rows(kernel, data.rows.X, used))
    return Labelled(rows, data.classes, data.codes[used], data.weights[used], data.copies[used])
