"""Timing side by side: contenders take turns, each keeps its best time, ratios are printed."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from mercer.native.core import cpu_level

Case = TypeVar("Case")

ROUNDS = 5
PAUSE = 0.15
WIDTH = 130


def interleaved(
    contenders: Mapping[str, Callable[[], object]], rounds: int = ROUNDS
) -> dict[str, float]:
    """Return the best seconds of each contender, run in turn so that noise hits all alike."""
    best = dict.fromkeys(contenders, float("inf"))
    for run in contenders.values():
        run()
    for _ in range(rounds):
        for name, run in contenders.items():
            gc.collect()
            # Idle threads of a BLAS spin for a while; the next contender is not to pay for them.
            time.sleep(PAUSE)
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def afresh(run: Callable[[Case], dict[str, float]], case: Case, processes: int) -> dict[str, float]:
    """Return the best seconds that `run` finds in some processes, one after the other.

    Where in memory a process happens to be tells in how fast it writes, to its end.
    """
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with pool:
        found = list(pool.map(run, [case] * processes))
    return {name: min(seconds[name] for seconds in found) for name in found[0]}


@dataclass(frozen=True)
class Figure:
    """One measured figure beside its target; ``at_least`` says which way is good."""

    case: str
    value: float
    target: float | None = None
    at_least: bool = True
    unit: str = "x"
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met, or None if there is none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def show_machine() -> None:
    """Print what the figures were measured on, once."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    level = f"x86-64-{cpu_level()}" if platform.machine() in ("x86_64", "AMD64") else cpu_level()
    Console(width=WIDTH).print(f"{processor()}, {os.cpu_count()} cores, {level}{load}")


def show(title: str, figures: list[Figure]) -> None:
    """Print the figures as a table, the first one below the name of the machine."""
    show_machine()
    table = Table(title=title, title_justify="left")
    for column in ("case", "measured", "target", "", "detail"):
        table.add_column(column, justify="right" if column in ("measured", "target") else "left")
    for f in figures:
        bound = "" if f.target is None else f"{'>=' if f.at_least else '<='} {f.target:g}{f.unit}"
        verdict = {True: "met", False: "MISSED", None: ""}[f.met]
        table.add_row(f.case, f"{f.value:.3g}{f.unit}", bound, verdict, f.detail)
    Console(width=WIDTH).print(table)
