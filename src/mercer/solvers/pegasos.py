"""The stochastic solver of margin problems: kernelised Pegasos in small batches, averaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram, partial_product, with_dense_rows
from mercer.solvers.margin import Gap, MarginProblem
from mercer.solvers.solution import Solution

Array = NDArray[np.float64]
Progress = Callable[[int, float], bool | None]

EPOCHS = 64


@dataclass(frozen=True)
class Pegasos:
    """Minimise 1/2 ||f||^2 + sum_i loss_i by subgradients of small batches, step 1 / t.

    After t batches of m rows the coefficients are a = (1 / t) sum over them of (n / m) s, where
    s_i = -loss_i'(f(x_i) + b - z_i) lies between the bounds. Every epoch goes through all rows in
    another random order, so that its iterates average to a feasible point of the dual, which
    proves the gap. The answer is their average over the later half of the steps; the offset is the
    best one for the values seen last.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Epochs allowed, 64 by default.
    time_limit : float, optional
        Seconds to be done in.
    batch : int
        m.
    random_state : None or int
        Where the orders come from.
    """

    iterates: ClassVar[bool] = True

    tol: float = 1e-3
    max_iter: int | None = None
    time_limit: float | None = None
    batch: int = 32
    random_state: Any = None

    def solve(
        self,
        gram: Gram,
        problem: MarginProblem,
        progress: Progress | None = None,
        start: Array | None = None,
        stop: NDArray[np.uint8] | None = None,
        is_main: bool = True,
    ) -> Solution:
        """Return the coefficients of shape (n, 1), offset and gap of shape (1,).

        The parameters are those of `SMO.solve`; `start` counts as the first epoch.
        """
        began = perf_counter()
        gram = with_dense_rows(gram)
        n = len(gram)
        deadline = np.inf if self.time_limit is None else began + self.time_limit
        epochs = EPOCHS if self.max_iter is None else self.max_iter
        state = _State(gram, problem, self.batch, np.random.default_rng(self.random_state))
        if start is not None and start.any():
            state.begin(problem.feasible(start))
        best = state.gap(np.zeros(n))
        answer, reason, epoch = np.zeros(n), "", 0
        try:
            while epoch < epochs and not reason:
                state.epoch(deadline, stop)
                epoch += 1
                # A look costs as much as an epoch, so that there are few: at powers of two.
                is_out = perf_counter() > deadline or (stop is not None and bool(stop[0]))
                if epoch & (epoch - 1) and epoch < epochs and not is_out:
                    continue
                a = problem.feasible(state.take_mean())
                gap = state.gap(a)
                if gap.relative <= best.relative:
                    best, answer = gap, a
                if best.relative <= self.tol:
                    break
                if progress is not None and progress(epoch, best.relative):
                    reason = "a callback ended the iteration"
                elif is_out:
                    reason = "the time limit was up or Ctrl-C came; raise time_limit"
        except KeyboardInterrupt:
            if epoch == 0:
                raise
            reason = "Ctrl-C ended the iteration; fit again without it"
        said = f"after {epoch} epochs {reason or 'the gap is still open'}; use solver='smo', "
        return Solution(
            answer[:, None],
            np.array([best.offset]),
            np.array([best.relative]),
            np.array([np.sqrt(2.0 * best.gap)]),
            self.tol,
            epoch,
            perf_counter() - began,
            "sgd",
            said + f"raise max_iter (now {epochs}) or raise tol",
        )


class _State:
    """The iterate a, its average, and the values of f that were seen last."""

    def __init__(
        self, gram: Gram, problem: MarginProblem, batch: int, rng: np.random.Generator
    ) -> None:
        n = len(gram)
        self.gram, self.problem, self.rng = gram, problem, rng
        self.batch = min(batch, n)
        self.t = 0
        self.a = np.zeros(n)
        self.f = np.zeros(n)
        self._total, self._steps = np.zeros(n), 0

    def begin(self, a: Array) -> None:
        self.a = a
        self.t = -(-len(a) // self.batch)
        self.f = np.asarray(self.gram @ a)

    def gap(self, a: Array) -> Gap:
        return self.problem.gap(a, np.asarray(self.gram @ a, np.float64))

    def take_mean(self) -> Array:
        """Return the average of the iterates since it was last taken."""
        mean = self._total / self._steps
        self._total, self._steps = np.zeros(len(mean)), 0
        return np.asarray(mean)

    def epoch(self, deadline: float, stop: NDArray[np.uint8] | None) -> None:
        """Go through all rows once, in another order every time."""
        p, n = self.problem, len(self.a)
        order = self.rng.permutation(n)
        offset = p.offset(self.f)
        for first in range(0, n, self.batch):
            rows = order[first : first + self.batch]
            used = np.flatnonzero(self.a)
            self.f[rows] = partial_product(self.gram, rows, used, self.a[used])
            r = self.f[rows] + offset - p.z[rows]
            s = np.where(r < -p.epsilon, p.upper[rows], np.where(r > p.epsilon, p.lower[rows], 0.0))
            self.t += 1
            self.a *= 1.0 - 1.0 / self.t
            self.a[rows] += n / (len(rows) * self.t) * s
            self._total += self.a
            self._steps += 1
            if first // self.batch % 16 == 15:
                offset = p.offset(self.f)
                if perf_counter() > deadline or (stop is not None and stop[0]):
                    break
