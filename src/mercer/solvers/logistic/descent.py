"""What runs of Newton's method share, whether they move coefficients of rows or of landmarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mercer.solvers.contract import Solution
from mercer.solvers.logistic.likelihood import LogisticProblem
from mercer.solvers.run import Run


class Measurable(ABC):
    """A point that knows its primal value, and its duality gap as far as that was measured."""

    primal: float

    @property
    @abstractmethod
    def gap(self) -> float:
        """The duality gap."""

    @property
    def relative_gap(self) -> float:
        """The gap beside the larger of the primal and the dual value."""
        return self.relative(self.gap)

    def relative(self, gap: float) -> float:
        """Return another gap, such as one with what rounding hides, beside the same."""
        return relative(gap, self.primal)


def relative(gap: float, primal: float) -> float:
    """Return a gap beside the larger of the primal and the dual value."""
    return gap / max(abs(primal), abs(primal - gap))


class NewtonRun(ABC):
    """One run of Newton's method through problems that differ in C, each from the last answer.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    most : int
        Steps allowed for every C.
    gram : Gram
        K.
    problem : LogisticProblem
        The problem, for any C, and where to start.

    References
    ----------
    J. Nocedal, S. Wright (2006), Numerical optimization (chapter 3), of the line search.
    """

    # A step ends once it leaves this share of the gap, or of the tolerance.
    share: ClassVar[float] = 0.05
    margin: ClassVar[float] = 0.25
    # The decrease that a step must keep of what its slope promises, and halvings allowed.
    armijo: ClassVar[float] = 1e-4
    halvings: ClassVar[int] = 50
    # C times k(x, x) up to which a start from nothing is close enough, and by how much C may grow
    # from one problem to the next that starts from its solution.
    near: ClassVar[float] = 100.0
    growth: ClassVar[float] = 30.0
    # The gap to which problems on the way to another C are solved.
    on_the_way: ClassVar[float] = 1e-2

    _run: Run

    def __init__(self, tol: float, most: int, gram: Any, problem: LogisticProblem) -> None:
        self._tol, self._most = tol, most
        self._gram, self._problem = gram, problem
        self._C = 0.0
        self._steps = self._stage = 0
        if problem.start is not None:
            # Coefficients are C w times a difference of probabilities, which somewhere is large.
            self._C = float((np.abs(problem.start[0]).max(axis=1) / problem.weights).max())

    @abstractmethod
    def to(self, C: float, run: Run) -> Solution:
        """Return the solution for a C, on the way from the last one."""

    @abstractmethod
    def _size(self) -> float:
        """Return about the weighted mean of k(x, x)."""

    def _on_the_way(self, C: float) -> Iterator[LogisticProblem]:
        """Yield the problems with smaller C to be solved first."""
        size = self._size()
        near = self.near / size if size > 0.0 else np.inf
        last = max(self._C * self.growth, near)
        while last < C:
            yield self._problem.at(last)
            last *= self.growth

    def _is_over(self) -> bool:
        if self._steps == 0:
            # Whoever asks for a model gets one step of it.
            return bool(self._run.ended_by)
        return self._time_is_up() or self._steps >= self._most

    def _time_is_up(self) -> bool:
        return self._run.is_over()

    def _lowers(self, value: float, primal: float, length: float, slope: float) -> bool:
        """Whether a step of some length lowers the objective enough for its slope."""
        return value < primal and value <= primal + self.armijo * length * slope

    def _advice(self, gap: float) -> str:
        if gap <= self._tol and not self._run.ended_by:
            return ""
        otherwise = "rounding allows no further one; lower C, or raise tol if that is enough"
        if self._steps >= self._most:
            otherwise = f"raise max_iter (now {self._most}) or lower C"
        return self._run.advice(f"{self._steps} Newton steps", otherwise)
