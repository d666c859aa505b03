"""What held-out errors cost by each way to them, in multiplications of a matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.memory import steady_limit
from mercer.gram.landmarks import block_entries, two_blocks
from mercer.planning.costs import COSTS
from mercer.planning.landmarks import BLOCKS, ByLandmarks, landmark_bytes
from mercer.planning.plan import Settings
from mercer.planning.rates import Work
from mercer.solvers.lowrank.path import error_width


class Folds(Protocol):
    """How rows are held out: the folds' sizes, and what is known of them together."""

    @property
    def sizes(self) -> NDArray[Any]: ...
    @property
    def pairs(self) -> Sequence[tuple[Any, Any]] | None: ...
    @property
    def are_complements(self) -> bool: ...
    @property
    def are_single(self) -> bool: ...


def share_of_search(fit: Work, time_limit: float) -> float:
    """Return the share of a time limit for a search: twice what the fit takes is left to that."""
    # The least and the most of a time limit that a search leaves to the fit after it.
    least_left, most_left = 0.5, 0.8
    return 1.0 - min(max(2.0 * fit.expected / time_limit, least_left), most_left)


def entries_held_out(n: int, splits: Folds | None, alphas: int) -> tuple[float, float]:
    """Return the work with all entries by one path, and by a path for each fold.

    One path serves by the identity e_S = B_SS^-1 a_S, if it does, and needs the reduction of all
    rows with Q, 8/3 n^3, and for every alpha the blocks B_SS; a path of its own needs no Q, 4/3 n^3
    of the training rows, as generalised cross-validation does.
    """
    if splits is None:
        return 4 / 3 * n**3, np.inf
    if splits.are_single:
        return 8 / 3 * n**3, np.inf
    sizes = splits.sizes.astype(np.float64)
    trained = np.array([len(train) for train, _ in splits.pairs or ()], np.float64)
    parts = float(4 / 3 * (trained**3).sum())
    if not splits.are_complements:
        return np.inf, parts
    return 8 / 3 * n**3 + alphas * float((n * sizes**2 + sizes**3 / 3).sum()), parts


def features_held_out(
    shape: tuple[int, int], splits: Folds | None, alphas: int
) -> tuple[float, float]:
    """Return the work with (n, p) features by one path, and by a path for each fold."""
    n, p = shape
    whole = COSTS.decomposition * n * p**2
    if splits is None or splits.are_single:
        return whole, np.inf
    sizes = splits.sizes.astype(np.float64)
    trained = sum(len(train) for train, _ in splits.pairs or ())
    parts = COSTS.decomposition * trained * p**2
    if not splits.are_complements:
        return np.inf, parts
    return whole + alphas * float((p * sizes**2 + sizes**3 / 3).sum()), parts


def landmarks_held_out(shape: tuple[int, int], splits: Folds | None, alphas: int) -> float:
    """Return the work with m landmarks on n rows, of shape (n, m)."""
    n, m = shape
    once = float(n) * m**2 + COSTS.eigen * m**3
    if splits is None:
        return once
    if splits.are_single:
        # Features once more, turned to the eigenvectors, and products for every alpha.
        return once + float(n) * m**2 + 2.0 * alphas * n * m
    tested = float(splits.sizes.sum())
    return once + tested * (m**2 + alphas * m) + len(splits.sizes) * COSTS.eigen * m**3


@dataclass(frozen=True)
class LandmarkErrors:
    """Held-out errors by landmarks on n rows, and what is made of them.

    Parameters
    ----------
    n, targets, alphas : int
        How many rows, targets and ridges there are.
    splits : Folds, optional
        How rows are held out; None is generalised cross-validation.
    is_judged : bool
        Whether a scorer takes all errors of a fold. Otherwise squares are summed up block by block.
    """

    n: int
    targets: int
    alphas: int
    splits: Folds | None
    is_judged: bool

    @property
    def _tested(self) -> int:
        """The rows of the largest fold, those of all where errors of all come at once."""
        if self.splits is None:
            return 0
        return self.n if self.splits.are_single else int(self.splits.sizes.max())

    def at_once(self, memory: int) -> int:
        """Return for how many ridges the errors of a fold are there at the same time: one at least.

        Each time more takes one more pass over the rows.
        """
        # The share of the memory that they take.
        share = 1 / 4
        if not self.is_judged:
            return self.alphas
        return max(1, min(self.alphas, int(share * memory / (8 * self._tested * self.targets))))

    def by_landmarks(self, settings: Settings) -> ByLandmarks:
        """Return what they take by any number of landmarks."""
        memory = steady_limit(settings.memory)
        return ByLandmarks(
            self.n, lambda m: Work(double=self.work(m)), lambda m: self.bytes(m, memory)
        )

    def work(self, m: int) -> float:
        """Return the work with m landmarks."""
        return landmarks_held_out((self.n, m), self.splits, self.alphas)

    def bytes(self, m: int, memory: int) -> int:
        """Return the memory that m landmarks take beside the rows."""
        is_by_folds = self.splits is not None and self.splits.pairs is not None
        # Weights of features for every alpha and what they are made of; and beside what a fit takes
        # the eigenvectors of all rows, those without a fold, and room for these.
        thetas, squares = 4, 5 if is_by_folds else 3
        numbers = thetas * m * self.alphas * self.targets + squares * m**2
        if self._tested:
            # What blocks of errors take that are larger than those of features.
            width = error_width(m, self.alphas, self.targets)
            blocks = min(two_blocks(self.n, m, memory), self._tested * width)
            numbers += max(0, blocks - BLOCKS * min(block_entries(memory), self.n * m))
        if self.splits is not None and self.splits.pairs is not None:
            # Numbers of rows, and what tells whether folds train on all that they do not test.
            numbers += sum(len(train) + len(test) for train, test in self.splits.pairs) + 3 * self.n
        if self.is_judged:
            # Columns of a fold: targets, predictions, differences, and what is made of them.
            columns = 8
            numbers += self._tested * self.targets * (columns + self.at_once(memory))
        elif self.splits is not None and self.splits.pairs is not None and self.splits.are_single:
            # Errors of all rows, of which each is a fold.
            numbers += 2 * self.n * self.alphas * (self.targets + 1)
        return landmark_bytes(self.n, m, self.targets, memory) + 8 * numbers


def chain_held_out(shape: tuple[int, int], splits: Folds | None, alphas: int) -> float:
    """Return the work on a chain for targets of shape (n, targets)."""
    n, targets = shape
    if splits is None or splits.are_single:
        return COSTS.chain_start + targets * alphas * COSTS.knot_at_once * n
    return len(splits.sizes) * (
        COSTS.chain_start + targets * alphas * (COSTS.knot * n + COSTS.chain_start / 10)
    )
