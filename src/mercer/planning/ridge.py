"""The plan of a ridge problem: explicit features, a chain, an exact factor, conjugate gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, cast

import numpy as np

from mercer.data.limits.memory import memory_limit, steady_limit
from mercer.data.stream import Stream
from mercer.gram import Gram, features_of, gram_of, open_features_of, sparse_entries, unheld_gram_of
from mercer.kernels import Kernel
from mercer.planning.costs import (
    batch_work,
    chain_work,
    eigen_work,
    factor_work,
    feature_work,
    landmark_work,
    sketched_work,
)
from mercer.planning.entries import FEATURE_BYTES, entry_work, few_features
from mercer.planning.forecast import Forecast, forecast, least_product_work, preconditioner_rank
from mercer.planning.landmarks import (
    FEW,
    ByLandmarks,
    landmark_bytes,
    landmark_count,
    may_have_landmarks,
    planned_landmarks,
    streamed_plan,
)
from mercer.planning.plan import Least, Plan, Settings, among, check_room
from mercer.planning.rates import Work
from mercer.solvers import (
    Banded,
    Cholesky,
    ConjugateGradient,
    NystromRidge,
    Primal,
    RidgeProblem,
    RidgeSolver,
    as_solver,
)
from mercer.solvers.online.batches import ENTRY_BYTES, batch_size
from mercer.solvers.ridge.single import predicted_steps
from mercer.solvers.ridge.symmetric import Symmetric
from mercer.tiles import Rows

# Why small random batches, of any loss.
SMALL_BATCHES = "small random batches store nothing of n^2; how many epochs depends on the penalty"


def planned_ridge(
    settings: Settings,
    kernel: Kernel,
    X: Any,
    problem: RidgeProblem,
) -> tuple[RidgeSolver, Gram]:
    """Return the solver that was named or is the cheapest, and the Gram matrix in its form.

    What does not fit into the memory is refused, before anything of the size of K is computed.

    Parameters
    ----------
    settings : Settings
        What the estimator was told.
    kernel : Kernel
        k, with numbers for parameters.
    X : rows or Rows
        The training rows.
    problem : RidgeProblem
        Targets, ridges and weights.
    """
    rows = Rows.of(X)
    X, settings = rows.X, settings.for_rows(rows.X)
    if not (settings.names(NystromRidge) and settings.has_landmarks):
        gram = unheld_gram_of(kernel, rows, settings.memory)
        costs = _RidgeCosts(kernel, X, gram, problem)
        settings = costs.decided(settings)
    if settings.names(NystromRidge):
        n, targets = problem.y.shape
        memory = memory_limit(settings.memory)
        needed = landmark_bytes(n, landmark_count(settings, n), targets, memory)
        check_room("nystrom", needed, memory, "nystrom")
        return _by_landmarks(settings, kernel, X, n), planned_landmarks(settings, kernel, X)
    solver = costs.solver(settings)
    if solver.iterates and costs.needs_factor(settings):
        raise ValueError(
            f"solver={settings.solver!r} needs a positive semi-definite kernel, and {kernel!r} is "
            "so on coefficients of sum zero only; use fit_intercept=True, or solver='cholesky'"
        )
    # Features are counted where they are made, and a chain takes no more than a few columns.
    if not isinstance(solver, Primal | Banded):
        needed = costs.bytes(solver.name, solver)
        if not costs.gram.has_room(needed):
            instead = "cg" if settings.repair is None else solver.name
            least = costs.least(settings)
            check_room(solver.name, needed, costs.gram.memory, instead, least)
    if costs.needs_factor(settings):
        solver = Symmetric() if settings.tol is None else Symmetric(settings.tol)
    return solver, costs.form(solver)


def ridge_plan(settings: Settings, kernel: Kernel, rows: Any, problem: RidgeProblem) -> Plan:
    """Return what `planned_ridge` would return, in words, with what else would fit.

    The parameters are those of `planned_ridge`.
    """
    costs = _RidgeCosts(kernel, rows, unheld_gram_of(kernel, rows, settings.memory), problem)
    if isinstance(rows, Stream):
        return streamed_plan(
            costs.by_landmarks(settings), settings, kernel, rows, problem.y.shape[1]
        )
    settings = costs.decided(settings.for_rows(rows))
    name = costs.solver(settings).name
    limits = (costs.gram.memory, kernel, settings.time_limit, costs.least(settings))
    return among(costs.plans(settings), name, *limits)


def ridge_work(kernel: Kernel, rows: Any, problem: RidgeProblem, settings: Settings) -> Work:
    """Return the most work that a ridge problem takes by landmarks, or what the plan would choose.

    The parameters are those of `planned_ridge`.
    """
    costs = _RidgeCosts(kernel, rows, unheld_gram_of(kernel, rows, settings.memory), problem)
    settings, n = costs.decided(settings.for_rows(rows)), len(problem.y)
    if settings.names(NystromRidge):
        return costs.by_landmarks(settings).work(landmark_count(settings, n))
    if costs.few_features is not None:
        return costs.work("primal")
    return costs.work("cholesky" if costs.gram.chain() is None else "banded")


def _by_landmarks(settings: Settings, kernel: Kernel, rows: Any, n: int) -> RidgeSolver:
    """Return the solver of landmarks that was named, in the form that takes less."""
    solver = as_solver(settings.solver, settings.tol, settings.max_iter, settings.seed)
    if not isinstance(settings.solver, str):
        # A solver object is taken as it is.
        return solver
    sizes = (n, landmark_count(settings, n), entry_work(kernel, rows))
    is_sketched = landmark_work(*sizes) == sketched_work(*sizes)
    return replace(cast(NystromRidge, solver), is_sketched=is_sketched)


def read_again(kernel: Kernel, rows: Any, gram: Gram) -> Gram:
    """Return the Gram matrix with entries that take long held, in half of the memory."""
    # The other half is for the preconditioner, or the factor.
    return gram if kernel.is_quick else gram_of(kernel, rows, gram.memory, share=0.5)


@dataclass(frozen=True, eq=False)
class _RidgeCosts:
    """What each solver takes on one problem."""

    # Conjugate gradients that stand in for a factor go down to this residual, little above its own.
    as_good_as_a_factor: ClassVar[float] = 1e-10
    # Seconds on one thread that are worth giving up the last digits of a factor in float64 for, or
    # a glance at the spectrum.
    worth: ClassVar[float] = 0.02
    # Multiplications up to which a factor is taken without a look at what else there is: they take
    # about as long as that look.
    small: ClassVar[float] = 5e8
    # How many times less than a factor conjugate gradients have to promise to take: it is surer,
    # with more digits.
    advantage: ClassVar[float] = 1.5

    kernel: Kernel
    rows: Any
    gram: Gram
    problem: RidgeProblem

    def solver(self, settings: Settings) -> RidgeSolver:
        """Return the solver that was named, or the one to take, with its settings."""
        given = (settings.tol, settings.max_iter, settings.seed)
        if settings.is_open:
            solver = self.choice(settings).configured(*given)
        else:
            solver = as_solver(settings.solver, *given)
        # A solver object is taken as it is.
        is_object = not isinstance(settings.solver, str)
        if isinstance(solver, Cholesky) and not is_object and self.prefers_single():
            solver = replace(solver, precision="single")
        return solver

    def decided(self, settings: Settings) -> Settings:
        """Return the settings, with landmarks where the plan may choose them and exact is slow."""
        if self.is_exact and settings.is_open:
            return settings
        if settings.names(NystromRidge):
            return self.by_landmarks(settings).limited(settings)
        if not settings.is_open:
            return settings
        # Not by what is free: the same call is exact or by landmarks every time.
        limit, steady = steady_limit(settings.memory), self
        if self.bytes("eigen") > min(limit, self.gram.memory):
            steady = replace(self, gram=unheld_gram_of(self.kernel, self.rows, limit))
        exact = steady.work(steady.choice(settings).name)
        return self.by_landmarks(settings).chosen(settings, self.kernel, exact)

    @property
    def is_exact(self) -> bool:
        """Whether landmarks are not for the plan to choose.

        Without a ridge their equations may be singular where those of K are not.
        """
        return len(self.problem.y) <= FEW or float(self.problem.alpha.min()) == 0.0

    def least(self, settings: Settings) -> Least | None:
        """Return the fewest landmarks that the plan may choose, if it may choose any."""
        return None if self.is_exact else self.by_landmarks(settings).least(settings, self.kernel)

    def by_landmarks(self, settings: Settings) -> ByLandmarks:
        """Return what landmarks take."""
        n, targets = self.problem.y.shape
        work = partial(landmark_work, n, entry=self.entry, targets=targets)
        memory = steady_limit(settings.memory)
        return ByLandmarks(n, work, partial(landmark_bytes, n, targets=targets, memory=memory))

    def work(self, name: str) -> Work:
        """Return the work of an exact solver by name."""
        n, targets = self.problem.y.shape
        if name == "primal" and self.few_features is not None:
            entries = sparse_entries(self.kernel, self.rows, self.gram.memory)
            return feature_work(n, self.few_features, entries)
        if name == "banded":
            return chain_work(n, targets)
        if name == "cholesky":
            return self.factor_work(self.prefers_single())
        return len(np.unique(self.problem.alpha)) * self.products.work

    @cached_property
    def few_features(self) -> int | None:
        """How many explicit features there are, if the rows are better solved in them."""
        if self.kernel.feature_map is None:
            return None
        return few_features(self.kernel, self.rows, len(self.problem.y), self.gram.memory)

    def choice(self, settings: Settings) -> RidgeSolver:
        """Return the exact solver to take.

        Conjugate gradients that promise to take less than the factor stand in for it, and go on
        until they are about as exact.
        """
        n, gram = len(self.problem.y), self.gram
        # A repair works on the eigenvalues of the whole matrix.
        if settings.repair is not None:
            return Cholesky()
        if self.few_features is not None:
            return Primal()
        if gram.chain() is not None:
            return Banded()
        if self.needs_factor(settings):
            return Cholesky()
        if not gram.has_room(8 * n**2):
            return ConjugateGradient()
        # Entries that are not arithmetic are computed once, for the factor.
        if self._is_small or not self.kernel.program.is_arithmetic:
            return Cholesky()
        # One product with K of as many targets takes no less than the factor.
        if n <= 6 * self.problem.y.shape[1]:
            return Cholesky()
        work = self.factor_work(self.prefers_single())
        if not settings.allow(work):
            return ConjugateGradient()
        factor = work.cost
        least = least_product_work(n, gram.memory, self.entry, self.as_good_as_a_factor).cost
        if (
            factor < self.advantage * least + self.worth
            or factor < self.advantage * self.products.work.cost
        ):
            return Cholesky()
        if settings.time_limit is not None and self.products.work.expected > settings.time_limit:
            # A factor may be done soon after the limit, where no further step is begun.
            return Cholesky()
        # The same pivots every time, as a factor gives the same answer every time.
        return ConjugateGradient(goal=self.as_good_as_a_factor)

    def needs_factor(self, settings: Settings) -> bool:
        """Whether only a factor solves with K, valid on coefficients of sum zero alone.

        An offset keeps that sum, and a repair makes K valid on all.
        """
        is_bound = self.problem.fit_intercept or settings.repair is not None
        return not is_bound and self.kernel.is_conditional

    def form(self, solver: RidgeSolver) -> Gram:
        """Return the Gram matrix in the form that a solver takes."""
        kernel, rows = self.kernel, self.rows
        if solver.iterates:
            sparse = open_features_of(kernel, rows, self.gram.memory)
            return read_again(kernel, rows, self.gram) if sparse is None else sparse
        if isinstance(solver, Primal):
            features = features_of(kernel, rows, self.gram.memory)
            if features is None:
                raise ValueError(
                    f"solver='primal' needs a kernel with finitely many features, and {kernel!r} "
                    "is not known to have them; use solver='cholesky' or solver='eigen'"
                )
            return features
        # A solver that reads entries once looks for a witness first.
        return self.gram if self.gram.is_proved else read_again(kernel, rows, self.gram)

    def prefers_single(self) -> bool:
        """Whether the factor is better taken in float32, and refined."""
        if self._is_small or self.kernel.is_conditional:
            return False
        return self.factor_work(True).cost + self.worth < self.factor_work(False).cost

    @property
    def _is_small(self) -> bool:
        """Whether a factor takes so little that nothing is worth saving beside the entries."""
        return len(self.problem.y) ** 3 / 6.0 < self.small

    def factor_work(self, single: bool) -> Work:
        """Return the work for factors in float32, or in float64."""
        (n, targets), problem = self.problem.y.shape, self.problem
        steps = 1.0
        if single:
            steps = predicted_steps(n, float(np.max(self.gram.diagonal())), self._least_shift)
        ridges = len(np.unique(problem.alpha))
        return factor_work(n, targets, ridges, self.entry, steps, single)

    @cached_property
    def entry(self) -> Work:
        """What an entry of K takes."""
        return entry_work(self.kernel, self.rows)

    @property
    def _least_shift(self) -> float:
        return float(self.problem.alpha.min() / self.problem.weights.max())

    @cached_property
    def products(self) -> Forecast:
        """What conjugate gradients will take."""
        return forecast(self.gram, self.entry, self._least_shift, self.as_good_as_a_factor)

    def bytes(self, name: str, solver: Any = None) -> int:
        """Return the memory that a solver by name takes beside the data."""
        n, targets = self.problem.y.shape
        if name == "cholesky":
            is_single = isinstance(solver, Cholesky) and solver.precision == "single"
            return (4 if is_single else 8) * n**2
        if name == "eigen":
            # K, its vectors, and what the reduction of both works in.
            return 36 * n**2
        if name == "sgd":
            return ENTRY_BYTES * n * (getattr(solver, "batch", None) or self.batch)
        if name == "banded":
            return 8 * n * (10 + 4 * targets)
        vectors = 8 * (targets + 1)
        # Half of the memory is for the preconditioner, however little that is.
        return 8 * n * max(preconditioner_rank(n, self.gram.memory) + vectors, 2 * vectors)

    @property
    def batch(self) -> int:
        """The rows that stochastic steps take at a time."""
        return batch_size(len(self.gram), self.gram.memory)

    def plans(self, settings: Settings) -> Iterator[Plan]:
        """Yield what every solver that serves would take."""
        (n, targets), gram = self.problem.y.shape, self.gram
        p = self.kernel.n_features(self.rows, gram.memory // (FEATURE_BYTES * n))
        if p is not None:
            reason = f"the kernel has {p} explicit features for {n} rows"
            entries = sparse_entries(self.kernel, self.rows, gram.memory)
            needed, work = FEATURE_BYTES * n * p, feature_work(n, p, entries)
            yield Plan("primal", "explicit features", needed, work.seconds, reason)
        if gram.chain() is not None:
            reason = "in one dimension its inverse Gram matrix is tridiagonal: exact in O(n log n)"
            work = chain_work(n, targets)
            yield Plan("banded", "a chain of knots", self.bytes("banded"), work.seconds, reason)
        named = self.solver(replace(settings, solver="cholesky"))
        is_single = isinstance(named, Cholesky) and named.precision == "single"
        precision = "float32, refined in float64" if is_single else "float64"
        work, reason = self.factor_work(is_single), f"a factor in {precision} is exact"
        yield Plan(
            "cholesky", "a dense matrix", self.bytes("cholesky", named), work.seconds, reason
        )
        work, reason = eigen_work(n, self.entry), "one decomposition serves every alpha"
        yield Plan("eigen", "a dense matrix", self.bytes("eigen"), work.seconds, reason)
        if self.needs_factor(settings):
            return
        if may_have_landmarks(settings, self.kernel):
            by_landmarks = self.by_landmarks(settings).plan(settings, gram)
            if by_landmarks is not None:
                yield by_landmarks
        work, reason = batch_work(n, self.entry, self.batch), SMALL_BATCHES
        yield Plan("sgd", "rows of a batch", self.bytes("sgd"), work.seconds, reason)
        expected, ridges = self.products, len(np.unique(self.problem.alpha))
        steps = f"{expected.steps:.0f} steps" if np.isfinite(expected.steps) else "many steps"
        reason = f"products store nothing of n^2; about {steps} from a glance at the spectrum"
        work = ridges * expected.work
        yield Plan("cg", "a streamed matrix", self.bytes("cg"), work.seconds, reason)
