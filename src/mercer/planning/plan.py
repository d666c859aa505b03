"""The plan that a user reads, and the settings that it keeps to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mercer.data.limits.memory import gigabytes, lacking, least_limit
from mercer.data.stream import Stream
from mercer.errors import MemoryLimitError
from mercer.gram.pivots import RULES, unknown_rule
from mercer.kernels import Kernel
from mercer.planning.rates import Work
from mercer.solvers import Run, check_time_limit


@dataclass(frozen=True)
class Settings:
    """What an estimator was told about how to solve.

    Parameters
    ----------
    solver : str or solver
        By name or as an object; ``"auto"`` leaves it to the plan.
    tol, max_iter, seed
        Settings of the solver; None for its own.
    memory : int or str, optional
        The limit in bytes or as ``"4GB"``; a share of the free memory by default.
    repair : str, optional
        What is made of negative eigenvalues.
    n_landmarks : int, optional
        How many landmarks; None leaves it to the plan.
    landmarks : str or rows
        How they are chosen, or themselves, see `mercer.gram.landmark_gram`.
    time_limit : float, optional
        The seconds that a fit may take.
    """

    solver: Any = "auto"
    tol: Any = None
    max_iter: Any = None
    seed: int | None = None
    memory: Any = None
    repair: str | None = None
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            check_time_limit(self.time_limit)
        # Whether there will be any depends on the number of rows.
        if isinstance(self.landmarks, str) and self.landmarks not in RULES:
            raise unknown_rule(self.landmarks)

    @cached_property
    def is_open(self) -> bool:
        """Whether the solver is left to the plan."""
        return isinstance(self.solver, str) and self.solver == "auto"

    @property
    def has_landmarks(self) -> bool:
        """Whether landmarks were asked for, by their number or themselves."""
        return self.n_landmarks is not None or not isinstance(self.landmarks, str)

    @property
    def is_by_landmarks(self) -> bool:
        """Whether landmarks were asked for, by themselves or by their solver."""
        named = self.solver if isinstance(self.solver, str) else getattr(self.solver, "name", "")
        return self.has_landmarks or named == "nystrom"

    def names(self, kind: type[Any]) -> bool:
        """Whether the solver that was named is of a kind."""
        named = self.solver
        return named == kind.name if isinstance(named, str) else isinstance(named, kind)

    def for_rows(self, rows: Any) -> Settings:
        """Return the settings, with landmarks where they are given or rows are not in memory."""
        has_landmarks = self.is_open and (self.has_landmarks or isinstance(rows, Stream))
        return replace(self, solver="nystrom") if has_landmarks else self

    def allow(self, work: Work) -> bool:
        """Whether work that gives nothing before it is done may be begun.

        It is to take half of the time, that beyond the limit included: the other half is for what
        counts and rates of a processor do not know.
        """
        if self.time_limit is None:
            return True
        return 2.0 * work.expected <= self.time_limit + Run(self.time_limit).grace


@dataclass(frozen=True, repr=False)
class Plan:
    """What will run: the solver, the form of the Gram matrix, and what both will take.

    Parameters
    ----------
    solver, gram : str
        Name of the solver, and how it sees the Gram matrix.
    memory : int
        Bytes that it needs beside the data.
    seconds : float
        Predicted time on this machine when it is idle.
    reason : str
        Why this one.
    alternatives : tuple of Plan
        What else would work.
    time_limit : float, optional
        The seconds that the estimator may take.
    residual : float
        The trace residual that is expected of landmarks, see `Approximation`; zero where the
        answer is that of the kernel itself.
    """

    solver: str
    gram: str
    memory: int
    seconds: float
    reason: str
    alternatives: tuple[Plan, ...] = ()
    time_limit: float | None = None
    residual: float = 0.0

    @property
    def is_in_time(self) -> bool:
        """Whether the predicted time is within the limit."""
        return self.time_limit is None or self.seconds <= self.time_limit

    def after_search(self, candidates: int, scored: str, work: Work, needed: int) -> Plan:
        """Return the plan of a search that ends with this fit.

        Parameters
        ----------
        candidates : int
            How many there are.
        scored : str
            On which rows.
        work, needed
            What that takes, and in how many bytes.
        """
        return replace(
            self,
            memory=max(self.memory, needed),
            seconds=self.seconds + work.seconds,
            reason=f"{candidates} candidates are scored on {scored}; then, {self.reason}",
            alternatives=(),
        )

    @property
    def error(self) -> str:
        """What is left out, in words."""
        if self.residual == 0.0:
            return "exact"
        return f"leaves about {self.residual:.1e} of the trace of K"

    def __str__(self) -> str:
        lines = [
            f"solver       {self.solver}, on {self.gram}",
            f"memory       {gigabytes(self.memory)}",
            f"time         about {_time(self.seconds)}{self._excess}",
            f"error        {self.error}",
            f"because      {self.reason}",
        ]
        for other in self.alternatives:
            needs = f"{gigabytes(other.memory)}, about {_time(other.seconds)}, {other.error}"
            lines.append(f"or           {other.solver}: {needs}; {other.reason}")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _excess(self) -> str:
        if self.is_in_time:
            return ""
        return f", more than time_limit={self.time_limit:g}: what there is by then is kept"


def among(
    plans: Iterable[Plan],
    name: str,
    memory: int,
    kernel: Kernel,
    time_limit: float | None,
    least: Least | None = None,
) -> Plan:
    """Return the plan of a solver with the others that fit, or refuse one that does not."""
    options = {plan.solver: plan for plan in plans}
    if name not in options:
        known = ", ".join(repr(other) for other in options)
        raise ValueError(
            f"solver={name!r} cannot take {kernel!r} on these rows; use 'auto' or one of {known}"
        )
    taken = options[name]
    others = tuple(o for o in options.values() if o is not taken and o.memory <= memory)
    check_room(name, taken.memory, memory, others[-1].solver if others else name, least)
    return replace(taken, alternatives=others, time_limit=time_limit)


@dataclass(frozen=True)
class Least:
    """The fewest landmarks that stand for the rows where nothing else is to be had.

    Parameters
    ----------
    landmarks, memory : int
        How many there are, and the bytes that they take.
    """

    landmarks: int
    memory: int

    def beside(self, needed: int, limit: int) -> str:
        """Return what would do with less than is needed, in words."""
        if self.memory >= needed:
            return ""
        return f", and {self.landmarks} landmarks {gigabytes(least_limit(self.memory, limit))}"


def check_room(
    name: str, needed: int, memory: int, instead: str, least: Least | None = None
) -> None:
    """Refuse what needs more bytes than the limit, before anything is computed.

    `instead` is a solver that needs less, or the same if there is none, and `least` what would be
    taken where there is more memory.
    """
    if needed > memory:
        other = "" if instead == name else f", or use solver={instead!r}"
        fewer = "fewer rows or landmarks" if name == "nystrom" else "fewer rows"
        beside = "" if least is None else least.beside(needed, memory)
        raise MemoryLimitError(
            f"solver {name!r} needs {lacking(needed, memory)}{beside}; raise memory= or use "
            f"{fewer}{other}"
        )


def check_choice(
    rows: int, needed: int, memory: int, hint: str = "", least: Least | None = None
) -> None:
    """Refuse a search that needs more bytes than the limit on so many rows."""
    if needed > memory:
        beside = "" if least is None else least.beside(needed, memory)
        raise MemoryLimitError(
            f"choosing on {rows} rows needs {lacking(needed, memory)}{beside}; raise memory= or "
            f"use fewer rows{hint}"
        )


def _time(seconds: float) -> str:
    if seconds < 1.0:
        return f"{max(seconds * 1e3, 1.0):.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.1f} min"
