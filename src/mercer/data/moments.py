"""Means and spreads of columns: of a matrix, dense or sparse, and of blocks of rows joined."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import blocks_of
from mercer.data.stream.stream import Stream

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Moments:
    """The weight, mean and standard deviation of what is known of each column.

    Parameters
    ----------
    weight, mean, spread : arrays of shape (d,)
        The sum of the weights of known entries, their mean and their standard deviation over n.
    low, high : arrays of shape (d,)
        The least and the largest known entry.
    has_gaps : array of bool of shape (d,)
        Whether an entry is missing.
    """

    weight: Array
    mean: Array
    spread: Array
    low: Array
    high: Array
    has_gaps: Array

    @classmethod
    def of(cls, matrix: Array, weights: Array | None = None) -> Moments:
        """Return the moments of a block of weighted rows, with NaN where an entry is missing."""
        is_gap = np.isnan(matrix)
        found = cls._of_known(np.where(is_gap, 0.0, matrix), weights)
        for j in np.flatnonzero(is_gap.any(axis=0)):
            known = ~is_gap[:, j]
            own = cls._of_known(matrix[known][:, [j]], None if weights is None else weights[known])
            for whole, part in zip(found._arrays(), own._arrays(), strict=True):
                whole[j] = part[0]
            found.has_gaps[j] = True
        return found

    @classmethod
    def _of_known(cls, matrix: Array, weights: Array | None) -> Moments:
        n, width = matrix.shape
        gaps = np.zeros(width, bool)
        if n == 0 or (weights is not None and not weights.any()):
            nothing, most = np.zeros((3, width)), np.full(width, np.inf)
            return cls(nothing[0], nothing[1], nothing[2], most, -most, gaps)
        low, high = matrix.min(axis=0), matrix.max(axis=0)
        # In units of the largest entry, so that no square leaves the range of numbers.
        unit = np.maximum(np.abs(low), np.abs(high))
        unit[unit == 0.0] = 1.0
        scaled = matrix / unit
        mean = np.average(scaled, axis=0, weights=weights)
        spread = np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=weights))
        weight = np.full(width, float(n) if weights is None else float(weights.sum()))
        return cls(weight, mean * unit, spread * unit, low, high, gaps)

    def joined(self, other: Moments) -> Moments:
        """Return the moments of the rows of both.

        References
        ----------
        T. Chan, G. Golub and R. LeVeque (1983), Algorithms for computing the sample variance.
        """
        weight = self.weight + other.weight
        total = np.where(weight > 0.0, weight, 1.0)
        ours, theirs = self.weight / total, other.weight / total
        apart = other.mean - self.mean
        # Roots and not squares, which might leave the range of numbers.
        within = np.hypot(np.sqrt(ours) * self.spread, np.sqrt(theirs) * other.spread)
        between = np.sqrt(ours * theirs) * apart
        return Moments(
            weight,
            self.mean + theirs * apart,
            np.hypot(within, between),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.has_gaps | other.has_gaps,
        )

    def scales(self) -> tuple[Array, Array]:
        """Return the mean and the standard deviation of each column, 1 where all are equal."""
        small = np.flatnonzero((self.spread > 0.0) & (self.spread < np.finfo(np.float64).tiny))
        if len(small):
            raise ValueError(
                f"column {small[0]} has the standard deviation {self.spread[small[0]]:.3g}, too "
                "small for float64 to divide by; scale the column"
            )
        is_empty, is_one = self.weight == 0.0, self.low == self.high
        scale = np.where(is_one | (self.spread == 0.0), 1.0, self.spread)
        return np.where(is_empty, 0.0, np.where(is_one, self.low, self.mean)), scale

    def _arrays(self) -> tuple[Array, ...]:
        return self.weight, self.mean, self.spread, self.low, self.high


def moments_of(X: Any, weights: Array | None = None) -> Moments:
    """Return the moments of weighted rows: of a matrix, or of a stream of them in one pass.

    Parameters
    ----------
    X : array of shape (n, d), or stream of them
        The rows, with NaN where an entry is missing.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    if not isinstance(X, Stream):
        return Moments.of(X, weights)
    blocks = blocks_of(X, X.shape[1])
    parts = (Moments.of(some, None if weights is None else weights[at]) for at, some in blocks)
    return reduce(Moments.joined, parts)


def sparse_moments(matrix: Any, weights: Array | None) -> tuple[Array, Array]:
    """Return the mean and the scale of each column of a sparse matrix, without its zeros."""
    n, width = matrix.shape
    w = np.ones(n) if weights is None else weights
    if n == 0 or not w.any():
        return np.zeros(width), np.ones(width)
    matrix = sp.csr_array(matrix, dtype=np.float64)
    low, high = (np.asarray(m.todense()).ravel() for m in (matrix.min(axis=0), matrix.max(axis=0)))
    unit = np.maximum(np.abs(low), np.abs(high))
    unit[unit == 0.0] = 1.0
    scaled = sp.csr_array(matrix @ sp.diags_array(1.0 / unit))
    share = w / w.sum()
    mean = share @ scaled
    apart, known = scaled.copy(), scaled.copy()
    apart.data = (apart.data - mean[apart.indices]) ** 2
    known.data = np.ones_like(known.data)
    # The zeros lie as far from the mean as that is large.
    variance = share @ apart + np.maximum(1.0 - share @ known, 0.0) * mean**2
    scale = np.sqrt(variance) * unit
    return mean * unit, np.where((low == high) | (scale == 0.0), 1.0, scale)
