"""The features of a least-squares problem, weighted and centred, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from mercer.data.blocks import PANEL, half_blocks, row_blocks
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]


def design_of(F: Any, weights: Array, fit_intercept: bool) -> Design:
    """Return the design of dense or sparse features; the parameters are those of `Design`."""
    if sp.issparse(F):
        design = SparseDesign(F, weights, fit_intercept)
        if design.is_safe:
            return design
    return Design(F, weights, fit_intercept)


class Design:
    """Phi = W^(1/2) (F - 1 m'), where m are the weighted means of the features.

    With an offset b the minimum over b of sum_i w_i (y_i - theta'phi_i - b)^2 is the plain least
    squares of W^(1/2) (y - mean) on Phi, so that centring is exact here. Without one m = 0. Rows
    are centred before they are multiplied, in blocks, so that no digits and no memory are lost.

    Parameters
    ----------
    F : array or CSR matrix of shape (n, p)
        The features.
    weights : array of shape (n,)
        w, all positive.
    fit_intercept : bool
        Whether there is an offset.
    """

    # Rows of a block at least, since every block is added to all of Phi'Phi.
    rows_at_a_time: ClassVar[int] = 256

    def __init__(self, F: Any, weights: Array, fit_intercept: bool) -> None:
        self._F = F
        self._roots = np.sqrt(weights)[:, None]
        # The direction that an offset takes, on the weighted rows.
        self._unit = self._roots / np.linalg.norm(self._roots) if fit_intercept else None
        self._means = self._mean_features() if fit_intercept else np.zeros(F.shape[1])
        self.norms = np.sqrt(self._column_squares())
        # A constant says nothing beside an offset, and what rounding leaves of it is no feature.
        constant = self.norms <= 16 * EPS * np.abs(self._means) * np.linalg.norm(self._roots)
        self.norms[constant] = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        n, p = self._F.shape
        return n, p

    @property
    def rank_at_most(self) -> int:
        """The largest rank that Phi can have: an offset takes one row, a constant its feature."""
        return min(len(self._roots) - (self._unit is not None), int((self.norms > 0.0).sum()))

    @property
    def sizes(self) -> Array:
        """The norms of W^(1/2) F, which is what rounding errors are relative to, of shape (p,)."""
        sizes = np.hypot(self.norms, np.abs(self._means) * np.linalg.norm(self._roots))
        return np.where(self.norms > 0.0, sizes, 0.0)

    def targets(self, y: Array) -> tuple[Array, Array]:
        """Return W^(1/2) (y - mean) and the weighted means, which are zero without an offset."""
        if self._unit is None:
            return self._roots * y, np.zeros(y.shape[1])
        means = y[0] + (self._unit**2 * (y - y[0])).sum(axis=0)
        return self._roots * (y - means), means

    def offset(self, means: Array, theta: Array) -> Array:
        """Return b = mean(y) - m'theta."""
        return np.asarray(means - self._means @ theta)

    def without_means(self, F: Any) -> Array:
        """Return the features of other rows minus the means m, dense, of shape (rows, p)."""
        return _dense(F) - self._means

    def centred(self, V: Array) -> Array:
        """Return vectors on the weighted rows without their part along W^(1/2) 1, the offset's."""
        if self._unit is None:
            return V
        return np.asarray(V - self._unit * (self._unit.T @ V))

    def coefficients(self, dual: Array) -> Array:
        """Return a = W^(1/2) of vectors on the weighted rows, with 1'a = 0 beside an offset."""
        return self._roots * self.centred(dual)

    def product(self, theta: Array) -> Array:
        """Return Phi theta, of shape (n, targets)."""
        out = np.empty((self.shape[0], theta.shape[1]))
        for rows, block in self._blocks():
            np.matmul(block, theta, out=out[rows])
        return out

    def residual(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """Return r = y - Phi theta and Phi'r, in one pass."""
        r, adjoint = np.empty_like(y), np.zeros_like(theta)
        for rows, block in self._blocks():
            np.subtract(y[rows], block @ theta, out=r[rows])
            adjoint += block.T @ r[rows]
        return r, self._kept(adjoint)

    def normal(self) -> Array:
        """Return Phi'Phi, of shape (p, p)."""
        p = self.shape[1]
        G = np.zeros((p, p), order="F")
        for _, block in self._blocks():
            dsyrk(1.0, block.T, 1.0, G, overwrite_c=True)
        for rows, columns in half_blocks(p, PANEL):
            above = G[rows, columns]
            G[columns, rows] = above.T if rows != columns else np.triu(above) + np.triu(above, 1).T
        return self._kept(self._kept(G).T)

    def dense(self) -> Array:
        """Return Phi, of shape (n, p)."""
        out = np.empty(self.shape)
        for rows, block in self._blocks():
            out[rows] = block
        return self._kept(out.T).T

    def _mean_features(self) -> Array:
        # Counted from the first row, so that the mean of a constant feature is exact.
        first = _dense(self._F[:1])[0]
        total, weights = np.zeros_like(first), self._roots[:, 0] ** 2
        for rows in self._row_blocks():
            total += weights[rows] @ (_dense(self._F[rows]) - first)
        return first + total / weights.sum()

    def _column_squares(self) -> Array:
        squares = np.zeros(self.shape[1])
        for _, block in self._blocks():
            squares += np.einsum("ij,ij->j", block, block)
        return squares

    def _kept(self, rows: Array) -> Array:
        """Return an array of one row per feature, with zeros for features that are constant."""
        rows[self.norms == 0.0] = 0.0
        return rows

    def _row_blocks(self) -> Iterator[slice]:
        n, p = self.shape
        return row_blocks((n, p), max(PANEL, self.rows_at_a_time * p))

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the rows of Phi, a few at a time, in memory that the next few overwrite."""
        buffer = np.empty((0, self.shape[1]))
        for rows in self._row_blocks():
            F = _dense(self._F[rows])
            buffer = buffer[: len(F)] if len(buffer) >= len(F) else np.empty_like(F, order="C")
            np.subtract(F, self._means, out=buffer)
            buffer *= self._roots[rows]
            yield rows, buffer


class SparseDesign(Design):
    """The same of sparse features, centred after they are multiplied.

    That loses no more than two digits of base two where each feature has at least a quarter of
    its sum of squares left after centring, as one has that is zero in three quarters of the rows.
    """

    @property
    def is_safe(self) -> bool:
        """Whether centring takes away no more than three quarters of the squares of a feature."""
        taken = self._means**2 * float((self._roots**2).sum())
        return bool(((taken <= 3.0 * self.norms**2) | (self.norms == 0.0)).all())

    def product(self, theta: Array) -> Array:
        return np.asarray(self._roots * (self._F @ theta - self._means @ theta))

    def residual(self, y: Array, theta: Array) -> tuple[Array, Array]:
        r = y - self.product(theta)
        weighted = self._roots * r
        means = np.outer(self._means, weighted.sum(axis=0))
        return r, self._kept(self._F.T @ weighted - means)

    def normal(self) -> Array:
        scaled = self._F.multiply(self._roots).tocsr()
        G = (scaled.T @ scaled).toarray()
        G -= np.outer(self._means, self._means * (self._roots**2).sum())
        return self._kept(self._kept(G).T)

    def _mean_features(self) -> Array:
        weights = self._roots[:, 0] ** 2
        return np.asarray(self._F.T @ weights) / weights.sum()

    def _column_squares(self) -> Array:
        weights = self._roots[:, 0] ** 2
        squares = self._F.multiply(self._F).T @ weights - self._means**2 * weights.sum()
        if self._unit is not None:
            # What rounding leaves of a constant is far above its own rounding here.
            squares[(self._F.max(axis=0) - self._F.min(axis=0)).toarray().reshape(-1) == 0.0] = 0.0
        return np.maximum(squares, 0.0)


def _dense(F: Any) -> Array:
    return np.asarray(F.toarray() if sp.issparse(F) else F, dtype=np.float64)
