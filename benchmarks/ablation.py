"""Every fast path switched off once: how much longer a job takes without it, on a named set.

    MERCER_DATA=... python benchmarks/ablation.py [ridge ...]

Both ways take turns and keep their best time. The ratio of processor times is the one to trust on a
busy machine. A path that pays less than 1.3 on no set has no place in the library, unless it is
there for digits.
"""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass

from ablations.entries import sequences, sparse, tiles
from ablations.margin import margin
from ablations.models import logistic, ridge, selection
from ablations.switch import Ablation, Job
from rich.console import Console
from timing import WIDTH, show_machine

ROUNDS = 3
# What a fast path is to pay somewhere.
WORTH = 1.3


@dataclass(frozen=True)
class Times:
    """The best seconds of a job, by the clock and of all processors."""

    wall: float
    processor: float

    @classmethod
    def of(cls, job: Job) -> Times:
        """Return the seconds of one run."""
        gc.collect()
        wall, processor = time.perf_counter(), time.process_time()
        job()
        return cls(time.perf_counter() - wall, time.process_time() - processor)

    def best(self, other: Times) -> Times:
        """Return the lesser of both."""
        return Times(min(self.wall, other.wall), min(self.processor, other.processor))


def measured(ablation: Ablation, rounds: int = ROUNDS) -> tuple[Times, Times]:
    """Return the times with a fast path and without it, in turns."""
    on, off = (Times.of(job) for job in (ablation.on, ablation.off))
    for _ in range(rounds - 1):
        on, off = on.best(Times.of(ablation.on)), off.best(Times.of(ablation.off))
    return on, off


GROUPS = (ridge, selection, logistic, margin, sparse, tiles, sequences)


def main(wanted: tuple[str, ...] = ()) -> None:
    """Print the ratio for every fast path, or for those of some groups."""
    show_machine()
    console = Console(width=WIDTH)
    console.print(f"{'fast path':42}{'set':34}{'with it':>9}{'clock':>8}{'processor':>11}")
    for group in GROUPS:
        if wanted and group.__name__ not in wanted:
            continue
        for ablation in group():
            on, off = measured(ablation)
            clock, processor = off.wall / on.wall, off.processor / on.processor
            times = f"{on.wall:8.3g}s{clock:7.3g}x{processor:10.3g}x"
            verdict = "" if processor >= WORTH else f"  below {WORTH}"
            console.print(f"{ablation.path:42}{ablation.data:34}{times}{verdict}")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
