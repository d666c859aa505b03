"""The spectral solver: one eigendecomposition serves every ridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.gram.gram import check_fits
from mercer.native.lapack import eigh
from mercer.native.reflector import Reflector
from mercer.solvers.contract import Solution
from mercer.solvers.refusals import (
    indefinite_along,
    not_finite,
    not_invertible,
    overflow,
    singular,
)
from mercer.solvers.ridge.bordered import Measured, RidgeProblem, RidgeSolver, with_best_offset
from mercer.solvers.ridge.cholesky import is_large
from mercer.solvers.rounding import EPS
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Eigen(RidgeSolver):
    """Solve (K + alpha W^-1) a + b 1 = y, 1'a = 0 by the eigenvalues of W^(1/2) K W^(1/2).

    It takes about 9 n^3 multiplications and three n x n arrays, and then n^2 for every target,
    whatever its alpha. The residual is measured with K itself, in float64. With an offset only
    vectors of sum zero matter, so that K need not be positive semi-definite beyond them; without
    one a Gram matrix that is known to be so on them may have one negative eigenvalue.

    Parameters
    ----------
    tol : float
        Relative residual above which a step of iterative refinement is added.

    References
    ----------
    R. Rifkin, R. Lippert (2007), Notes on regularized least squares.
    """

    iterates: ClassVar[bool] = False
    name: ClassVar[str] = "eigen"

    tol: float = 1e-6

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        alpha, weights, y = problem.alpha, problem.weights, problem.y
        spectrum = Spectrum.of(gram, weights, problem.fit_intercept)
        _check_positive(spectrum, alpha, gram)
        diagonal = gram.diagonal()
        a = spectrum.solve(alpha, y)
        b, r = with_best_offset(problem, a, gram @ a)
        size = np.max(diagonal, initial=0.0) + alpha / weights.min()
        steps = 0
        if is_large(problem, r, a, size, self.tol):
            a = a + spectrum.solve(alpha, r)
            b, r = with_best_offset(problem, a, gram @ a)
            steps = 1
        solution = (a, b, np.sqrt(weights)[:, None] * r)
        found = Measured.of(problem, solution, diagonal, gram.__matmul__, self.tol)
        parts = (found.a, found.b, found.residual, found.radius)
        return Solution(*parts, self.tol, "eigen", iterations=steps)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """W^(1/2) K W^(1/2) = V diag(s) V', on the complement of W^(1/2) 1 if there is an offset.

    So the bordered inverse of A = K + alpha W^-1 is B = W^(1/2) V diag(1/(s + alpha)) V' W^(1/2).

    Parameters
    ----------
    s : array of shape (m,)
        The eigenvalues in ascending order; m = n, or n - 1 with an offset.
    vectors : array of shape (m, m)
        V, or the part of H V below its first row, which is zero.
    roots : array of shape (n,)
        The roots of the weights.
    reflector : Reflector, optional
        H, which takes W^(1/2) 1 to the first axis.
    """

    s: Array
    vectors: Array
    roots: Array
    reflector: Reflector | None

    @classmethod
    def of(cls, gram: Gram, weights: Array, fit_intercept: bool) -> Spectrum:
        """Return the spectrum of a Gram matrix with positive weights."""
        roots = np.sqrt(weights)
        # Beside the matrix LAPACK works in two more of its size.
        check_fits(gram.shape, np.float64, gram.memory, copies=3)
        K = gram.fresh()
        if not np.isfinite(K).all():
            raise not_finite()
        K *= roots
        K *= roots[:, None]
        reflector = Reflector.of(roots / np.linalg.norm(roots)) if fit_intercept else None
        if reflector is not None:
            reflector.apply_both_sides(K)
            K = K[1:, 1:].copy()
        if len(K) == 0:
            return cls(np.empty(0), np.empty((0, 0)), roots, reflector)
        # LAPACK counts along columns: the upper triangle of rows is its lower one.
        return cls(*eigh(K.T), roots, reflector)

    def solve(self, alpha: Array, y: Array) -> Array:
        """Return a = B y, of shape (n, targets), with one ridge per target."""
        Y = self._reflected(self.roots[:, None] * y)
        with np.errstate(over="ignore"):
            C = (self.vectors.T @ Y[self._skipped :]) / (self.s[:, None] + alpha)
        if not np.isfinite(C).all():
            raise overflow(float(alpha.min()))
        return self._restored(self.vectors @ C)

    def lowest(self) -> Array:
        """Return the vector c that makes c'Kc as negative as the lowest eigenvalue says."""
        return self._restored(self.vectors[:, :1])[:, 0]

    @property
    def _skipped(self) -> int:
        return 0 if self.reflector is None else 1

    def _restored(self, Y: Array) -> Array:
        """Return vectors of the spectrum on the rows of K."""
        padded = np.pad(Y, ((self._skipped, 0), (0, 0)))
        return self.roots[:, None] * self._reflected(padded)

    def _reflected(self, Y: Array) -> Array:
        return Y if self.reflector is None else self.reflector.apply(Y)


def _check_positive(spectrum: Spectrum, ridges: Array, gram: Gram) -> None:
    """Refuse a spectrum that not every ridge makes positive, with a witness if it is negative."""
    if len(spectrum.s) == 0:
        return
    alpha = float(ridges.min())
    low, high = spectrum.s[0] + alpha, np.abs(spectrum.s).max() + alpha
    if low >= EPS * high and low > 0.0:
        return
    if (refusal := indefinite_along(gram, spectrum.lowest())) is not None:
        raise refusal
    if alpha == 0.0:
        raise not_invertible(max(low, 0.0) / high if high > 0.0 else 0.0)
    raise singular(alpha, len(gram), float(gram.diagonal().max()), gram.dtype)
