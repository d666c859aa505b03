"""The ridge problem with weights and offset, and the bordered system that solves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.solution import Solution

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

    def on(self, rows: NDArray[np.intp]) -> RidgeProblem:
        """Return the problem of some of the rows."""
        return replace(self, y=self.y[rows], weights=self.weights[rows])

    @property
    def unpenalised(self) -> Array:
        """N of shape (n, 1), a column of ones, or of shape (n, 0) without an offset."""
        return np.ones((len(self.y), 1 if self.fit_intercept else 0))

    def by_alpha(self) -> Iterator[tuple[float, NDArray[np.intp]]]:
        """Yield every distinct ridge with the targets that have it."""
        for alpha in np.unique(self.alpha):
            yield float(alpha), np.flatnonzero(self.alpha == alpha)


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
        b = np.asarray(np.linalg.solve(N.T @ N, N.T @ y), np.float64)
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
        return self.y - self.A.product(self.a) - self.N @ self.b

    def refined(self) -> Bordered:
        """Return the solution after a step of iterative refinement."""
        return self.corrected(self.A.solve(self.residual()))

    def corrected(self, Z: Array) -> Bordered:
        """Return the solution moved by the bordered step of which Z = A^-1 r is the first half."""
        # N'a = 0 is restored together with the equations: both are linear in the step.
        b = np.linalg.solve(self.S, self.N.T @ (self.a + Z))
        return replace(self, a=self.a + Z - self.U @ b, b=self.b + b)

    def radius(self, alpha: float, weights: Array, residual: Array) -> Array:
        """Return a bound on ||f - f*|| for every target, of shape (targets,).

        It is that of `residual_radius`, plus sqrt(q'S^-1 q) for what q = N'a is not zero.
        """
        q = self.N.T @ self.a
        unit = column_units(q)
        z = q / unit
        drift = unit * np.sqrt(np.maximum((z * np.linalg.solve(self.S, z)).sum(axis=0), 0.0))
        return residual_radius(alpha, weights, residual) + drift


def residual_radius(alpha: Array | float, weights: Array, residual: Array) -> Array:
    """Return the bound ||W^(1/2) r|| / (2 sqrt(alpha)) on ||f - f*||, infinite for alpha = 0.

    Where 1'a = 0, (f - f*) has the squared norm r'B K B r, and the eigenvalues of
    W^(1/2) B K B W^(1/2) are s / (s + alpha)^2 <= 1 / (4 alpha).
    """
    weighted = column_norms(np.sqrt(weights)[:, None] * residual)
    roots = np.broadcast_to(np.sqrt(alpha), weighted.shape)
    return np.divide(weighted, 2.0 * roots, where=roots > 0.0, out=np.full_like(weighted, np.inf))


def column_units(V: Array) -> Array:
    """Return the largest entry of every column, by which it can be divided before it is squared."""
    unit = np.abs(V).max(axis=0, initial=0.0)
    unit[(unit == 0.0) | ~np.isfinite(unit)] = 1.0
    return np.asarray(unit)


def column_norms(V: Array) -> Array:
    """Return the Euclidean norm of every column, also where its square is no number."""
    unit = column_units(V)
    return np.asarray(unit * np.linalg.norm(V / unit, axis=0))


def relative_norm(r: Array, y: Array) -> Array:
    """Return ||r|| / ||y|| for every column, zero where r is."""
    norms = column_norms(r)
    with np.errstate(divide="ignore"):
        return np.divide(norms, column_norms(y), where=norms > 0.0, out=norms)


def relative_residual(weights: Array, r: Array, y: Array) -> Array:
    """Return ||W^(1/2) r|| / ||W^(1/2) y|| for every target.

    It is the norm that bounds the error of f, as in `residual_radius`: by any other a row of tiny
    weight, which hardly touches f, would outweigh all others with its alpha a / w.
    """
    roots = np.sqrt(weights)[:, None]
    return relative_norm(roots * r, roots * y)


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

    def keep(
        self, system: Bordered, targets: NDArray[np.intp], alpha: float, problem: RidgeProblem
    ) -> None:
        """Store the solution for the targets of one ridge, and measure it."""
        r = system.residual()
        self.a[:, targets] = system.a
        self.b[targets] = system.b.sum(axis=0)
        self.residual[targets] = relative_residual(problem.weights, r, system.y)
        self.radius[targets] = system.radius(alpha, problem.weights, r)

    def solution(self, tol: float, iterations: int, seconds: float, solver: str) -> Solution:
        """Return the whole."""
        return Solution(
            self.a, self.b, self.residual, self.radius, tol, iterations, seconds, solver
        )
