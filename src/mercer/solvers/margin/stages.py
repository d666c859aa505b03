"""The stages of SMO: which rows are solved for and how far, and where within one a run stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer.native.core import core
from mercer.native.smo import SolverState
from mercer.solvers.checkpoint import State
from mercer.solvers.margin.decision_values import Values

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Tolerance(NamedTuple):
    """The relative gap to reach, beside a floor, in which precision and by how many rounds."""

    gap: float
    floor: float
    is_double: bool
    max_rounds: int = 2**62


class Stage(NamedTuple):
    """A solve for some rows with all others held fixed.

    Parameters
    ----------
    number : int
        Stages before it.
    active : array of int, optional
        The rows; None for all.
    tolerance : Tolerance
        How far it goes.
    slow : int
        Stages without much progress just before it.
    """

    number: int
    active: Rows | None
    tolerance: Tolerance
    slow: int = 0


@dataclass(frozen=True, eq=False)
class StageState:
    """Where a stage stands between two working sets.

    Parameters
    ----------
    stage : Stage
        The stage.
    a, g : array
        Coefficients and gradient of its rows.
    solver : SolverState
        What the next working set is chosen by.
    damping : float, optional
        That of the next Newton step.
    """

    stage: Stage
    a: Array
    g: Array
    solver: SolverState
    damping: float | None

    def state(self) -> State:
        """Return it as arrays."""
        number, active, tolerance, slow = self.stage
        counts = [number, slow, tolerance.is_double, active is not None, core() is not None]
        damping = np.nan if self.damping is None else self.damping
        return {
            "stage": np.array(counts),
            "tolerance": np.array([tolerance.gap, tolerance.floor, damping]),
            "active": np.zeros(0, np.intp) if active is None else active,
            "a": self.a,
            "g": self.g,
            "numbers": self.solver.numbers,
            "last": self.solver.last,
        }

    @classmethod
    def of(cls, state: State) -> Self | None:
        """Return what a state tells, or None where the other engine has left it."""
        number, slow, is_double, has_active, is_native = state["stage"].tolist()
        if bool(is_native) != (core() is not None):
            return None
        gap, floor, damping = state["tolerance"].tolist()
        active = state["active"] if has_active else None
        stage = Stage(number, active, Tolerance(gap, floor, bool(is_double)), slow)
        solver = SolverState(state["numbers"], state["last"])
        return cls(stage, state["a"], state["g"], solver, None if np.isnan(damping) else damping)

    def is_of(self, values: Values, state: State) -> bool:
        """Whether a state and this part of it are of the problem, whatever a file claims.

        The certificate rests on f = K a, and where all rows are solved for on g = K a - z: both
        are compared with K in float64.
        """
        active, a = self.stage.active, state["coefficients"]
        rows: Any = slice(None) if active is None else active
        a = a.copy()
        a[rows] = self.a
        f = self.g + values.problem.z[rows]
        is_begun = values.are_values(a, f, active, self.stage.tolerance.is_double)
        # What all rows are solved for replaces f.
        return is_begun and (active is None or values.holds(state))
