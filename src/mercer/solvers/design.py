"""The features of a least-squares problem, weighted and centred, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# Entries of a block: 2 MB, which stays in cache between centring and multiplying.
ENTRIES_AT_A_TIME = 1 << 18


class Design:
    """Phi = W^(1/2) (F - 1 m'), where m are the weighted means of the features.

    With an offset b the minimum over b of sum_i w_i (y_i - theta'phi_i - b)^2 is the plain least
    squares of W^(1/2) (y - mean) on Phi, so that centring is exact here. Without one m = 0. F is
    never copied, and stays sparse if it is.

    Parameters
    ----------
    F : array or CSR matrix of shape (n, p)
        The features.
    weights : array of shape (n,)
        w, all positive.
    fit_intercept : bool
        Whether there is an offset.
    """

    def __init__(self, F: Any, weights: Array, fit_intercept: bool) -> None:
        self._F = F
        self._roots = np.sqrt(weights)[:, None]
        # The direction that an offset takes, on the weighted rows.
        self._unit = self._roots / np.linalg.norm(self._roots) if fit_intercept else None
        self._means = np.zeros(F.shape[1])
        if fit_intercept:
            # Means are taken from the first row: those of constant features are exact then.
            self._means = _dense(F[:1])[0]
            self._means = self._means + self._centred_sum(weights) / weights.sum()
        self._constant = np.zeros(F.shape[1], dtype=bool)
        self.norms = self._column_norms()
        # A constant says nothing beside an offset, and what rounding leaves of it is no feature.
        self._constant = self.norms <= 16 * EPS * np.abs(self._means) * np.sqrt(weights.sum())
        self.norms[self._constant] = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        n, p = self._F.shape
        return n, p

    @property
    def rank_at_most(self) -> int:
        """The largest rank that Phi can have: an offset takes one row, a constant its feature."""
        return min(len(self._roots) - (self._unit is not None), int((self.norms > 0.0).sum()))

    def targets(self, y: Array) -> tuple[Array, Array]:
        """Return W^(1/2) (y - mean) and the weighted means, which are zero without an offset."""
        if self._unit is None:
            return self._roots * y, np.zeros(y.shape[1])
        means = y[0] + (self._unit**2 * (y - y[0])).sum(axis=0)
        return self._roots * (y - means), means

    def offset(self, means: Array, theta: Array) -> Array:
        """Return b = mean(y) - m'theta."""
        return np.asarray(means - self._means @ theta)

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
            out[rows] = block @ theta
        return out

    def residual(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """Return r = y - Phi theta and Phi'r, in one pass."""
        r, adjoint = np.empty_like(y), np.zeros_like(theta)
        for rows, block in self._blocks():
            r[rows] = y[rows] - block @ theta
            adjoint += block.T @ r[rows]
        return r, adjoint

    def normal(self) -> Array:
        """Return Phi'Phi, of shape (p, p)."""
        G = np.zeros((self.shape[1], self.shape[1]))
        for _, block in self._blocks():
            G += block.T @ block
        return G

    def dense(self) -> Array:
        """Return Phi, of shape (n, p)."""
        out = np.empty(self.shape)
        for rows, block in self._blocks():
            out[rows] = block
        return out

    def _column_norms(self) -> Array:
        squares = np.zeros(self.shape[1])
        for _, block in self._blocks():
            squares += np.einsum("ij,ij->j", block, block)
        return np.sqrt(squares)

    def _centred_sum(self, weights: Array) -> Array:
        total = np.zeros(self.shape[1])
        for rows in row_blocks(self.shape, ENTRIES_AT_A_TIME):
            total += weights[rows] @ (_dense(self._F[rows]) - self._means)
        return total

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for rows in row_blocks(self.shape, ENTRIES_AT_A_TIME):
            block = (_dense(self._F[rows]) - self._means) * self._roots[rows]
            if self._constant.any():
                block[:, self._constant] = 0.0
            yield rows, block


def _dense(F: Any) -> Array:
    return np.asarray(F.toarray() if sp.issparse(F) else F, dtype=np.float64)
