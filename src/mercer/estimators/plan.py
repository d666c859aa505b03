"""The planner: which solver a ridge problem gets, what it will take, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.data.memory import gigabytes
from mercer.errors import MemoryLimitError
from mercer.gram import ChainGram, Gram
from mercer.kernels import Kernel
from mercer.solvers import Cholesky, RidgeProblem
from mercer.solvers.rates import machine_rates

# Explicit features cost less than the factor of n rows up to this many for every row.
FEW_FEATURES = 0.5
# Bytes for every row and feature: the features, and their singular values where need be.
FEATURE_BYTES = 24
# Steps assumed for conjugate gradients, whose number depends on a spectrum not yet known.
TYPICAL_STEPS = 100
# Passes over the rows that the recurrences on a chain take, sorting included.
CHAIN_PASSES = 60


@dataclass(frozen=True, repr=False)
class Plan:
    """What will run: the solver, the form of the Gram matrix, and what both will take.

    Parameters
    ----------
    solver, gram : str
        Name of the solver, and how it sees the Gram matrix.
    memory : int
        Bytes that it needs beside the data.
    seconds : float
        Predicted time, from rates measured on this machine.
    reason : str
        Why this one.
    alternatives : tuple of Plan
        What else would work.
    """

    solver: str
    gram: str
    memory: int
    seconds: float
    reason: str
    alternatives: tuple[Plan, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"solver       {self.solver}, on {self.gram}",
            f"memory       {gigabytes(self.memory)}",
            f"time         about {_time(self.seconds)}",
            f"because      {self.reason}",
        ]
        for other in self.alternatives:
            needs = f"{gigabytes(other.memory)}, about {_time(other.seconds)}"
            lines.append(f"or           {other.solver}: {needs}; {other.reason}")
        return "\n".join(lines)

    __repr__ = __str__


def plan_ridge(kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem, name: str) -> Plan:
    """Return the plan that has this solver, with what else would fit into the memory."""
    options = {
        o.solver: o
        for o in (
            *_by_features(kernel, rows, problem),
            *_by_chain(gram, problem),
            _by_factor(gram, problem),
            _by_eigenvalues(gram),
            _by_products(gram, problem),
        )
    }
    chosen = options[name]
    if chosen.memory > gram.memory:
        raise MemoryLimitError(
            f"solver {name!r} needs {gigabytes(chosen.memory)} but the limit is "
            f"{gigabytes(gram.memory)}; raise memory= or use fewer rows"
        )
    others = (o for o in options.values() if o is not chosen and o.memory <= gram.memory)
    return replace(chosen, alternatives=tuple(others))


def chosen_name(kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem) -> str:
    """Return the name of the solver to take for a Gram matrix that is not yet held.

    The order is: explicit features where they are few, a chain in one dimension, an exact factor
    where it fits, conjugate gradients on a streamed Gram matrix.
    """
    n = len(gram)
    if has_few_features(kernel, rows, gram):
        return "primal"
    if isinstance(gram, ChainGram):
        return "banded"
    return "cholesky" if 8 * n**2 <= gram.memory else "cg"


def has_few_features(kernel: Kernel, rows: Any, gram: Gram) -> bool:
    """Whether the kernel has explicit features, few beside the rows, that fit into the memory."""
    n, p = len(gram), kernel.n_features(rows)
    return p is not None and p <= FEW_FEATURES * n and FEATURE_BYTES * n * p <= gram.memory


def _by_features(kernel: Kernel, rows: Any, problem: RidgeProblem) -> list[Plan]:
    p = kernel.n_features(rows)
    n = len(problem.y)
    if p is None:
        return []
    rates = machine_rates()
    seconds = n * p**2 / rates.double + 8.0 * 4 * n * p / rates.copy
    reason = f"the kernel has {p} explicit features for {n} rows"
    return [Plan("primal", "explicit features", FEATURE_BYTES * n * p, seconds, reason)]


def _by_chain(gram: Gram, problem: RidgeProblem) -> list[Plan]:
    if not isinstance(gram, ChainGram):
        return []
    memory = 8 * len(problem.y) * (10 + 4 * problem.y.shape[1])
    seconds = CHAIN_PASSES * 8.0 * len(problem.y) / machine_rates().copy
    reason = "in one dimension its inverse Gram matrix is tridiagonal: exact in O(n log n)"
    return [Plan("banded", "a chain of knots", memory, seconds, reason)]


def _by_factor(gram: Gram, problem: RidgeProblem) -> Plan:
    rates = machine_rates()
    n = len(gram)
    ridges = len(np.unique(problem.alpha))
    single = Cholesky().prefers_single(gram, problem)
    rate, itemsize = (rates.single, 4) if single else (rates.double, 8)
    seconds = n**2 / 2 * gram.entry_seconds() + ridges * n**3 / 3 / rate
    precision = "float32, refined in float64" if single else "float64"
    reason = f"a factor in {precision} is exact"
    return Plan("cholesky", "a dense matrix", itemsize * n**2, seconds, reason)


def _by_eigenvalues(gram: Gram) -> Plan:
    n = len(gram)
    seconds = n**2 / 2 * gram.entry_seconds() + 9.0 * n**3 / machine_rates().double
    reason = "one decomposition serves every alpha"
    return Plan("eigen", "a dense matrix", 24 * n**2, seconds, reason)


def _by_products(gram: Gram, problem: RidgeProblem) -> Plan:
    n = len(gram)
    # The preconditioner takes what rank the memory allows.
    rank = max(1, min(n // 10 + 1, 1000, gram.memory // (16 * n)))
    step = n**2 / 2 * gram.entry_seconds()
    seconds = TYPICAL_STEPS * step + 3.0 * n * rank**2 / machine_rates().double
    columns = problem.y.shape[1] + 1
    reason = f"products store nothing of n^2; time for {TYPICAL_STEPS} steps"
    return Plan("cg", "a streamed matrix", 8 * n * (rank + 8 * columns), seconds, reason)


def _time(seconds: float) -> str:
    if seconds < 1.0:
        return f"{max(seconds * 1e3, 1.0):.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.1f} min"
