"""What conjugate gradients will take, from a glance at the spectrum of K."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.gram import Gram
from mercer.solvers.lowrank.pivots import Pivots
from mercer.solvers.rates import machine_rates
from mercer.solvers.ridge.cg_factor import first_rank

# Pivots taken of the sample: enough to see how the trace falls, few beside its rows.
GLANCE = 128
# The smoother the kernel, the faster the power itself grows by which the trace falls.
STEEPER = 1.3
# Steps are about BASE + SLOPE sqrt(trace of E / alpha) for every factor e by which the residual has
# to fall, where E is what the preconditioner leaves of K: its norm is a small share of its trace.
# Both from Gaussian kernels on real tables, alphas from 1e-4 to 0.1 and ranks from 300 to 724.
BASE, SLOPE = 0.2, 0.035


@dataclass(frozen=True)
class Forecast:
    """Steps and seconds that conjugate gradients are expected to take.

    Parameters
    ----------
    steps : float
        Steps for one alpha.
    seconds : float
        Time for them, the preconditioner included.
    rank : int
        Rank of the preconditioner.
    """

    steps: float
    seconds: float
    rank: int


def forecast(gram: Gram, sample: Gram, alpha: float, tol: float) -> Forecast:
    """Return what it takes to solve (K + alpha I) a = y down to a relative residual.

    Parameters
    ----------
    gram : Gram
        K.
    sample : Gram
        The Gram matrix of some of its rows.
    alpha : float
        The ridge over the largest weight.
    tol : float
        The residual.
    """
    n = len(gram)
    # While the preconditioner grows there are old and new rows of it side by side.
    rank = max(1, min(first_rank(n), n, gram.memory // (16 * n)))
    trace = n / len(sample) * _trace_at(rank, sample)
    with np.errstate(divide="ignore"):
        root = np.sqrt(np.divide(trace, alpha)) if trace > 0.0 else 0.0
    steps = np.log(8.0 / tol) * (BASE + SLOPE * root)
    rates = machine_rates()
    entry = gram.entry_seconds
    growth = n * rank * entry + 2.0 * n * rank**2 / rates.double
    step = 0.5 * n**2 * entry + 2.0 * 8.0 * n * rank / rates.copy
    return Forecast(float(steps), float(growth + steps * step), rank)


def _trace_at(rank: int, sample: Gram) -> float:
    """Return about what the trace of E falls to, by the power of the rank it falls with so far."""
    pivots = Pivots(sample, 0)
    pivots.grow(min(GLANCE, rank))
    k, trace = np.array(pivots.history).T
    if trace[-1] == 0.0:
        return 0.0
    power = STEEPER * np.log2(np.interp(k[-1] / 2.0, k, trace) / trace[-1])
    return float(trace[-1] * (k[-1] / rank) ** power)
