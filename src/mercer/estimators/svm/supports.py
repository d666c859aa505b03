"""What support vector machines share: their solves, the vectors and weights that they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import fits_single
from mercer.data.columns import n_rows
from mercer.data.memory import memory_limit
from mercer.estimators.callbacks import CallbackSupportMixin
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.routes import settings_of, uncentred
from mercer.estimators.validation import (
    checked_unlabelled,
    support_columns,
    training_subset,
)
from mercer.gram import (
    CrossGram,
    Gram,
    cross_gram,
    dense_rows,
    feature_product,
    is_precomputed,
    paying_weights,
    repair_of,
    with_copy,
)
from mercer.kernels import Kernel
from mercer.native.threads import one_blas_thread, thread_count, workers
from mercer.planning import Plan, margin_plan
from mercer.solvers import SMO, MarginProblem, MarginSolver, Run, Solution

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Rows that parts of the support vectors are met with at a time: what is found for them stays in
# memory that is used again.
ROWS_AT_A_TIME = 2048
# Entries that are stored at a time.
ENTRIES_AT_A_TIME = 1 << 24
# Seconds after which a waiting thread looks for Ctrl-C.
LOOK = 0.1


@dataclass(frozen=True, eq=False)
class Task:
    """One margin problem on some of the training rows.

    Parameters
    ----------
    index : array of shape (m,)
        The rows.
    problem : MarginProblem
        The problem.
    """

    index: Rows
    problem: MarginProblem


def solve_all(
    solver: MarginSolver, gram: Gram, repair: str | None, tasks: Sequence[Task], run: Run
) -> list[Solution]:
    """Return the solution of every task, several on threads where nobody watches.

    Each has an equal share of the time that is left when its turn comes. The first Ctrl-C ends all
    of them with what they have; a second one raises.
    """
    given = gram
    if repair is None and isinstance(solver, SMO) and len(tasks) > 1:
        with run.limited():
            gram = with_copy(gram)
    threads = 1 if run.progress is not None else min(thread_count(), len(tasks))

    def solved(k: int) -> Solution:
        task = tasks[k]
        part = run.share(min(1.0, threads / (len(tasks) - k)))
        part.is_main = threads <= 1
        whole = len(task.index) == len(gram)
        with part.limited():
            fixed = repair_of(gram if whole else gram.part(task.index), repair)
        solution = solver.solve(fixed.gram, task.problem, part)
        if not fixed.is_changed:
            return uncentred(solution, given, task.index)
        # The norm that f is bounded in belongs to the repaired kernel, unknown at new rows.
        radius = np.full_like(solution.radius, np.inf)
        coefficients = fixed.coefficients(solution.coefficients)
        return replace(solution, coefficients=coefficients, radius=radius)

    # Of several problems none may find more threads of the BLAS than when all run side by side:
    # its sums would have other last bits.
    with one_blas_thread() if len(tasks) > 1 else nullcontext():
        if threads <= 1:
            return [solved(k) for k in range(len(tasks))]
        with workers(threads) as pool:
            futures = [pool.submit(solved, k) for k in range(len(tasks))]
            try:
                _await(futures)
            except KeyboardInterrupt:
                run.interrupt()
                _await(futures)
                # All were done before they heard of it.
                if not any(future.result().is_interrupted for future in futures):
                    raise
            return [future.result() for future in futures]


def _await(futures: Sequence[Future[Solution]]) -> None:
    # Another thread may take the signal, which this one then only sees when it wakes up.
    while wait(futures, timeout=LOOK).not_done:
        pass


class SupportVectorMachine(CallbackSupportMixin, KernelEstimator):
    """What is kept of the training rows by a model that needs only some of them."""

    is_machine: ClassVar[bool] = True

    memory: Any
    warm_start: bool
    kernel_: Kernel
    dual_coef_: Array
    support_: Rows
    theta_: Array | None
    theta_columns_: NDArray[np.int64] | None
    _supports_: Supports

    @property
    def support_vectors_(self) -> Any:
        """The support vectors; empty for a precomputed kernel."""
        check_is_fitted(self)
        return np.empty((0, 0)) if is_precomputed(self.kernel_) else self._supports_.rows

    def plan(self, X: Any) -> Plan:
        """Return what `fit` would do with the rows `X`: solver, memory, time, and why.

        Memory and time are those of one problem on all rows. How long working sets take depends
        on the targets as well; the time is that of a problem of ordinary difficulty.

        Parameters
        ----------
        X : rows
            The training rows.
        """
        kernel = self._kernel_for(X)
        X = checked_unlabelled(clone(self), kernel, X)
        return margin_plan(settings_of(self), kernel.resolved(X), X)

    def _keep_rows(self, X: Any, support: Rows, gram: Gram, solutions: Sequence[Solution]) -> None:
        """Store the rows of `X` that are support vectors, and the weights of features."""
        self.support_ = support
        supports = Supports.of(self.kernel_, X, support)
        weights = [s.theta for s in solutions if s.theta is not None]
        # Many problems of many features have more weights than support vectors have entries.
        is_large = 8 * sum(map(len, weights)) > gram.memory
        if is_large or not np.any(weights):
            self._keep_supports(supports)
            return
        theta, columns = np.hstack(weights), gram.feature_columns
        if columns is not None:
            used = theta.any(axis=1)
            theta, columns = theta[used], columns[used]
        self._supports_, self.theta_, self.theta_columns_ = supports, theta, columns

    def _keep_supports(self, supports: Supports) -> None:
        """Store support vectors, and the weights of their k-grams where these are counted."""
        self._supports_, weights = supports, None
        if n_rows(supports.rows):
            weights = paying_weights(self.kernel_, supports.rows, self._functions, self.memory)
        self.theta_columns_, self.theta_ = weights or (None, None)

    @property
    def _functions(self) -> Array:
        """The coefficients of every f, of shape (n_SV, problems)."""
        return self.dual_coef_.T

    def _values(self, X: Any) -> Array:
        """Return every f at checked rows, of shape (n, problems)."""
        if self.theta_ is not None:
            return feature_product(self.kernel_, X, self.theta_, self.theta_columns_)
        return self._supports_.expand(X, self._functions)

    def _keep_start(
        self, C: float, tasks: Sequence[Task], used: Rows, solutions: Sequence[Solution]
    ) -> None:
        """Store the coefficients that the next fit starts from, if it is to start from any."""
        if self.warm_start:
            pairs = zip(tasks, solutions, strict=True)
            self._last_ = (C, [(used[t.index], s.coefficients[:, 0]) for t, s in pairs])


@dataclass(frozen=True, eq=False)
class Supports:
    """The rows that a model needs, of all rows it was fitted to.

    Parameters
    ----------
    kernel : Kernel
        k.
    rows : rows
        The support vectors; of a finished Gram matrix its rows and columns at them.
    index : array of shape (m,)
        Where they stand among the training rows.
    """

    kernel: Kernel
    rows: Any
    index: Rows
    _measured: list[Array] = field(default_factory=list, init=False)

    @classmethod
    def of(cls, kernel: Kernel, X: Any, index: Rows) -> Supports:
        """Return the rows of `X` at `index`, dense where that is faster."""
        rows = training_subset(kernel, X, index)
        return cls(
            kernel, rows if is_precomputed(kernel) else dense_rows(rows, memory_limit()), index
        )

    def measured(self, measure: Callable[[], Array]) -> Array:
        """Return what is found out about these rows once and for all."""
        if not self._measured:
            self._measured.append(measure())
        return self._measured[0]

    def in_single(self, X: Any) -> Supports | None:
        """Return the same rows in float32, if the engine compares them and `X` there."""
        are_arrays = isinstance(X, np.ndarray) and isinstance(self.rows, np.ndarray)
        if (
            not are_arrays
            or X.dtype != np.float64
            or is_precomputed(self.kernel)
            or not self.kernel.program.is_arithmetic
            or not (fits_single(X) and fits_single(self.rows))
        ):
            return None
        return Supports(self.kernel, self.rows.astype(np.float32), self.index)

    def expand(self, X: Any, coefficients: Array) -> Array:
        """Return K(X, rows) @ coefficients."""
        if n_rows(self.rows) == 0:
            return np.zeros((n_rows(X), coefficients.shape[1]))
        return np.asarray(self._cross(X) @ coefficients, np.float64)

    def expand_parts(
        self, X: Any, coefficients: Array, parts: Sequence[slice]
    ) -> Iterator[tuple[slice, list[Array]]]:
        """Yield for some rows of `X` at a time K(X, rows[p]) @ coefficients[p] for parts p."""
        cross = self._cross(X)
        # Entries of float32 are stored and multiplied faster than tiles of them, part by part.
        is_single = isinstance(self.rows, np.ndarray) and self.rows.dtype == np.float32
        are_stored = is_precomputed(self.kernel) or is_single
        height = ROWS_AT_A_TIME
        if are_stored:
            height = max(1, min(height, ENTRIES_AT_A_TIME // max(1, n_rows(self.rows))))
            kind = np.float64 if is_precomputed(self.kernel) else np.float32
            coefficients = coefficients.astype(kind)
        for start in range(0, len(cross), height):
            rows = slice(start, min(start + height, len(cross)))
            if are_stored:
                K = cross.rows(rows)
                yield rows, [K[:, p] @ coefficients[p] for p in parts]
            else:
                yield rows, [self._part(cross, rows, p, coefficients[p]) for p in parts]

    def _part(self, cross: CrossGram, rows: slice, part: slice, coefficients: Array) -> Array:
        if len(coefficients) == 0:
            return np.zeros((rows.stop - rows.start, coefficients.shape[1]))
        return np.asarray(cross.part(rows, part) @ coefficients, np.float64)

    def _cross(self, X: Any) -> CrossGram:
        X = support_columns(self.kernel, X, self.index)
        is_dense = isinstance(self.rows, np.ndarray) and not is_precomputed(self.kernel)
        if is_dense and sp.issparse(X):
            X = dense_rows(X, memory_limit())
        return cross_gram(self.kernel, X, self.rows)


def warm_starts(
    tasks: list[Task], used: Rows, last: tuple[float, list[tuple[Rows, Array]]] | None, C: float
) -> list[Task]:
    """Return the tasks with coefficients of the last fit, scaled by the change of C.

    Parameters
    ----------
    tasks : list of Task
        The problems.
    used : array of shape (m,)
        Which of the rows given to `fit` the problems count.
    last : tuple, optional
        C of the last fit, and for every problem the rows given and their coefficients.
    C : float
        The price.
    """
    if last is None or len(last[1]) != len(tasks):
        return tasks
    before, duals = last
    pairs = zip(tasks, duals, strict=True)
    if any(not np.array_equal(used[t.index], rows) for t, (rows, _) in pairs):
        return tasks
    return [
        replace(task, problem=replace(task.problem, start=a * (C / before)))
        for task, (_, a) in zip(tasks, duals, strict=True)
    ]
