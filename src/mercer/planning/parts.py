"""How many rows and landmarks a time limit allows, where rows are many."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from mercer.data.limits.memory import steady_limit
from mercer.kernels import Kernel
from mercer.planning.costs import landmark_newton_work, landmark_work
from mercer.planning.entries import entry_work
from mercer.planning.landmarks import (
    LEAST,
    landmark_bytes,
    landmark_count,
    landmark_newton_bytes,
)
from mercer.planning.plan import Settings
from mercer.planning.rates import Work

# The share of a time limit that may be counted: reading rows in blocks, checks of tables and passes
# in float64 are not, and a fit that is cut short has no certificate.
COUNTED = 0.2


class Part(NamedTuple):
    """How many rows are fitted to, by how many landmarks."""

    rows: int
    landmarks: int


def ridge_part(
    kernel: Kernel,
    some: Any,
    n: int,
    targets: int,
    memory: Any,
    time_limit: float,
    read: Callable[[int], int],
) -> Part:
    """Return how many of n rows a ridge regression takes by enough landmarks within limits.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    some : rows
        Some of the rows, which tell what an entry takes.
    n, targets : int
        All rows, and targets.
    memory : int or str, optional
        The limit, as an estimator takes it.
    time_limit : float
        Seconds.
    read : callable
        How many bytes so many rows take that are read for the fit.
    """
    limit = steady_limit(memory)
    work = partial(landmark_work, entry=entry_work(kernel, some), targets=targets)
    needed = partial(landmark_bytes, targets=targets, memory=limit)
    return _within(n, work, lambda rows, m: needed(rows, m) + read(rows), limit, time_limit)


def logistic_part(
    kernel: Kernel,
    some: Any,
    n: int,
    columns: int,
    memory: Any,
    time_limit: float,
    read: Callable[[int], int],
) -> Part:
    """Return how many of n rows a logistic regression takes by enough landmarks within limits.

    The parameters are those of `ridge_part`, with columns of scores for targets.
    """
    limit = steady_limit(memory)
    work = partial(landmark_newton_work, columns=columns, entry=entry_work(kernel, some))
    needed = partial(landmark_newton_bytes, columns=columns, memory=limit)
    return _within(n, work, lambda rows, m: needed(rows, m) + read(rows), limit, time_limit)


def _within(
    n: int,
    work: Callable[[int, int], Work],
    needed: Callable[[int, int], int],
    memory: int,
    time_limit: float,
) -> Part:
    """Return the most rows by enough landmarks, or for all rows the most landmarks, within limits.

    Work and bytes are functions of n and m. It begins with all rows and goes down to the first
    number of them within the limits, as the bytes of fewer rows need not be fewer.
    """

    def is_within(rows: int, m: int) -> bool:
        return needed(rows, m) <= memory and work(rows, m).cost <= COUNTED * time_limit

    rows = n
    # Landmarks that rows are left out for: fewer rows with so many tell more than all with a
    # handful.
    enough = 500
    m = min(enough, landmark_count(Settings(), rows))
    # By how much fewer rows, or more landmarks, are tried next.
    fewer = 0.9
    while rows > LEAST and not is_within(rows, m):
        rows = int(fewer * rows)
        m = min(enough, landmark_count(Settings(), rows))
    most = landmark_count(Settings(), rows)
    while m < most and is_within(rows, min(int(m / fewer), most)):
        m = min(int(m / fewer), most)
    return Part(min(n, rows), m)
