"""The primal solver: as many unknowns as there are features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from mercer.errors import KernelOverflowError
from mercer.gram import Gram
from mercer.gram.gram import check_fits
from mercer.native.lapack import svd
from mercer.solvers.contract import Solution
from mercer.solvers.refusals import overflow
from mercer.solvers.ridge.bordered import RidgeProblem, RidgeSolver, relative
from mercer.solvers.ridge.design import Design, design_of
from mercer.solvers.rounding import EPS, UNITS, column_norms
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Primal(RidgeSolver):
    """Minimise sum_i w_i (y_i - theta'phi_i - b)^2 + alpha ||theta||^2 over theta and b.

    It takes n p^2 multiplications and two p x p arrays: the Cholesky factor of the normal
    equations with refinement where they are well-conditioned, else the singular values of the
    features, and where these lose small features beside large ones a QR factor. The dual
    coefficients are a = W (y - F theta - b) / alpha. With alpha = 0, which is least squares, they
    are those of smallest a'W^-1 a with F'a = theta.

    The residual is not that of the dual coefficients but of theta, which is what predicts: its
    square is (J(theta, b) - min J) / sum_i w_i y_i^2 for the objective J, as
    (J - min J) = g'N^-1 g, with the residual g of the normal equations and their matrix N, bounds
    both the squared error of the fitted values and alpha times that of ||theta||. What rounding
    may hide of g, in the same norm, is added to it. The dual coefficients of features of very
    different size may have no such digits: there is no other way to f than theta.

    Parameters
    ----------
    tol : float
        Relative residual that is asked for.
    """

    iterates: ClassVar[bool] = False
    name: ClassVar[str] = "primal"
    # Reciprocal condition number below which normal equations are left for singular values.
    well_conditioned: ClassVar[float] = 1e-10
    most_steps: ClassVar[int] = 3

    tol: float = 1e-6

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        F = gram.features()
        if F is None:
            raise ValueError(
                f"the primal solver needs the features of the rows, a LowRankGram, got {gram!r}; "
                "use the solver 'cholesky' or 'eigen'"
            )
        design = design_of(F, problem.weights, problem.fit_intercept)
        check_norms(design)
        factors = _Factors(design, gram.memory, self.tol)
        y, means = design.targets(problem.y)
        theta = np.empty((design.shape[1], y.shape[1]))
        a, gap, radius = np.empty_like(y), np.empty(y.shape[1]), np.full(y.shape[1], np.inf)
        steps = 0
        for alpha, targets in problem.by_alpha():
            fit = factors.fit(alpha, y[:, targets])
            if not np.isfinite(fit.dual).all():
                raise overflow(alpha)
            theta[:, targets] = fit.theta
            a[:, targets] = design.coefficients(fit.dual)
            gap[targets] = fit.gap
            if alpha > 0.0:
                radius[targets] = fit.gap / np.sqrt(alpha)
            steps += fit.steps
        residual = relative(gap, problem.sizes)
        return Solution(
            a,
            design.offset(means, theta),
            residual,
            radius,
            self.tol,
            "primal",
            iterations=steps,
            theta=theta,
            measure="relative residual of the normal equations",
        )


class Fit(NamedTuple):
    """theta, the dual vector on the weighted rows, sqrt(J - min J), and steps of refinement.

    The root is what it is at most: with what rounding may hide of it.
    """

    theta: Array
    dual: Array
    gap: Array
    steps: int


class _Factors:
    """The factorisations of one design, each made when it is first needed."""

    def __init__(self, design: Design, memory: int, tol: float) -> None:
        self.design = design
        self.memory = memory
        self.tol = tol

    def fit(self, alpha: float, y: Array) -> Fit:
        n, p = self.design.shape
        if p <= n:
            normal = NormalEquations.factored(self.design, self.normal, alpha)
            if normal is not None:
                return normal.fit(y)
        if alpha > 0.0:
            found = self.singular.fit(alpha, y)
            enough = self.tol * column_norms(y)
            is_small = 8 * (n + p) * p <= self.memory // 3
            if (found.gap <= enough).all() or not is_small:
                return found
            stacked = Stacked.of(self.design, alpha).fit(y)
            return stacked if (stacked.gap <= enough).all() else found
        # Least squares does not mind how features are scaled, but the digits of small ones do.
        scale = np.where(self.design.norms > 0.0, self.design.norms, 1.0) if p <= n else np.ones(p)
        singular = SingularValues.of(self.design, scale, self.memory)
        if len(singular.s) < self.design.rank_at_most:
            raise deficient(self.design, len(singular.s))
        return singular.fit(alpha, y)

    @cached_property
    def normal(self) -> Array:
        p = self.design.shape[1]
        # Beside it there is a factor of the same size.
        check_fits((p, p), np.float64, self.memory, copies=2)
        return self.design.normal()

    @cached_property
    def singular(self) -> SingularValues:
        return SingularValues.of(self.design, np.ones(self.design.shape[1]), self.memory)


class NormalEquations(NamedTuple):
    """N = Phi'Phi + alpha I = D L L'D, where D makes the diagonal of L L' one."""

    design: Design
    alpha: float
    L: Array
    D: Array
    inverse_norm: float

    @classmethod
    def factored(cls, design: Design, G: Array, alpha: float) -> NormalEquations | None:
        """Return the factor for G = Phi'Phi, or None where it is ill-conditioned."""
        squares = G.diagonal() + alpha
        D = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        N = G / D
        N /= D[:, None]
        # A feature that says nothing keeps a one here, so that its coefficient is zero.
        np.fill_diagonal(N, 1.0)
        norm = max(float(np.abs(row).sum()) for row in N)
        L, order = dpotrf(N.T, lower=True, clean=False, overwrite_a=True)
        rcond = 0.0 if order else float(dpocon(L, norm, uplo="L")[0])
        if rcond < Primal.well_conditioned:
            return None
        return cls(design, alpha, L, D[:, None], 1.0 / (rcond * norm))

    def fit(self, y: Array) -> Fit:
        """Return the minimum, refined until its residual is that of rounding."""
        design, alpha = self.design, self.alpha
        theta = np.zeros((design.shape[1], y.shape[1]))
        enough, gap = 16 * EPS * np.linalg.norm(y, axis=0), np.full(y.shape[1], np.inf)
        # The step from zero is the solution, those after it are refinement.
        for steps in range(-1, Primal.most_steps + 1):
            last = gap
            r, adjoint = design.residual(y, theta)
            g = adjoint - alpha * theta
            step = self.solve(g)
            gap = np.sqrt(np.maximum((g * step).sum(axis=0), 0.0))
            if steps == Primal.most_steps or ((gap <= enough) | (gap > 0.5 * last)).all():
                break
            theta = theta + step
        # What rounding does to Phi'r is scaled by D, and longer by L^-1 at most.
        spread = np.sqrt(self.inverse_norm) * float((design.sizes / self.D[:, 0]).max())
        gap = gap + hidden(design, alpha, theta, spread * column_norms(r))
        return Fit(theta, self._dual(r, step, theta), gap, max(steps, 0))

    def solve(self, h: Array) -> Array:
        """Return N^-1 h, of shape (p, targets)."""
        x, _ = dpotrs(self.L, np.asfortranarray(h / self.D), lower=True, overwrite_b=True)
        return np.asarray(x / self.D)

    def _dual(self, r: Array, step: Array, theta: Array) -> Array:
        if self.alpha > 0.0:
            # Phi'(r / alpha) misses theta by g / alpha; the step, which leaves out what theta
            # itself would round away, makes it theta, as K a = Phi theta asks for.
            with np.errstate(over="ignore"):
                return np.asarray((r - self.design.product(step)) / self.alpha)
        c = self.solve(theta)
        _, adjoint = self.design.residual(np.zeros_like(r), c)
        return self.design.product(c + self.solve(theta + adjoint))


class SingularValues(NamedTuple):
    """Phi D^-1 = U diag(s) V', where s leaves out what rounding alone explains."""

    design: Design
    U: Array
    s: Array
    V: Array
    D: Array

    @classmethod
    def of(cls, design: Design, D: Array, memory: int) -> SingularValues:
        """Return the decomposition."""
        # Phi, U and what LAPACK works in are of one size.
        check_fits(design.shape, np.float64, memory, copies=3)
        # Centred again: the smallest singular vectors would take up what rounding left of means.
        Phi = design.centred(design.dense()) / D
        U, s, Vt = svd(Phi)
        rank = int((s > max(Phi.shape) * EPS * s[0]).sum())
        rank = min(rank, design.rank_at_most)
        return cls(design, U[:, :rank], s[:rank, None], Vt[:rank].T, D[:, None])

    def fit(self, alpha: float, y: Array) -> Fit:
        """Return the minimum; D must be 1 unless alpha is zero."""
        U, s, V = self.U, self.s, self.V
        c = U.T @ y
        theta = V @ (c * s / (s * s + alpha)) / self.D
        r, adjoint = self.design.residual(y, theta)
        gap = self._gap(alpha, theta, r, adjoint)
        if alpha == 0.0:
            return Fit(theta, U @ (V.T @ (theta / self.D) / s), gap, 0)
        # What is outside the range of Phi is taken again, or rounding over alpha would be inside.
        rest = y - U @ c
        for _ in range(2):
            rest = self.design.centred(rest - U @ (U.T @ rest))
        with np.errstate(over="ignore"):
            return Fit(theta, U @ (c / (s * s + alpha)) + rest / alpha, gap, 0)

    def _gap(self, alpha: float, theta: Array, r: Array, adjoint: Array) -> Array:
        """Return sqrt(J - min J), with what rounding may hide of it."""
        s, V, squares = self.s, self.V / self.D, self.design.sizes[:, None] ** 2
        g = adjoint - alpha * theta
        # N is at least s^2 + alpha along V, and alpha across it, also where s was left out.
        along = V.T @ g
        gap = column_norms(along / np.sqrt(s * s + alpha))
        spread = ((V**2).T @ squares / (s * s + alpha)).sum()
        if alpha > 0.0:
            gap = np.hypot(gap, column_norms(g - V @ along) / np.sqrt(alpha))
            across = np.maximum(1.0 - (V**2).sum(axis=1, keepdims=True), 0.0)
            spread += float((across * squares).sum()) / alpha
        return gap + hidden(self.design, alpha, theta, np.sqrt(spread) * column_norms(r))


class Stacked(NamedTuple):
    """(Phi, sqrt(alpha) I) = Q R in one stack of n + p rows, sorted by size, columns pivoted.

    The errors of each row are then relative to that row, so that features and a ridge of any
    size keep their digits beside each other. It takes n + p times p^2 multiplications.

    References
    ----------
    A. J. Cox and N. J. Higham (1998), Stability of Householder QR factorization for weighted least
    squares problems.
    """

    design: Design
    alpha: float
    order: NDArray[np.intp]
    Q: Array
    R: Array
    pivots: NDArray[np.intp]

    @classmethod
    def of(cls, design: Design, alpha: float) -> Stacked:
        """Return the factors; alpha must be positive."""
        p = design.shape[1]
        A = np.vstack([design.centred(design.dense()), np.sqrt(alpha) * np.eye(p)])
        order = np.argsort(-np.abs(A).max(axis=1), kind="stable")
        Q, R, pivots = scipy.linalg.qr(A[order], mode="economic", pivoting=True)
        return cls(design, alpha, order, Q, R, pivots)

    def fit(self, y: Array) -> Fit:
        """Return the minimum."""
        design, alpha, p = self.design, self.alpha, self.design.shape[1]
        theta, step = np.empty((p, y.shape[1])), np.empty((p, y.shape[1]))
        rows = np.vstack([y, np.zeros_like(theta)])[self.order]
        theta[self.pivots] = scipy.linalg.solve_triangular(self.R, self.Q.T @ rows)
        r, adjoint = design.residual(y, theta)
        half = self._half(adjoint - alpha * theta)
        step[self.pivots] = scipy.linalg.solve_triangular(self.R, half)
        spread = np.linalg.norm(self._half(np.diag(design.sizes)))
        gap = column_norms(half) + hidden(design, alpha, theta, spread * column_norms(r))
        with np.errstate(over="ignore"):
            return Fit(theta, np.asarray((r - design.product(step)) / alpha), gap, 0)

    def _half(self, h: Array) -> Array:
        """Return L^-1 h for the normal equations N = L L', L = R' on the pivoted features."""
        solved = scipy.linalg.solve_triangular(self.R, h[self.pivots], trans="T")
        return np.asarray(solved)


def hidden(design: Design, alpha: float, theta: Array, sums: Array) -> Array:
    """Return what rounding hides of sqrt(g'N^-1 g) for g = Phi'(y - Phi theta) - alpha theta.

    Errors of Phi theta, as long as those of as many independent terms, are no longer in g, and
    those of alpha theta at most 1 / sqrt(alpha) times as long; see `product_rounding`.

    Parameters
    ----------
    design : Design
        Phi.
    alpha : float
        The ridge.
    theta : array of shape (p, targets)
        The coefficients.
    sums : array of shape (targets,)
        The norm of the terms of Phi'r, in which errors are relative.
    """
    terms = column_norms(design.sizes[:, None] * theta) + np.sqrt(alpha) * column_norms(theta)
    return np.asarray(UNITS * EPS * (terms + sums))


def deficient(design: Design, rank: int) -> ValueError:
    """Return the refusal of least squares in features of too low a rank."""
    n, p = design.shape
    return ValueError(
        "alpha = 0 is least squares, which needs features of full rank, but these "
        f"{n} x {p} have the numerical rank {rank} of {design.rank_at_most}; use alpha > 0 or "
        "drop what is repeated"
    )


def check_norms(design: Design) -> None:
    """Refuse features whose squares are no numbers."""
    if not np.isfinite(design.norms @ design.norms):
        raise KernelOverflowError("the squares of the features overflow; scale the columns")
