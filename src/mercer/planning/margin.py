"""The plan of a margin problem: working sets on rows of K, or coordinates of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.data.columns import n_rows
from mercer.data.memory import FOR_WORK, beside, memory_limit, steady_limit
from mercer.data.stream import Stream
from mercer.gram import (
    Gram,
    HeldLandmarkGram,
    features_of,
    kept_gram_of,
    sparse_entries,
    unheld_gram_of,
)
from mercer.gram.features import ENTRY_BYTES
from mercer.kernels import Kernel
from mercer.planning.costs import (
    batch_work,
    coordinate_work,
    landmark_coordinate_work,
    working_set_work,
)
from mercer.planning.entries import entry_work
from mercer.planning.landmarks import (
    FEW as EXACT_ROWS,
    ByLandmarks,
    landmark_feature_bytes,
    may_have_landmarks,
    planned_landmarks,
    streamed_plan,
)
from mercer.planning.plan import Plan, Settings, among, check_room
from mercer.planning.rates import Work
from mercer.solvers import SMO, CoordinateDescent, MarginSolver, NystromDescent, as_margin_solver
from mercer.tiles import Rows

# How many steps a margin problem takes depends on its targets more than on its sizes, so that what
# is sooner solved in features is told by sizes at which it was, whatever the targets: rows beyond
# FEW, squares of features for every row up to NARROW, where the interior point that takes over is
# no dearer than K, and entries of sparse features for every entry of K up to MOST_READ.
FEW, NARROW, MOST_READ = 1024, 2, 0.25
# Bytes of dense features and of their centred copy.
FEATURE_BYTES = 16
# Numbers for every row that working sets and random batches hold at least: coefficients, decision
# values, bounds, and rows of K in float32, 16 of them twice, or those of a batch.
VECTORS = {"smo": 24, "sgd": 64}
# Numbers for every row beside its features: coefficients, targets, bounds, squares, orders, scores.
COLUMNS = 24


def planned_margin(
    settings: Settings, kernel: Kernel, rows: Any, problems: Sequence[int] | None = None
) -> tuple[MarginSolver, Gram]:
    """Return the solver that was named or is the cheaper, and the Gram matrix in its form.

    `problems` says how many rows each of them has, by default one all; the other parameters are
    those of `planned_ridge`.
    """
    seen = Rows.of(rows)
    rows = seen.X
    settings = _decided(settings, kernel, seen, problems or [seen.n])
    solver = _solver(settings, kernel, seen)
    if isinstance(solver, NystromDescent):
        by_landmarks = planned_landmarks(settings, kernel, rows)
        if settings.memory is not None and memory_limit(settings.memory) > FOR_WORK:
            # In a limit for the whole process they take no small part.
            by_landmarks.memory = beside(by_landmarks.memory, 8 * COLUMNS * seen.n)
        return solver, HeldLandmarkGram.of(by_landmarks, solver.dtype)
    if not isinstance(solver, CoordinateDescent):
        # Entries that take long are held.
        gram = kept_gram_of(kernel, seen, settings.memory)
        needed = 8 * seen.n * VECTORS.get(solver.name, 1)
        if not gram.has_room(needed):
            check_room(solver.name, needed, gram.memory, solver.name)
        return solver, gram
    features = features_of(kernel, rows, settings.memory)
    if features is None:
        raise ValueError(
            f"solver='primal' needs a kernel with finitely many features, and {kernel!r} is not "
            "known to have them; use solver='smo'"
        )
    return solver, features.in_use()


def margin_plan(settings: Settings, kernel: Kernel, rows: Any, problems: Sequence[int]) -> Plan:
    """Return what `planned_margin` would return, in words, with the others that fit.

    The parameters are those of `planned_margin`.
    """
    limit = memory_limit(settings.memory)
    if isinstance(rows, Stream):
        by_landmarks = _by_landmarks(kernel, rows, problems, settings)
        return streamed_plan(by_landmarks, settings, kernel, rows, len(problems))
    seen = Rows.of(rows)
    settings = _decided(settings, kernel, seen, problems)
    name = _solver(settings, kernel, seen).name
    plans: list[Plan | None] = [*_plans(kernel, rows, limit, problems)]
    if may_have_landmarks(settings, kernel):
        gram = unheld_gram_of(kernel, rows, limit)
        plans.append(_by_landmarks(kernel, rows, problems, settings).plan(settings, gram))
    kept = (plan for plan in plans if plan is not None)
    return among(kept, name, limit, kernel, settings.time_limit)


def _decided(settings: Settings, kernel: Kernel, seen: Rows, problems: Sequence[int]) -> Settings:
    """Return the settings, with landmarks where the plan may choose them and exact is slow."""
    rows = seen.X
    settings = settings.for_rows(rows)
    by_name = settings.names(NystromDescent)
    if not by_name and (not settings.is_open or seen.n <= EXACT_ROWS):
        return settings
    by_landmarks = _by_landmarks(kernel, rows, problems, settings)
    if by_name:
        return by_landmarks.limited(settings)
    exact = working_set_work(seen.n, problems, entry_work(kernel, rows))
    if _wants_features(settings, kernel, seen):
        # Few or sparse features are read as soon as those of landmarks.
        exact = Work()
    return by_landmarks.chosen(settings, kernel, exact)


def _by_landmarks(
    kernel: Kernel, rows: Any, problems: Sequence[int], settings: Settings
) -> ByLandmarks:
    """Return what landmarks take."""
    n, entry = n_rows(rows), entry_work(kernel, rows)
    work = partial(landmark_coordinate_work, n, problems=problems, entry=entry)
    descent = NystromDescent().configured(settings.tol, None, None)
    memory, itemsize = steady_limit(settings.memory), np.dtype(descent.dtype).itemsize

    def needed(m: int) -> int:
        return landmark_feature_bytes(n, m, memory, itemsize) + 8 * COLUMNS * n

    return ByLandmarks(n, work, needed)


def _solver(settings: Settings, kernel: Kernel, seen: Rows) -> MarginSolver:
    """Return the solver that was named, or the one to take."""
    given = (settings.tol, settings.max_iter, settings.seed)
    if not settings.is_open:
        return as_margin_solver(settings.solver, *given)
    chosen = CoordinateDescent() if _wants_features(settings, kernel, seen) else SMO()
    return chosen.configured(*given)


def _wants_features(settings: Settings, kernel: Kernel, seen: Rows) -> bool:
    """Whether there are many rows of sparse features or of few, sooner read than compared."""
    rows, n, tol = seen.X, seen.n, settings.tol
    is_small = n <= FEW
    # The tolerance from which on fewer rows of so few features go by them too: K is singular then,
    # and pairs of coefficients converge slowly, where an interior point takes its usual steps.
    tight = 1e-6
    if is_small and not (isinstance(tol, float) and tol <= tight):
        return False
    # Not by what is free: the same call goes by features or by rows every time.
    limit = steady_limit(settings.memory)
    entries = sparse_entries(kernel, rows, limit)
    if entries is not None:
        return not is_small and entries <= min(MOST_READ * n**2, limit / ENTRY_BYTES)
    most = min((NARROW * n) ** 0.5, limit / (FEATURE_BYTES * n))
    return kernel.n_features(rows, int(most)) is not None


def _plans(kernel: Kernel, rows: Any, limit: int, problems: Sequence[int]) -> Iterator[Plan]:
    """Yield what every solver that serves would take."""
    n, entry = n_rows(rows), entry_work(kernel, rows)
    entries, each = sparse_entries(kernel, rows, limit), ENTRY_BYTES
    if entries is None:
        p, each = kernel.n_features(rows), FEATURE_BYTES
        entries = None if p is None else n * p
    if entries is not None:
        work = coordinate_work(sum(problems), entries * sum(problems) / n)
        reason = f"a step reads one row of features, about {entries / n:.0f} entries"
        yield Plan("primal", "explicit features", each * entries, work.seconds, reason)
    work = working_set_work(n, problems, entry)
    reason = "working sets are exact to the tolerance, and rows that are asked for are kept"
    kept = min(8 * n**2, SMO.store_bytes, limit)
    yield Plan("smo", "rows in float32 or float64", kept, work.seconds, reason)
    work, reason = batch_work(n, entry), "small random batches store nothing of n^2"
    yield Plan("sgd", "a streamed matrix", 8 * VECTORS["sgd"] * n, work.seconds, reason)
