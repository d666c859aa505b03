"""How many rows are fitted to where a time limit does not allow all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mercer.data.memory import memory_limit
from mercer.kernels import Kernel
from mercer.planning.costs import landmark_newton_work, landmark_work
from mercer.planning.entries import entry_work
from mercer.planning.landmarks import (
    LEAST,
    landmark_bytes,
    landmark_count,
    landmark_feature_bytes,
)
from mercer.planning.plan import Settings
from mercer.planning.rates import Work

# Landmarks that rows are left out for: fewer rows with so many tell more than all with a handful.
ENOUGH = 500
# The share of a time limit that may be counted: reading rows in blocks, checks of tables and passes
# in float64 are not, and a fit that is cut short has no certificate.
COUNTED = 0.2
# The share of the rows that is tried next.
FEWER = 0.9


def ridge_rows(
    kernel: Kernel, some: Any, n: int, targets: int, memory: Any, time_limit: float
) -> int:
    """Return how many of n rows a ridge regression by enough landmarks takes within limits.

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
    """
    limit = memory_limit(memory)
    work = partial(landmark_work, entry=entry_work(kernel, some))
    needed = partial(landmark_bytes, targets=targets, memory=limit)
    return _within(n, work, needed, limit, time_limit)


def logistic_rows(
    kernel: Kernel, some: Any, n: int, columns: int, memory: Any, time_limit: float
) -> int:
    """Return how many of n rows a logistic regression by enough landmarks takes within limits.

    The parameters are those of `ridge_rows`, with columns of scores for targets.
    """
    limit = memory_limit(memory)
    work = partial(landmark_newton_work, columns=columns, entry=entry_work(kernel, some))
    needed = partial(landmark_feature_bytes, memory=limit)
    return _within(n, work, needed, limit, time_limit)


def _within(
    n: int,
    work: Callable[[int, int], Work],
    needed: Callable[[int, int], int],
    memory: int,
    time_limit: float,
) -> int:
    """Return the most rows of which work and bytes are within limits, by functions of n and m."""
    rows = n
    while rows > LEAST:
        m = min(ENOUGH, landmark_count(Settings(), rows))
        if needed(rows, m) <= memory and work(rows, m).cost <= COUNTED * time_limit:
            return rows
        rows = int(FEWER * rows)
    return min(n, LEAST)
