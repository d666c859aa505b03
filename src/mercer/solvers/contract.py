"""What every problem, solver and solution is, whatever the loss, and what a solution proves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError, shielded
from mercer.gram import Gram
from mercer.solvers.run import Run

ILL_CONDITIONED = (
    "the system is too ill-conditioned for float64; raise alpha, or raise tol if that is enough"
)

# What solved it where the time was up before a solver had an answer.
OFFSET_ALONE, FEW_ROWS = "offset alone", "few rows"
STAND_INS = (OFFSET_ALONE, FEW_ROWS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What a solve took and how it ended.

    Parameters
    ----------
    iterations : int
        Steps of refinement or iteration.
    seconds : float
        Time taken.
    advice : str
        What to do where the answer is not as good as was asked for, or what would be cheaper.
    is_interrupted : bool
        Whether Ctrl-C ended it: whoever pressed it is told so, also where the tolerance is met.
    """

    iterations: int = 0
    seconds: float = 0.0
    advice: str = ""
    is_interrupted: bool = False


@dataclass(frozen=True, eq=False)
class Solution(Outcome):
    """The answer of a solver for every target, how good it is, and what it cost.

    Parameters
    ----------
    coefficients : array of shape (n, targets)
        a in f(x) = sum_i a_i k(x_i, x).
    intercept : array of shape (targets,)
        b.
    residual : array of shape (targets,)
        The relative residual of A a + b 1 = y and 1'a = 0 that `measured` has, or what the solver
        says that it measures in its place.
    radius : array of shape (targets,)
        Bound on ||f - f*||, see `Certificate`.
    tolerance : float
        The residual that was asked for.
    solver : str
        Name of what ran.
    theta : array of shape (p, targets), optional
        The coefficients of explicit features, f(x) = theta'phi(x), from a solver that finds them.
    measure : str
        What `residual` is.
    """

    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]
    residual: NDArray[np.float64]
    radius: NDArray[np.float64]
    tolerance: float
    solver: str
    theta: NDArray[np.float64] | None = None
    measure: str = "relative residual"

    def in_units(self, unit: NDArray[np.float64]) -> Self:
        """Return the solution of targets that are so many times as large.

        Coefficients too small to be numbers then have lost digits, of which nothing is proved.
        """
        with np.errstate(over="ignore"):
            coefficients = self.coefficients * unit
        if not np.isfinite(coefficients).all():
            raise ValueError(
                "the coefficients overflow in the unit of the targets; scale the targets down, or "
                "raise alpha"
            )
        is_kept = (coefficients / unit == self.coefficients).all(axis=0)
        return replace(
            self,
            coefficients=coefficients,
            intercept=self.intercept * unit,
            residual=np.where(is_kept, self.residual, np.inf),
            radius=np.where(is_kept, self.radius * unit, np.inf),
            theta=None if self.theta is None else self.theta * unit,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A measured distance from the exact answer, and what follows from it.

    The fitted f and the exact f* of the same problem obey ||f - f*|| <= radius in the norm of the
    kernel's function space, so that |f(x) - f*(x)| <= radius sqrt(k(x, x)) at every x. The bound
    is for f without the offset b and for a positive semi-definite kernel. What rounding may hide
    of K a counts in the value and in the radius; the rounding of targets and offset does not.

    Parameters
    ----------
    kind : str
        What was measured, such as ``"relative residual"``.
    value : float
        The measured number, the worst of all targets.
    tolerance : float
        What it should not exceed.
    radius : float or array of shape (targets,)
        Bound on ||f - f*||, infinite where nothing is proved.
    diagonal : callable
        diagonal(X) -> k(x, x) for every row.
    method : str
        What ran.
    is_proved : bool
        Whether the kernel is known to be positive semi-definite; if not, the text says that the
        bound assumes it.
    """

    kind: str
    value: float
    tolerance: float
    radius: float | NDArray[np.float64]
    diagonal: Callable[[Any], NDArray[Any]]
    method: str = ""
    is_proved: bool = True

    @property
    def satisfied(self) -> bool:
        """Whether the value is within the tolerance."""
        return self.value <= self.tolerance

    def bound(self, X: Any) -> NDArray[np.float64]:
        """Return radius sqrt(k(x, x)) at the rows of `X`: shape (n,), or (n, targets)."""
        norms = np.sqrt(np.maximum(self.diagonal(X), 0.0))
        # An infinite radius proves nothing, also where k(x, x) is zero.
        proved = np.isfinite(self.radius)
        bounds = np.multiply.outer(norms, np.where(proved, self.radius, 0.0))
        return np.where(proved, bounds, np.inf)

    def __str__(self) -> str:
        verdict = "within" if self.satisfied else "NOT within"
        worst = float(np.max(self.radius))
        promise = f"|f - f*|(x) <= {worst:.1e} sqrt(k(x, x))" if np.isfinite(worst) else "no bound"
        if np.isfinite(worst) and not self.is_proved:
            promise += " if the kernel is positive semi-definite"
        by = f" by {self.method}" if self.method else ""
        return f"{self.kind} {self.value:.1e}{by}, {verdict} {self.tolerance:.1e}; {promise}"

    __repr__ = __str__


@dataclass(frozen=True)
class Approximation:
    """What landmarks leave of a kernel: the certificate of a model is for their kernel alone.

    Parameters
    ----------
    value : float
        The trace residual tr(K - K_nm K_mm^-1 K_mn) / tr K, from 0 to 1.
    n_landmarks : int
        m, those that others make superfluous not counted.
    rows : int
        The training rows that the value is estimated from.
    """

    value: float
    n_landmarks: int
    rows: int

    def __str__(self) -> str:
        return (
            f"{self.n_landmarks} landmarks leave {self.value:.1e} of the trace of K, estimated "
            f"from {self.rows} rows"
        )


class HasZeroSolution(Protocol):
    """A problem with an answer that takes no entry of K."""

    def zero_solution(self, tol: float) -> Any:
        """Return f = 0 with the best offset alone, and what it proves."""


class Problem(HasZeroSolution, Protocol):
    """What is asked of a Gram matrix: losses, targets and weights, and where to start."""

    def in_units(self) -> tuple[Self, NDArray[np.float64]]:
        """Return the problem in units in which squares are numbers, and the unit of each target.

        Units are powers of two, which change no digit, and one wherever that serves.
        """

    def on(self, rows: NDArray[np.intp]) -> Self:
        """Return the problem of some of the rows."""

    @property
    def groups(self) -> NDArray[Any]:
        """Which rows belong together, so that a sample has some of each."""


Asked = TypeVar("Asked", bound=HasZeroSolution)
Counted = TypeVar("Counted", bound=Problem)
Found = TypeVar("Found", bound=Outcome)


class Limited(ABC, Generic[Asked, Found]):
    """What solves problems of one kind within a run: a frozen dataclass of settings.

    Whoever writes a solver writes `_solved`: an iteration asks ``run.is_over()`` between its steps,
    or ``run.report(iteration, value)``, and what takes long in between looks at the clock by itself
    (`mercer.data.limits.deadline`). An answer that is there when the time is up is returned, with a
    residual that was measured, or is infinite.
    """

    # Whether it goes step by step, which a progress bar can show and Ctrl-C can end with a model.
    iterates: ClassVar[bool]
    # How an estimator and a plan call it; the name of the class where it says nothing else.
    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = vars(cls).get("name", cls.__name__)

    def configured(self, tol: Any, max_iter: Any, random_state: Any) -> Self:
        """Return the solver with those settings given that it has; None leaves it its own."""
        given = {
            "tol": _positive("tol", tol),
            "max_iter": whole_or_none("max_iter", max_iter),
            "random_state": random_state,
        }
        wanted = {k: v for k, v in given.items() if v is not None}
        if not wanted or not is_dataclass(self):
            return self
        has = {field.name for field in fields(self)}
        return replace(self, **{k: v for k, v in wanted.items() if k in has})

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
        found: Found | None = None
        with run.limited():
            # The error keeps all that the solver held as long as it is handled.
            with suppress(TimeIsUpError):
                found = solved()
            if found is None:
                run.ended_by = "time"
                with shielded():
                    zero: Found = problem.zero_solution(getattr(self, "tol", 0.0))
                found = replace(zero, advice=run.advice("no step", ""))
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

    def answer(self, gram: Gram, problem: Counted, run: Run) -> Solution:
        """Return the solution, or where the time was up without one that of a few rows.

        The parameters are those of `Limited.solve`.
        """
        found = self.solve(gram, problem, run)
        if run.ended_by != "time":
            return found
        # Imported here because it is made of solvers.
        from mercer.solvers.few_rows import stand_in

        return stand_in(found, gram, problem, run)


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


def _positive(name: str, value: Any) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number or None, got {value!r}")
    return float(value)


def whole_or_none(name: str, value: Any) -> int | None:
    """Return a whole number of at least 1, or None."""
    if value is None:
        return None
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1 or None, got {value!r}")
    return int(value)
