"""What the data leave open on a line: variances, and how much every target counts at a position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import PANEL
from mercer.native.chain import Precision, Shares
from mercer.native.core import routines, thread_count
from mercer.native.threads import in_threads
from mercer.native.twins import chain as chain_twin
from mercer.native.twins.chain import data_precision

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spread:
    """C = (W / alpha + T)^-1 without an intercept, and what a free intercept adds.

    An intercept b moves the knots by C h b = v b. Its precision given the data is
    S = sum_i w_i v_i / alpha + b_penalty, so that its variance is 1 / S.

    Parameters
    ----------
    w : array of shape (m,)
        The weights over alpha.
    total : array of shape (m,)
        1 / C_ii.
    left, right : array of shape (m - 1,)
        C_ji / C_j,i+1 for j > i, and C_j,i+1 / C_ji for j <= i.
    rise : array of shape (m,)
        v.
    S : float
        Infinite without an intercept.
    """

    w: Array
    total: Array
    left: Array
    right: Array
    rise: Array
    S: float

    @classmethod
    def of(cls, precision: Precision, per_alpha: float) -> Spread:
        """Return the spread at the ridge alpha, given 1 / alpha."""
        w = data_precision(precision.weights, np.array([per_alpha]))[:, 0]
        total, rise = np.empty_like(w), np.empty_like(w)
        left, right = np.empty(len(w) - 1), np.empty(len(w) - 1)
        routines(chain_twin).chain_spread(
            precision.links, precision.row_sums, w, total, left, right, rise
        )
        return cls(
            w,
            total,
            left,
            right,
            rise,
            float(np.einsum("i,i->", w, rise)) + precision.b_penalty,
        )

    def variance(self, s: Shares) -> Array:
        """Return the variance of f + b at some positions, of shape (rows,)."""
        both = 2.0 * s.first * s.second * self._between(s)
        known = s.first**2 / self.total[s.left] + s.second**2 / self.total[s.right] + both
        return np.asarray(s.noise + known + self._share(s) ** 2 / self.S)

    def influence(self, s: Shares) -> Array:
        """Return what every target, one per knot, counts for f + b at positions: (rows, m)."""
        between = self._between(s)
        here = s.first / self.total[s.left] + s.second * between
        there = s.first * between + s.second / self.total[s.right]
        share, level = self._share(s), self.rise / self.S
        knots = s.left.astype(np.int64)
        out = np.empty((len(knots), len(self.w)))
        size = max(1, PANEL // len(self.w), -(-len(knots) // thread_count()))

        def run(k: slice) -> None:
            routines(chain_twin).chain_influence(
                self.w,
                self.left,
                self.right,
                level,
                knots[k],
                here[k],
                there[k],
                share[k],
                out[k],
            )

        in_threads(run, [slice(k, k + size) for k in range(0, len(knots), size)])
        return out

    def _share(self, s: Shares) -> Array:
        """Return how much of a change of the intercept arrives at positions."""
        return np.asarray(s.rest + s.first * self.rise[s.left] + s.second * self.rise[s.right])

    def _between(self, s: Shares) -> Array:
        """Return C_i,i+1 for the knot i before a position; behind the last knot it is C_ii."""
        return np.asarray(np.append(self.right, 1.0)[s.left] / self.total[s.left])
