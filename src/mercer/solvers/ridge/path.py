"""The ridge path: every alpha from one reduction of the Gram matrix, held-out errors included."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from mercer.native import NotPositiveError, Shifted, reduce
from mercer.solvers.rounding import usual_unit
from mercer.solvers.smoother import RidgeFits

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class RidgePath:
    """Ridge problems that differ in alpha only: (K + alpha W^-1) a + b 1 = y, 1'a = 0.

    With u = sqrt(w) / ||sqrt(w)|| and W^(1/2) K W^(1/2) reduced to Q T Q' across u, the matrix
    B = A^-1 - A^-1 1 1'A^-1 / 1'A^-1 1 of A = K + alpha W^-1 is W^(1/2) Q (T + alpha)^-1 Q' W^(1/2)
    for every alpha, and a = B y. Without an offset nothing is projected out and B = A^-1.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix, float64, C-contiguous. It is overwritten.
    weights : array of shape (n,)
        w, positive.
    fit_intercept : bool
        Whether there is an offset b.

    References
    ----------
    L. Elden (1984), A note on the computation of the generalized cross-validation function for
    ill-conditioned least squares problems.
    """

    def __init__(self, K: Array, weights: Array, fit_intercept: bool) -> None:
        self.roots = np.sqrt(weights)
        if not (weights == 1.0).all():
            K *= self.roots
            K *= self.roots[:, None]
        # Lest the squares of its entries overflow.
        self.unit = usual_unit(float(np.abs(K.diagonal()).mean()))
        if self.unit != 1.0:
            K /= self.unit
        self.u = self.roots / np.linalg.norm(self.roots) if fit_intercept else None
        self.Ku = None if self.u is None else K @ self.u
        self.reduced = reduce(K, self.u)

    def at(self, y: Array, alphas: Array) -> Fits:
        """Return the fits to the targets `y` of shape (n, targets) for every alpha."""
        return Fits(self, y, alphas)


@dataclass(frozen=True, eq=False)
class Fits(RidgeFits):
    """The fits of a path to some targets, for every alpha.

    Parameters
    ----------
    path : RidgePath
        The reduction.
    y : array of shape (n, targets)
        The targets.
    alphas : array of shape (alphas,)
        The ridges.
    """

    path: RidgePath
    y: Array
    alphas: Array

    @cached_property
    def _shifted(self) -> Shifted:
        return self.path.reduced.shifted(self.alphas / self.path.unit)

    @cached_property
    def _mean(self) -> Array:
        """The weighted mean of the targets, or zero without an offset."""
        if self.path.u is None:
            return np.zeros(self.y.shape[1])
        return np.average(self.y, axis=0, weights=self.path.roots**2)

    @cached_property
    def _solved(self) -> Array:
        """(T + alpha)^-1 Q'y~, of shape (alphas, columns of Q, targets)."""
        # Q takes the mean out as well, but what is large beside the rest leaves rounding errors.
        y = self.path.roots[:, None] * (self.y - self._mean)
        return self._shifted.solve(self.path.reduced.forward(y)) / self.path.unit

    @cached_property
    def _coefficients(self) -> Array:
        """W^(-1/2) a, of shape (alphas, n, targets)."""
        count, n, targets = self._solved.shape
        side_by_side = self._solved.transpose(1, 0, 2).reshape(n, count * targets)
        lifted = self.path.reduced.back(side_by_side)
        return lifted.reshape(len(self.y), count, targets).transpose(1, 0, 2)

    def coefficients(self) -> tuple[Array, Array]:
        """Return a of shape (alphas, n, targets) and b of shape (alphas, targets)."""
        offset = np.broadcast_to(self._mean, (len(self.alphas), self.y.shape[1]))
        if self.path.Ku is not None:
            # u'(y~ - K~ W^(-1/2) a) = b ||sqrt(w)||
            fitted = np.einsum("i,mit->mt", self.path.Ku, self._coefficients)
            offset = offset - fitted * (self.path.unit / np.linalg.norm(self.path.roots))
        return self.path.roots[:, None] * self._coefficients, offset

    def predicted(self, others: Array) -> Array:
        """Return f(x) + b for rows k_x, of shape (alphas, rows, targets)."""
        a, b = self.coefficients()
        return np.asarray(others @ a + b[:, None])

    def losses(self) -> Array:
        errors = self.leave_one_out()
        shares = self.path.roots**2 / (self.path.roots**2).sum()
        return np.asarray(np.einsum("mit,mit,i->mt", errors, errors, shares))

    def leave_one_out(self) -> Array:
        # e_i = a_i / B_ii, infinite where nothing is left to predict row i from.
        diagonals = self.path.roots * self._shifted.diagonals() / self.path.unit
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = self._coefficients / diagonals[:, :, None]
        return np.where(diagonals[:, :, None] > 0.0, errors, np.inf)

    def leave_out(self, rows: Rows) -> Array:
        """Return e_S = B_SS^-1 a_S, of shape (alphas, rows, targets).

        References
        ----------
        S. An, W. Liu, S. Venkatesh (2007), Fast cross-validation algorithms for least squares
        support vector machine and kernel ridge regression.
        """
        errors = np.empty((len(self.alphas), len(rows), self.y.shape[1]))
        for i, coefficients in enumerate(self._coefficients):
            Z = self._shifted.half(i, rows)
            _, errors[i], info = dposv((Z.T @ Z) / self.path.unit, coefficients[rows])
            if info > 0:
                raise NotPositiveError(i)
        return errors / self.path.roots[rows][:, None]

    def residuals(self) -> Array:
        # alpha a / w
        ridges = np.asarray(self.alphas)[:, None, None]
        return np.asarray(ridges * self._coefficients / self.path.roots[:, None])

    def generalised(self, more: float = 0.0) -> Array:
        """Return N^2 sum_i a_i^2 / w_i / (sum_i B_ii / w_i + (N - n) / alpha)^2 / sum_i w_i.

        References
        ----------
        G. Golub, M. Heath, G. Wahba (1979), Generalized cross-validation as a method for choosing a
        good ridge parameter.
        """
        traces = self._shifted.traces() / self.path.unit
        if more:
            with np.errstate(divide="ignore"):
                traces = traces + more / np.asarray(self.alphas)
        # Q keeps norms; divided by their mean, coefficients of any size have squares.
        errors = self._solved * ((len(self.y) + more) / traces)[:, None, None]
        return np.asarray((errors**2).sum(axis=1) / (self.path.roots**2).sum())
