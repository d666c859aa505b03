"""The normal equations of a ridge problem in features of landmarks, by passes over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import fits_single
from mercer.gram import LandmarkGram
from mercer.solvers.lowrank.normal import NormalSums, normal_sums
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.rounding import EPS, EPS32, LAMBDA, UNITS, column_norms
from mercer.solvers.run import Run

Array = NDArray[np.float64]

# The least pivot of the landmarks beside the largest from which on features are right to a few
# digits of float32, since errors are divided by its root.
PIVOT = 1e-5


class Point(NamedTuple):
    """theta, and what a pass over all rows says of it.

    Parameters
    ----------
    theta : array of shape (m, targets)
        Weights of the features.
    b : array of shape (targets,)
        The offsets that fit best beside them.
    r : array of shape (n, targets)
        y - F theta - b.
    g : array of shape (m, targets)
        F'W r - alpha theta, zero at the minimum.
    hidden : array of shape (targets,)
        What rounding may hide of sqrt(g'N^-1 g) for N = F'WF + alpha I.
    """

    theta: Array
    b: Array
    r: Array
    g: Array
    hidden: Array


@dataclass(frozen=True, eq=False)
class LandmarkEquations:
    """(F'WF + alpha I) theta = F'Wy with features and targets counted from their weighted means.

    Without an offset they are counted from zero.

    Parameters
    ----------
    gram : LandmarkGram
        F F', of which blocks of rows are computed.
    problem : RidgeProblem
        Targets, ridges and weights.
    means : array of shape (targets,)
        The weighted means of the targets.
    centre : array of shape (m,), optional
        About the mean of the features, from some rows.
    least : float
        The least pivot of the landmarks beside the largest with which sums of entries in float64
        are right to as many digits as are asked for.

    References
    ----------
    A. Bjorck (1996), Numerical methods for least squares problems (sections 2.2 and 2.9).
    """

    # Steps of the power method, which come near to the largest eigenvalue from below.
    powers: ClassVar[int] = 8

    gram: LandmarkGram
    problem: RidgeProblem
    means: Array
    centre: Array | None
    least: float = PIVOT

    @classmethod
    def of(
        cls, gram: LandmarkGram, problem: RidgeProblem, least: float = PIVOT
    ) -> LandmarkEquations:
        """Return the equations of a problem."""
        if not problem.fit_intercept:
            return cls(gram, problem, np.zeros(problem.y.shape[1]), None, least)
        # Counted from the first row, so that the mean of a constant is exact.
        first, shares = problem.y[0], problem.weights / problem.weights.sum()
        means = first + shares @ (problem.y - first)
        return cls(gram, problem, means, gram.sample[1].mean(axis=0), least)

    @property
    def y(self) -> Array:
        """The targets minus their means, of shape (n, targets)."""
        return self.problem.y - self.means

    def sums(self, dtype: Any, run: Run | None = None) -> NormalSums:
        """Return the sums of all rows in one pass, with features in this precision."""
        found = normal_sums(self.gram, self.y, self.problem.weights, self.centre, dtype, run)
        return found if self.centre is None else found.centred()

    @cached_property
    def right(self) -> tuple[Array, Array]:
        """F'Wy of shape (m, targets) and F'W1 of shape (m,), by one pass in float64."""
        problem = self.problem
        # Written where it stays: of many rows every array of their number counts.
        weighted = np.ones((len(problem.y), problem.y.shape[1] + 1))
        np.subtract(problem.y, self.means, out=weighted[:, :-1])
        weighted *= problem.weights[:, None]
        sums = self.gram.cross_transposed(weighted)
        both = self.gram.landmarks.whitened(np.ascontiguousarray(sums.T)).T
        return both[:, :-1], both[:, -1]

    def start(self) -> Point:
        """Return what is known at theta = 0."""
        w, y, (Fy, F1) = self.problem.weights, self.y, self.right
        b = w @ y / w.sum() if self.problem.fit_intercept else np.zeros(y.shape[1])
        return Point(np.zeros_like(Fy), self.means + b, y - b, Fy - np.outer(F1, b), 0.0 * b)

    def at(self, theta: Array) -> Point:
        """Return what is measured at theta, in one pass in float64."""
        problem, c = self.problem, self.gram.landmarks.coefficients(theta)
        w = problem.weights
        r, adjoint = self._by_entries(c) if self.is_even else self._by_features(theta)
        b = w @ r / w.sum() if problem.fit_intercept else np.zeros(r.shape[1])
        r -= b
        # What overflows leaves a gap that is no number, which is refused.
        with np.errstate(over="ignore", invalid="ignore"):
            g = adjoint[:, :-1] - np.outer(adjoint[:, -1], b) - problem.alpha * theta
        return Point(theta, self.means + b, r, g, self._hidden(theta, c))

    def unmeasured(self, theta: Array, mean: Array) -> Point:
        """Return theta where there is no time for a pass that would tell its residuals.

        Parameters
        ----------
        theta : array of shape (m, targets)
            Weights of the features.
        mean : array of shape (m,)
            The weighted mean of the features, from which the offset follows.
        """
        b = self.means - mean @ theta if self.problem.fit_intercept else self.means
        unknown = np.full(theta.shape[1], np.inf)
        return Point(theta, b, np.zeros_like(self.problem.y), np.zeros_like(theta), unknown)

    def _by_entries(self, c: Array) -> tuple[Array, Array]:
        """Return r = y - K_nm c, and F'W [r, 1] from sums of entries."""
        r, adjoint = self.gram.residuals(c, self.y, self.problem.weights)
        return r, self.gram.landmarks.whitened(np.ascontiguousarray(adjoint.T)).T

    def _by_features(self, theta: Array) -> tuple[Array, Array]:
        """Return r = y - F theta, and F'W [r, 1], where small pivots would spoil sums of entries.

        Features are right row by row, at the price of a triangular system for each.
        """
        r, w = self.y, self.problem.weights[:, None]
        adjoint = np.zeros((len(theta), r.shape[1] + 1))
        for rows, F in self.gram.feature_blocks():
            r[rows] -= F @ theta
            adjoint += F.T @ np.hstack([w[rows] * r[rows], w[rows]])
        return r, adjoint

    @property
    def is_even(self) -> bool:
        """Whether no pivot of the landmarks is so small that errors grow when divided by it."""
        return self._least_pivot > self.least

    @property
    def is_even_in_single(self) -> bool:
        """Whether the same holds for errors of float32."""
        return self._least_pivot > PIVOT

    @cached_property
    def _least_pivot(self) -> float:
        pivots = np.diag(self.gram.landmarks.factor) ** 2
        return float(pivots.min() / pivots.max())

    def least_dual(self, c: Array) -> Array:
        """Return a = W F c with the centred features, in one pass: F'a is F'WF c."""
        w, phi = self.problem.weights, self.gram.landmarks
        fitted = self.gram.cross_product(phi.coefficients(c))
        if self.problem.fit_intercept:
            fitted -= w @ fitted / w.sum()
        return np.asarray(w[:, None] * fitted)

    def _hidden(self, theta: Array, c: Array) -> Array:
        """Return what rounding may hide of F theta = K_nm c, as `product_rounding` counts it."""
        terms = LAMBDA * column_norms(self._roots[:, None] * c) * self._norm
        return np.asarray(UNITS * EPS * (terms + np.sqrt(self.problem.alpha) * column_norms(theta)))

    @cached_property
    def _roots(self) -> Array:
        """sqrt(k(z, z)) of the landmarks."""
        factor = self.gram.landmarks.factor
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", factor, factor)))

    @property
    def _norm(self) -> float:
        """About sqrt(tr(W F F')), from some rows."""
        index, F = self.gram.sample
        mean = float(np.mean(self.problem.weights[index] * np.einsum("ij,ij->i", F, F)))
        return float(np.sqrt(len(self.problem.y) * mean))

    def allow_single(self) -> bool:
        """Whether features in float32 give equations that a few passes refine.

        Their rounding has to be small beside the least ridge, and beside the least pivot of the
        landmarks, by which features are divided.
        """
        size = self._norm**2
        is_inside = fits_single(np.array([size, 1.0 / size])) if size > 0.0 else False
        is_seen = self.problem.alpha.min() > UNITS * EPS32 * self._largest()
        return bool(is_inside and self.is_even_in_single and is_seen)

    def _largest(self) -> float:
        """About the largest eigenvalue of F'WF, from some rows."""
        index, F = self.gram.sample
        Z = F if self.centre is None else F - self.centre
        Z = np.sqrt(self.problem.weights[index, None]) * Z
        v = np.ones(Z.shape[1])
        for _ in range(self.powers):
            v = Z.T @ (Z @ (v / np.linalg.norm(v)))
        return float(np.linalg.norm(v)) * len(self.problem.y) / len(index)
