"""The contracts of ridge fits: as a linear map of their targets, and at rows left out."""

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


class RidgeFits(ABC):
    """Ridge fits to the same targets for every alpha, with what they miss of rows left out."""

    @abstractmethod
    def predicted(self, others: Any) -> Array:
        """Return f(x) + b at other rows, of shape (alphas, rows, targets)."""

    @abstractmethod
    def leave_one_out(self) -> Array:
        """Return what the fit without row i misses there, of shape (alphas, n, targets).

        It is infinite where the other rows determine nothing.
        """

    @abstractmethod
    def losses(self) -> Array:
        """Return the weighted mean of the squared leave-one-out errors, (alphas, targets)."""

    @abstractmethod
    def leave_out(self, rows: NDArray[np.intp]) -> Array:
        """Return what the fit without these rows misses there, (alphas, rows, targets)."""

    @abstractmethod
    def residuals(self) -> Array:
        """Return y - f - b at every row, of shape (alphas, n, targets)."""

    def predicted_by_blocks(self, others: Any) -> Iterator[tuple[slice, Array]]:
        """Yield `predicted` of some of the other rows at a time, with where they stand."""
        values = self.predicted(others)
        yield slice(0, values.shape[1]), values

    def leave_out_by_blocks(self, rows: NDArray[np.intp]) -> Iterator[tuple[slice, Array]]:
        """Yield `leave_out` of some of the rows at a time, with where they stand among them."""
        yield slice(0, len(rows)), self.leave_out(rows)

    def leave_one_out_by_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield `leave_one_out` of some rows at a time, with where they stand."""
        errors = self.leave_one_out()
        yield slice(0, errors.shape[1]), errors

    def missed_by_blocks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield `leave_one_out` and `residuals` of some rows at a time, with where they stand."""
        errors = self.leave_one_out()
        yield slice(0, errors.shape[1]), errors, self.residuals()

    @abstractmethod
    def generalised(self, more: float = 0.0) -> Array:
        """Return the criterion of generalised cross-validation, of shape (alphas, targets).

        It is the weighted mean of the squared leave-one-out errors a_i / B_ii with every B_ii / w_i
        replaced by their mean: n ||a||^2 / (tr B)^2 without weights. Where rows stand for N equal
        rows in all, the mean is that of all of them.

        Parameters
        ----------
        more : float
            N - n.
        """


class HeldOutBlocks(RidgeFits):
    """Ridge fits whose errors at rows left out come in one pass, some at a time."""

    path: Any
    y: Array
    alphas: Array

    @abstractmethod
    def _held_out(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the leave-one-out errors of some rows, (alphas, rows, targets), and 1 - h."""

    def leave_one_out(self) -> Array:
        return self.left_out()[0]

    def leave_one_out_by_blocks(self) -> Iterator[tuple[slice, Array]]:
        for rows, errors, _ in self._held_out():
            yield rows, errors

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
        # Nothing of the size of rows x alphas is stored.
        total, weights = np.zeros((len(self.alphas), self.y.shape[1])), self.path.weights
        for rows, some, _ in self._held_out():
            total += np.einsum("mit,mit,i->mt", some, some, weights[rows])
        return np.asarray(total / weights.sum())
