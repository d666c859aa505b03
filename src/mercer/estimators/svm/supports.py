"""What support vector machines share: their solves, and the function that comes of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.callbacks import CallbackSupportMixin
from mercer.estimators.estimator import KernelMachine
from mercer.estimators.fitted import approximation_of, carried, landmark_function
from mercer.estimators.svm.hard_margin import Solved, Start, Task, costs_tried, hard_margin
from mercer.estimators.training import checkpoint_of
from mercer.estimators.validation import training_subset
from mercer.features import LandmarkMap
from mercer.functions import DualFunction, Function, PrimalFunction, in_features
from mercer.functions.pairs import by_other_class, pairs_of
from mercer.gram import Gram, Repair, repair_of, with_copy
from mercer.kernels import Kernel
from mercer.native.core import thread_count
from mercer.native.lapack import one_blas_thread
from mercer.native.threads import ThreadPool
from mercer.planning import Plan, Settings, margin_plan, planned_margin
from mercer.solvers import (
    SMO,
    Approximation,
    MarginProblem,
    MarginSolver,
    OffsetAlone,
    Run,
    Solution,
)
from mercer.tiles import Rows

Array = NDArray[np.float64]
Positions = NDArray[np.intp]


def checked_cost(C: Any) -> float:
    """Return a cost, which is infinite for a hard margin, or refuse what is none."""
    is_number = isinstance(C, Real) and not isinstance(C, bool)
    if not (is_number and C > 0.0):
        raise ValueError(f"C must be a positive number, or inf to allow no loss, got {C!r}")
    return float(C)


def check_schemes(multiclass: str, shape: str) -> None:
    """Refuse schemes of several classes, and shapes of their scores, that there are not."""
    if multiclass not in ("ovo", "ovr"):
        raise ValueError(f"multiclass must be 'ovo' or 'ovr', got {multiclass!r}")
    if shape not in ("ovo", "ovr"):
        raise ValueError(f"decision_function_shape must be 'ovo' or 'ovr', got {shape!r}")
    if multiclass == "ovr" and shape == "ovo":
        raise ValueError(
            "decision_function_shape='ovo' needs pairs of classes, but multiclass is 'ovr'; "
            "use multiclass='ovo'"
        )


def class_tasks(codes: Positions, multiclass: str, fit_intercept: bool, costs: Array) -> list[Task]:
    """Return the problems with two classes: signs are +1 for the second of only two.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of every row by its number.
    multiclass : {"ovo", "ovr"}
        Whether more than two classes meet two at a time, or each meets all others.
    fit_intercept : bool
        Whether there is an offset.
    costs : array of shape (n,)
        What the loss of every row counts.
    """

    def task(index: Positions, positive: int) -> Task:
        signs = np.where(codes[index] == positive, 1.0, -1.0)
        return Task(index, MarginProblem.classification(signs, costs[index], fit_intercept))

    everything, n_classes = np.arange(len(codes)), int(codes.max()) + 1
    if n_classes == 2:
        return [task(everything, 1)]
    if multiclass == "ovr":
        return [task(everything, c) for c in range(n_classes)]
    members = [np.flatnonzero(codes == c) for c in range(n_classes)]
    # In the order of all rows, in which those of a stream are read.
    return [
        task(np.sort(np.concatenate([members[i], members[j]])), i) for i, j in pairs_of(n_classes)
    ]


def coefficients_by_row(
    tasks: Sequence[Task], solutions: Sequence[Solution], codes: Positions, is_by_pairs: bool
) -> Array:
    """Return the coefficients of every row: a line for each problem, or for each other class.

    `codes` are the classes of the rows, which meet two at a time if `is_by_pairs`.
    """
    index, duals = [task.index for task in tasks], [s.coefficients[:, 0] for s in solutions]
    if is_by_pairs:
        return by_other_class(codes, index, duals, int(codes.max()) + 1)
    A = np.zeros((len(tasks), len(codes)))
    for line, rows, a in zip(A, index, duals, strict=True):
        line[rows] = a
    return A


def solve_all(
    solver: MarginSolver, gram: Gram, repair: str | None, tasks: Sequence[Task], run: Run
) -> list[Solution]:
    """Return the solution of every task, several on threads where nobody watches.

    Each has a share of the time that is left when its turn comes, by the square of its rows. The
    first Ctrl-C ends all of them with what they have; a second one raises.
    """

    def repaired(some: Gram, part: Run) -> Repair:
        if repair is None:
            return Repair(some)
        return part.attempt(lambda: repair_of(some, repair), lambda: Repair(some))

    if len(tasks) == 1:
        # It is that of all rows.
        fixed = repaired(gram, run)
        return [carried(solver.answer(fixed.gram, tasks[0].problem, run), fixed)]
    if repair is None and isinstance(solver, SMO):
        given = gram
        gram = run.attempt(lambda: with_copy(given), lambda: given)
    threads = 1 if run.progress is not None else min(thread_count(), len(tasks))
    sizes = np.array([len(task.index) for task in tasks], np.float64) ** 2

    def solved_task(k: int) -> Solution:
        task = tasks[k]
        part = run.share(min(1.0, threads * sizes[k] / sizes[k:].sum()))
        part.is_main, part.problem = threads <= 1, f"{run.problem}.{k}"
        with run.limited():
            whole = len(task.index) == len(gram)
            fixed = repaired(gram if whole else gram.part(task.index), part)
        solution = solver.answer(fixed.gram, task.problem, part)
        # Where one of them ended early, so did the fit.
        run.ended_by = run.ended_by or part.ended_by
        return carried(solution, fixed)

    # Of several problems none may find more threads of the BLAS than when all run side by side:
    # its sums would have other last bits.
    with one_blas_thread():
        if threads <= 1:
            return [solved_task(k) for k in range(len(tasks))]
        pool = ThreadPool(solved_task, range(len(tasks)), threads, thread_count() // threads)
        try:
            pool.start()
        except KeyboardInterrupt:
            run.interrupt()
            raise
        try:
            pool.wait()
        except KeyboardInterrupt:
            run.interrupt()
            pool.wait()
            # All were done before they heard of it.
            if not any(solution.is_interrupted for solution in pool.results()):
                raise
        return pool.results()


@dataclass(eq=False, repr=False)
class SupportVectorMachine(CallbackSupportMixin, KernelMachine):
    """What is kept of the training rows by a model that needs only some of them."""

    is_machine: ClassVar[bool] = True

    kernel: Any = "gaussian"
    C: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    solver: Any = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    tol: float = 1e-3
    memory: Any = None
    max_iter: int | None = None
    time_limit: float | None = None
    checkpoint: Any = None
    random_state: Any = None
    warm_start: bool = False
    repair: str | None = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    kernel_: Kernel = field(init=False)
    support_: Positions = field(init=False)
    n_support_: NDArray[np.int32] = field(init=False)
    approximation_: Approximation | None = field(init=False)
    _is_interrupted_: bool = field(init=False)

    def _repaired(self, gram: Gram) -> Repair:
        """Return the Gram matrix as it is: the part of every problem is repaired by itself."""
        return Repair(gram)

    def _solved_at(
        self,
        run: Run,
        settings: Settings,
        C: float,
        kernel: Kernel,
        rows: Rows,
        y: Any,
        used: Positions,
        weights: Array,
        copies: Array,
        tasks: Callable[[Array], list[Task]],
        size: float = 1.0,
    ) -> Solved:
        """Return the solutions of all problems at a cost; at an infinite one, without any loss.

        Parameters
        ----------
        run, settings
            The time that there is, and what the estimator was told.
        C : float
            The cost.
        kernel : Kernel
            k, on the columns of the rows.
        rows, y
            All training rows, and what callbacks are shown as their targets.
        used : array of shape (m,)
            The rows that the problems count.
        weights, copies : arrays of shape (n,)
            What a row counts at a finite cost, and how many equal rows it stands for.
        tasks : callable
            tasks(costs) -> the problems where the loss of a row that counts costs so much.
        size : float
            That of the targets.
        """
        X, is_all = rows.X, np.array_equal(used, np.arange(len(weights)))
        rows = rows if is_all else Rows.checked(training_subset(kernel, X, used))
        kernel = self._resolved(kernel, rows, copies[used])
        costs = weights[used] if np.inf != C else np.ones(len(used))

        def solved(C: float, start: Start | None) -> Solved:
            started = warm_starts(tasks(C * costs), used, start, C)
            gram, solutions = self._solutions(run, settings, kernel, rows, started, X, y)
            return Solved(C, used, rows, started, gram, solutions)

        if np.inf == C:
            return hard_margin(solved, _unit(kernel, rows, size), run)
        return solved(C, getattr(self, "_last_", None) if self.warm_start else None)

    def _solutions(
        self,
        run: Run,
        settings: Settings,
        kernel: Kernel,
        rows: Rows,
        tasks: Sequence[Task],
        X: Any,
        y: Any,
    ) -> tuple[Gram, list[Solution]]:
        """Return the Gram matrix that was solved with, and the solution of every task.

        What ran is kept, and `X` and `y` are for callbacks.
        """
        planned = partial(planned_margin, problems=[task.problem for task in tasks])
        solver, repair = self._prepared(run, settings, kernel, rows, planned, OffsetAlone(self.tol))
        # Of several costs the first tells the fit from others.
        if self.checkpoint is not None and run.checkpoint is None:
            how = (solver, repair.gram, kernel, rows.X, list(tasks))
            run.checkpoint = checkpoint_of(self, *how)
        solve = partial(solve_all, solver, repair.gram, self.repair, tasks)
        solutions = self._solved(solve, run, X, y)
        self.kernel_, self.solver_ = kernel, solver
        self.n_iter_ = max(1, *(s.iterations for s in solutions))
        self.approximation_ = approximation_of(repair.gram, settings, X, "smo")
        return repair.gram, solutions

    @property
    def support_vectors_(self) -> Any:
        """The support vectors; empty for a precomputed kernel.

        Landmarks are rounded to float32 where the kernel does not tell the difference.
        """
        dual = self.function_.dual
        return np.empty((0, 0)) if self.kernel_.is_precomputed else dual.rows

    @abstractmethod
    def _checked_settings(self) -> Any:
        """Return C and what else of the objective is a number, or refuse it."""

    def _plan_of(
        self,
        kernel: Kernel,
        rows: Rows,
        weights: Array,
        tasks: Callable[[Array], list[Task]],
        size: float = 1.0,
    ) -> Plan:
        """Return the plan for problems of checked rows, the parameters as of `_solved_at`.

        That of a hard margin is the plan of the first cost it is tried at.
        """
        kernel, costs = self._resolved(kernel, rows), self.C * weights
        if np.inf == self.C:
            costs = np.full(rows.n, costs_tried(_unit(kernel, rows, size))[0])
        problems = [task.problem for task in tasks(costs)]
        return margin_plan(self._settings(), kernel, rows, problems)

    def _function(self, dual: DualFunction, gram: Gram, solutions: Sequence[Solution]) -> Function:
        """Return f + b by the weights of features that solvers found, or that pay."""
        weights = [s.theta for s in solutions if s.theta is not None]
        # Many problems of many features have more weights than support vectors have entries.
        is_large = not gram.has_room(8 * sum(map(len, weights)))
        # A problem that time cut off before its first step has none.
        is_partial = len(weights) < len(solutions)
        if is_large or is_partial or not np.any(weights):
            return dual if dual.kernel.feature_map is None else in_features(dual, self._room)
        c, columns = np.hstack(weights), gram.feature_columns
        if columns is not None:
            used = c.any(axis=1)
            c, columns = c[used], columns[used]
        return PrimalFunction(self.kernel_, columns, c, dual.intercept, dual)

    def _keep_landmarks(self, landmarks: LandmarkMap, found: Solved, codes: Positions) -> None:
        """Store the function as a sum over landmarks, which are its support vectors.

        `codes` are the classes of the rows that were solved for, by number.
        """
        index = found.gram.landmark_rows
        self.support_ = found.used[index]
        self.n_support_ = np.bincount(codes[index], minlength=codes.max() + 1).astype(np.int32)
        self.function_ = landmark_function(self.kernel_, landmarks, found.solutions)

    def _keep_start(self, found: Solved) -> None:
        """Store whether Ctrl-C ended the fit, and what the next one starts from, if from any."""
        self._is_interrupted_ = any(s.is_interrupted for s in found.solutions)
        if self.warm_start:
            self._last_ = found.start


def _unit(kernel: Kernel, rows: Rows, size: float) -> float:
    """Return one over the size of a coefficient: k(x, x) over the size of the targets."""
    return (float(np.mean(kernel.diagonal(rows))) or 1.0) / size


def support_rows(kernel: Kernel, X: Any, index: Positions) -> tuple[Any, Positions | None]:
    """Return the rows and the columns of a `DualFunction` of some training rows."""
    return training_subset(kernel, X, index), index if kernel.is_precomputed else None


def warm_starts(tasks: list[Task], used: Positions, last: Start | None, C: float) -> list[Task]:
    """Return the tasks with coefficients of the last fit, scaled by the change of C.

    Parameters
    ----------
    tasks : list of Task
        The problems.
    used : array of shape (m,)
        Which of the rows given to `fit` the problems count.
    last : Start, optional
        That of the last fit.
    C : float
        The cost.
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
