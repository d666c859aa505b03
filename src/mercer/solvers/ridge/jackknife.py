"""Jackknife+ intervals of a ridge, in units of what the fit without a row knows of its target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.ridge.held_out import LeftOut, copies_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TargetVariance:
    """The variance s_-i^2(x) of a target at x by the fit without row i.

    Under the Gaussian process with covariance k it is the noise of one row and the posterior
    variance of f(x) + b without row i, v(x) + h_i(x)^2 / B_ii, times the unit in which the squares
    of e_i / s_-i(x_i) are one in the mean, so that those of several kernels can be added. To it
    comes the mean of the same over all rows i: with a ridge near zero the process would have every
    target of a training row known exactly, and intervals there vanish. The posterior variance has
    a further factor, by which errors of slices of rows left out grow faster than it: see `growth`.
    It is one number for all rows where nothing is known of it: of a finished matrix, which tells
    no k(x, x), and of least squares without a ridge on explicit features. Of targets whose squares
    are no numbers it is counted in a power of two, of which intervals are free: see `spread`.

    Parameters
    ----------
    left_out : LeftOut
        e_i and 1 / B_ii.
    noise : array of shape (targets,)
        The variance of a target given f, alpha / w of a row that counts once, and the mean.
    units : array of shape (targets,)
        What variances are multiplied with.
    rows : array of shape (n, targets)
        s_-i^2(x_i).
    growth : array of shape (targets,)
        The factor of posterior variances.

    References
    ----------
    F. Bachoc (2013), Cross validation and maximum likelihood estimations of hyper-parameters of
    Gaussian processes with model misspecification, of the unit.
    """

    left_out: LeftOut
    noise: Array
    units: Array
    rows: Array
    growth: Array

    @classmethod
    def of(
        cls, left_out: LeftOut, problem: RidgeProblem, prior: Array | None, growth: Array
    ) -> TargetVariance:
        """Return it from the prior variance that the Gram matrix leaves, or None if unknown."""
        w, (e, variances) = problem.weights, left_out
        e = e / problem.in_units()[1]
        noise = problem.alpha / np.mean(w / copies_of(w))
        rows = posterior = np.full_like(e, np.nan)
        if prior is not None:
            posterior = variances - problem.alpha / w[:, None] + prior[:, None]
            rows = posterior + noise
        finite = np.isfinite(e)
        known = (np.isfinite(rows) & (rows > 0.0) | ~finite).all(axis=0)
        rows[:, ~known], noise = 1.0, np.where(known, noise, np.nan)
        count = np.maximum(finite.sum(axis=0), 1)
        level = np.where(known, np.where(finite, rows, 0.0).sum(axis=0) / count, 0.0)
        # Of a row that no other determines the variance is infinite, and times zero no number.
        more = (growth - 1.0) * np.where(known & finite, posterior, 0.0)
        rows, noise = rows + level + np.maximum(more, 0.0), noise + level
        with np.errstate(invalid="ignore"):
            squares = np.where(finite, e**2 / rows, 0.0)
        units = squares.sum(axis=0) / count
        units[units == 0.0] = 1.0
        return cls(left_out, noise, units, units * rows, growth)

    def at(self, t: int, weights: Array, variance: Array) -> Array:
        """Return s_-i^2 of target t at new rows, of shape (n, rows), from h(x) and v(x)."""
        if np.isnan(self.noise[t]):
            return np.full(weights.shape, self.units[t])
        one = self.left_out.variances[:, t, None]
        more = weights**2 * np.where(np.isfinite(one), one, 0.0)
        return np.asarray(self.units[t] * (self.noise[t] + self.growth[t] * (variance + more)))


def prediction_changes(weights: Array, residuals: Array) -> Array:
    """Return f(x) - f_-i(x) = h_i(x) e_i at new rows, of shape (n, rows), for one target.

    Parameters
    ----------
    weights : array of shape (n, rows)
        h(x).
    residuals : array of shape (n,)
        e.
    """
    # A row without which nothing is determined widens both ends, wherever it would move them.
    return weights * np.where(np.isfinite(residuals), residuals, 0.0)[:, None]


def spread(residuals: Array, rows: Array, new: Array) -> Array:
    """Return d_i(x) = |e_i| s_-i(x) / s_-i(x_i), of shape (n, rows), for one target.

    That is how far a target lies from f_-i(x) if it misses that as y_i was missed, where the rows
    near x tell as much of it as they did of y_i.

    Parameters
    ----------
    residuals : array of shape (n,)
        e.
    rows : array of shape (n,)
        s_-i^2(x_i).
    new : array of shape (n, rows)
        s_-i^2(x).
    """
    finite = np.isfinite(residuals)
    scores = np.full(len(residuals), np.inf)
    scores[finite] = np.abs(residuals[finite]) / np.sqrt(rows[finite])
    return scores[:, None] * np.sqrt(new)


def jackknife_plus(
    predicted: Array, changes: Array, distances: Array, coverage: float
) -> tuple[Array, Array]:
    """Return the ends of the jackknife+ interval at new rows, for one target.

    With f_-i(x) the prediction of the fit without row i, they are the floor(t (n + 1))-th smallest
    f_-i(x) - d_i(x) and the ceil((1 - t)(n + 1))-th smallest f_-i(x) + d_i(x), t = 1 - coverage;
    infinite where n is too small for such a rank.

    Parameters
    ----------
    predicted : array of shape (rows,)
        f(x) + b.
    changes : array of shape (n, rows)
        f(x) - f_-i(x), see `prediction_changes`.
    distances : array of shape (n, rows) or (n, 1)
        d, see `spread`; or |e_i|, as wide at every row.
    coverage : float
        The share of new targets to cover.

    References
    ----------
    R. Barber, E. Candes, A. Ramdas, R. Tibshirani (2021), Predictive inference with the jackknife+.
    H. Papadopoulos, V. Vovk, A. Gammerman (2011), Regression conformal prediction with nearest
    neighbours, of errors in units of what is known where they were made.
    """
    n = len(changes)
    without = predicted - changes
    low = int(np.floor((1.0 - coverage) * (n + 1) + 1e-9))
    high = int(np.ceil(coverage * (n + 1) - 1e-9))
    lower = _ranked(without - distances, low) if low >= 1 else np.full(len(predicted), -np.inf)
    upper = _ranked(without + distances, high) if high <= n else np.full(len(predicted), np.inf)
    return lower, upper


def _ranked(values: Array, rank: int) -> Array:
    return np.partition(values, rank - 1, axis=0)[rank - 1]
