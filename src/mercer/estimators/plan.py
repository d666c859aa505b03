"""The planner: which solver a problem gets, what it will take, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from mercer.data.memory import gigabytes
from mercer.errors import MemoryLimitError
from mercer.estimators.validation import training_subset
from mercer.gram import Gram, centred, sparse_entries, unheld_gram_of
from mercer.gram.features import ENTRY_BYTES as SPARSE_BYTES, SAMPLE as FEATURE_SAMPLE
from mercer.kernels import Kernel
from mercer.solvers import Cholesky, ConjugateGradient, LogisticProblem, RidgeProblem
from mercer.solvers.logistic.curvature import FIRST_RANK
from mercer.solvers.margin.smo import STORE
from mercer.solvers.rates import machine_rates
from mercer.solvers.ridge.forecast import forecast

# Explicit features cost less than the factor of n rows up to this many for every row.
FEW_FEATURES = 0.5
# Bytes for every row and feature: the features, and their singular values where need be.
FEATURE_BYTES = 24
# Rows from which on the factor takes long enough that a glance at the spectrum is worth while.
ROWS_FOR_A_GLANCE = 4000
# Rows that the glance is at.
SAMPLE = 1000
# Conjugate gradients that stand in for a factor go down to this residual, little above its own.
AS_GOOD_AS_A_FACTOR = 1e-10
# Passes over the rows that the recurrences on a chain take, sorting included.
CHAIN_PASSES = 60
# Newton steps of a logistic problem, and products with K in each for a column of scores.
NEWTON_STEPS, PRODUCTS = 5, 6
# How often working sets solve for a coefficient, and single ones and batches go through all rows.
VISITS, EPOCHS, BATCH_EPOCHS = 8, 32, 32
# Bytes that an epoch reads and writes for every feature of a row.
PASSED_BYTES = 32


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


def plan_ridge(
    kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem, name: str, repair: str | None
) -> Plan:
    """Return the plan that has this solver, with what else would fit into the memory."""
    products = (
        [] if needs_factor(gram, problem, repair) else [_by_products(kernel, rows, gram, problem)]
    )
    options = {
        o.solver: o
        for o in (
            *_by_features(kernel, rows, gram, problem),
            *_by_chain(gram, problem),
            _by_factor(gram, problem),
            _by_eigenvalues(gram),
            *products,
        )
    }
    return _among(options, name, gram, kernel)


def plan_logistic(
    kernel: Kernel, rows: Any, gram: Gram, problem: LogisticProblem, name: str
) -> Plan:
    """Return the plan that has this solver of a logistic problem, with the other one if it fits."""
    both = (_by_newton(gram, problem), _by_newton_products(kernel, rows, gram, problem))
    return _among({o.solver: o for o in both}, name, gram, kernel)


def plan_margin(kernel: Kernel, rows: Any, gram: Gram, name: str) -> Plan:
    """Return the plan that has this solver of a margin problem, with the others that fit."""
    options = (*_by_coordinates(kernel, rows, gram), _by_working_sets(gram), _by_batches(gram))
    return _among({o.solver: o for o in options}, name, gram, kernel)


def _among(options: dict[str, Plan], name: str, gram: Gram, kernel: Kernel) -> Plan:
    """Return one of the plans with the others that fit, or refuse one that does not."""
    if name not in options:
        known = ", ".join(repr(other) for other in options)
        raise ValueError(
            f"solver={name!r} cannot take {kernel!r} on these rows; use 'auto' or one of {known}"
        )
    taken = options[name]
    if taken.memory > gram.memory:
        raise MemoryLimitError(
            f"solver {name!r} needs {gigabytes(taken.memory)} but the limit is "
            f"{gigabytes(gram.memory)}; raise memory= or use fewer rows"
        )
    others = (o for o in options.values() if o is not taken and o.memory <= gram.memory)
    return replace(taken, alternatives=tuple(others))


def chosen(kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem) -> Any:
    """Return the solver to take for a Gram matrix that is not yet held, by name or as an object.

    The order is: explicit features where they are few, a chain in one dimension, an exact factor
    where it fits, conjugate gradients on a streamed Gram matrix. Conjugate gradients that promise
    to be faster than the factor stand in for it, and go on until they are about as exact.
    """
    n = len(gram)
    if few_features(kernel, rows, n, gram.memory) is not None:
        return "primal"
    if gram.chain() is not None:
        return "banded"
    if needs_factor(gram, problem):
        return "cholesky"
    if 8 * n**2 > gram.memory:
        return "cg"
    if n < ROWS_FOR_A_GLANCE or not kernel.program.is_arithmetic:
        return "cholesky"
    products = _by_products(kernel, rows, gram, problem)
    if products.seconds > _by_factor(gram, problem).seconds:
        return "cholesky"
    # The same pivots every time, as a factor gives the same answer every time.
    return ConjugateGradient(goal=AS_GOOD_AS_A_FACTOR, random_state=0)


def needs_factor(gram: Gram, problem: RidgeProblem, repair: str | None = None) -> bool:
    """Whether only a factor solves with K, which is valid on coefficients of sum zero alone.

    An offset keeps that sum, and a repair makes K valid on all.
    """
    return gram.is_conditional and not problem.fit_intercept and repair is None


def few_features(kernel: Kernel, rows: Any, n: int, memory: int) -> int | None:
    """Return the number of a kernel's explicit features if `n` rows are better solved in them."""
    most = min(FEW_FEATURES * n, memory / (FEATURE_BYTES * n))
    return kernel.n_features(rows, int(most))


def _by_features(kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem) -> list[Plan]:
    n = len(problem.y)
    p = kernel.n_features(rows, gram.memory // (FEATURE_BYTES * n))
    if p is None:
        return []
    rates = machine_rates()
    seconds = n * p**2 / rates.double + 8.0 * 4 * n * p / rates.copy
    reason = f"the kernel has {p} explicit features for {n} rows"
    return [Plan("primal", "explicit features", FEATURE_BYTES * n * p, seconds, reason)]


def _by_chain(gram: Gram, problem: RidgeProblem) -> list[Plan]:
    if gram.chain() is None:
        return []
    memory = 8 * len(problem.y) * (10 + 4 * problem.y.shape[1])
    seconds = CHAIN_PASSES * 8.0 * len(problem.y) / machine_rates().copy
    reason = "in one dimension its inverse Gram matrix is tridiagonal: exact in O(n log n)"
    return [Plan("banded", "a chain of knots", memory, seconds, reason)]


def _by_factor(gram: Gram, problem: RidgeProblem) -> Plan:
    solver = Cholesky()
    single = solver.prefers_single(gram, problem)
    seconds = solver.seconds(gram, problem, single)
    memory = (4 if single else 8) * len(gram) ** 2
    precision = "float32, refined in float64" if single else "float64"
    reason = f"a factor in {precision} is exact"
    return Plan("cholesky", "a dense matrix", memory, seconds, reason)


def _by_eigenvalues(gram: Gram) -> Plan:
    n = len(gram)
    seconds = n**2 / 2 * gram.entry_seconds + 9.0 * n**3 / machine_rates().double
    reason = "one decomposition serves every alpha"
    return Plan("eigen", "a dense matrix", 24 * n**2, seconds, reason)


def _by_products(kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem) -> Plan:
    n = len(gram)
    some = np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp)
    sample = centred(unheld_gram_of(kernel, training_subset(kernel, rows, some), gram.memory))
    shift = float(problem.alpha.min() / problem.weights.max())
    expected = forecast(gram, sample, shift, AS_GOOD_AS_A_FACTOR)
    ridges = len(np.unique(problem.alpha))
    columns = problem.y.shape[1] + 1
    memory = 8 * n * (expected.rank + 8 * columns)
    steps = f"{expected.steps:.0f} steps" if np.isfinite(expected.steps) else "many steps"
    reason = f"products store nothing of n^2; about {steps} from a glance at the spectrum"
    return Plan("cg", "a streamed matrix", memory, ridges * expected.seconds, reason)


def _by_newton(gram: Gram, problem: LogisticProblem) -> Plan:
    n, m = len(gram), problem.columns
    # Several classes are coupled by one more factor, of as many right-hand sides as rows.
    each = n**3 / 3 if m == 1 else (4 * m + 1) * n**3 / 3
    seconds = n**2 / 2 * gram.entry_seconds + NEWTON_STEPS * 2.0 * each / machine_rates().double
    memory = 8 * n**2 * (1 if m == 1 else m + 2)
    reason = f"a factor of {n} rows solves every Newton step exactly"
    return Plan("newton", "a dense matrix", memory, seconds, reason)


def _by_newton_products(kernel: Kernel, rows: Any, gram: Gram, problem: LogisticProblem) -> Plan:
    n, m = len(gram), problem.columns
    products, rates = NEWTON_STEPS * PRODUCTS * m, machine_rates()
    p = few_features(kernel, rows, n, gram.memory)
    if p is not None:
        seconds = products * 16.0 * n * p / rates.copy
        reason = f"the kernel has {p} explicit features for {n} rows"
        return Plan("cg", "explicit features", FEATURE_BYTES * n * p, seconds, reason)
    rank = int(FIRST_RANK * n**0.5) + 1
    factor = NEWTON_STEPS * m * 2.0 * n * rank**2 / rates.double
    beside = 24 * n * rank
    if 6 * n**2 + beside <= gram.memory:
        seconds = n**2 * gram.entry_seconds + factor + products * 4.0 * n**2 / rates.copy
        reason = "steps read the matrix in float32, and the gap is measured in float64"
        return Plan("cg", "a matrix in float32", 6 * n**2 + beside, seconds, reason)
    seconds = factor + products * n**2 / 2 * gram.entry_seconds
    reason = "products store nothing of n^2"
    return Plan("cg", "a streamed matrix", beside, seconds, reason)


def _by_coordinates(kernel: Kernel, rows: Any, gram: Gram) -> list[Plan]:
    n, start = len(gram), perf_counter()
    entries = sparse_entries(kernel, rows, gram.memory)
    reading = (perf_counter() - start) * max(1.0, n / FEATURE_SAMPLE)
    each = SPARSE_BYTES
    if entries is None:
        # They are centred in a copy.
        p, each = kernel.n_features(rows), 16
        if p is None:
            return []
        entries = n * p
    seconds = reading + EPOCHS * PASSED_BYTES * entries / machine_rates().copy
    reason = f"a step reads one row of features, about {entries / n:.0f} entries"
    return [Plan("primal", "explicit features", each * entries, seconds, reason)]


def _by_working_sets(gram: Gram) -> Plan:
    n = len(gram)
    memory = min(8 * n**2, STORE, gram.memory)
    # Every coefficient is solved for a few times, and told to all rows.
    told = VISITS * 2.0 * n**2 / machine_rates().double
    seconds = n**2 * gram.entry_seconds + told
    reason = "working sets are exact to the tolerance, and rows that are asked for are kept"
    return Plan("smo", "rows in float32 or float64", memory, seconds, reason)


def _by_batches(gram: Gram) -> Plan:
    n = len(gram)
    seconds = BATCH_EPOCHS * n**2 * gram.entry_seconds
    reason = "small random batches store nothing of n^2"
    return Plan("sgd", "a streamed matrix", 8 * 64 * n, seconds, reason)


def _time(seconds: float) -> str:
    if seconds < 1.0:
        return f"{max(seconds * 1e3, 1.0):.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.1f} min"
