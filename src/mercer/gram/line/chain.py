"""The Gram matrix of points on a line, of which the inverse is tridiagonal."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import CACHE, row_blocks
from mercer.gram.gram import Array, Gram, Index, positions
from mercer.gram.line.kernels import Line, line_of
from mercer.gram.line.knots import Knots
from mercer.gram.streamed import StreamedGram
from mercer.kernels import Kernel, as_kernel
from mercer.native import chain
from mercer.native.chain import Shares

Vector = NDArray[np.float64]


class ChainGram(StreamedGram):
    """K = factor K0 + constant 11', where K0^-1 on the distinct points is tridiagonal.

    f'K0^-1 f = sum_i g_i (f_i+1 - f_i)^2 + sum_i h_i f_i^2, where -g are the entries beside the
    diagonal, of neighbours at the distance D, and h the sums of the rows. For min(x, z): g = 1 / D,
    and h = 1 / x at the first point only. For exp(-D / l) = r: g = r / (1 - r^2), and h the mean of
    tanh(D / 2l) to the left and right, where the distance beyond the ends is infinite. Products
    with K take O(n) steps.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    line : Line
        What it is made of.
    X : rows
        An array, CSR matrix or table.
    column : array of shape (n,)
        The positions that it reads from the rows.
    memory : int or str, optional
        The limit for `dense`, in bytes or as ``"4GB"``; a share of the free memory by default.

    References
    ----------
    H. Rue, L. Held (2005), Gaussian Markov random fields.
    """

    def __init__(
        self, kernel: Kernel, line: Line, X: Any, column: Array, memory: Any = None
    ) -> None:
        super().__init__(kernel, X, memory)
        self.line = line
        self.knots = Knots.of(column.astype(np.float64, copy=False))
        self._dtype = np.dtype(column.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def factor(self) -> float:
        """The factor of K0."""
        return self.line.factor

    @property
    def constant(self) -> float:
        """What is added to every entry and is not in K0."""
        # c + min(x, z) is min(c + x, c + z), so that there the constant belongs to K0.
        return 0.0 if self.line.is_rooted else self.line.constant

    @property
    def is_rooted(self) -> bool:
        """Whether the row sums of K0^-1 are zero but for the first.

        A free intercept removes that term.
        """
        return self.line.is_rooted

    @property
    def root(self) -> float:
        """The entry of K0 on the diagonal at the first knot of a rooted line."""
        return float(self.knots.positions[0]) + self.line.constant / self.factor

    @property
    def first(self) -> float:
        """The entry of K on the diagonal at the first knot."""
        return self.factor * (self.root if self.is_rooted else 1.0) + self.constant

    @property
    def links(self) -> Vector:
        """G of neighbouring knots, of shape (m - 1,)."""
        return self._precision[0]

    @property
    def row_sums(self) -> Vector:
        """h, the row sums of K0^-1, of shape (m,)."""
        return self._precision[1]

    @cached_property
    def _precision(self) -> tuple[Vector, Vector]:
        if not self.is_rooted:
            return self._bends[1:]
        row_sums = np.zeros(len(self.knots))
        with np.errstate(divide="ignore", over="ignore"):
            row_sums[0] = np.minimum(np.divide(1.0, self.root), chain.LARGEST_PRECISION)
            return np.minimum(1.0 / self.knots.gaps, chain.LARGEST_PRECISION), row_sums

    @cached_property
    def _bends(self) -> tuple[Vector, Vector, Vector]:
        return bends(self.knots.gaps, self.line.length_scale)

    def product(self, V: Array) -> Array:
        columns = V.reshape(len(V), -1).astype(np.float64, copy=False)
        Z = self.knots.sums(self.knots.ascending(columns))
        KZ = self._product_at_knots(Z)
        if self.factor != 1.0:
            KZ *= self.factor
        if self.constant > 0.0:
            KZ += self.constant * Z.sum(axis=0)
        KV = self.knots.as_given(self.knots.repeated(KZ))
        return KV.reshape(V.shape).astype(np.result_type(self.dtype, V.dtype), copy=False)

    def _product_at_knots(self, Z: Vector) -> Vector:
        if self.is_rooted:
            return chain.multiply_lengths(np.append(self.root, self.knots.gaps), Z)
        return chain.multiply_decays(self._bends[0], Z)

    def partial_product(self, rows: Index | None, columns: Index, V: Array) -> Array:
        # To go along the whole line takes no longer than to compare some of the rows.
        whole = np.zeros((len(self), *V.shape[1:]))
        np.add.at(whole, positions(columns, len(self)), V)
        KV = self.product(whole)
        return KV if rows is None else KV[positions(rows, len(self))]

    def at(self, rows: Index) -> Any:
        """Return some of the rows."""
        return self.taken(rows)

    def part(self, index: Index) -> ChainGram:
        X = self.taken(index)
        return ChainGram(self.kernel, self.line, X, self.line.only_column(X), self._given)

    # Products of rows in float32 would not go along the line.
    single = Gram.single

    def chain(self) -> ChainGram:
        return self

    @property
    def is_structured(self) -> bool:
        return True

    def shares(self, X: Any, is_adrift: bool) -> Shares:
        """Return how f at the rows `X` follows from f at the knots.

        Parameters
        ----------
        X : rows
            Where to go.
        is_adrift : bool
            Whether a free intercept has removed the only row sum that is not zero.
        """
        root = np.inf if is_adrift else self._root_or_none
        x = self.line.positions(X)
        return chain.shares_at(self.knots.positions, self.line.length_scale, root, x)

    @property
    def _root_or_none(self) -> float:
        return self.root if self.is_rooted else np.inf


def bends(gaps: Vector, length_scale: float) -> tuple[Vector, Vector, Vector]:
    """Return decays r = exp(-D / l), links and row sums of the exponential kernel at the gaps D."""
    decays, links, row_sums = np.empty_like(gaps), np.empty_like(gaps), np.empty(len(gaps) + 1)
    beyond = 1.0
    with np.errstate(all="ignore"):
        # A block at a time, so that what is in between stays in cache.
        for part in row_blocks((len(gaps), 1), CACHE):
            d = gaps[part] / -length_scale
            r = np.exp(d, out=decays[part])
            d *= -0.5
            t = np.tanh(d, out=d)
            # 1 - r^2 = t (1 + r)^2 without the cancellation.
            g = np.add(r, 1.0, out=links[part])
            g *= g
            g *= t
            np.divide(r, g, out=g)
            np.minimum(g, chain.LARGEST_PRECISION, out=g)
            h = row_sums[part]
            h[0], h[1:] = beyond, t[:-1]
            beyond = t[-1]
            h += t
            h *= 0.5
    row_sums[-1] = 0.5 * (1.0 + beyond)
    return decays, links, row_sums


def chain_of(kernel: Any, X: Any, memory: Any = None) -> ChainGram | None:
    """Return the Gram matrix of a kernel on the rows `X` as a chain, or None if it is not one.

    It is one for `Sobolev`, `Exponential` and `Laplacian` in one column, for their multiples and
    for their sums with a constant. The parameters are those of `gram_of`.
    """
    k = kernel if isinstance(kernel, Kernel) else as_kernel(kernel)
    line = line_of(k)
    column = None if line is None else line.column(X)
    if column is None or len(column) == 0:
        return None
    k = k.resolved(X)
    line = line_of(k)
    return None if line is None else ChainGram(k, line, X, column, memory)
