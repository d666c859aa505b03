"""The plan of the kernel perceptron: entries that are held, or computed beside mistakes."""

from __future__ import annotations

from typing import Any

from mercer.data.columns import n_rows
from mercer.data.limits.memory import memory_limit
from mercer.kernels import Kernel
from mercer.planning.entries import entry_work
from mercer.planning.plan import Plan, Settings, check_room
from mercer.planning.rates import Work


def matrix_share(settings: Settings, kernel: Kernel, rows: Any, budget: int | None) -> float:
    """Return the share of the memory for the Gram matrix: none if few entries are needed.

    Nor is there any if a time limit would end the passes before there is a matrix, or soon after:
    without one the first mistakes are learned from at once.

    Parameters
    ----------
    settings : Settings
        What the estimator was told.
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        The training rows.
    budget : int, optional
        The most rows in the sum.
    """
    # What takes long is not computed twice.
    if budget is not None and kernel.is_quick:
        return 0.0
    is_soon = settings.allow(2.0 * _filled(kernel, rows))
    return 1.0 if is_soon or not kernel.is_quick else 0.0


def check_passes(n: int, problems: int, memory: Any) -> None:
    """Refuse rows whose signs, counts, times and values, the least that a pass needs, do not fit.

    Parameters
    ----------
    n, problems : int
        The rows that are visited or in the sum, and the problems of one class against the rest.
    memory : int or str, optional
        The limit.
    """
    check_room("perceptron", 32 * n * problems, memory_limit(memory), "perceptron")


def perceptron_plan(
    settings: Settings,
    kernel: Kernel,
    rows: Any,
    problems: int,
    max_epochs: int,
    budget: int | None,
) -> Plan:
    """Return what all passes take over rows of ordinary difficulty; there may be fewer.

    Parameters
    ----------
    settings, kernel, rows, budget
        As in `matrix_share`.
    problems : int
        How many there are of one class against the rest.
    max_epochs : int
        The most passes.
    """
    n, limit = n_rows(rows), memory_limit(settings.memory)
    check_passes(n, problems, settings.memory)
    # One row in ten is a mistake in a pass over classes that do not quite separate.
    mistakes = 0.1 * max_epochs * n * problems
    kept = n if budget is None else min(n, budget)
    share = matrix_share(settings, kernel, rows, budget)
    if 8 * n**2 <= share * limit:
        work = _filled(kernel, rows) + Work(byte=8.0 * mistakes * kept)
        reason = "all entries fit into memory, and mistakes read them there"
        taken = ("a dense matrix", 8 * n**2 + 32 * n * problems)
    else:
        work = mistakes * kept * entry_work(kernel, rows)
        reason = "entries are computed beside mistakes only"
        taken = ("rows of entries as they are needed", 32 * n * problems)
    if budget is not None:
        # A row goes, and bytes that stand for the calls of that.
        work += mistakes * (Work(double=3.0 * kept**2) + Work(byte=2.5e6))
    return Plan("perceptron", *taken, work.seconds, reason, time_limit=settings.time_limit)


def _filled(kernel: Kernel, rows: Any) -> Work:
    """Return what it takes to have all entries."""
    return float(n_rows(rows)) ** 2 * (0.5 * entry_work(kernel, rows) + Work(byte=16.0))
