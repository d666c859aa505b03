"""The ridge problem with weights and offset, and the bordered system that solves it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.contract import OFFSET_ALONE, Solution, Solver
from mercer.solvers.rounding import EPS, UNITS, column_norms, row_norms, usual_units

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """Minimise sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, for every target by itself.

    Parameters
    ----------
    y : array of shape (n, targets)
        What to learn.
    alpha : array of shape (targets,)
        The ridge of every target, at least zero.
    weights : array of shape (n,)
        w, at least zero.
    fit_intercept : bool
        Whether there is an offset b; it is never penalised.
    """

    y: Array
    alpha: Array
    weights: Array
    fit_intercept: bool

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """The rows that count: those of zero weight have no equation and coefficient zero."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # A weight so small that alpha / w overflows is zero as well.
            alpha, least = self.alpha.max(), self.weights.min()
            if least > 0 and np.isfinite(alpha / least):
                return np.ones(len(self.weights), np.bool_)
            return (self.weights > 0) & np.isfinite(alpha / self.weights)

    def on(self, rows: NDArray[np.intp] | slice) -> RidgeProblem:
        """Return the problem of some of the rows."""
        return replace(self, y=self.y[rows], weights=self.weights[rows])

    @property
    def groups(self) -> NDArray[np.int8]:
        """Which rows belong together: all of them."""
        return np.zeros(len(self.y), np.int8)

    def of_targets(self, targets: NDArray[np.intp]) -> RidgeProblem:
        """Return the problem of some of the targets."""
        return replace(self, y=self.y[:, targets], alpha=self.alpha[targets])

    def in_units(self) -> tuple[RidgeProblem, Array]:
        """Return the problem in units in which squares are numbers, and the unit of each target."""
        unit = usual_units(self.y)
        return (self if (unit == 1.0).all() else replace(self, y=self.y / unit)), unit

    def zero_solution(self, tol: float) -> Solution:
        """Return a = 0 and the weighted mean of the targets, whose residual takes no entry of K."""
        b = (self.weights[:, None] * self.y).sum(axis=0) / self.weights.sum()
        if not self.fit_intercept:
            b = np.zeros_like(b)
        # Of many rows every array of their number counts: these are made before r is.
        sizes = self.sizes
        r = self.y - b
        if not self.is_plain:
            r *= np.sqrt(self.weights)[:, None]
        missed = column_norms(r)
        r.fill(0.0)
        residual, radius = relative(missed, sizes), _radius(missed, self.alpha)
        return Solution(r, b, residual, radius, tol, OFFSET_ALONE)

    @property
    def unpenalised(self) -> Array:
        """N of shape (n, 1), a column of ones, or of shape (n, 0) without an offset."""
        return np.ones((len(self.y), 1 if self.fit_intercept else 0))

    @cached_property
    def sizes(self) -> Array:
        """What residuals are relative to: `spread` of W^(1/2) y beside the offset."""
        if self.is_plain:
            return spread(self.y, self.weights[:, None][:, : int(self.fit_intercept)])
        roots = np.sqrt(self.weights)[:, None]
        return spread(roots * self.y, roots[:, : int(self.fit_intercept)])

    @property
    def is_plain(self) -> bool:
        """Whether all rows have the weight 1."""
        return bool((self.weights == 1.0).all())

    def by_alpha(self) -> Iterator[tuple[float, NDArray[np.intp]]]:
        """Yield every distinct ridge with the targets that have it."""
        for alpha in np.unique(self.alpha):
            yield float(alpha), np.flatnonzero(self.alpha == alpha)


class RidgeSolver(Solver[RidgeProblem]):
    """What solves ridge problems; all weights must be positive."""


class Factor(Protocol):
    """A matrix A that can be solved with."""

    def solve(self, V: Array) -> Array:
        """Return A^-1 V, of shape (n, p)."""

    def product(self, V: Array) -> Array:
        """Return A V, of shape (n, p)."""


@dataclass(frozen=True, eq=False)
class Bordered:
    """The solution of A a + N b = y, N'a = 0, where A = K + alpha W^-1 and N = 1.

    With U = A^-1 N and S = N'U it is a = B y, b = S^-1 U'y, for the matrix
    B = A^-1 - U S^-1 U', which answers every further question about the fit: the residuals of
    y are alpha W^-1 a, those of row i left out a_i / B_ii. Without an offset N has no columns and
    B = A^-1.

    Parameters
    ----------
    A : Factor
        The matrix, factored.
    N : array of shape (n, p)
        What is fitted without penalty.
    y : array of shape (n, targets)
        The right-hand sides.
    U : array of shape (n, p)
        A^-1 N.
    a : array of shape (n, targets)
        The coefficients.
    b : array of shape (p, targets)
        The offsets.

    References
    ----------
    G. Wahba (1990), Spline models for observational data, chapter 4; T. Hastie, R. Tibshirani and
    J. Friedman (2009), The elements of statistical learning, section 7.10.
    """

    A: Factor
    N: Array
    y: Array
    U: Array
    a: Array
    b: Array

    @classmethod
    def solve(cls, A: Factor, N: Array, y: Array) -> Bordered:
        """Return the solution, of all right-hand sides and N in one pass over the factor."""
        # An offset that y has anyway is taken out first: what remains is small beside y, and so
        # are the rounding errors of a = A^-1 y - U b.
        b = best_offset(N, y)
        Z = A.solve(np.hstack([y - N @ b, N]))
        targets = y.shape[1]
        start = cls(A, N, y, Z[:, targets:], np.zeros_like(y), b)
        return start.corrected(Z[:, :targets])

    @property
    def S(self) -> Array:
        """N'A^-1 N, of shape (p, p)."""
        return self.N.T @ self.U

    def offset_diagonal(self) -> Array:
        """Return the diagonal of U S^-1 U', by which B falls short of A^-1, of shape (n,)."""
        return np.einsum("ij,ji->i", self.U, np.linalg.solve(self.S, self.U.T))

    def residual(self) -> Array:
        """Return y - A a - N b, of shape (n, targets)."""
        # The offset first: it may be large beside what is left, and this difference is exact.
        return (self.y - self.N @ self.b) - self.A.product(self.a)

    def refined(self) -> Bordered:
        """Return the solution after a step of iterative refinement."""
        return self.corrected(self.A.solve(self.residual()))

    def corrected(self, Z: Array) -> Bordered:
        """Return the solution after the bordered step of which Z = A^-1 r is the first half."""
        # N'a = 0 is restored together with the equations: both are linear in the step.
        b = np.linalg.solve(self.S, self.N.T @ (self.a + Z))
        return replace(self, a=self.a + Z - self.U @ b, b=self.b + b)


def best_offset(N: Array, y: Array) -> Array:
    """Return the b of least ||y - N b|| for every column of y, of shape (p, targets)."""
    return np.asarray(np.linalg.solve(N.T @ N, N.T @ y), np.float64)


def spread(y: Array, N: Array) -> Array:
    """Return the norm of what N leaves of every column of y, y - N (N'N)^-1 N'y.

    An offset takes the rest, however large it is, and f has no part in it. Less than sqrt(eps) of
    ||y|| is not told from the rounding of y, and counts as that much.
    """
    norms = column_norms(y)
    if N.shape[1] == 0:
        return norms
    most = max(N.max(), -N.min())
    N = N if most == 1.0 else N / most
    # Of many rows every array of their number counts.
    rest = N @ best_offset(N, y)
    np.subtract(y, rest, out=rest)
    return np.maximum(column_norms(rest), np.sqrt(EPS) * norms)


def relative_norm(r: Array, y: Array, N: Array) -> Array:
    """Return the norm of every column of r beside `spread` of y, zero where r is."""
    return relative(column_norms(r), spread(y, N))


def relative(norms: Array, sizes: Array) -> Array:
    """Return norms beside sizes, zero where they are; what is no number stays none."""
    with np.errstate(divide="ignore"):
        return np.divide(norms, sizes, where=norms != 0.0, out=np.zeros_like(norms))


def measured(
    problem: RidgeProblem,
    a: Array,
    weighted: Array,
    diagonal: Array,
    absolute: Array | None = None,
) -> tuple[Array, Array]:
    """Return the relative residual and a bound on ||f - f*||, both for every target.

    They are those of the whole bordered system, A a + b 1 = y and 1'a = 0. With r = y - A a - b 1
    and q = 1'a it is a - a* = -B r + (U / S) q, in which

    - B r has at most the norm ||W^(1/2) r|| / (2 sqrt(alpha)), as the eigenvalues of
      W^(1/2) B K B W^(1/2) are s / (s + alpha)^2 <= 1 / (4 alpha);
    - U / S is the z that minimises z'A z among those with 1'z = 1, so that its norm is at most
      sqrt(A_ii) for every i, and the radius has sqrt(min A_ii) |q| beside that of r.

    The residual is the norm of W^(1/2) r beside that of W^(1/2) (y - m), where m is the weighted
    mean of y if there is an offset, else zero (`spread`). In it a row of tiny weight, that hardly
    touches f, does not outweigh all others with its alpha a / w. There q counts as what it costs
    the equation of one row to take it back, min sqrt(w_i) A_ii |q|: it has the unit of y and the
    weight of a row, grows with K and with alpha as the equations do, and does not vanish with
    alpha, as what q adds to f does not. To r and q is added what rounding may hide of them.

    Parameters
    ----------
    problem : RidgeProblem
        The problem.
    a : array of shape (n, targets)
        The coefficients.
    weighted : array of shape (n, targets)
        W^(1/2) r.
    diagonal : array of shape (n,)
        That of K.
    absolute : array of shape (n, targets), optional
        |K| |a|, where its entries are at hand: rounding hides no more than units of that.
    """
    roots = np.sqrt(problem.weights)[:, None]
    most = None if absolute is None else column_norms(roots * absolute)
    return proved(problem, a, column_norms(weighted), diagonal, most)


def proved(
    problem: RidgeProblem,
    a: Array,
    missed: Array,
    diagonal: Array,
    most: Array | None = None,
) -> tuple[Array, Array]:
    """Return what `measured` does, from the norms of W^(1/2) r and W^(1/2) |K| |a|."""
    # Targets as rows, along which sums are fast.
    A, alpha, roots, k = a.T, problem.alpha[:, None], np.sqrt(problem.weights), np.abs(diagonal)
    # The product of the first two is that of `product_rounding`.
    terms = (roots * np.sqrt(k), np.sqrt(k) * A, alpha * A / roots, A)
    scale, product, ridge, norm = map(row_norms, terms)
    rounded = scale * product if most is None else np.minimum(scale * product, most)
    missed = missed + UNITS * EPS * (rounded + ridge)
    radius = _radius(missed, problem.alpha)
    if problem.fit_intercept:
        shifted = k + alpha / problem.weights
        q = np.abs(A.sum(axis=-1)) + UNITS * EPS * norm
        missed = missed + q * (roots * shifted).min(axis=-1)
        radius = radius + q * np.sqrt(shifted.min(axis=-1))
    return relative(missed, problem.sizes), radius


def _radius(missed: Array, alpha: Array) -> Array:
    """Return ||W^(1/2) r|| / (2 sqrt(alpha)) for every target, infinite without a ridge."""
    doubled = np.broadcast_to(2.0 * np.sqrt(alpha), missed.shape)
    return np.divide(missed, doubled, where=doubled > 0.0, out=np.full_like(missed, np.inf))


def with_best_offset(problem: RidgeProblem, a: Array, Ka: Array) -> tuple[Array, Array]:
    """Return the offsets b that fit given coefficients best, and y - (K + alpha W^-1) a - b 1."""
    weights = problem.weights[:, None]
    rest = problem.y - Ka - problem.alpha * a / weights
    b = (weights * rest).sum(axis=0) / weights.sum()
    if not problem.fit_intercept:
        b = np.zeros_like(b)
    return b, rest - b


def restored(a: Array, weights: Array) -> Array:
    """Return coefficients with 1'a = 0 to the last digit, where the numbers near them allow it.

    What is missing is shared among the rows as their weights are, as the offset of a large alpha
    does, and what rounding leaves of it goes to the coefficient nearest to zero, whose digits are
    the finest.
    """
    a = a - np.multiply.outer(weights / weights.sum(), a.sum(axis=0))
    for column in a.T:
        column[np.abs(column).argmin()] -= math.fsum(column)
    return a


class Measured(NamedTuple):
    """Coefficients and offsets, W^(1/2) r of them, and what `measured` says."""

    a: Array
    b: Array
    weighted: Array
    residual: Array
    radius: Array

    @classmethod
    def of(
        cls,
        problem: RidgeProblem,
        solution: tuple[Array, Array, Array],
        diagonal: Array,
        product: Callable[[Array], Array],
        tol: float,
    ) -> Measured:
        """Return a, b and W^(1/2) r measured, with 1'a = 0 restored where that is needed and helps.

        Parameters
        ----------
        problem : RidgeProblem
            The problem.
        solution : tuple
            a, b and W^(1/2) r.
        diagonal : array of shape (n,)
            That of K.
        product : callable
            V -> K V.
        tol : float
            The residual that is asked for.
        """
        a, b, weighted = solution
        plain = cls(a, b, weighted, *measured(problem, a, weighted, diagonal))
        if not problem.fit_intercept or (plain.residual <= tol).all():
            return plain
        a = restored(a, problem.weights)
        b, r = with_best_offset(problem, a, product(a))
        weighted = np.sqrt(problem.weights)[:, None] * r
        corrected = cls(a, b, weighted, *measured(problem, a, weighted, diagonal))
        is_better = corrected.residual < plain.residual
        return cls(*(np.where(is_better, *both) for both in zip(corrected, plain, strict=True)))


@dataclass(frozen=True, eq=False)
class Answer:
    """The parts of a solution, gathered target by target."""

    a: Array
    b: Array
    residual: Array
    radius: Array

    @classmethod
    def like(cls, problem: RidgeProblem) -> Answer:
        """Return an empty answer to a problem."""
        targets = problem.y.shape[1]
        return cls(np.empty_like(problem.y), *(np.empty(targets) for _ in range(3)))

    def keep(self, found: Measured, targets: NDArray[np.intp]) -> None:
        """Store what was found for some targets."""
        self.a[:, targets], self.b[targets] = found.a, found.b
        self.residual[targets], self.radius[targets] = found.residual, found.radius

    def solution(self, tol: float, iterations: int, solver: str) -> Solution:
        """Return the whole."""
        return Solution(
            self.a, self.b, self.residual, self.radius, tol, solver, iterations=iterations
        )
