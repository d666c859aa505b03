"""Work counted in what a processor does, and what a unit of each kind takes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import log2
from time import thread_time

import numpy as np

from mercer.native.core import core, cpu_level, thread_count
from mercer.native.lapack import one_blas_thread


@dataclass(frozen=True)
class Work:
    """What a computation does, counted; also, what a unit of each kind takes in nanoseconds.

    Parameters
    ----------
    double, single : float
        Multiplications of large matrix products, each with its addition, in float64 and float32.
    byte : float
        Bytes read from memory or written to it.
    column : float
        Columns of rows that are compared by their inner product, pair by pair.
    function : float
        Exponentials of entries; other functions count as several.
    symbol : float
        Pairs of symbols of sequences that are compared, and steps as long.
    """

    double: float = 0.0
    single: float = 0.0
    byte: float = 0.0
    column: float = 0.0
    function: float = 0.0
    symbol: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(*(a + b for a, b in zip(_numbers(self), _numbers(other), strict=True)))

    def __rmul__(self, times: float) -> Work:
        return Work(*(times * a for a in _numbers(self)))

    @property
    def cost(self) -> float:
        """Seconds on one thread of a processor of this level: the same in every call."""
        return 1e-9 * float(np.dot(_numbers(self), _numbers(rates())))

    @property
    def expected(self) -> float:
        """Seconds on all threads of a processor of this level: the same in every call."""
        moved = Work(byte=self.byte).cost
        return moved + (self.cost - moved) / thread_count()

    @property
    def seconds(self) -> float:
        """Seconds here: those expected, by the speed of this machine."""
        return machine_slowness() * self.expected


def _numbers(work: Work) -> tuple[float, ...]:
    return tuple(vars(work).values())


# Nanoseconds on one thread, for every level of the processor that native code is compiled for, and
# for the NumPy engine. Measured by benchmarks/rates.py on 2026-11-17 on an AMD EPYC with AVX-512,
# each level by MERCER_CPU and the kind of processor that OpenBLAS takes it for (SkylakeX, Haswell,
# Nehalem). Other processors without levels, as of ARM, count as v2.
RATES = {
    "v4": Work(0.040, 0.020, 0.023, 0.048, 0.58, 0.085),
    "v3": Work(0.040, 0.020, 0.023, 0.055, 1.34, 0.11),
    "v2": Work(0.115, 0.063, 0.028, 0.11, 4.4, 0.27),
    "numpy": Work(0.043, 0.022, 0.031, 0.095, 31.0, 24.0),
}


def rates() -> Work:
    """Return what a unit of each kind of work takes at the level that runs, in nanoseconds."""
    level = "numpy" if core() is None else cpu_level()
    return RATES.get(level, RATES["v2"])


@functools.cache
def machine_slowness() -> float:
    """Return how many times slower this machine is than that of the rates, as a power of two.

    It is measured once in a process, and rounded so that two measurements agree. No choice asks
    for it: it tells seconds to whoever reads a plan.
    """
    # Rows of the matrices that are multiplied to see how fast a machine is, and how often.
    size, rounds = 256, 5
    A = np.random.default_rng(0).normal(size=(size, size))
    taken = []
    with one_blas_thread():
        for _ in range(rounds):
            start = thread_time()
            A @ A
            taken.append(thread_time() - start)
    expected = Work(double=size**3).cost
    return float(2.0 ** round(log2(max(min(taken), 1e-9) / expected)))
