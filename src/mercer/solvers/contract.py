"""What every problem and every solver can do, whatever the loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.deadline import TimeIsUpError, shielded
from mercer.gram import Gram
from mercer.solvers.run import Run
from mercer.solvers.solution import Outcome, Solution


class Resting(Protocol):
    """A problem with an answer that takes no entry of K."""

    def at_rest(self, tol: float) -> Any:
        """Return f = 0 with the best offset alone, and what it proves."""


class Problem(Resting, Protocol):
    """What is asked of a Gram matrix: losses, targets and weights, and where to start."""

    def in_units(self) -> tuple[Self, NDArray[np.float64]]:
        """Return the problem in units in which squares are numbers, and the unit of each target.

        Units are powers of two, which change no digit, and one wherever that serves.
        """


Asked = TypeVar("Asked", bound=Resting)
Counted = TypeVar("Counted", bound=Problem)
Found = TypeVar("Found", bound=Outcome)


class Limited(ABC, Generic[Asked, Found]):
    """What solves problems of one kind within a run: a frozen dataclass of settings.

    Whoever writes a solver writes `_solved`: an iteration asks ``run.is_over()`` between its steps,
    or ``run.report(iteration, value)``, and what takes long in between looks at the clock by itself
    (`mercer.data.deadline`). An answer that is there when the time is up is returned, with a
    residual that was measured, or is infinite.
    """

    # Whether it goes step by step, which a progress bar can show and Ctrl-C can end with a model.
    iterates: ClassVar[bool]
    # How an estimator and a plan call it; the name of the class where it says nothing else.
    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = vars(cls).get("name", cls.__name__)

    def solve(self, gram: Gram, problem: Asked, run: Run | None = None) -> Found:
        """Return the solution of a problem, as good as the run allows.

        Parameters
        ----------
        gram : Gram
            K.
        problem : Problem
            What to solve.
        run : Run, optional
            When to end and who watches; nobody by default.
        """
        run = Run() if run is None else run
        return self._within(run, problem, lambda: self._solved(gram, problem, run))

    @abstractmethod
    def _solved(self, gram: Gram, problem: Asked, run: Run) -> Found:
        """Return the solution, to which `solve` adds the time that it took."""

    def _within(self, run: Run, problem: Asked, solved: Callable[[], Found]) -> Found:
        """Return a solution, or where the time is up before there is one the offset alone."""
        began = perf_counter()
        with run.limited():
            try:
                found = solved()
            except TimeIsUpError:
                run.ended_by = "time"
                with shielded():
                    rest: Found = problem.at_rest(getattr(self, "tol", 0.0))
                found = replace(rest, advice=run.advice("no step", ""))
        return replace(found, seconds=perf_counter() - began, is_interrupted=run.is_interrupted)


class Solver(Limited[Counted, Solution]):
    """A solver with a tolerance `tol`, whose solution proves how good it is."""

    tol: Any

    def solve(self, gram: Gram, problem: Counted, run: Run | None = None) -> Solution:
        """Return the solution of a problem, as good as the run allows, in units of its targets.

        The parameters are those of `Limited.solve`.
        """
        counted, unit = problem.in_units()
        found = super().solve(gram, counted, run)
        return found if (unit == 1.0).all() else found.in_units(unit)


@dataclass(frozen=True)
class OffsetAlone(Solver[Any]):
    """What there is where the time is up before a Gram matrix is: f = 0 and the best offset.

    Parameters
    ----------
    tol : float
        What would have been asked for.
    """

    iterates: ClassVar[bool] = False

    tol: float

    def _solved(self, gram: Gram, problem: Any, run: Run) -> Solution:
        raise TimeIsUpError
