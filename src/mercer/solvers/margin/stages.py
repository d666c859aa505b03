"""The stages of SMO: which rows are solved for and how far, and where within one a run stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer.native.core import core
from mercer.native.smo import Course
from mercer.solvers.checkpoint import State
from mercer.solvers.margin.decision_values import Values

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Aim(NamedTuple):
    """The relative gap to reach, beside a floor, in which precision and by how many rounds."""

    goal: float
    floor: float
    is_double: bool
    most: int = 2**62


class Stage(NamedTuple):
    """A solve for some rows with all others held fixed.

    Parameters
    ----------
    number : int
        Stages before it.
    active : array of int, optional
        The rows; None for all.
    aim : Aim
        How far it goes.
    slow : int
        Stages without much progress just before it.
    """

    number: int
    active: Rows | None
    aim: Aim
    slow: int = 0


@dataclass(frozen=True, eq=False)
class Midway:
    """Where a stage stands between two working sets.

    Parameters
    ----------
    stage : Stage
        The stage.
    a, g : array
        Coefficients and gradient of its rows.
    course : Course
        What the next working set is chosen by.
    damping : float, optional
        That of the next Newton step.
    """

    stage: Stage
    a: Array
    g: Array
    course: Course
    damping: float | None

    def state(self) -> State:
        """Return it as arrays."""
        number, active, aim, slow = self.stage
        counts = [number, slow, aim.is_double, active is not None, core() is not None]
        damping = np.nan if self.damping is None else self.damping
        return {
            "stage": np.array(counts),
            "aim": np.array([aim.goal, aim.floor, damping]),
            "active": np.zeros(0, np.intp) if active is None else active,
            "a": self.a,
            "g": self.g,
            "numbers": self.course.numbers,
            "last": self.course.last,
        }

    @classmethod
    def of(cls, state: State) -> Self | None:
        """Return what a state tells, or None where the other engine has left it."""
        number, slow, is_double, has_active, is_native = state["stage"].tolist()
        if bool(is_native) != (core() is not None):
            return None
        goal, floor, damping = state["aim"].tolist()
        active = state["active"] if has_active else None
        stage = Stage(number, active, Aim(goal, floor, bool(is_double)), slow)
        course = Course(state["numbers"], state["last"])
        return cls(stage, state["a"], state["g"], course, None if np.isnan(damping) else damping)

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
        is_begun = values.are_values(a, f, active, self.stage.aim.is_double)
        # What all rows are solved for replaces f.
        return is_begun and (active is None or values.holds(state))
