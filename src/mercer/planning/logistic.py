"""The plan of a logistic problem: Newton's method by factors, or by conjugate gradients."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer.data.columns import n_rows
from mercer.data.limits.memory import memory_limit, steady_limit
from mercer.data.stream import Stream
from mercer.gram import (
    FeatureGram,
    Gram,
    HeldEntriesGram,
    LandmarkGram,
    unheld_gram_of,
)
from mercer.kernels import Kernel
from mercer.planning.costs import (
    batch_work,
    landmark_newton_work,
    newton_product_work,
    newton_work,
)
from mercer.planning.entries import FEATURE_BYTES, entry_work, few_features
from mercer.planning.landmarks import (
    FEW,
    ByLandmarks,
    landmark_bytes,
    landmark_count,
    landmark_newton_bytes,
    may_have_landmarks,
    newton_step_bytes,
    planned_landmarks,
    streamed_plan,
)
from mercer.planning.plan import Least, Plan, Settings, among, check_room
from mercer.planning.rates import Work
from mercer.planning.ridge import SMALL_BATCHES, read_again
from mercer.solvers import (
    LogisticProblem,
    LogisticSolver,
    NewtonCG,
    NewtonCholesky,
    NystromNewton,
    StochasticLogistic,
    as_logistic_solver,
)
from mercer.solvers.logistic.curvature import LowRankCurvature
from mercer.solvers.online.batch_newton import newton_factors
from mercer.solvers.online.batches import ENTRY_BYTES, batch_size
from mercer.tiles import Rows


def planned_logistic(
    settings: Settings, kernel: Kernel, X: Any, problem: LogisticProblem
) -> tuple[LogisticSolver, Gram]:
    """Return the solver that was named or is the cheaper, and the Gram matrix in its form.

    The parameters are those of `planned_ridge`.
    """
    rows = Rows.of(X)
    X = rows.X
    settings = _decided(settings, kernel, X, problem)
    if settings.names(NystromNewton):
        limit, n = memory_limit(settings.memory), rows.n
        # Features that do not fit are computed again in every pass.
        m = landmark_count(settings, n)
        needed = landmark_bytes(n, m, 0, limit) + newton_step_bytes(n, m, problem.columns)
        check_room("nystrom", needed, limit, "nystrom")
        by_landmarks = logistic_landmarks(settings, kernel, X, problem.columns)
        return _solver(settings, None, problem), by_landmarks
    gram = unheld_gram_of(kernel, rows, settings.memory)
    solver = _solver(settings, gram, problem)
    if isinstance(solver, StochasticLogistic):
        needed = ENTRY_BYTES * len(gram) * (solver.batch or _batch(gram, problem))
        check_room(solver.name, needed, gram.memory, "cg")
        return solver, read_again(kernel, X, gram)
    if not isinstance(solver, NewtonCG):
        instead = "cg" if settings.repair is None else solver.name
        check_room(solver.name, newton_bytes(len(gram), problem.columns), gram.memory, instead)
        return solver, gram if gram.is_proved else read_again(kernel, X, gram)
    if few_features(kernel, X, len(gram), gram.memory) is not None:
        return solver, FeatureGram(kernel, X, gram.memory)
    least = least_logistic(settings, kernel, X, problem)
    check_room(solver.name, _product_bytes(len(gram), 1), gram.memory, solver.name, least)
    return solver, read_again(kernel, X, gram)


def logistic_plan(settings: Settings, kernel: Kernel, rows: Any, problem: LogisticProblem) -> Plan:
    """Return what `planned_logistic` would return, in words, with the others that fit."""
    if isinstance(rows, Stream):
        by_landmarks = _by_landmarks(kernel, rows, problem, settings)
        return streamed_plan(by_landmarks, settings, kernel, rows, problem.columns)
    gram = unheld_gram_of(kernel, rows, settings.memory)
    settings = _decided(settings, kernel, rows, problem)
    entry = entry_work(kernel, rows)
    work, form, needed, reason = _by_products(kernel, rows, gram, problem, entry)
    n, m, batch = len(gram), problem.columns, _batch(gram, problem)
    epochs = batch_work(n, entry, batch, newton_factors(m))
    by = f"a factor of {n} rows solves every Newton step exactly"
    plans = [
        Plan("newton", "a dense matrix", newton_bytes(n, m), newton_work(n, m, entry).seconds, by),
        Plan("sgd", "rows of a batch", ENTRY_BYTES * n * batch, epochs.seconds, SMALL_BATCHES),
        Plan("cg", form, needed, work.seconds, reason),
    ]
    if may_have_landmarks(settings, kernel):
        taken = _by_landmarks(kernel, rows, problem, settings).plan(settings, gram)
        plans += [] if taken is None else [taken]
    name = _solver(settings, gram, problem).name
    least = least_logistic(settings, kernel, rows, problem)
    return among(plans, name, gram.memory, kernel, settings.time_limit, least)


def logistic_work(kernel: Kernel, rows: Any, problem: LogisticProblem, settings: Settings) -> Work:
    """Return the work of a logistic problem by landmarks, or by what the plan would choose."""
    if settings.names(NystromNewton):
        by_landmarks = _by_landmarks(kernel, rows, problem, settings)
        return by_landmarks.work(landmark_count(settings, by_landmarks.rows))
    gram, entry = unheld_gram_of(kernel, rows, settings.memory), entry_work(kernel, rows)
    if wants_factor(gram, problem):
        return newton_work(len(gram), problem.columns, entry)
    return _by_products(kernel, rows, gram, problem, entry)[0]


def planned_logistic_search(
    settings: Settings, kernel: Kernel, rows: Any, problem: LogisticProblem, fits: int
) -> Settings:
    """Return the settings of a search, with landmarks where exact fits would take too much.

    Parameters
    ----------
    settings, kernel, rows, problem
        As in `planned_logistic`.
    fits : int
        How many fits to about all rows decide.
    """
    if not settings.is_open:
        return settings
    limit, n = steady_limit(settings.memory), n_rows(rows)
    by_landmarks = _by_landmarks(kernel, rows, problem, settings)
    work = by_landmarks.work
    several = replace(by_landmarks, work=lambda m: float(fits) * work(m))
    # Bytes for every entry of the matrix that a search holds: itself, and the parts of a fold.
    searched_bytes = 24
    # Folds are parts of the whole matrix.
    has_room = searched_bytes * n**2 <= limit
    held = replace(settings, memory=limit)
    exact = logistic_work(kernel, rows, problem, held) if has_room else Work(double=np.inf)
    return several.chosen(settings, kernel, float(fits) * exact)


def least_logistic(
    settings: Settings, kernel: Kernel, rows: Any, problem: LogisticProblem
) -> Least | None:
    """Return the fewest landmarks that the plan may choose, if it may choose any."""
    return _by_landmarks(kernel, rows, problem, settings).least(settings, kernel)


def _decided(settings: Settings, kernel: Kernel, rows: Any, problem: LogisticProblem) -> Settings:
    """Return the settings, with landmarks where the plan may choose them and exact is slow."""
    settings = settings.for_rows(rows)
    if settings.names(NystromNewton):
        return _by_landmarks(kernel, rows, problem, settings).limited(settings)
    if not settings.is_open or n_rows(rows) <= FEW:
        return settings
    # Not by what is free: the same call is exact or by landmarks every time.
    held = replace(settings, memory=steady_limit(settings.memory))
    exact = logistic_work(kernel, rows, problem, held)
    return _by_landmarks(kernel, rows, problem, settings).chosen(settings, kernel, exact)


def _by_landmarks(
    kernel: Kernel, rows: Any, problem: LogisticProblem, settings: Settings
) -> ByLandmarks:
    """Return what landmarks take."""
    n, entry, memory = n_rows(rows), entry_work(kernel, rows), steady_limit(settings.memory)
    work = partial(landmark_newton_work, n, columns=problem.columns, entry=entry)
    needed = partial(landmark_newton_bytes, n, columns=problem.columns, memory=memory)
    return ByLandmarks(n, work, needed)


def logistic_landmarks(settings: Settings, kernel: Kernel, rows: Any, columns: int) -> LandmarkGram:
    """Return the Gram matrix by landmarks, its entries stored where they fit beside the rest."""
    gram = planned_landmarks(settings, kernel, rows)
    n, m = len(gram), gram.landmarks.n_features
    fits = landmark_newton_bytes(n, m, columns, gram.memory) <= gram.memory
    return HeldEntriesGram.of(gram) if fits else gram


def wants_factor(gram: Gram, problem: LogisticProblem) -> bool:
    """Whether Cholesky factors serve a logistic problem better than conjugate gradients."""
    scores = len(gram) * problem.columns
    # Rows times columns of scores up to which factors take no longer than to set up an iteration,
    # and up to which they are taken for several classes where C w k(x, x) is so large that the
    # preconditioner, which treats classes one by one, is poor.
    few_scores, many_scores = 500, 10_000
    stiff = 1e4
    if scores <= few_scores:
        return True
    fits = 8 * (problem.columns + 2) * len(gram) ** 2 <= gram.memory
    if problem.columns == 1 or scores > many_scores or not fits:
        return False
    return problem.C * float((problem.weights * np.abs(gram.diagonal())).max()) > stiff


def newton_bytes(n: int, columns: int) -> int:
    """Return the memory that factors for some columns of scores take."""
    return 8 * n**2 * (1 if columns == 1 else columns + 2)


def _product_bytes(n: int, rank: int) -> int:
    return 24 * n * rank


def _solver(settings: Settings, gram: Gram | None, problem: LogisticProblem) -> LogisticSolver:
    """Return the solver that was named, or the one to take."""
    given = (settings.tol, settings.max_iter, settings.seed)
    if not settings.is_open:
        return as_logistic_solver(settings.solver, *given)
    assert gram is not None
    # A repair works on the eigenvalues of the whole matrix.
    is_factor = wants_factor(gram, problem) or settings.repair is not None
    # The same pivots every time, as a factor gives the same answer every time.
    chosen = NewtonCholesky() if is_factor else NewtonCG()
    return chosen.configured(*given)


def _batch(gram: Gram, problem: LogisticProblem) -> int:
    """Return the rows that stochastic steps take at a time."""
    return batch_size(len(gram), gram.memory, newton_factors(problem.columns))


def _by_products(
    kernel: Kernel, rows: Any, gram: Gram, problem: LogisticProblem, entry: Work
) -> tuple[Work, str, int, str]:
    """Return the work by products, the form of the matrix, its bytes and why it is taken."""
    n, m = len(gram), problem.columns
    most = max(gram.memory // _product_bytes(n, 1), 1)
    rank = min(int(LowRankCurvature.first_rank * n**0.5) + 1, most)
    p = few_features(kernel, rows, n, gram.memory)
    if p is not None:
        work = newton_product_work(n, m, min(rank, p), Work(byte=48.0 * n * p))
        reason = f"the kernel has {p} explicit features for {n} rows"
        return work, "explicit features", FEATURE_BYTES * n * p, reason
    beside = _product_bytes(n, rank)
    if 6 * n**2 + beside <= gram.memory:
        read = n**2 * Work(byte=4.0)
        work = n**2 * (0.5 * entry) + newton_product_work(n, m, rank, read)
        reason = "steps read the matrix in float32, and the gap is measured in float64"
        return work, "a matrix in float32", 6 * n**2 + beside, reason
    work = newton_product_work(n, m, rank, n**2 * (0.5 * entry))
    return work, "a streamed matrix", beside, "products store nothing of n^2"
