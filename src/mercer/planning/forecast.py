"""What conjugate gradients will take, from a glance at the spectrum of K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.gram import Gram
from mercer.gram.pivots import Pivots
from mercer.planning.costs import product_work
from mercer.planning.rates import Work
from mercer.solvers.ridge.cg_factor import first_rank

# Rows that the glance is at, and pivots taken of them: enough to see how the trace falls.
SAMPLE, GLANCE = 1000, 128


@dataclass(frozen=True)
class Forecast:
    """Steps and work that conjugate gradients are expected to take.

    Parameters
    ----------
    steps : float
        Steps for one alpha.
    work : Work
        What they do, the preconditioner included.
    rank : int
        Rank of the preconditioner.
    """

    # The smoother the kernel, the faster the power itself grows by which the trace falls.
    steeper: ClassVar[float] = 1.3
    # Steps are about base + slope sqrt(trace of E / alpha) for every factor e by which the residual
    # has to fall, where E is what the preconditioner leaves of K: its norm is a small share of its
    # trace. Both from Gaussian kernels on real tables, alphas from 1e-4 to 0.1 and ranks from 300
    # to 724.
    base: ClassVar[float] = 0.2
    slope: ClassVar[float] = 0.035

    steps: float
    work: Work
    rank: int


def forecast(gram: Gram, entry: Work, alpha: float, tol: float) -> Forecast:
    """Return what it takes to solve (K + alpha I) a = y down to a relative residual.

    Parameters
    ----------
    gram : Gram
        K, of which some rows are looked at.
    entry : Work
        What an entry of it takes.
    alpha : float
        The ridge over the largest weight.
    tol : float
        The residual.
    """
    n, rank = len(gram), preconditioner_rank(len(gram), gram.memory)
    some = np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp)
    trace = n / len(some) * trace_at(rank, gram.part(some))
    with np.errstate(divide="ignore"):
        root = np.sqrt(np.divide(trace, alpha)) if trace > 0.0 else 0.0
    steps = float(np.log(8.0 / tol) * (Forecast.base + Forecast.slope * root))
    return Forecast(steps, product_work(n, rank, steps, entry), rank)


def least_product_work(n: int, memory: int, entry: Work, tol: float) -> Work:
    """Return the work of the fewest steps that are ever forecast, and of the glance."""
    steps, rank = Forecast.base * float(np.log(8.0 / tol)), preconditioner_rank(n, memory)
    glance = Work(double=float(SAMPLE) * GLANCE**2) + SAMPLE * GLANCE * entry
    return glance + product_work(n, rank, steps, entry)


def preconditioner_rank(n: int, memory: int) -> int:
    """Return the rank of the preconditioner of `n` rows, at least one."""
    # While the preconditioner grows there are old and new rows of it side by side.
    return max(1, min(first_rank(n), n, memory // (16 * n)))


def trace_at(rank: int, sample: Gram) -> float:
    """Return about what the trace of E falls to, by the power of the rank it falls with so far."""
    pivots = Pivots(sample, 0)
    pivots.grow(min(GLANCE, rank))
    k, trace = np.array(pivots.history).T
    if trace[-1] == 0.0:
        return 0.0
    power = Forecast.steeper * np.log2(np.interp(k[-1] / 2.0, k, trace) / trace[-1])
    return float(trace[-1] * (k[-1] / rank) ** power)
