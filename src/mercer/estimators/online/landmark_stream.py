"""Kernel ridge and logistic regression on a stream of blocks, by landmarks chosen once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import n_rows, stack_rows
from mercer.data.limits.memory import memory_limit
from mercer.features import LandmarkMap, landmark_map
from mercer.functions import DualFunction
from mercer.gram.pivots import POOL, checked_landmark_count, chosen_landmarks
from mercer.kernels import Kernel
from mercer.planning import Settings
from mercer.planning.landmarks import LEARNT, stream_bytes
from mercer.planning.plan import check_room
from mercer.solvers import Approximation

Array = NDArray[np.float64]

# See `LandmarkStream.learn`.
After = Callable[[Any, Any, NDArray[Any], Array], Any]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a stream with what is to be learnt of them: targets or numbers of classes."""

    rows: Any
    targets: NDArray[Any]
    weights: Array

    def with_more(self, more: Block) -> Block:
        """Return these rows and others after them."""
        return Block(
            stack_rows(self.rows, more.rows),
            np.concatenate([self.targets, more.targets]),
            np.concatenate([self.weights, more.weights]),
        )


@dataclass(eq=False)
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
    landmarks : LandmarkMap, optional
        The landmarks, once there are some.
    learnt : object, optional
        What is learnt in their features.
    n_seen : int
        How many rows there were.
    totals : float or array of shape (n_classes,)
        What the rows of every class weigh, of a stream of classes.
    kept : Block, optional
        The rows so far, until the landmarks stay.
    chosen_from : int
        How many rows there were when landmarks were last chosen.
    trace, trace_kept : float
        Sums of k(x, x), and of what the landmarks keep of it.
    """

    kernel: Kernel
    settings: Settings
    columns: int
    landmarks: LandmarkMap | None = None
    learnt: Any = None
    n_seen: int = 0
    totals: Any = 0.0
    kept: Block | None = None
    chosen_from: int = 0
    trace: float = 0.0
    trace_kept: float = 0.0

    @classmethod
    def begun(cls, kernel: Kernel, settings: Settings, columns: int) -> LandmarkStream:
        """Return a stream before its first row, if there is memory for it."""
        stream = cls(kernel, settings, columns)
        needed = stream_bytes(stream._wanted, columns)
        name = "sgd" if settings.solver == "sgd" else "partial_fit"
        check_room(name, needed, memory_limit(settings.memory), name)
        if not isinstance(settings.landmarks, str):
            stream.landmarks = landmark_map(kernel, settings.landmarks)[0]
        return stream

    @property
    def _wanted(self) -> int:
        """How many landmarks there shall be."""
        if not isinstance(self.settings.landmarks, str):
            return n_rows(self.settings.landmarks)
        given = self.settings.n_landmarks
        return LEARNT if given is None else checked_landmark_count(given)

    def learn(self, block: Block, after: After) -> None:
        """Learn from one more block.

        Parameters
        ----------
        block : Block
            The rows.
        after : callable
            What returns, from what was learnt before, if anything, and the features, targets and
            weights of some rows, what is learnt after them.
        """
        self.n_seen += n_rows(block.rows)
        if self.landmarks is None or self.kept is not None:
            self.kept = block if self.kept is None else self.kept.with_more(block)
            n, enough = n_rows(self.kept.rows), POOL * self._wanted
            if n >= min(2 * self.chosen_from, enough):
                self._choose(n)
                block = self.kept
            if n >= enough:
                self.kept = None
        assert self.landmarks is not None
        self.trace += float(np.sum(self.kernel.diagonal(block.rows), dtype=np.float64))
        for rows, F in self.landmarks.blocks(block.rows):
            self.trace_kept += float(np.einsum("ij,ij->", F, F))
            self.learnt = after(self.learnt, F, block.targets[rows], block.weights[rows])

    def _choose(self, n: int) -> None:
        """Choose landmarks among the rows that are kept, and forget what was learnt."""
        assert self.kept is not None
        m, settings = min(self._wanted, n), self.settings
        rows = chosen_landmarks(
            self.kernel, self.kept.rows, m, settings.landmarks, settings.seed or 0
        )
        self.landmarks = landmark_map(self.kernel, rows)[0]
        self.learnt, self.chosen_from = None, n
        self.trace = self.trace_kept = 0.0

    def function(self, theta: Array, b: Array) -> DualFunction:
        """Return the function of weights of the features."""
        assert self.landmarks is not None
        return DualFunction(self.kernel, self.landmarks.rows, self.landmarks.coefficients(theta), b)

    @property
    def approximation(self) -> Approximation:
        """What the landmarks leave of the trace of K, of all rows that were learnt by them."""
        assert self.landmarks is not None
        left = 1.0 - self.trace_kept / self.trace if self.trace > 0.0 else 0.0
        return Approximation(max(left, 0.0), self.landmarks.n_features, self.n_seen)
