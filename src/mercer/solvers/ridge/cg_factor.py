"""A matrix that is solved with by iteration, for the bordered system."""

from __future__ import annotations

from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError
from mercer.gram import Gram
from mercer.gram.pivots import Pivots
from mercer.solvers.checkpoint import State
from mercer.solvers.lowrank.preconditioner import LowRankInverse
from mercer.solvers.ridge.block_cg import BlockCG
from mercer.solvers.ridge.bordered import Bordered, best_offset
from mercer.solvers.run import Run

Array = NDArray[np.float64]


def first_rank(n: int) -> int:
    """Return the rank that the preconditioner of `n` rows starts with."""
    return int(IteratedFactor.first_rank_each * n**0.5) + 1


class IteratedFactor:
    """A = K + alpha I, solved with by preconditioned block conjugate gradients.

    The preconditioner is the inverse of F'F + alpha I, where F'F is the randomly pivoted Cholesky
    copy of K; its rank grows when the rate of convergence says that this is cheaper than to go on.
    Solutions for one alpha are where those for the next one start from: the energy is minimised
    over all of them before the first step.

    Parameters
    ----------
    gram : Gram
        K.
    pivots : Pivots
        The copy of K.
    rank : int, optional
        A rank to keep to.
    max_iter : int
        Steps allowed for every alpha.
    run : Run
        When to end, and who is told of the relative residual after every step.

    Attributes
    ----------
    goal : float
        The relative residual at which `solve` is done.
    iterations : int
        Steps of all solves.
    ran_out : bool
        Whether some alpha took all steps it was allowed.
    work, remaining : float
        Multiplications so far, and those that the last rate leaves to be done.

    References
    ----------
    M. Diaz, E. Epperly, Z. Frangella, J. Tropp, R. Webber (2023), Robust, randomized
    preconditioning for kernel ridge regression.
    """

    # Steps between two looks at the rate of convergence.
    look: ClassVar[int] = 10
    # What an entry of K takes, computed or read in a product, and computed in a single row, which
    # has no symmetry to use; and what an entry of F takes, read twice in a step: as multiplications
    # of a large matrix product, of which a core or two make a hundred in a nanosecond. Counted and
    # not measured, so that equal seeds make equal decisions.
    entry: ClassVar[float] = 50.0
    row_entry: ClassVar[float] = 200.0
    factor_entry: ClassVar[float] = 100.0
    # The first rank is this times sqrt(n): about as dear as three products with K.
    first_rank_each: ClassVar[float] = 8.0
    # A preconditioner whose trace error is this share of alpha leaves a condition number of 1.1.
    enough: ClassVar[float] = 0.1
    # Vectors of earlier solutions more dependent than this are no new directions to start from.
    dependent: ClassVar[float] = 1e-10

    def __init__(
        self,
        gram: Gram,
        pivots: Pivots,
        rank: int | None,
        max_iter: int,
        run: Run,
    ) -> None:
        self._gram = gram
        self._pivots = pivots
        self._rank = rank
        self._max_iter = max_iter
        self._run = run
        self._inverse = LowRankInverse(pivots.F)
        self._basis = self._products = self._residual = np.empty((len(gram), 0))
        self._steps = 0
        self._is_prepared = False
        # The ranks that the preconditioner grew to in every solve, and what is kept of these.
        self._solves: list[list[int]] = []
        self._kept: State = {}
        self.alpha = 0.0
        self.goal = 1e-6
        self.iterations = 0
        self.ran_out = False
        self.work = 0.0
        self.remaining = 0.0

    @property
    def rank(self) -> int:
        """The rank of the preconditioner."""
        return len(self._inverse.F)

    @property
    def is_over(self) -> bool:
        """Whether no further step is allowed at this alpha."""
        return bool(self._run.ended_by) or self._steps >= self._max_iter

    def shift(self, alpha: float) -> None:
        """Take another alpha; from large to small ones the solutions are close to each other."""
        self.alpha = alpha
        self._steps = 0
        self._is_prepared = False

    def product(self, V: Array) -> Array:
        """Return A V, of shape (n, p)."""
        return np.asarray(self._gram @ V + self.alpha * V)

    def solve(self, V: Array) -> Array:
        """Return A^-1 V as far as the goal asks for, of shape (n, p)."""
        X, R = self._start(V)
        state = BlockCG(self.product, V, X, R)
        solve = len(self._solves)
        self._solves.append([])
        with self._run.guarded(lambda: self.iterations > 0):
            self._prepare()
            self._restore(solve, state)
            while not (self.is_over or state.error <= self.goal or state.is_exhausted):
                self._iterate(state)
                self._keep(solve, state)
        if self.iterations == 0 and self._run.ended_by and state.error > self.goal:
            # Nothing was learned, and zero would solve no system with an offset.
            raise TimeIsUpError
        self.ran_out |= state.error > self.goal and self._steps >= self._max_iter
        self._remember(V, state)
        return state.X

    def recurred(self, system: Bordered) -> Array:
        """Return the residual of the last system that was solved, as the iteration knows it."""
        targets = system.y.shape[1]
        offset = system.b - best_offset(system.N, system.y)
        return self._residual[:, :targets] - self._residual[:, targets:] @ offset

    def _keep(self, solve: int, state: BlockCG) -> None:
        """Let the run keep the states of all solves, the last as far as it has come.

        The ranks that the preconditioner grew to are kept, and not itself: the same seed gives it.
        """
        counts = np.array([self.iterations, self._steps, self.work, self.remaining])
        now = state.state() | {"counts": counts, "ranks": np.array(self._solves[solve], np.intp)}
        self._kept |= {f"{solve}.{name}": array for name, array in now.items()}
        self._run.keep(self._kept)

    def _restore(self, solve: int, state: BlockCG) -> None:
        """Go on from where an earlier run was killed in a solve, or after it."""
        kept = self._run.restored() or {}
        begins = f"{solve}."
        found = {n.removeprefix(begins): a for n, a in kept.items() if n.startswith(begins)}
        if not found:
            return
        self._kept |= {f"{begins}{name}": array for name, array in found.items()}
        for rank in found.pop("ranks"):
            self._grow(int(rank))
            self._solves[solve].append(int(rank))
        iterations, steps, self.work, self.remaining = map(float, found.pop("counts"))
        self.iterations, self._steps = int(iterations), int(steps)
        state.restore(found)

    def _prepare(self) -> None:
        """Build the preconditioner for this alpha."""
        if self._is_prepared or self.is_over:
            return
        first = min(first_rank(len(self._gram)), self._most())
        self._grow(first if self._rank is None else self._rank)
        self._is_prepared = True

    def _start(self, V: Array) -> tuple[Array, Array]:
        """Return the best combination of earlier solutions, and its residual."""
        B = self._basis
        AB = self._products + self.alpha * B
        c = np.linalg.lstsq(B.T @ AB, B.T @ V, rcond=self.dependent)[0]
        return B @ c, V - AB @ c

    def _remember(self, V: Array, state: BlockCG) -> None:
        X, self._residual = state.X, state.R
        size = np.linalg.norm(X, axis=0)
        known = size > 0.0
        KX = V - state.R - self.alpha * X
        self._basis = np.hstack([self._basis, X[:, known] / size[known]])
        self._products = np.hstack([self._products, KX[:, known] / size[known]])

    def _iterate(self, state: BlockCG) -> None:
        began = perf_counter()
        state.step(self._inverse.solve)
        self.iterations += 1
        self._steps += 1
        self.work += self._step_work(self.rank)
        # The residual at the end takes about as long as a step.
        needed = 2.0 * (perf_counter() - began)
        is_over = self._run.report(self.iterations, state.error) or not self._run.has(needed)
        if not is_over and len(state.errors) > self.look:
            self._look(state)

    def _look(self, state: BlockCG) -> None:
        """Predict the steps to come, and grow where that saves more than it costs."""
        fall = np.log(state.errors[-1 - self.look] / state.error) / self.look
        steps = float(self._max_iter - self._steps)
        if fall > 0.0:
            steps = min(steps, np.log(max(state.error / self.goal, 1.0)) / fall)
        self.remaining = steps * self._step_work(self.rank)
        wider = min(2 * self.rank, self._most())
        if self._rank is not None or wider <= self.rank or (len(state.errors) - 1) % self.look:
            return
        # Steps go with the root of the condition number, and that with the error of the copy,
        # which by another doubling falls by what it fell by at the last one.
        k, trace = np.array(self._pivots.history).T
        fewer = steps * np.sqrt(trace[-1] / np.interp(self.rank / 2, k, trace))
        growth = self._growth_work(self.rank, wider)
        if fewer * self._step_work(wider) + growth < self.remaining:
            self._solves[-1].append(wider)
            if self._grow(wider):
                state.restart()

    def _grow(self, rank: int) -> bool:
        """Extend the preconditioner to a rank, or as far as it helps at this alpha."""
        before = self.rank
        # The squares of its rows take about as long as they did, and then there are steps to make.
        until = perf_counter() + self._run.seconds_left / 3.0
        self._pivots.grow(rank, self.enough * self.alpha, until)
        has_grown = len(self._pivots.F) > before
        if has_grown:
            self._inverse = LowRankInverse(self._pivots.F, self._inverse)
            self.work += self._growth_work(before, self.rank)
        self._inverse.shift(self.alpha)
        return has_grown

    def _most(self) -> int:
        """Return the largest rank worth having, and that the memory allows."""
        n = len(self._gram)
        # While it grows there are old and new rows of F side by side.
        room = (self._gram.memory - self._gram.held_bytes) // (16 * n)
        return max(min(n, max(n // 4, 100), room), 0)

    def _step_work(self, rank: int) -> float:
        n = len(self._gram)
        return self.entry * n * n + self.factor_entry * n * rank

    def _growth_work(self, before: int, after: int) -> float:
        entries = self.row_entry * (after - before)
        return len(self._gram) * (entries + 2.0 * (after**2 - before**2)) + after**3 / 3.0
