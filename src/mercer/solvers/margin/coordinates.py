"""Dual coordinate descent on explicit features, which goes by the name "primal"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.gram import Gram
from mercer.native.coordinates import Descent, SharedRows
from mercer.native.lapack import one_blas_thread
from mercer.solvers.checkpoint import random_state, restore_random
from mercer.solvers.contract import Solution
from mercer.solvers.margin.interior import interior_point
from mercer.solvers.margin.problem import Gap, MarginProblem, MarginSolver
from mercer.solvers.margin.smo import LOST, SMO
from mercer.solvers.run import Run

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Features = Matrix | SharedRows


@dataclass(frozen=True)
class CoordinateDescent(MarginSolver):
    """Minimise 1/2 ||w||^2 + sum_i loss_i(w'phi_i + b - z_i) over the weights w of features, and b.

    It goes by the dual, one coefficient a_i at a time, with w = F'a kept along: a step takes the
    time that reading a row of F takes, and nothing of the size of K is computed. With an offset
    the coefficients have to have the sum zero. A sum that is not costs b sum(a) + rho/2 sum(a)^2,
    and b is moved by rho sum(a) after every epoch, which makes the multiplier b the offset. Rows
    that are clearly at a kink of the loss are left out until the next look at the gap, which is
    always that of all rows, in float64.

    Where the problem is so ill-conditioned that single coefficients get on slowly, others take
    over, unless `max_iter` ends it before: an interior point where the features are few, working
    sets where they are not.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Epochs allowed.
    random_state : int
        Where the orders of the rows come from.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. Keerthi and S. Sundararajan (2008), A dual coordinate
    descent method for large-scale linear SVM; M. Hestenes (1969), Multiplier and gradient methods.
    """

    iterates: ClassVar[bool] = True
    name: ClassVar[str] = "primal"
    # The iteration goes on to this share of the tolerance, as working sets do.
    share: ClassVar[float] = 0.1
    # A look at the gap reads all rows a few times, so that there are ever more epochs between
    # looks.
    growth: ClassVar[float] = 1.3
    # rho beside the mean of k(x, x): larger ones bind all coefficients together, smaller ones make
    # b slow.
    penalty: ClassVar[float] = 0.1
    # Epochs allowed, and entries of F read for every entry of K, before others take over.
    epochs: ClassVar[int] = 1000
    entries_read: ClassVar[int] = 64
    # Features up to which an interior point takes over.
    most_features: ClassVar[int] = 4096
    # Its steps, and features that stand for what a step does beside multiplying them.
    newton_steps: ClassVar[int] = 15
    more_steps: ClassVar[int] = 30
    # Multiplications of features in the time that an epoch takes for an entry.
    multiplied: ClassVar[int] = 25

    tol: float = 1e-3
    max_iter: int | None = None
    random_state: Any = 0

    def _solved(self, gram: Gram, problem: MarginProblem, run: Run) -> Solution:
        """Return the coefficients of shape (n, 1), offset and gap of shape (1,), and the weights.

        K must have features, F F' = K.
        """
        F = gram.features()
        if F is None:
            raise ValueError(
                f"the primal solver needs the features of the rows, a LowRankGram, got {gram!r}; "
                "use the solver 'smo'"
            )
        centred, mean = _centred(F.astype(np.float64, copy=False), problem)
        state, name, advice = self._descended(centred, gram, problem, run)
        gap = problem.proved(state.a, np.asarray(state.F @ state.w, np.float64), gram.diagonal())
        found = problem.solution(state.a, gap, self.tol, state.epoch, name, advice)
        offset = np.array([gap.offset - mean @ state.w])
        return replace(found, intercept=offset, theta=state.w[:, None])

    def _descended(
        self, F: Features, gram: Gram, problem: MarginProblem, run: Run
    ) -> tuple[_State, str, str]:
        """Return what the iteration came to, who finished it, and what that advises."""
        # Threads of the BLAS would be no help with a row at a time.
        with one_blas_thread():
            state = _State(F, problem, run, np.random.default_rng(self.random_state))
            is_cut = False
            with run.guarded():
                is_cut = self._descend(state, gram.memory)
        limit = f"max_iter was reached; raise max_iter (now {self.max_iter})"
        advice = run.advice(f"{state.epoch} epochs", limit if is_cut else LOST)
        if is_cut or run.ended_by or state.gap.relative <= self.tol:
            return state, "primal", advice
        if state.hidden_by_rounding(gram.diagonal()) > self.tol:
            return state, "primal", f"after {state.epoch} epochs {LOST}"
        return state, "smo", state.hand_over(SMO(self.tol), gram.entries())

    def _descend(self, state: _State, memory: int) -> bool:
        """Descend, and where that is slow and features are few go on by an interior point.

        Whether `max_iter` ended it before is returned.
        """
        goal, narrow = self.share * self.tol, is_narrow(state.F.shape, memory)
        own = most_epochs(state.F.shape, state.F.size, narrow)
        most = own if self.max_iter is None else min(own, self.max_iter)
        state.descend(goal, most)
        is_cut = most < own
        # What is asked for is there as soon as single coefficients have come to the tolerance.
        if narrow and not is_cut and state.gap.relative > self.tol:
            state.jump(goal)
        return is_cut


def _centred(F: Matrix, problem: MarginProblem) -> tuple[Matrix, Array]:
    """Return dense features without their mean, which an offset makes up for, and the mean.

    They hang together less than features that are far from zero.
    """
    if sp.issparse(F) or not problem.fit_intercept:
        return F, np.zeros(F.shape[1])
    mean = F.mean(axis=0)
    return F - mean, mean


def is_narrow(shape: tuple[int, int], memory: int) -> bool:
    """Whether features are so few that an interior point takes over, rather than working sets."""
    n, p = shape
    # It holds the squares of the features, shares of them, and a factor.
    return p <= min(n, CoordinateDescent.most_features) and 32 * p * p <= memory


def most_epochs(shape: tuple[int, int], entries: float, narrow: bool) -> int:
    """Return how many epochs take no longer than what would take over."""
    n, p = shape
    # Working sets compute K, an interior point the squares of the features.
    kind = CoordinateDescent
    work = kind.entries_read * n * n
    if narrow:
        by_newton = kind.newton_steps * n * (p + kind.more_steps) ** 2
        work = min(work, by_newton // kind.multiplied)
    return min(kind.epochs, ceil(work / max(entries, 1)))


class _State:
    """The iterate, which need not have the sum zero, and the best feasible coefficients so far."""

    def __init__(
        self, F: Features, problem: MarginProblem, run: Run, rng: np.random.Generator
    ) -> None:
        self.F, self.problem, self.run, self.rng = F, problem, run, rng
        self.epoch = 0
        n = F.shape[0]
        squares = _squares(F)
        rho = CoordinateDescent.penalty * float(squares.mean()) if problem.fit_intercept else 0.0
        self.a, self.w, self.gap = np.zeros(n), np.zeros(F.shape[1]), Gap(0.0, np.inf, np.inf)
        self._keep(self.a if problem.start is None else problem.feasible(problem.start))
        a, b = self.a.copy(), self.gap.offset
        self.descent = Descent(F, problem.box, squares, rho, a, b)
        self.active: Rows = np.arange(n)

    def descend(self, goal: float, most: int) -> None:
        """Go on until the gap is small or there were so many epochs."""
        look = self._restored()
        while self.gap.relative > goal and self.epoch < most and not self.run.ended_by:
            self._sweep()
            if self.epoch < min(look, most) and not self.run.is_over():
                continue
            look = ceil(CoordinateDescent.growth * self.epoch) + 1
            self._look()
            self.run.report(self.epoch, self.gap.relative)
            self._leave(look)

    def _leave(self, look: int) -> None:
        """Leave what the next sweep begins from."""
        gap = np.array([self.gap.offset, self.gap.gap, self.gap.primal])
        best = {"a": self.a, "w": self.w, "gap": gap, "active": self.active}
        counts = np.array([self.epoch, look, _itemsize(self.F)])
        state = {**best, "counts": counts, "random": random_state(self.rng)}
        self.run.keep(state | self.descent.state())

    def _restored(self) -> int:
        """Go on from what an earlier run has left, and return the epoch of the next look."""
        kept = self.run.restored()
        if kept is None or kept["counts"][2] != _itemsize(self.F):
            return 1
        self.a, self.w, self.gap = kept["a"], kept["w"], Gap(*kept["gap"].tolist())
        self.active = kept["active"]
        self.descent.restore(kept)
        restore_random(self.rng, kept["random"])
        self.epoch, look, _ = kept["counts"].tolist()
        return int(look)

    def jump(self, goal: float) -> None:
        """Go on by an interior point, unless the run is over; its steps count as epochs."""
        if self.run.ended_by:
            return

        def watch(a: Array) -> bool:
            self.epoch += 1
            self._keep(a)
            return self.run.report(self.epoch, self.gap.relative)

        self._keep(interior_point(_in_double(self.F), self.problem, goal, watch))

    def hidden_by_rounding(self, diagonal: Array) -> float:
        """Return what rounding may hide of the relative gap: none could be proved to be less."""
        f = np.asarray(self.F @ self.w, np.float64)
        return self.problem.proved(self.a, f, diagonal).relative - self.gap.relative

    def hand_over(self, solver: SMO, gram: Gram) -> str:
        """Go on by working sets, whose rounds count as epochs; return what they advise."""
        epochs, progress = self.epoch, self.run.progress
        run = self.run.part()
        # Its states are others than those of this problem.
        run.problem = f"{run.problem} {solver.name}"
        if progress is not None:
            run.progress = lambda rounds, gap: progress(epochs + rounds, gap)
        found = solver.solve(gram, replace(self.problem, start=self.a), run)
        self.run.ended_by = run.ended_by
        self.epoch += found.iterations
        self._keep(self.problem.feasible(found.coefficients[:, 0]))
        return found.advice

    def _sweep(self) -> None:
        """Move the active coefficients, in another order each time, and their multiplier."""
        self.descent.sweep(self.rng.permutation(self.active))
        self.descent.update_multiplier()
        self.epoch += 1

    def _keep(self, a: Array) -> None:
        """Keep feasible coefficients if they are the best, with their weights and gap."""
        w = _transposed(self.F, a)
        gap = self.problem.gap(a, np.asarray(self.F @ w, np.float64))
        if gap.gap <= self.gap.gap:
            self.a, self.w, self.gap = a, w, gap

    def _look(self) -> None:
        """Keep what the iterate has come to, and see which rows may yet move."""
        descent, problem = self.descent, self.problem
        self._keep(problem.feasible(descent.a))
        r = np.asarray(self.F @ descent.w, np.float64) + descent.offset - problem.z
        slopes = np.maximum(*problem.slopes(descent.a, r))
        # Those are left out that are further on the safe side than any row is on the wrong one.
        wrong = float(slopes.max())
        self.active = np.flatnonzero(slopes > -wrong if wrong > 0.0 else slopes > -np.inf)


def _itemsize(F: Features) -> int:
    """Return the bytes of a feature, which tell the passes of a problem apart."""
    return int((F.F if isinstance(F, SharedRows) else F).dtype.itemsize)


def _squares(F: Features) -> Array:
    """Return the sum of squares of every row."""
    if isinstance(F, SharedRows):
        return F.squares
    return np.asarray((F * F).sum(axis=1) if sp.issparse(F) else np.einsum("ij,ij->i", F, F))


def _transposed(F: Features, a: Array) -> Array:
    """Return F'a."""
    return F.transposed(a) if isinstance(F, SharedRows) else np.asarray(F.T @ a, np.float64)


def _in_double(F: Features) -> Matrix:
    """Return features as a matrix in float64; their centre makes no difference to its user."""
    return F.F[F.where].astype(np.float64, copy=False) if isinstance(F, SharedRows) else F
