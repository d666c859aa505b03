"""The ridge path in explicit features: every alpha from one singular value decomposition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from mercer.data.blocks import row_blocks
from mercer.gram import Gram
from mercer.native import NotPositiveError
from mercer.solvers.ridge.design import design_of
from mercer.solvers.ridge.primal import SingularValues, check_norms
from mercer.solvers.smoother import HeldOutBlocks, LinearSmoother

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class FeaturePath:
    """Ridge problems in features that differ in alpha only: the same interface as `RidgePath`.

    With Phi = W^(1/2) (F - 1 m') = U diag(s) V' and u along W^(1/2) 1 the fit at the weighted rows
    is H W^(1/2) y, H = u u' + U diag(s^2 / (s^2 + alpha)) U', and what the fit without the rows S
    misses there is W_S^(-1/2) (I - H_SS)^-1 r_S for the weighted residuals r. Memory is that of
    the features, their centred copy and U.

    Parameters
    ----------
    F : array or CSR matrix of shape (n, p)
        The features.
    weights : array of shape (n,)
        w, positive.
    fit_intercept : bool
        Whether there is an offset b.
    memory : int
        The limit for the decomposition in bytes.

    References
    ----------
    T. Hastie, R. Tibshirani (2004), Efficient quadratic regularization for expression arrays.
    """

    def __init__(self, F: Any, weights: Array, fit_intercept: bool, memory: int) -> None:
        self.F, self.weights = F, weights
        self.fit_intercept, self.memory = fit_intercept, memory
        self.roots = np.sqrt(weights)
        self.design = design_of(F, weights, fit_intercept)
        check_norms(self.design)
        decomposed = SingularValues.of(self.design, np.ones(F.shape[1]), memory)
        self.U, self.s, self.V = decomposed.U, decomposed.s[:, 0], decomposed.V

    def at(self, y: Array, alphas: Array) -> FeatureFits:
        """Return the fits to the targets `y` of shape (n, targets) for every alpha."""
        if not np.all(alphas) and len(self.s) < self.design.rank_at_most:
            raise NotPositiveError(int(np.argmin(alphas)))
        return FeatureFits(self, y, alphas)

    def without(self, rows: Rows) -> FeaturePath:
        """Return the path of all other rows."""
        rest = np.delete(np.arange(len(self.weights)), rows)
        return FeaturePath(self.F[rest], self.weights[rest], self.fit_intercept, self.memory)

    @cached_property
    def outside(self) -> Array:
        """1 - u_i^2 - ||U_i||^2, what of every row no feature and no offset reaches, (n,)."""
        free = 1.0 - np.einsum("ij,ij->i", self.U, self.U)
        if self.fit_intercept:
            free -= self.weights / self.weights.sum()
        return np.maximum(free, 0.0)

    def shrinkage(self, alphas: Array) -> Array:
        """Return alpha / (s^2 + alpha), of shape (alphas, rank)."""
        ridges = np.asarray(alphas)[:, None]
        return np.asarray(ridges / (self.s**2 + ridges))


@dataclass(frozen=True, eq=False)
class FeatureFits(HeldOutBlocks):
    """The fits of a path to some targets, for every alpha.

    Parameters
    ----------
    path : FeaturePath
        The decomposition.
    y : array of shape (n, targets)
        The targets.
    alphas : array of shape (alphas,)
        The ridges.
    """

    # Where less than this is free to miss the targets, the difference 1 - h has lost digits.
    least_free: ClassVar[float] = 1e-6

    path: FeaturePath
    y: Array
    alphas: Array

    @cached_property
    def _centred(self) -> tuple[Array, Array]:
        return self.path.design.targets(self.y)

    @cached_property
    def _along(self) -> Array:
        """U'W^(1/2) y, of shape (rank, targets)."""
        return np.asarray(self.path.U.T @ self._centred[0])

    @cached_property
    def _beside(self) -> Array:
        """What of W^(1/2) y no feature and no offset reaches, of shape (n, targets)."""
        U, rest = self.path.U, self._centred[0]
        # Twice, so that what rounding left of the range is gone.
        for _ in range(2):
            rest = self.path.design.centred(rest - U @ (U.T @ rest))
        return rest

    @cached_property
    def _shrinkage(self) -> Array:
        return self.path.shrinkage(self.alphas)

    def _lifted(self, V: Array, factors: Array) -> Array:
        """Return V diag(factors) U'W^(1/2) y, of shape (alphas, rows of V, targets)."""
        count, (rank, targets) = len(self.alphas), self._along.shape
        mixed = factors[:, :, None] * self._along
        side_by_side = mixed.transpose(1, 0, 2).reshape(rank, count * targets)
        return np.asarray((V @ side_by_side).reshape(len(V), count, targets).transpose(1, 0, 2))

    def predicted(self, others: Any) -> Array:
        """Return theta'phi + b at rows with these features, of shape (alphas, rows, targets)."""
        path, (means, targets) = self.path, (self._centred[1], self.y.shape[1])
        ridges = np.asarray(self.alphas)[:, None]
        theta = self._lifted(path.V, path.s / (path.s**2 + ridges))
        side_by_side = theta.transpose(1, 0, 2).reshape(theta.shape[1], -1)
        offset = path.design.offset(np.tile(means, len(theta)), side_by_side)
        values = others @ side_by_side + offset
        return np.asarray(values.reshape(others.shape[0], len(theta), targets).transpose(1, 0, 2))

    def _held_out(self) -> Iterator[tuple[slice, Array, Array]]:
        path = self.path
        width = len(self.alphas) * (self.y.shape[1] + 1) + len(path.s)
        for rows in row_blocks((len(self.y), width)):
            U = path.U[rows]
            free = self._shrinkage @ (U**2).T + path.outside[rows]
            with np.errstate(divide="ignore", invalid="ignore"):
                errors = (self._lifted(U, self._shrinkage) + self._beside[rows]) / free[:, :, None]
            errors /= path.roots[rows][:, None]
            # The trace of H is at most p + 1, and so many such rows there are at most.
            for i in np.flatnonzero(free.min(axis=0) < self.least_free):
                errors[:, i] = self._refitted(np.array([rows.start + i]))[:, 0]
            yield rows, errors, free

    def leave_out(self, rows: Rows) -> Array:
        path = self.path
        U = path.U[rows]
        outside = np.eye(len(rows)) - U @ U.T
        if path.fit_intercept:
            outside -= np.outer(path.roots[rows], path.roots[rows]) / path.weights.sum()
        errors = self._lifted(U, self._shrinkage) + self._beside[rows]
        for i, shrinkage in enumerate(self._shrinkage):
            L, order = dpotrf(outside + (U * shrinkage) @ U.T, lower=True)
            # All norms of I - H_SS are at most the number of rows.
            if order or dpocon(L, float(len(rows)), uplo="L")[0] * len(rows) < self.least_free:
                return self._refitted(rows)
            errors[i] = dpotrs(L, errors[i], lower=True)[0]
        return errors / path.roots[rows][:, None]

    def _refitted(self, rows: Rows) -> Array:
        """Return the errors at some rows by the fit to all others, infinite where there is none."""
        infinite = np.full((len(self.alphas), len(rows), self.y.shape[1]), np.inf)
        if len(rows) == len(self.y):
            return infinite
        rest = self.path.without(rows)
        # Least squares needs the rank that it has with these rows.
        fitted = np.asarray(self.alphas) > 0.0
        if len(rest.s) == len(self.path.s):
            fitted[:] = True
        fits = rest.at(np.delete(self.y, rows, axis=0), np.asarray(self.alphas)[fitted])
        infinite[fitted] = self.y[rows] - fits.predicted(self.path.F[rows])
        return infinite

    def residuals(self) -> Array:
        weighted = self._lifted(self.path.U, self._shrinkage) + self._beside
        return np.asarray(weighted / self.path.roots[:, None])

    def generalised(self, more: float = 0.0) -> Array:
        n, rank = self.path.U.shape
        free = self._shrinkage.sum(axis=1) + (n + more - rank - self.path.fit_intercept)
        squares = self._shrinkage**2 @ self._along**2 + (self._beside**2).sum(axis=0)
        return np.asarray(((n + more) / free[:, None]) ** 2 * squares / self.path.weights.sum())


@dataclass(frozen=True, eq=False)
class FeatureSmoother(LinearSmoother):
    """The fit in features as a linear map of the targets: the same interface as `Smoother`.

    With z = phi(x) - m it is h(x) = W^(1/2) U diag(s / (s^2 + alpha)) V'z + w / sum_i w_i, and the
    posterior variance of f(x) + b is alpha z'(Phi'Phi + alpha)^-1 z + alpha / sum_i w_i.

    Parameters
    ----------
    gram : Gram
        K, which knows the features of a new row.
    path : FeaturePath
        The decomposition.
    alpha : float
        The ridge.
    targets : array of int
        Which targets have it.
    """

    gram: Gram
    path: FeaturePath
    alpha: float
    targets: Rows

    def weights(self, X: Any) -> Array:
        path, F = self.path, self.gram.features_at(X)
        s = path.s[:, None]
        spread = path.U @ (s / (s**2 + self.alpha) * (path.V.T @ path.design.without_means(F).T))
        h = path.design.coefficients(spread)
        if path.fit_intercept:
            h += (path.weights / path.weights.sum())[:, None]
        return h

    def variance(self, X: Any, prior: Array) -> Array:
        """Return the posterior variance of f(x) + b at the rows `X`, with k(x, x) for a prior.

        What that has beyond the features in use are features of no training row.
        """
        path, F = self.path, self.gram.features_at(X)
        Z = path.design.without_means(F)
        along = Z @ path.V
        # Where no training row says anything the prior remains.
        beside = Z - along @ path.V.T
        variance = np.einsum("ij,ij->i", beside, beside)
        variance += along**2 @ path.shrinkage(np.array([self.alpha]))[0]
        squares = F.multiply(F) if sp.issparse(F) else F * F
        variance += np.maximum(prior - np.asarray(squares.sum(axis=1)).reshape(-1), 0.0)
        return np.asarray(variance + path.fit_intercept * self.alpha / path.weights.sum())
