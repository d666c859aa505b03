"""The plan of a margin problem: working sets on rows of K, or coordinates of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from mercer.data.columns import take_rows
from mercer.data.limits.memory import FOR_WORK, beside, memory_limit, steady_limit
from mercer.data.stream import Stream
from mercer.gram import (
    Gram,
    HeldLandmarkGram,
    features_of,
    kept_gram_of,
    sparse_sizes,
    unheld_gram_of,
)
from mercer.gram.features import ENTRY_BYTES
from mercer.kernels import Kernel
from mercer.planning.costs import (
    batch_work,
    coordinate_work,
    hardened,
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
from mercer.solvers import (
    SMO,
    CoordinateDescent,
    MarginProblem,
    MarginSolver,
    NystromDescent,
    as_margin_solver,
)
from mercer.tiles import Rows

# Rows up to which nothing is counted: working sets take a moment.
FEW = 1024
# Bytes of dense features and of their centred copy.
FEATURE_BYTES = 16
# Numbers for every row that working sets and random batches hold at least: coefficients, decision
# values, bounds, and rows of K in float32, 16 of them twice, or those of a batch.
VECTORS = {"smo": 24, "sgd": 64}
# Numbers for every row beside its features: coefficients, targets, bounds, squares, orders, scores.
COLUMNS = 24


def planned_margin(
    settings: Settings, kernel: Kernel, X: Any, problems: Sequence[MarginProblem] | None = None
) -> tuple[MarginSolver, Gram]:
    """Return the solver that was named or is the cheaper, and the Gram matrix in its form.

    `problems` are those of classes, by default one of all rows; the other parameters are those of
    `planned_ridge`.
    """
    rows = Rows.of(X)
    X, costs = rows.X, _MarginCosts(kernel, rows, problems or [_balanced(rows.n)], settings)
    settings = costs.decided()
    solver = costs.solver(settings)
    if isinstance(solver, NystromDescent):
        by_landmarks = planned_landmarks(settings, kernel, X)
        if settings.memory is not None and memory_limit(settings.memory) > FOR_WORK:
            # In a limit for the whole process they take no small part.
            by_landmarks.memory = beside(by_landmarks.memory, 8 * COLUMNS * rows.n)
        return solver, HeldLandmarkGram.of(by_landmarks, solver.dtype)
    if not isinstance(solver, CoordinateDescent):
        # Entries that take long are held.
        gram = kept_gram_of(kernel, rows, settings.memory)
        needed = 8 * rows.n * VECTORS.get(solver.name, 1)
        if not gram.has_room(needed):
            check_room(solver.name, needed, gram.memory, solver.name)
        return solver, gram
    features = features_of(kernel, X, settings.memory)
    if features is None:
        raise ValueError(
            f"solver='primal' needs a kernel with finitely many features, and {kernel!r} is not "
            "known to have them; use solver='smo'"
        )
    return solver, features.in_use()


def margin_plan(
    settings: Settings, kernel: Kernel, X: Any, problems: Sequence[MarginProblem]
) -> Plan:
    """Return what `planned_margin` would return, in words, with the others that fit.

    The parameters are those of `planned_margin`.
    """
    limit, rows = memory_limit(settings.memory), Rows.of(X)
    X, costs = rows.X, _MarginCosts(kernel, rows, problems, settings)
    if isinstance(X, Stream):
        return streamed_plan(costs.by_landmarks, settings, kernel, X, len(problems))
    settings = costs.decided()
    name = costs.solver(settings).name
    plans: list[Plan | None] = [*costs.plans(limit)]
    if may_have_landmarks(settings, kernel):
        gram = unheld_gram_of(kernel, rows, limit)
        plans.append(costs.by_landmarks.plan(settings, gram))
    kept = (plan for plan in plans if plan is not None)
    return among(kept, name, limit, kernel, settings.time_limit)


def _balanced(n: int) -> MarginProblem:
    """Return a problem of two classes of one size, at C = 1."""
    return MarginProblem.classification(np.where(np.arange(n) % 2, 1.0, -1.0), np.ones(n), True)


@dataclass(frozen=True, eq=False)
class _MarginCosts:
    """What every solver would take for margin problems.

    Parameters
    ----------
    kernel, rows
        k, and the rows of all problems.
    problems : sequence of MarginProblem
        The problems, of which the sizes and bounds count.
    settings : Settings
        What the estimator was told.
    """

    # Squares of dense features for every row up to which they are few: in more of them classes come
    # apart, whatever the bounds, and working sets end soon.
    narrow: ClassVar[int] = 2
    # The tolerance from which on few rows of few features go by them too: K is singular then, and
    # pairs of coefficients converge slowly, where an interior point takes its usual steps.
    tight: ClassVar[float] = 1e-6

    kernel: Kernel
    rows: Rows
    problems: Sequence[MarginProblem]
    settings: Settings

    def decided(self) -> Settings:
        """Return the settings, with landmarks where the plan may choose them and exact is slow."""
        settings = self.settings.for_rows(self.rows.X)
        if settings.names(NystromDescent):
            return self.by_landmarks.limited(settings)
        if not settings.is_open or self.rows.n <= EXACT_ROWS:
            return settings
        # Features that are sooner gone by are read as soon as those of landmarks.
        exact = Work() if self.prefers_features else self.by_rows
        return self.by_landmarks.chosen(settings, self.kernel, exact)

    def solver(self, settings: Settings) -> MarginSolver:
        """Return the solver that was named, or the one to take."""
        given = (settings.tol, settings.max_iter, settings.seed)
        if not settings.is_open:
            return as_margin_solver(settings.solver, *given)
        chosen = CoordinateDescent() if self.prefers_features else SMO()
        return chosen.configured(*given)

    @property
    def by_landmarks(self) -> ByLandmarks:
        """What landmarks take."""
        n = self.rows.n
        sizes, entry = [len(p.z) for p in self.problems], self.entry
        work = partial(landmark_coordinate_work, n, problems=sizes, entry=entry)
        descent = NystromDescent().configured(self.settings.tol, None, None)
        memory, itemsize = steady_limit(self.settings.memory), np.dtype(descent.dtype).itemsize

        def needed(m: int) -> int:
            return landmark_feature_bytes(n, m, memory, itemsize) + 8 * COLUMNS * n

        return ByLandmarks(n, work, needed)

    @cached_property
    def entry(self) -> Work:
        """What an entry of K takes."""
        return entry_work(self.kernel, self.rows.X)

    @property
    def by_rows(self) -> Work:
        """What working sets take for problems of ordinary difficulty."""
        return working_set_work(self.rows.n, [len(p.z) for p in self.problems], self.entry)

    @cached_property
    def features(self) -> tuple[int, int, int] | None:
        """About the entries of the features, their columns, and bytes for each; None if none.

        The columns of sparse features are those of some rows: all rows have as many or more.
        """
        # Not by what is free: the same call goes by features or by rows every time.
        X, n, limit = self.rows.X, self.rows.n, steady_limit(self.settings.memory)
        found = sparse_sizes(self.kernel, X, limit)
        if found is not None:
            return (*found, ENTRY_BYTES)
        p = self.kernel.n_features(X)
        return None if p is None else (n * p, p, FEATURE_BYTES)

    @cached_property
    def pull(self) -> float:
        """The mean bound of a coefficient times the mean of k(x, x) at some of the rows."""
        X, n, sample = self.rows.X, self.rows.n, 64
        some = take_rows(X, np.linspace(0, n - 1, min(n, sample)).astype(np.intp))
        bounds = [np.maximum(p.upper, -p.lower).mean() for p in self.problems]
        return float(np.mean(bounds) * np.mean(self.kernel.diagonal(some)))

    @property
    def by_features(self) -> Work:
        """What coordinate descent takes."""
        assert self.features is not None
        entries, p, _ = self.features
        sizes = [len(problem.z) for problem in self.problems]
        share, memory = entries / self.rows.n, steady_limit(self.settings.memory)
        parts = (coordinate_work((m, p), share * m, self.pull, memory) for m in sizes)
        return reduce(add, parts)

    @cached_property
    def prefers_features(self) -> bool:
        """Whether features are sooner gone by than rows are compared, by the bounds as well."""
        n, tol = self.rows.n, self.settings.tol
        if n <= FEW:
            is_tight = isinstance(tol, float) and tol <= self.tight
            most = int((self.narrow * n) ** 0.5)
            X = self.rows.X
            is_dense = is_tight and sparse_sizes(self.kernel, X) is None
            return is_dense and self.kernel.n_features(X, most) is not None
        if self.features is None:
            return False
        entries, p, each = self.features
        is_wide = each == FEATURE_BYTES and p**2 > self.narrow * n
        if is_wide or each * entries > steady_limit(self.settings.memory):
            return False
        # As many coefficients of one sign are at a bound as of the other.
        sides = [(p.upper.sum(), -p.lower.sum()) for p in self.problems]
        share = sum(2.0 * min(side) for side in sides) / sum(map(sum, sides))
        # In as many features as rows no bound need be met.
        pull = self.pull if p < n else 0.0
        return self.by_features.cost < hardened(self.by_rows, share, pull).cost

    def plans(self, limit: int) -> Iterator[Plan]:
        """Yield what every solver that serves would take."""
        n = self.rows.n
        if self.features is not None:
            entries, _, each = self.features
            reason = f"a step reads one row of features, about {entries / n:.0f} entries"
            work = self.by_features
            yield Plan("primal", "explicit features", each * entries, work.seconds, reason)
        reason = "working sets are exact to the tolerance, and rows that are asked for are kept"
        kept = max(min(8 * n**2, SMO.store_bytes, limit), 8 * VECTORS["smo"] * n)
        yield Plan("smo", "rows in float32 or float64", kept, self.by_rows.seconds, reason)
        work, reason = batch_work(n, self.entry), "small random batches store nothing of n^2"
        yield Plan("sgd", "a streamed matrix", 8 * VECTORS["sgd"] * n, work.seconds, reason)
