"""The contract of a fit as a linear map of its targets, and of errors at rows left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class LinearSmoother(ABC):
    """The fit as a linear map of the targets: f(x) + b = h(x)'y, for those that share one alpha.

    Parameters
    ----------
    targets : array of int
        Which targets these are.
    """

    targets: NDArray[np.intp]

    @abstractmethod
    def weights(self, X: Any) -> Array:
        """Return h(x) at the rows `X`, of shape (n, rows)."""

    @abstractmethod
    def variance(self, X: Any, prior: Array) -> Array:
        """Return the posterior variance of f(x) + b at the rows `X`, with k(x, x) for a prior.

        That of f is a Gaussian process with covariance k, the noise has variance alpha / w, and b
        is free.
        """

    def at(self, X: Any, prior: Array) -> tuple[Array, Array]:
        """Return both."""
        return self.weights(X), self.variance(X, prior)


class HeldOutBlocks(ABC):
    """Ridge fits for every alpha whose errors at rows left out come in one pass, some at a time."""

    path: Any
    y: Array
    alphas: Array

    @abstractmethod
    def _held_out(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the leave-one-out errors of some rows, (alphas, rows, targets), and 1 - h."""

    def leave_one_out(self) -> Array:
        """Return what the fit without row i misses there, of shape (alphas, n, targets).

        It is infinite where the other rows determine nothing.
        """
        return self.left_out()[0]

    def left_out(self) -> tuple[Array, Array]:
        """Return the leave-one-out errors, and 1 - h_i, the share of the residual in them.

        The shapes are (alphas, n, targets) and (alphas, n); all rows are passed once for both.
        """
        errors = np.empty((len(self.alphas), *self.y.shape))
        free = np.empty(errors.shape[:2])
        for rows, some, share in self._held_out():
            errors[:, rows], free[:, rows] = some, share
        return errors, free

    def losses(self) -> Array:
        """Return the weighted mean of the squared leave-one-out errors, (alphas, targets).

        Nothing of the size of rows x alphas is stored.
        """
        total, weights = np.zeros((len(self.alphas), self.y.shape[1])), self.path.weights
        for rows, some, _ in self._held_out():
            total += np.einsum("mit,mit,i->mt", some, some, weights[rows])
        return np.asarray(total / weights.sum())
