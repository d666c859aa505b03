"""Kernel ridge and logistic regression on a stream of blocks, by landmarks chosen once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import n_rows, stack_rows
from mercer.data.memory import memory_limit
from mercer.features import LandmarkMap, landmark_map
from mercer.functions import DualFunction
from mercer.gram.landmarks import POOL, chosen_landmarks
from mercer.kernels import Kernel
from mercer.planning import Settings
from mercer.planning.landmarks import stream_bytes
from mercer.planning.plan import check_room
from mercer.solvers import Approximation

Array = NDArray[np.float64]

# Landmarks of a stream, whose length is not known, unless a number is given.
LANDMARKS = 1000
# What is known of a fit to all rows at once, and not of a stream.
OF_A_FIT = ("certificate_", "solution_", "solver_", "_problem_", "_used_", "_landmark_cache")


# See `LandmarkStream.learn`.
After = Callable[[Any, Any, NDArray[Any], Array], Any]


@dataclass(frozen=True, eq=False)
class Seen:
    """Rows of a stream with what is to be learnt of them: targets or numbers of classes."""

    rows: Any
    targets: NDArray[Any]
    weights: Array

    def with_more(self, more: Seen) -> Seen:
        """Return these rows and others after them."""
        return Seen(
            stack_rows(self.rows, more.rows),
            np.concatenate([self.targets, more.targets]),
            np.concatenate([self.weights, more.weights]),
        )


class LandmarkStream:
    """The landmarks of a stream, and what is learnt in their features.

    Landmarks that are not given are chosen among the first rows, anew whenever these have doubled,
    and stay once there are ten rows for each. Until then the rows are kept and learnt anew, so that
    what is learnt is always that of all rows seen so far; after that none is kept.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    settings : Settings
        How many landmarks and how they are chosen, the seed, and the memory.
    columns : int
        Targets, or columns of scores.
    """

    def __init__(self, kernel: Kernel, settings: Settings, columns: int) -> None:
        self.kernel, self.settings, self.columns = kernel, settings, columns
        self.landmarks: LandmarkMap | None = None
        self.learnt: Any = None
        self.n_seen = 0
        # What the rows of every class weigh, of a stream of classes.
        self.totals: Any = 0.0
        self._kept: Seen | None = None
        self._chosen_from = 0
        # Sums of k(x, x) and of what the landmarks keep of it.
        self._trace = self._trace_kept = 0.0
        is_rule = isinstance(settings.landmarks, str)
        given = None if is_rule else n_rows(settings.landmarks)
        self._wanted = given or settings.n_landmarks or LANDMARKS
        needed = stream_bytes(self._wanted, columns)
        check_room("partial_fit", needed, memory_limit(settings.memory), "partial_fit")
        if not is_rule:
            self.landmarks = landmark_map(kernel, settings.landmarks)[0]

    def learn(self, block: Seen, after: After) -> None:
        """Learn from one more block.

        Parameters
        ----------
        block : Seen
            The rows.
        after : callable
            What returns, from what was learnt before, if anything, and the features, targets and
            weights of some rows, what is learnt after them.
        """
        self.n_seen += n_rows(block.rows)
        if self.landmarks is None or self._kept is not None:
            self._kept = block if self._kept is None else self._kept.with_more(block)
            n, enough = n_rows(self._kept.rows), POOL * self._wanted
            if n >= min(2 * self._chosen_from, enough):
                self._choose(n)
                block = self._kept
            if n >= enough:
                self._kept = None
        assert self.landmarks is not None
        self._trace += float(np.sum(self.kernel.diagonal(block.rows), dtype=np.float64))
        for rows, F in self.landmarks.blocks(block.rows):
            self._trace_kept += float(np.einsum("ij,ij->", F, F))
            self.learnt = after(self.learnt, F, block.targets[rows], block.weights[rows])

    def _choose(self, n: int) -> None:
        """Choose landmarks among the rows that are kept, and forget what was learnt."""
        assert self._kept is not None
        m, settings = min(self._wanted, n), self.settings
        rows = chosen_landmarks(
            self.kernel, self._kept.rows, m, settings.landmarks, settings.seed or 0
        )
        self.landmarks = landmark_map(self.kernel, rows)[0]
        self.learnt, self._chosen_from = None, n
        self._trace = self._trace_kept = 0.0

    def function(self, theta: Array, b: Array) -> DualFunction:
        """Return the function of weights of the features."""
        assert self.landmarks is not None
        return DualFunction(self.kernel, self.landmarks.rows, self.landmarks.coefficients(theta), b)

    @property
    def approximation(self) -> Approximation:
        """What the landmarks leave of the trace of K, of all rows that were learnt by them."""
        assert self.landmarks is not None
        left = 1.0 - self._trace_kept / self._trace if self._trace > 0.0 else 0.0
        return Approximation(max(left, 0.0), self.landmarks.n_features, self.n_seen)
