"""What a fit of a logistic regression works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Repair
from mercer.kernels import Kernel
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
    rows: Any
    problem: LogisticProblem
    solver: LogisticSolver
    repair: Repair
