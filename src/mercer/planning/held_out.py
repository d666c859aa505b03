"""What held-out errors cost by each way to them, in multiplications of a matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.planning.costs import COSTS
from mercer.planning.rates import Work


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


def chain_held_out(shape: tuple[int, int], splits: Folds | None, alphas: int) -> float:
    """Return the work on a chain for targets of shape (n, targets)."""
    n, targets = shape
    if splits is None or splits.are_single:
        return COSTS.chain_start + targets * alphas * COSTS.knot_at_once * n
    return len(splits.sizes) * (
        COSTS.chain_start + targets * alphas * (COSTS.knot * n + COSTS.chain_start / 10)
    )
