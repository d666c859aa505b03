"""The primal solver of margin problems: coordinate descent with the weights of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.gram import Gram
from mercer.native.coordinates import Descent
from mercer.native.threads import one_blas_thread
from mercer.solvers.margin.interior import interior_point
from mercer.solvers.margin.problem import Gap, MarginProblem
from mercer.solvers.margin.smo import SMO
from mercer.solvers.solution import CALLED_OFF, INTERRUPTED, Solution

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Progress = Callable[[int, float], bool | None]

# The iteration goes on to this share of the tolerance, as working sets do.
MARGIN = 0.1
# A look at the gap reads all rows a few times, so that there are ever more epochs between looks.
GROWTH = 1.3
# rho beside the mean of k(x, x): larger ones bind all coefficients together, smaller ones make b
# slow.
PRICE = 0.1
# Epochs allowed, and entries of F read for every entry of K, before others take over.
EPOCHS, READ = 1000, 64
# Features up to which an interior point takes over.
MOST_FEATURES = 4096
# Its steps, and features that stand for what a step does beside multiplying them.
STEPS, MORE = 15, 30
# Multiplications of features in the time that an epoch takes for an entry.
MULTIPLIED = 25


@dataclass(frozen=True)
class CoordinateDescent:
    """Minimise 1/2 ||w||^2 + sum_i loss_i(w'phi_i + b - z_i) over the weights w of features, and b.

    It goes by the dual, one coefficient a_i at a time, with w = F'a kept along: a step takes the
    time that reading a row of F takes, and nothing of the size of K is computed. With an offset
    the coefficients have to have the sum zero. A sum that is not costs b sum(a) + rho/2 sum(a)^2,
    and b is moved by rho sum(a) after every epoch, which makes the multiplier b the offset. Rows
    that are clearly at a kink of the loss are left out until the next look at the gap, which is
    always that of all rows, in float64.

    Where the problem is so ill-conditioned that single coefficients get on slowly, others take
    over, unless `max_iter` is given: an interior point where the features are few, working sets
    where they are not.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Epochs allowed.
    time_limit : float, optional
        Seconds to be done in.
    random_state : int
        Where the orders of the rows come from.
    """

    iterates: ClassVar[bool] = True

    tol: float = 1e-3
    max_iter: int | None = None
    time_limit: float | None = None
    random_state: Any = 0

    def solve(
        self,
        gram: Gram,
        problem: MarginProblem,
        progress: Progress | None = None,
        start: Array | None = None,
        stop: NDArray[np.uint8] | None = None,
        is_main: bool = True,
    ) -> Solution:
        """Return the coefficients of shape (n, 1), offset and gap of shape (1,), and the weights.

        The parameters are those of `SMO.solve`; K must have features, F F' = K.
        """
        began = perf_counter()
        F = gram.features()
        if F is None:
            raise ValueError(
                f"the primal solver needs the features of the rows, a LowRankGram, got {gram!r}; "
                "use the solver 'smo'"
            )
        # Threads of the BLAS would be no help with a row at a time.
        with one_blas_thread():
            centred, mean = _centred(F.astype(np.float64, copy=False), problem)
            run = _Run(
                centred,
                problem,
                np.zeros(1, np.uint8) if stop is None else stop,
                progress,
                np.inf if self.time_limit is None else began + self.time_limit,
                np.random.default_rng(self.random_state),
                start,
            )
            try:
                self._run(run, gram.memory)
            except KeyboardInterrupt:
                # Ctrl-C means the other problems as well.
                run.stop[0], run.reason = 1, INTERRUPTED
        limit = f"max_iter was reached; raise max_iter (now {self.max_iter})"
        name, advice = "primal", f"after {run.epoch} epochs {run.reason or limit}"
        if self.max_iter is None and not run.reason and run.gap.relative > self.tol:
            name = "smo"
            advice = run.hand_over(self._working_sets(began), gram.entries(), is_main)
        gap = problem.proved(run.a, np.asarray(run.F @ run.w, np.float64), gram.diagonal())
        return Solution(
            run.a[:, None],
            np.array([gap.offset - mean @ run.w]),
            np.array([gap.relative]),
            np.array([np.sqrt(2.0 * gap.gap)]),
            self.tol,
            run.epoch,
            perf_counter() - began,
            name,
            advice,
            run.w[:, None],
            bool(run.stop[0]),
        )

    def _run(self, run: _Run, memory: int) -> None:
        """Descend, and where that creeps and features are few go on by an interior point."""
        goal, (n, p) = MARGIN * self.tol, run.F.shape
        # It holds the squares of the features, shares of them, and a factor.
        is_narrow = p <= min(n, MOST_FEATURES) and 32 * p * p <= memory
        run.descend(goal, self.max_iter or _epochs(run.F, is_narrow))
        if self.max_iter is None and is_narrow:
            run.jump(goal)

    def _working_sets(self, began: float) -> SMO:
        """Return the solver that takes over, with what is left of the time."""
        spent = perf_counter() - began
        left = None if self.time_limit is None else max(self.time_limit - spent, 1e-3)
        return SMO(self.tol, time_limit=left)


def _centred(F: Matrix, problem: MarginProblem) -> tuple[Matrix, Array]:
    """Return dense features without their mean, which an offset makes up for, and the mean.

    They hang together less than features that are far from zero.
    """
    if sp.issparse(F) or not problem.fit_intercept:
        return F, np.zeros(F.shape[1])
    mean = F.mean(axis=0)
    return F - mean, mean


def _epochs(F: Matrix, is_narrow: bool) -> int:
    """Return how many epochs take no longer than what would take over."""
    n, p = F.shape
    # Working sets compute K, an interior point the squares of the features.
    work = READ * n * n
    if is_narrow:
        work = min(work, STEPS * n * (p + MORE) ** 2 // MULTIPLIED)
    return min(EPOCHS, ceil(work / max(F.size, 1)))


class _Run:
    """The iterate, which need not have the sum zero, and the best feasible coefficients so far."""

    def __init__(
        self,
        F: Matrix,
        problem: MarginProblem,
        stop: NDArray[np.uint8],
        progress: Progress | None,
        deadline: float,
        rng: np.random.Generator,
        start: Array | None,
    ) -> None:
        self.F, self.problem, self.rng = F, problem, rng
        self.stop, self.progress, self.deadline = stop, progress, deadline
        self.reason, self.epoch = "", 0
        n = F.shape[0]
        squares = (F * F).sum(axis=1) if sp.issparse(F) else np.einsum("ij,ij->i", F, F)
        rho = PRICE * float(squares.mean()) if problem.fit_intercept else 0.0
        self.a, self.w, self.gap = np.zeros(n), np.zeros(F.shape[1]), Gap(0.0, np.inf, np.inf)
        self._keep(self.a if start is None else problem.feasible(start))
        a, b = self.a.copy(), self.gap.offset
        self.descent = Descent(F, problem.box, squares, rho, a, b)
        self.active: Rows = np.arange(n)

    def descend(self, goal: float, most: int) -> None:
        """Go on until the gap is small or there were so many epochs."""
        look = 1
        while self.gap.relative > goal and self.epoch < most and not self.reason:
            self._sweep()
            if self.epoch < min(look, most) and not self._is_out():
                continue
            look = ceil(GROWTH * self.epoch) + 1
            self._look()
            self._is_over(self.gap.relative)

    def jump(self, goal: float) -> None:
        """Go on by an interior point if the gap is not small; its steps count as epochs."""
        if self.gap.relative <= goal or self.reason:
            return

        def watch(a: Array) -> bool:
            self.epoch += 1
            self._keep(a)
            return self._is_over(self.gap.relative)

        self._keep(interior_point(self.F, self.problem, goal, watch))

    def hand_over(self, solver: SMO, gram: Gram, is_main: bool) -> str:
        """Go on by working sets, whose rounds count as epochs; return what they advise."""
        epochs, progress = self.epoch, self.progress
        watcher: Progress | None = (
            None if progress is None else lambda rounds, gap: progress(epochs + rounds, gap)
        )
        found = solver.solve(gram, self.problem, watcher, self.a, self.stop, is_main)
        self.epoch += found.iterations
        self._keep(self.problem.feasible(found.coefficients[:, 0]))
        return found.advice

    def _is_out(self) -> bool:
        return perf_counter() > self.deadline or bool(self.stop[0])

    def _is_over(self, gap: float) -> bool:
        """Whether somebody or the clock ends the iteration, which is noted."""
        if self.progress is not None and self.progress(self.epoch, gap):
            self.reason = CALLED_OFF
        elif self.stop[0]:
            self.reason = INTERRUPTED
        elif self._is_out():
            self.reason = "the time limit was up; raise time_limit"
        return bool(self.reason)

    def _sweep(self) -> None:
        """Move the active coefficients, in another order each time, and their multiplier."""
        self.descent.sweep(self.rng.permutation(self.active))
        self.descent.update_multiplier()
        self.epoch += 1

    def _keep(self, a: Array) -> None:
        """Keep feasible coefficients if they are the best, with their weights and gap."""
        w = np.asarray(self.F.T @ a, np.float64)
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
