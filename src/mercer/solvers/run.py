"""One run of a solver: when it has to end, who watches it, and what ended it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError, until
from mercer.data.listing import in_four_digits
from mercer.solvers.checkpoint import Checkpoint, State

# progress(iteration, what the certificate measures); True ends the run.
Progress = Callable[[int, float], bool | None]

Measured = TypeVar("Measured")

# Who is told of every phase of a fit, in one line at the level INFO.
LOGGER = logging.getLogger("mercer")


def check_time_limit(limit: Any) -> None:
    """Refuse what is neither a positive finite number of seconds nor None."""
    is_number = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
    if limit is not None and not (is_number and 0.0 < limit < inf):
        raise ValueError(
            f"time_limit must be a positive finite number of seconds or None, got {limit!r}"
        )


@dataclass(eq=False)
class Run:
    """The deadline of a solve, Ctrl-C, progress and what to advise whoever ended it early.

    Iterations stop at the time limit. Work that is still going on a little later, such as a product
    with K, is broken off by `TimeIsUpError`, which `guarded` turns into the end of the run.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from `began` on.
    progress : callable, optional
        progress(iteration, value), called after every step; True ends the run.
    is_main : bool
        Whether this is the thread that receives Ctrl-C, and so may use all others.
    stop : array of shape (1,)
        Set to one by Ctrl-C, or by another thread, to end the runs that share it.
    began : float
        The reading of ``time.perf_counter`` at which the limit begins to count.
    ends : float, optional
        An earlier end than that of the limit, of which this run has a share.
    checkpoint : Checkpoint, optional
        The file in which `keep` leaves what `restored` finds.
    problem : str
        Which problem of several in a fit this is, to the checkpoint.

    Attributes
    ----------
    ended_by : str
        What ended it early: "time", "interrupt", "progress", or nothing.
    """

    # A fit ends within the limit, a tenth of it and a second. Half of what is beyond the limit is
    # for measuring the answer and the other half for keeping it.
    share_to_measure: ClassVar[float] = 0.05
    seconds_to_measure: ClassVar[float] = 0.5

    time_limit: float | None = None
    progress: Progress | None = None
    is_main: bool = True
    stop: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, np.uint8))
    began: float = field(default_factory=perf_counter)
    ends: float | None = None
    checkpoint: Checkpoint | None = None
    problem: str = "0"
    ended_by: str = field(default="", init=False)

    def __post_init__(self) -> None:
        check_time_limit(self.time_limit)

    @property
    def deadline(self) -> float:
        """The reading of ``time.perf_counter`` from which on no step is begun."""
        if self.time_limit is None:
            return inf
        return self.began + self.time_limit if self.ends is None else self.ends

    @property
    def seconds_left(self) -> float:
        """The time until then."""
        return self.deadline - perf_counter()

    @property
    def grace(self) -> float:
        """The seconds beyond the limit after which work is broken off."""
        return self.share_to_measure * (self.time_limit or 0.0) + self.seconds_to_measure

    def limited(self) -> AbstractContextManager[None]:
        """Return a context in which blocks and native code look at the clock as well.

        A limit that is not reached changes no bit: the BLAS has as many threads as without.
        """
        return nullcontext() if self.time_limit is None else until(self.deadline + self.grace)

    def punctual(self) -> AbstractContextManager[None]:
        """Return the same for what leaves nothing to be measured, and so needs no grace."""
        return nullcontext() if self.deadline == inf else until(self.deadline)

    def part(self) -> Run:
        """Return the run of one of several problems that end together."""
        return replace(self)

    def share(self, share: float) -> Run:
        """Return a run that has this share of the time left."""
        if self.time_limit is None:
            return self.part()
        return replace(self, ends=perf_counter() + share * max(self.seconds_left, 0.0))

    @property
    def rest(self) -> float | None:
        """The time limit for what comes after this, at least a moment."""
        return None if self.time_limit is None else max(self.seconds_left, 1e-3)

    def is_over(self) -> bool:
        """Whether to end; what for is noted."""
        if not self.ended_by:
            if self.stop[0]:
                self.ended_by = "interrupt"
            elif perf_counter() > self.deadline:
                self.ended_by = "time"
        return bool(self.ended_by)

    def has(self, seconds: float) -> bool:
        """Whether there are so many left; if not, that is what ended the run."""
        if self.seconds_left < seconds:
            self.ended_by = self.ended_by or "time"
        return not self.ended_by

    def enter(self, phase: str) -> None:
        """Say which phase of the fit begins, in one line for whoever listens to the logger."""
        LOGGER.info(phase)

    def report(self, iteration: int, value: float) -> bool:
        """Tell whoever watches about a step, and return whether to end."""
        if self.progress is not None and self.progress(iteration, value):
            self.ended_by = self.ended_by or "progress"
        return self.is_over()

    def restored(self) -> State | None:
        """Return the state in which an earlier run of this problem was killed, or None."""
        return None if self.checkpoint is None else self.checkpoint.restored(self.problem)

    def keep(self, state: State) -> None:
        """Leave what the next step begins from, for a run after this one was killed.

        It is written now and then. The answer must not depend on when: a step that begins from
        the state and one that goes on do the same, to the last bit.
        """
        if self.checkpoint is not None:
            self.checkpoint.keep(self.problem, state)

    def forget(self) -> None:
        """Delete what was kept, unless the run ended early: then another one can go on from it."""
        if self.checkpoint is not None and not self.ended_by:
            self.checkpoint.remove()

    def interrupt(self) -> None:
        """Note Ctrl-C, which means the other problems as well."""
        self.stop[0] = 1
        self.ended_by = "interrupt"

    def attempt(self, work: Callable[[], Measured], otherwise: Callable[[], Measured]) -> Measured:
        """Return what some work returns, or once the time is up what takes none."""
        try:
            with self.limited():
                return work()
        except TimeIsUpError:
            return otherwise()

    @contextmanager
    def guarded(self, has_model: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """Let the clock or the first Ctrl-C end what is done in this context, and go on after it.

        A second Ctrl-C raises, and so does one before there is a model to return.
        """
        try:
            yield
        except TimeIsUpError:
            self.ended_by = self.ended_by or "time"
        except KeyboardInterrupt:
            if self.ended_by == "interrupt" or not has_model():
                raise
            self.interrupt()

    def measured(self, measure: Callable[[], Measured]) -> Measured | None:
        """Return what there is to be measured of an answer, or None where there is no time for it.

        The first Ctrl-C ends the iteration, not this; a second one raises.
        """
        with self.guarded():
            return measure()
        if self.is_interrupted:
            with self.guarded():
                return measure()
        return None

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.ended_by == "interrupt"

    @property
    def reason(self) -> str:
        """Why it ended early and what to do, or nothing."""
        if self.ended_by == "time":
            limit = "" if self.time_limit is None else f" of {in_four_digits(self.time_limit)} s"
            return f"the time limit{limit} was up; raise time_limit"
        if self.ended_by == "interrupt":
            return "Ctrl-C ended the iteration; fit again without it"
        return "a callback ended the iteration" if self.ended_by else ""

    def advice(self, done: str, otherwise: str) -> str:
        """Return what to do after so much was done: by what ended the run, or something else."""
        return f"after {done} {self.reason or otherwise}"
