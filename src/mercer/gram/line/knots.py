"""Rows on a line: their distinct positions in order, and which rows share them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Knots:
    """The distinct positions of rows on a line.

    Parameters
    ----------
    positions : array of shape (m,)
        Ascending.
    gaps : array of shape (m - 1,)
        The distances between neighbours.
    order : array of shape (n,), optional
        The row numbers by ascending position; None if that is how the rows came.
    starts : array of shape (m + 1,), optional
        Where in this order the rows of every knot begin, and n; None if no rows share a knot.
    """

    positions: Array
    gaps: Array
    order: NDArray[np.intp] | None = None
    starts: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, x: Array) -> Knots:
        """Return the knots of rows at the positions `x`."""
        gaps, order = _gaps(x), None
        if gaps.min(initial=np.inf) < 0.0:
            order = np.argsort(x)
            x = x[order]
            gaps = _gaps(x)
        if gaps.min(initial=np.inf) > 0.0:
            return cls(x, gaps, order)
        starts = np.concatenate([[0], np.flatnonzero(gaps) + 1, [len(x)]]).astype(np.int64)
        return cls(x[starts[:-1]], gaps[gaps > 0.0], order, starts)

    def __len__(self) -> int:
        return len(self.positions)

    def ascending(self, V: Array) -> Array:
        """Return what belongs to the rows, (n, ...), in the order of their positions."""
        return V if self.order is None else V[self.order]

    def as_given(self, V: Array) -> Array:
        """Return what belongs to the rows in the order in which they came."""
        if self.order is None:
            return V
        out = np.empty_like(V)
        out[self.order] = V
        return out

    def sums(self, V: Array) -> Array:
        """Return the sums over the rows of every knot, of rows in ascending order."""
        return V if self.starts is None else np.add.reduceat(V, self.starts[:-1], axis=0)

    def firsts(self, V: Array) -> Array:
        """Return the first row of every knot, of rows in ascending order."""
        return V if self.starts is None else V[self.starts[:-1]]

    def repeated(self, V: Array) -> Array:
        """Return what belongs to the knots, (m, ...), for every row in ascending order."""
        return V if self.starts is None else np.repeat(V, np.diff(self.starts), axis=0)


def _gaps(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.diff(x)
