"""The ridge path in features of landmarks: every alpha from one m x m eigendecomposition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.gram import LandmarkGram
from mercer.native.lapack import eigh
from mercer.solvers.lowrank.normal import Inverse, NormalSums, normal_sums
from mercer.solvers.smoother import HeldOutBlocks, LinearSmoother

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def error_width(m: int, alphas: int, targets: int) -> int:
    """Return how many numbers are made of a row by m landmarks on the way to its errors."""
    # Arrays that are there at the same time: entries, V'f and its squares; and for every alpha
    # those of 1 - h and of the targets: fits, residuals, errors and what these are made of.
    of_landmarks, of_alphas = 3, 8
    return of_landmarks * m + of_alphas * alphas * (targets + 1)


class LandmarkPath:
    """Ridge problems in features of landmarks that differ in alpha only: one more `RidgePath`.

    With the features counted from their weighted mean, F'WF = V diag(s) V', it is
    theta = V (s + alpha)^-1 V'F'Wy, and what the fit without row i misses there is
    (y_i - f(x_i) - b) / (1 - h_i) with
    h_i = w_i (sum_j (V'f_i)_j^2 / (s_j + alpha) + 1 / sum_l w_l). The landmarks stay where they are
    when rows are left out. Passes over blocks of rows compute what has their length; no features
    are stored.

    Parameters
    ----------
    gram : LandmarkGram
        F F'.
    weights : array of shape (n,)
        w, positive.
    fit_intercept : bool
        Whether there is an offset b.

    References
    ----------
    C. Williams, M. Seeger (2000), Using the Nystrom method to speed up kernel machines.
    """

    def __init__(self, gram: LandmarkGram, weights: Array, fit_intercept: bool) -> None:
        self.gram, self.weights, self.fit_intercept = gram, weights, fit_intercept
        m = gram.landmarks.n_features
        self.centre = gram.sample[1].mean(axis=0) if fit_intercept else np.zeros(m)
        self.sums = normal_sums(gram, np.empty((len(gram), 0)), weights, self.centre)
        self.spectrum = Spectrum.of(self._kept(self.sums))

    def at(self, y: Array, alphas: Array) -> LandmarkFits:
        """Return the fits to the targets `y` of shape (n, targets) for every alpha."""
        alphas = np.asarray(alphas)
        if not alphas.all() and self.spectrum.rank < len(self.spectrum.s):
            raise ValueError(
                f"alpha = 0 is least squares, which needs features of full rank, but those of "
                f"{len(self.spectrum.s)} landmarks have the numerical rank {self.spectrum.rank} on "
                f"{len(y)} rows; use alpha > 0 or fewer landmarks"
            )
        return LandmarkFits(self, y, alphas)

    def with_targets(self, y: Array) -> NormalSums:
        """Return the sums of all rows with these targets."""
        weighted = self.weights[:, None] * y
        raw = self.gram.cross_transposed(weighted)
        total = weighted.sum(axis=0)
        Fy = self.gram.landmarks.whitened(np.ascontiguousarray(raw.T)).T
        Fy = Fy - np.outer(self.centre, total)
        return NormalSums(self.sums.G, Fy, self.sums.F1, total, self.sums.weight)

    def without(self, rows: Rows, y: Array) -> tuple[Spectrum, Array, Array]:
        """Return the decomposition of all other rows, with F'Wy and the means of the targets.

        `y` are the targets of all rows. The sums of the rows left out are taken from those of all.
        """
        left_out = (self.gram.part(rows), y[rows], self.weights[rows], self.centre)
        sums = self._kept(self.with_targets(y) - normal_sums(*left_out))
        return Spectrum.of(sums), sums.Fy, self._mean_of(sums)

    def _kept(self, sums: NormalSums) -> NormalSums:
        return sums.centred() if self.fit_intercept else replace(sums, F1=np.zeros_like(sums.F1))

    def _mean_of(self, sums: NormalSums) -> Array:
        is_free = self.fit_intercept
        return sums.y1 / sums.weight if is_free else np.zeros_like(sums.y1)

    def fitted(self, y: Array) -> tuple[Array, Array]:
        """Return F'Wy of centred features, and the weighted means of the targets."""
        sums = self._kept(self.with_targets(y))
        return sums.Fy, self._mean_of(sums)

    def blocks(self, alphas: int, targets: int) -> Iterator[tuple[slice, Array]]:
        """Yield V'f of centred features, (rows, m), for as few rows as errors leave room for."""
        turned = self.gram.landmarks.coefficients(self.spectrum.V)
        shift = (self.centre + self.spectrum.mean) @ self.spectrum.V
        m = len(shift)
        entries = m * self.gram.rows_at_once(error_width(m, alphas, targets))
        for rows, K in self.gram.cross_blocks(entries=entries):
            Z = K @ turned
            Z -= shift
            yield rows, Z


@dataclass(frozen=True, eq=False)
class Spectrum:
    """F'WF = V diag(s) V' of centred features, and the mean that they are counted from.

    Parameters
    ----------
    s : array of shape (m,)
        Eigenvalues, ascending; what rounding alone explains is zero.
    V : array of shape (m, m)
        Eigenvectors.
    mean : array of shape (m,)
        The mean of the features, beside the centre of the sums.
    """

    s: Array
    V: Array
    mean: Array

    @classmethod
    def of(cls, sums: NormalSums) -> Spectrum:
        """Return the decomposition of centred sums."""
        # A copy: the sums of all rows serve every fold.
        s, V = eigh(np.array(sums.G, order="F"), lower=False)
        s = np.where(s > Inverse.rounding * len(s) * s[-1], s, 0.0)
        return cls(s, V, sums.mean)

    @property
    def rank(self) -> int:
        """How many eigenvalues are not zero."""
        return int(np.count_nonzero(self.s))

    def theta(self, Fy: Array, alphas: Array) -> Array:
        """Return the weights of the features, of shape (m, alphas, targets)."""
        along = self.V.T @ Fy
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = along[:, None] / (self.s[:, None] + alphas)[:, :, None]
        scaled[~np.isfinite(scaled)] = 0.0
        m, count, targets = scaled.shape
        return np.asarray((self.V @ scaled.reshape(m, -1)).reshape(m, count, targets))


@dataclass(frozen=True, eq=False)
class LandmarkFits(HeldOutBlocks):
    """The fits of a path to some targets, for every alpha.

    Parameters
    ----------
    path : LandmarkPath
        The decomposition.
    y : array of shape (n, targets)
        The targets.
    alphas : array of shape (alphas,)
        The ridges.
    """

    path: LandmarkPath
    y: Array
    alphas: Array

    @cached_property
    def _fitted(self) -> tuple[Array, Array]:
        return self.path.fitted(self.y)

    @cached_property
    def _scores(self) -> Array:
        """(s + alpha)^-1 V'F'Wy, of shape (m, alphas, targets)."""
        spectrum = self.path.spectrum
        turned = Spectrum(spectrum.s, np.eye(len(spectrum.s)), spectrum.mean)
        return turned.theta(spectrum.V.T @ self._fitted[0], self.alphas)

    def predicted(self, others: LandmarkGram) -> Array:
        return np.concatenate([f for _, f in self.predicted_by_blocks(others)], axis=1)

    def predicted_by_blocks(self, others: LandmarkGram) -> Iterator[tuple[slice, Array]]:
        return self._at(others, self.path.spectrum, *self._fitted)

    def _at(
        self, others: LandmarkGram, spectrum: Spectrum, Fy: Array, means: Array
    ) -> Iterator[tuple[slice, Array]]:
        theta = spectrum.theta(Fy, self.alphas)
        m, count, targets = theta.shape
        side_by_side = theta.reshape(m, -1)
        coefficients = others.landmarks.coefficients(side_by_side)
        shift = (self.path.centre + spectrum.mean) @ side_by_side
        most = others.rows_at_once(error_width(0, count, targets))
        for rows, values in others.product_blocks(coefficients, most):
            values -= shift
            shaped = values.reshape(len(values), count, targets) + means
            yield rows, shaped.transpose(1, 0, 2)

    def _passed(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield what the fits miss of some rows, (alphas, rows, targets), and 1 - h."""
        path, (_, means) = self.path, self._fitted
        s, share = path.spectrum.s, path.fit_intercept / path.weights.sum()
        with np.errstate(divide="ignore"):
            inverse = 1.0 / (s[:, None] + self.alphas)
        inverse[~np.isfinite(inverse)] = 0.0
        m, count, targets = self._scores.shape
        for rows, Z in path.blocks(count, targets):
            fitted = (Z @ self._scores.reshape(m, -1)).reshape(len(Z), count, targets)
            r = (self.y[rows] - means)[:, None] - fitted
            h = path.weights[rows, None] * (Z**2 @ inverse + share)
            yield rows, r.transpose(1, 0, 2), (1.0 - h).T

    def _held_out(self) -> Iterator[tuple[slice, Array, Array]]:
        for rows, r, free in self._passed():
            yield rows, _without_row(r, free), free

    def missed_by_blocks(self) -> Iterator[tuple[slice, Array, Array]]:
        for rows, r, free in self._passed():
            yield rows, _without_row(r, free), r

    def leave_out(self, rows: Rows) -> Array:
        return np.concatenate([e for _, e in self.leave_out_by_blocks(rows)], axis=1)

    def leave_out_by_blocks(self, rows: Rows) -> Iterator[tuple[slice, Array]]:
        rest = self.path.without(rows, self.y)
        for some, values in self._at(self.path.gram.part(rows), *rest):
            yield some, self.y[rows[some]] - values

    def residuals(self) -> Array:
        missed = np.empty((len(self.alphas), *self.y.shape))
        for rows, r, _ in self._passed():
            missed[:, rows] = r
        return missed

    def generalised(self, more: float = 0.0) -> Array:
        path, s, (Fy, means) = self.path, self.path.spectrum.s, self._fitted
        weights, n = path.weights, len(self.y) + more
        y = self.y - means
        ridges = self.alphas[:, None]
        kept = s > 0.0
        along = (path.spectrum.V.T @ Fy)[kept] ** 2 / s[kept, None]
        shrinkage = ridges / (s[kept] + ridges)
        beside = np.maximum(weights @ y**2 - along.sum(axis=0), 0.0)
        squares = shrinkage**2 @ along + beside
        free = n - path.fit_intercept - (1.0 - shrinkage).sum(axis=1)
        return np.asarray((n / free[:, None]) ** 2 * squares / weights.sum())


def _without_row(r: Array, free: Array) -> Array:
    """Return r / (1 - h), infinite where a fit follows its row whatever that is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = r / free[:, :, None]
        without = np.where(r == 0.0, 0.0, np.inf * np.sign(r))
    return np.where(free[:, :, None] > Inverse.rounding, errors, without)


@dataclass(frozen=True, eq=False)
class LandmarkSmoother(LinearSmoother):
    """The fit in features of landmarks as a linear map of the targets: one more `Smoother`.

    With z = phi(x) minus the mean it is h(x) = W F (F'WF + alpha)^-1 z + w / sum_i w_i, and the
    posterior variance of f(x) + b is alpha z'(F'WF + alpha)^-1 z + alpha / sum_i w_i, to which is
    added k(x, x) - ||phi(x)||^2, the prior variance that the landmarks leave.

    Parameters
    ----------
    path : LandmarkPath
        The decomposition.
    alpha : float
        The ridge.
    targets : array of int
        Which targets have it.
    """

    path: LandmarkPath
    alpha: float
    targets: Rows

    def _projected(self, X: Any) -> tuple[Array, Array]:
        """Return V'z and ||phi(x)||^2 of new rows."""
        path, F = self.path, self.path.gram.landmarks(X)
        squares = np.einsum("ij,ij->i", F, F)
        return (F - (path.centre + path.spectrum.mean)) @ path.spectrum.V, squares

    def weights(self, X: Any) -> Array:
        path, spectrum = self.path, self.path.spectrum
        along = self._projected(X)[0].T / (spectrum.s + self.alpha)[:, None]
        theta = spectrum.V @ along
        h = path.gram.cross_product(path.gram.landmarks.coefficients(theta))
        h -= (path.centre + spectrum.mean) @ theta
        if path.fit_intercept:
            h += 1.0 / path.weights.sum()
        return np.asarray(path.weights[:, None] * h)

    def variance(self, X: Any, prior: Array) -> Array:
        Z, squares = self._projected(X)
        variance = Z**2 @ (self.alpha / (self.path.spectrum.s + self.alpha))
        variance += np.maximum(prior - squares, 0.0)
        return np.asarray(variance + self.path.fit_intercept * self.alpha / self.path.weights.sum())
