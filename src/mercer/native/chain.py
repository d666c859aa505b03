"""Ridge regression on a line by its tridiagonal precision matrix, natively or by the twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import CACHE
from mercer.native.core import routines, thread_count
from mercer.native.threads import in_threads
from mercer.native.twins import chain as chain_twin
from mercer.native.twins.chain import LARGEST_PRECISION, Shares, shares_at

__all__ = [
    "LARGEST_PRECISION",
    "Precision",
    "Rows",
    "Shares",
    "interpolate",
    "multiply_decays",
    "multiply_lengths",
    "shares_at",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows behind the knots of a line, in ascending order.

    Parameters
    ----------
    weights : array of shape (n,)
        Those of the rows.
    starts : array of shape (m + 1,), optional
        Where the rows of every knot begin; None if every knot is one row.
    """

    weights: Array
    starts: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Precision:
    """The knots of a line, f minimising sum w (y - f - b)^2 / alpha + f'Tf + b_penalty b^2.

    T is the precision matrix of the prior of f, tridiagonal: f'Tf = sum_i links_i (f_i+1 - f_i)^2
    + sum_i row_sums_i f_i^2, with links_i = -T_i,i+1 and row_sums = T 1. Elimination from both ends
    keeps every term positive, so that nothing cancels.

    Parameters
    ----------
    links : array of shape (m - 1,)
        -T_i,i+1 of neighbours, at most `LARGEST_PRECISION`.
    row_sums : array of shape (m,)
        T 1, at most `LARGEST_PRECISION`.
    weights : array of shape (m,)
        w, positive.
    b_penalty : float
        The penalty of b: 0 for an offset, infinity for none.
    """

    links: Array
    row_sums: Array
    weights: Array
    b_penalty: float

    def solve(self, y: Array, per_alpha: float) -> tuple[Array, Array, float]:
        """Return f and a = w (y - f - b) / alpha at the knots, and b.

        Parameters
        ----------
        y : array of shape (m,)
            The targets of the knots.
        per_alpha : float
            1 / alpha; infinite for interpolation.
        """
        f, a = np.empty_like(y), np.empty_like(y)
        b = routines(chain_twin).chain_solve(
            self.links, self.row_sums, self.weights, y, per_alpha, self.b_penalty, f, a
        )
        return f, a, b

    def held_out(
        self, y: Array, steps: Array, rows: Rows, per_alpha: Array, residuals: Array | None = None
    ) -> Array:
        """Return sum_j w_j e_j^2 of the residuals e of every row left out, for every ridge.

        Parameters
        ----------
        y : array of shape (m,)
            The targets of the knots, the weighted means of those of their rows.
        steps : array of shape (n,)
            The targets of the rows minus those of their knots.
        rows : Rows
            The rows.
        per_alpha : array of shape (ridges,)
            1 / alpha.
        residuals : array of shape (ridges, n), optional
            Where to write e; it is not kept otherwise.
        """
        sums = np.empty(len(per_alpha))
        self._swept(routines(chain_twin).chain_held_out, y, steps, rows, per_alpha, sums, residuals)
        return sums

    def generalised(
        self, y: Array, steps: Array, rows: Rows, per_alpha: Array, more: float = 0.0
    ) -> Array:
        """Return sum_j a_j^2 / w_j over (sum_j B_jj / w_j + more / alpha)^2, for every ridge.

        The other parameters are those of `held_out`.
        """
        squares, traces = np.empty(len(per_alpha)), np.empty(len(per_alpha))
        self._swept(
            routines(chain_twin).chain_generalised, y, steps, rows, per_alpha, squares, traces
        )
        # Both come in units of 1, or of alpha where that is larger.
        free = traces + more * np.maximum(per_alpha, 1.0) if more else traces
        return squares / free**2

    def _swept(
        self,
        routine: Any,
        y: Array,
        steps: Array,
        rows: Rows,
        per_alpha: Array,
        first: Array,
        second: Array | None,
    ) -> None:
        """Write both results of a routine that sweeps the chain for a group of ridges at a time."""

        def run(group: slice) -> None:
            routine(
                self.links,
                self.row_sums,
                self.weights,
                y,
                per_alpha[group],
                self.b_penalty,
                rows.starts,
                rows.weights,
                steps,
                first[group],
                None if second is None else second[group],
            )

        in_threads(run, _groups(len(per_alpha)))


def multiply_decays(decays: Array, V: Array) -> Array:
    """Return K V for K_ij = the product of the decays between i and j, of shape (m, targets)."""
    out = np.empty(V.shape)
    routines(chain_twin).chain_multiply_decays(decays, np.ascontiguousarray(V), out)
    return out


def multiply_lengths(lengths: Array, V: Array) -> Array:
    """Return K V for K_ij = the sum of the lengths up to the lesser of i and j."""
    out = np.empty(V.shape)
    routines(chain_twin).chain_multiply_lengths(lengths, np.ascontiguousarray(V), out)
    return out


def interpolate(knots: Array, values: Array, length_scale: float, root: float, x: Array) -> Array:
    """Return at the positions x what is straight, or bent by the length scale, between knots.

    Parameters
    ----------
    knots : array of shape (m,)
        Ascending.
    values : array of shape (m, targets)
        The values there.
    length_scale : float
        Infinite for straight lines.
    root : float
        How far before the first knot straight lines begin, at zero.
    x : array of shape (n,)
        Where to go.
    """
    order = None
    if len(knots) > CACHE and (x[1:] < x[:-1]).any():
        # Sorting is quicker than to jump to and fro in the memory of many knots.
        order = np.argsort(x)
        x = x[order]
    out = np.empty((len(x), values.shape[1]))
    size = max(CACHE, -(-len(x) // thread_count()))

    def run(part: slice) -> None:
        routines(chain_twin).chain_interpolate(
            knots, values, length_scale, root, x[part], out[part]
        )

    in_threads(run, [slice(k, k + size) for k in range(0, len(x), size)])
    if order is None:
        return out
    sorted_back = np.empty_like(out)
    sorted_back[order] = out
    return sorted_back


def _groups(ridges: int) -> list[slice]:
    # Ridges that the native core treats together.
    lanes = 8
    return [slice(k, k + lanes) for k in range(0, ridges, lanes)]
