"""Sequential minimal optimisation of the dual of support vector machines, native or by its twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.native.core import core, cpu_level, empty, routines, thread_count
from mercer.native.twins import smo as smo_twin

Array = NDArray[np.float64]
# source(index, out) writes the rows of K at `index` into `out`.
RowSource = Callable[[NDArray[np.int64], NDArray[Any]], None]

ENDS = ("converged", "rounds", "time", "interrupt", "progress", "stalled", "steps")


@dataclass(frozen=True, eq=False)
class Box:
    """min 1/2 a'Ka - z'a + epsilon |a|_1 over lower <= a <= upper, sum(a) as it is at the start.

    Parameters
    ----------
    z, lower, upper : array of shape (n,)
        The linear term and the bounds, lower <= 0 <= upper.
    epsilon : float
        The weight of |a|_1.
    has_offset : bool
        Whether sum(a) is kept; if not, every a moves by itself.
    """

    z: Array
    lower: Array
    upper: Array
    epsilon: float
    has_offset: bool


@dataclass(frozen=True)
class Effort:
    """How far to go and what to spend.

    Parameters
    ----------
    tolerance : float
        The duality gap to reach, relative to the larger objective and at least `floor`.
    floor : float
        The least objective that the gap is compared with.
    largest : float
        The largest entry k of the diagonal of K: a violation of at most eight units of rounding of
        k |a| may be that of K a, and ends the run.
    rounds : int
        Working sets allowed.
    steps : int
        Steps allowed, of all working sets.
    seconds : float
        Time allowed.
    threads : int
        Threads to run on; None for all.
    is_main : bool
        Whether this is the thread that receives Ctrl-C.
    """

    tolerance: float
    floor: float = 0.0
    largest: float = 0.0
    rounds: int = 2**62
    steps: int = 2**62
    seconds: float = float("inf")
    threads: int | None = None
    is_main: bool = True


@dataclass(frozen=True, eq=False)
class SolverState:
    """Where a run stands between two rounds, beside a and g: what the next one begins from.

    It is written before `progress` is called. A run that is given it with that a and g goes on as
    the first one did, to the same bits with the same engine.

    Parameters
    ----------
    numbers : array of shape (7,)
        The rounds and the steps so far, none at the beginning, and what only the engine reads.
    last : array of int
        The rows of the last working set, of which as many count as the engine has noted.
    """

    numbers: Array
    last: NDArray[np.int64]

    # Rows of the largest working set, unless more are asked for.
    largest_set: ClassVar[int] = 2048

    @classmethod
    def initial(cls, n: int, working_set: int) -> SolverState:
        """Return the beginning of a run of n rows."""
        return cls(np.zeros(7), np.zeros(min(n, max(cls.largest_set, working_set)), np.int64))


@dataclass(frozen=True, eq=False)
class Request:
    """What the solver is handed, natively and by the twin.

    Parameters
    ----------
    box, effort
        The problem, and when to stop.
    K : array of shape (n, n), optional
        All of K, or of `index` the matrix that it is in.
    source : callable, optional
        What writes rows of K, where it is not held.
    index : array of shape (n,), optional
        The rows and columns of a larger `K` that are those of the problem.
    store : array, optional
        Where the native solver keeps the rows that a source wrote.
    stop, progress, newton_step, is_single, capacity, working_set
        As in `minimise`.
    threads : int
        Threads to run on.
    state : SolverState
        Where the run stands.
    """

    box: Box
    effort: Effort
    K: NDArray[Any] | None
    source: RowSource | None
    index: NDArray[np.int64] | None
    store: NDArray[Any] | None
    stop: NDArray[np.uint8]
    progress: Callable[[int, float], bool | None] | None
    newton_step: Callable[[], float] | None
    is_single: bool
    capacity: int
    working_set: int
    threads: int
    state: SolverState


@dataclass(frozen=True)
class Ending:
    """How a run ended: steps, rounds of them, the relative gap reached, and why it is over."""

    steps: int
    rounds: int
    gap: float
    reason: str


def minimise(
    K: NDArray[Any] | RowSource,
    box: Box,
    a: Array,
    g: Array,
    effort: Effort,
    stop: NDArray[np.uint8],
    progress: Callable[[int, float], bool | None] | None = None,
    is_single: bool = True,
    capacity: int = 0,
    working_set: int = 256,
    newton_step: Callable[[], float] | None = None,
    index: NDArray[np.int64] | None = None,
    state: SolverState | None = None,
) -> Ending:
    """Move `a`, and with it the gradient g = K a - z, to where the duality gap is small.

    Parameters
    ----------
    K : array of shape (n, n) or callable
        All of K in float32 or float64, or what writes rows of it; of `index` the matrix it is in.
    box : Box
        The problem.
    a, g : array of shape (n,)
        Where to start; both are overwritten.
    effort : Effort
        When to stop.
    stop : array of shape (1,)
        Looked at between rounds; a value that is not zero ends the run.
    progress : callable, optional
        progress(round, gap), called between rounds; True ends the run.
    is_single : bool
        Whether rows that are asked for come in float32.
    capacity : int
        Rows to keep, at least as many as a working set has.
    working_set : int
        Rows that are solved for together.
    newton_step : callable, optional
        Changes `a` and `g` by itself, once the rounds have cost as much as it does; returns the
        share of its way that it went, zero if it was of no help.
    index : array of shape (n,), optional
        The rows and columns of a larger `K` that are those of the problem.
    state : SolverState, optional
        Where an earlier run stood with this `a` and `g`, and this one does between its rounds.

    References
    ----------
    R.-E. Fan, P.-H. Chen, C.-J. Lin (2005), Working set selection using second order information
    for training support vector machines.
    """
    whole = K if isinstance(K, np.ndarray) else None
    if whole is not None:
        is_single = whole.dtype == np.float32
        if whole.strides[1] != whole.itemsize:
            whole = np.ascontiguousarray(whole)
    if index is not None:
        index = np.ascontiguousarray(index, np.int64)
    is_native, store = core() is not None, None
    if whole is None and is_native:
        slots = min(max(capacity, working_set), len(a))
        store = empty((slots, len(a)), np.float32 if is_single else np.float64)
    request = Request(
        box,
        effort,
        whole,
        None if isinstance(K, np.ndarray) else K,
        index,
        store,
        stop,
        progress,
        newton_step,
        is_single,
        capacity,
        working_set,
        thread_count() if effort.threads is None else effort.threads,
        SolverState.initial(len(a), working_set) if state is None else state,
    )
    cpu = cpu_level() if is_native else ""
    steps, rounds, gap, end = routines(smo_twin).smo_solve(request, a, g, cpu)
    return Ending(steps, rounds, gap, ENDS[end])
