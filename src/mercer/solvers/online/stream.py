"""Weights of features that are learnt block by block: what is kept of all rows seen so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer.solvers.logistic.likelihood import LogisticProblem, log_probabilities, probabilities
from mercer.solvers.lowrank.normal import Inverse, NormalSums, block_sums
from mercer.solvers.refusals import singular
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RidgeStream:
    """The normal equations of all rows seen so far, which have the exact answer for any alpha.

    It minimises sum_i w_i (y_i - theta'phi_i - b)^2 + alpha ||theta||^2 over these rows: no step
    size, no order of rows. Features and targets are counted from the means of the first block, so
    that no digits are lost where an offset takes the means out.

    Parameters
    ----------
    sums : NormalSums
        F'WF, F'Wy, F'W1 and 1'W1.
    total : array of shape (targets,)
        1'Wy.
    centre, level : arrays of shape (m,) and (targets,)
        What features and targets are counted from; zeros without an offset.
    fit_intercept : bool
        Whether there is an offset b.
    """

    sums: NormalSums
    total: Array
    centre: Array
    level: Array
    fit_intercept: bool

    @classmethod
    def begun(cls, F: Array, y: Array, weights: Array, fit_intercept: bool) -> RidgeStream:
        """Return what is known after a first block of features, which is overwritten.

        Parameters
        ----------
        F : array of shape (rows, m)
            The features.
        y : array of shape (rows, targets)
            The targets.
        weights : array of shape (rows,)
            w.
        fit_intercept : bool
            Whether there is an offset b.
        """
        centre, level = np.zeros(F.shape[1]), np.zeros(y.shape[1])
        if fit_intercept:
            centre = np.average(F, axis=0, weights=weights)
            level = np.average(y, axis=0, weights=weights)
        nothing = block_sums(F[:0].copy(), y[:0], weights[:0], None)
        start = cls(nothing, np.zeros(y.shape[1]), centre, level, fit_intercept)
        return start.after(F, y, weights)

    def after(self, F: Array, y: Array, weights: Array) -> RidgeStream:
        """Return what is known after one more block; the parameters are those of `begun`."""
        rest = y - self.level
        sums = self.sums + block_sums(F, rest, weights, self.centre)
        return replace(self, sums=sums, total=self.total + weights @ rest)

    def solved(self, alpha: Array) -> tuple[Array, Array]:
        """Return theta of shape (m, targets) and b of shape (targets,) for a ridge per target."""
        sums, mean = self.sums, np.zeros_like(self.total)
        if self.fit_intercept:
            mean = self.total / sums.weight
            sums = replace(sums.centred(), Fy=sums.Fy - np.outer(self.sums.F1, mean))
        inverse = Inverse(np.array(sums.G), alpha)
        if not inverse.is_regular:
            raise singular(float(alpha.min()), len(sums.G), float(sums.G.diagonal().max()))
        theta = inverse(sums.Fy)
        if not self.fit_intercept:
            return theta, np.zeros_like(mean)
        centre = self.centre + self.sums.F1 / sums.weight
        return theta, self.level + mean - centre @ theta


@dataclass(frozen=True, eq=False)
class LogisticStream:
    """Weights of a logistic model, and the curvature of the losses of all rows seen so far.

    A block is learnt by minimising C sum_i w_i loss_i + 1/2 (v - v')'H (v - v') over its rows,
    where v = (theta, b), v' is what was known before and H = diag(1, ..., 1, 0) + a curvature of
    all earlier losses: in the place of the objective of all rows before there is a parabola around
    its minimum. Its curvature tanh(s / 2) / (2 s) at scores s makes it nowhere less than the loss
    itself. That at the score alone, p (1 - p), vanishes where the classes are told apart, and
    blocks of one class after the other would be forgotten. Plain stochastic gradients would need a
    step size and many passes, since F'WF is ill-conditioned; this needs neither, for m^2 numbers a
    class. Several classes have a curvature each, as if the others did not move.

    Parameters
    ----------
    v : array of shape (m + 1, columns)
        The weights of the features, and the offsets.
    H : array of shape (columns, m + 1, m + 1)
        The curvature of every column of scores, by its upper triangle.
    fit_intercept : bool
        Whether there is an offset b.

    References
    ----------
    T. Jaakkola and M. Jordan (2000), Bayesian parameter estimation via variational methods.
    """

    # Newton steps of a block, and halvings of a step.
    steps: ClassVar[int] = 30
    halvings: ClassVar[int] = 40
    # What the last Newton step of a block may promise to gain, beside the sum of C w. A block of
    # one class would have an infinite offset, and is learnt once its rows are told apart by that.
    enough: ClassVar[float] = 1e-6
    # The longest step of an offset: a block of one class asks for an infinite one.
    longest: ClassVar[float] = 8.0

    v: Array
    H: Array
    fit_intercept: bool

    @classmethod
    def empty(cls, m: int, columns: int, fit_intercept: bool) -> LogisticStream:
        """Return what is known before any row: the penalty."""
        H = np.zeros((columns, m + 1, m + 1))
        # Without an offset it is held at zero.
        H[:, np.arange(m + 1), np.arange(m + 1)] = np.append(np.ones(m), not fit_intercept)
        return cls(np.zeros((m + 1, columns)), H, fit_intercept)

    @property
    def theta(self) -> Array:
        """The weights of the features, of shape (m, columns)."""
        return self.v[:-1]

    @property
    def b(self) -> Array:
        """The offsets; several sum to zero, as a number added to all changes no probability."""
        b = self.v[-1]
        return b - b.mean() if len(b) > 1 else b

    def after(self, F: Array, problem: LogisticProblem) -> LogisticStream:
        """Return what is known after one more block.

        Parameters
        ----------
        F : array of shape (rows, m)
            The features.
        problem : LogisticProblem
            The classes of the rows, their weights, and C.
        """
        E = np.column_stack([F, np.full(len(F), float(self.fit_intercept))])
        v = self.v
        enough = self.enough * problem.C * float(problem.weights.sum())
        for _ in range(self.steps):
            gradient = self._product(v - self.v) - problem.C * (E.T @ problem.residual(E @ v))
            step = -self._solved(E, problem, v, gradient)
            promise = -float((step * gradient).sum())
            longest = float(np.abs(step[-1]).max())
            step *= min(1.0, self.longest / longest) if longest > 0.0 else 1.0
            length = self._length(E, problem, v, step)
            v = v + length * step
            if length == 0.0 or promise <= enough:
                break
        curvature = _bound(problem, E @ v)
        H = [H + _curved(E, c) for H, c in zip(self.H, curvature.T, strict=True)]
        return replace(self, v=v, H=np.array(H))

    def _product(self, d: Array) -> Array:
        """Return H d."""
        return np.column_stack([_full(H) @ u for H, u in zip(self.H, d.T, strict=True)])

    def _solved(self, E: Array, problem: LogisticProblem, v: Array, gradient: Array) -> Array:
        """Return the Newton step of every column by itself."""
        step = np.empty_like(gradient)
        curvature = _curvature(problem, E @ v)
        for j, H in enumerate(self.H):
            A = H + _curved(E, curvature[:, j])
            # Where all curvature of the offset has underflown its step is long, and cut.
            A[-1, -1] += EPS * float(np.trace(A))
            factor, _ = dpotrf(A, lower=0, clean=0)
            step[:, j] = dpotrs(factor, gradient[:, j], lower=0)[0]
        return step

    def _value(self, E: Array, problem: LogisticProblem, v: Array) -> float:
        d = v - self.v
        return problem.loss(E @ v) + 0.5 * float((d * self._product(d)).sum())

    def _length(self, E: Array, problem: LogisticProblem, v: Array, step: Array) -> float:
        """Return a length of a step that lowers the objective, 0 if there is none."""
        here, length = self._value(E, problem, v), 1.0
        for _ in range(self.halvings):
            if self._value(E, problem, v + length * step) < here:
                return length
            length *= 0.5
        return 0.0


def _curvature(problem: LogisticProblem, scores: Array) -> Array:
    """Return the second derivative of the losses by each score, of shape (rows, columns)."""
    if problem.columns == 1:
        return problem.C * problem.curvature(scores).scale ** 2
    P = probabilities(scores)
    return np.asarray(_coupled(problem) * problem.C * problem.weights[:, None] * P * (1.0 - P))


def _bound(problem: LogisticProblem, scores: Array) -> Array:
    """Return tanh(s / 2) / (2 s) times C w for the log-odds s of each class."""
    logs = log_probabilities(scores)
    # The largest probability whose odds are a number.
    almost = 1.0 - EPS
    odds = scores if problem.columns == 1 else logs - np.log1p(-np.minimum(np.exp(logs), almost))
    # The least log-odds that are not divided by.
    nearly_even = 1e-6
    s = np.maximum(np.abs(odds), nearly_even)
    bound = np.tanh(0.5 * s) / (2.0 * s)
    return np.asarray(_coupled(problem) * problem.C * problem.weights[:, None] * bound)


def _coupled(problem: LogisticProblem) -> float:
    """Return by how much more scores of sum zero are curved than each by itself, at even odds."""
    return 1.0 if problem.columns == 1 else problem.classes / (problem.classes - 1.0)


def _curved(E: Array, weights: Array) -> Array:
    """Return the upper triangle of E'diag(weights) E."""
    return np.asarray(dsyrk(1.0, (np.sqrt(weights)[:, None] * E).T))


def _full(H: Array) -> Array:
    """Return a symmetric matrix from its upper triangle."""
    return np.triu(H) + np.triu(H, 1).T
