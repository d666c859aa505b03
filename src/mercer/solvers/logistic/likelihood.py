"""Classes as likelihoods: the loss of scores, the residual, the root of its curvature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py

from mercer.data.limits.deadline import check
from mercer.solvers.contract import OFFSET_ALONE, Solution
from mercer.solvers.refusals import LARGEST_COST, too_costly
from mercer.solvers.rounding import EPS, TINY, usual_unit

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """Minimise C sum_i w_i loss_i + 1/2 ||f||^2 over f and an unpenalised offset b.

    Two classes have one score F = f(x) + b and the loss log(1 + exp(-y F)), y = -1 or 1. More
    classes have a score each and the loss log(sum_c exp F_c) - F_y, with sum_c ||f_c||^2 as
    penalty; since a number added to all scores changes no probability, the penalty makes the
    scores of f sum to zero over the classes, and the offsets are chosen to sum to zero as well.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of every row by its number.
    classes : int
        The number of classes, at least two.
    C : float
        What the losses count beside the penalty, positive.
    weights : array of shape (n,)
        w, positive.
    fit_intercept : bool
        Whether there is an offset.
    start : tuple of arrays of shape (n, columns) and (columns,), optional
        Coefficients and offsets to start from.
    """

    # Newton steps for the offset, and the longest of them: beyond it the loss is close to linear.
    offset_steps: ClassVar[int] = 200
    longest: ClassVar[float] = 8.0
    # Halvings of a step before it is lost in rounding.
    halvings: ClassVar[int] = 60
    # Units of rounding of the residuals, by their size, that their sum is left with.
    rounding_units: ClassVar[float] = 8.0

    codes: Codes
    classes: int
    C: float
    weights: Array
    fit_intercept: bool
    start: tuple[Array, Array] | None = None

    def __post_init__(self) -> None:
        if self.largest > LARGEST_COST:
            raise too_costly(self.largest)

    @property
    def largest(self) -> float:
        """The largest C times weight."""
        return self.C * float(self.weights.max(initial=0.0))

    def in_units(self) -> tuple[LogisticProblem, Array]:
        """Return the problem with weights whose squares are numbers: C times weight is what counts.

        Classes have no unit.
        """
        unit = usual_unit(float(self.weights.max(initial=0.0)))
        counted = replace(self, C=self.C * unit, weights=self.weights / unit)
        return self if unit == 1.0 else counted, np.ones(self.columns)

    def zero_solution(self, tol: float) -> Solution:
        """Return f = 0 and the best offsets; no loss is below zero, which proves the gap."""
        A = np.zeros((len(self.codes), self.columns))
        b = self.best_offset(A, np.zeros(self.columns))
        unit = np.ones(self.columns)
        radius = np.sqrt(2.0 * self.loss(A + b)) * unit
        measure = "relative duality gap"
        return Solution(A, b, unit, radius, tol, OFFSET_ALONE, measure=measure)

    @property
    def columns(self) -> int:
        """The number of scores of a row."""
        return 1 if self.classes == 2 else self.classes

    def at(self, C: float) -> LogisticProblem:
        """Return the problem with another C."""
        return replace(self, C=C)

    def on(self, rows: Codes) -> LogisticProblem:
        """Return the problem of some of the rows, which starts from nothing."""
        return replace(self, codes=self.codes[rows], weights=self.weights[rows], start=None)

    @property
    def groups(self) -> Codes:
        """Which rows belong together: those of a class."""
        return self.codes

    @cached_property
    def signs(self) -> Array:
        """1 for the rows of the second class, -1 for others."""
        return np.where(self.codes == 1, 1.0, -1.0)

    def loss(self, F: Array) -> float:
        """Return C sum_i w_i loss_i for scores of shape (n, columns)."""
        return Losses(self, F).total()

    def residual(self, F: Array) -> Array:
        """Return w (T - P), the targets T less the probabilities P, of shape (n, columns)."""
        return Losses(self, F).residual()

    def curvature(self, F: Array) -> Root:
        """Return the root of the second derivative of sum_i w_i loss_i in the scores."""
        return Losses(self, F).root()

    def restored(self, F: Array) -> tuple[Array, float]:
        """Return how the residual of scores becomes a feasible dual point, and what that costs.

        With an offset the residuals w (T - P) of every class have to sum to zero, as those of the
        best one do. Else the probability that rows of a class, whose sum is above zero, give to
        one whose sum is below is lowered by the share that makes both zero, or all that is not
        their own where that is not enough: P' is between P and T. The dual then loses C times the
        relative entropy sum_i w_i KL(P'_i, P_i).

        Returns
        -------
        correction : array of shape (n, columns)
            What the residual changes by.
        entropy : float
            sum_i w_i KL(P'_i, P_i).
        """
        sums = self.residual(F).sum(axis=0)
        if self.columns == 1:
            sums = np.array([-sums[0], sums[0]])
        above, below = np.maximum(sums, 0.0), np.maximum(-sums, 0.0)
        # Rounding alone may leave sums of one sign.
        if not (self.fit_intercept and above.any() and below.any()):
            return np.zeros_like(F), 0.0
        P = probabilities(F)
        T = self.codes[:, None] == np.arange(self.classes)
        given = T.T @ np.where(T, 0.0, self.weights[:, None] * P)
        wanted = np.outer(above, below) / above.sum()
        is_enough = (wanted <= given).all()
        share = wanted / np.where(given > 0.0, given, 1.0) if is_enough else np.ones_like(given)
        taken = np.where(T, 0.0, P * share[self.codes])
        rest, missed = taken.sum(axis=1), np.where(T, 0.0, P).sum(axis=1)
        with np.errstate(divide="ignore"):
            own = (1.0 - missed + rest) * np.log1p(rest / np.maximum(1.0 - missed, TINY))
        others = xlog1py(np.where(T, 0.0, P) - taken, -share[self.codes]).sum(axis=1)
        change = np.where(T, rest[:, None], -taken)
        correction = -self.weights[:, None] * (change if self.columns > 1 else change[:, 1:])
        return correction, max(float(self.weights @ (own + others)), 0.0)

    def best_offset(self, G: Array, b: Array) -> Array:
        """Return the offsets that minimise the loss for scores G + b, by Newton's method from b."""
        return self.balanced(G, b).b

    def balanced(self, G: Array, b: Array) -> Offset:
        """Return the best offset for scores G, searched for from b, with the losses there."""
        if not self.fit_intercept:
            return self._at(G, np.zeros(self.columns))
        # A number added to all offsets changes no probability, and no step adds one.
        at = self._at(G, b - b.mean() if self.columns > 1 else b)
        for _ in range(self.offset_steps):
            check()
            if at.size <= self.rounding_units * EPS * at.mass:
                break
            stepped = self._stepped(G, at)
            if stepped is None:
                break
            at = stepped
        return at

    def _at(self, G: Array, b: Array) -> Offset:
        return Offset(b, Losses(self, G + b))

    def _stepped(self, G: Array, at: Offset) -> Offset | None:
        """Return the offset after a Newton step, shortened until it is better, or None."""
        step = self._newton_step(at.losses.root().total(), at.gradient)
        size = float(np.abs(step).max())
        if not 0.0 < size < np.inf:
            # The curvature has underflown; the loss is linear there, and no step is too long.
            step, size = at.gradient * (self.longest / at.size), self.longest
        step = step * min(1.0, self.longest / size)
        for _ in range(self.halvings):
            b = at.b + step
            if (b == at.b).all():
                return None
            there = self._at(G, b)
            if there.is_better_than(at):
                return there
            step = 0.5 * step
        return None

    def _newton_step(self, H: Array, gradient: Array) -> Array:
        """Return H^-1 gradient, of shape (columns,)."""
        if self.columns == 1:
            with np.errstate(over="ignore", divide="ignore"):
                return np.asarray(gradient / H[0])
        # A number added to all offsets changes nothing, so that the offset of one class stays.
        others = np.delete(np.arange(len(H)), H.diagonal().argmax())
        roots = np.sqrt(H.diagonal()[others])
        roots[roots == 0.0] = 1.0
        scaled = H[np.ix_(others, others)] / roots[:, None] / roots
        step = np.zeros(len(H))
        # What overflows is no step, which is found out after it.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            step[others] = np.linalg.lstsq(scaled, gradient[others] / roots, rcond=None)[0] / roots
            return np.asarray(step - step.mean())


class Losses:
    """The losses at some scores, with the slope and the curvature by the same exponentials.

    With E_c = exp(F_c - max F) and the sum S of those of the other classes, the loss is
    log(1 + S / E_y) and 1 - p_y is S / (S + E_y): nothing is taken from 1, and both keep their
    digits however little S is.

    Parameters
    ----------
    problem : LogisticProblem
        The classes and weights.
    F : array of shape (n, columns)
        The scores.
    """

    def __init__(self, problem: LogisticProblem, F: Array) -> None:
        self._problem, self._F = problem, F
        if problem.columns > 1:
            self._own = np.arange(len(F)), problem.codes
            self._top = F.max(axis=1)
            self._E = np.exp(F - self._top[:, None])
            own = self._E[self._own]
            self._E[self._own] = 0.0
            self._others = self._E.sum(axis=1)
            self._E[self._own] = own
            self._sum = self._others + own

    def total(self) -> float:
        """Return C sum_i w_i loss_i."""
        # NumPy adds pairwise, with an error that does not grow with n; a product of BLAS would.
        return self._problem.C * float((self._problem.weights * self._each()).sum())

    def _each(self) -> Array:
        if self._problem.columns == 1:
            return np.logaddexp(0.0, -self._problem.signs * self._F[:, 0])
        behind = self._top - self._F[self._own]
        return np.where(behind > 0.0, behind + np.log(self._sum), np.log1p(self._others))

    def residual(self) -> Array:
        """Return w (T - P), of shape (n, columns)."""
        weights = self._problem.weights
        if self._problem.columns == 1:
            y = self._problem.signs
            return np.asarray((weights * y * expit(-y * self._F[:, 0]))[:, None])
        share = weights / self._sum
        residual = -share[:, None] * self._E
        residual[self._own] = share * self._others
        return residual

    def root(self) -> Root:
        """Return the root of the second derivative of sum_i w_i loss_i in the scores."""
        w = np.sqrt(self._problem.weights)[:, None]
        if self._problem.columns == 1:
            half = np.exp(-np.logaddexp(0.5 * self._F, -0.5 * self._F))
            return Root(w * half, np.zeros((len(self._F), 1)))
        roots = np.sqrt(self._E / self._sum[:, None])
        return Root(w * roots, roots)


class Offset:
    """An offset, of shape (columns,), with the losses there and minus their slope in it.

    Parameters
    ----------
    b : array of shape (columns,)
        The offset.
    losses : Losses
        Those of the scores with it.
    """

    def __init__(self, b: Array, losses: Losses) -> None:
        self.b, self.losses = b, losses
        self.loss, self.residual = losses.total(), losses.residual()
        # Row by row, so that every sum is pairwise as well.
        self.gradient = np.ascontiguousarray(self.residual.T).sum(axis=1)
        self.size = float(np.abs(self.gradient).max())
        # The size of what the gradient is the sum of.
        self.mass = float(np.abs(self.residual).sum())

    def is_better_than(self, other: Offset) -> bool:
        """Whether the loss is less or, where rounding hides that, the gradient."""
        # Every loss of the n has an error of its own.
        margin = 8.0 * EPS * len(self.residual) ** 0.5 * abs(other.loss)
        if abs(self.loss - other.loss) <= margin:
            return self.size < other.size
        return self.loss < other.loss


@dataclass(frozen=True, eq=False)
class Root:
    """R with R R' = H, the block of every row: D (I - u u'), D = diag(scale).

    What it is applied to has shape (n, columns), or (p, n, columns) for several at once.

    For two classes H = w p (1 - p) and u = 0; for more, H = w (diag(p) - p p') and u = sqrt(p),
    since (I - u u')^2 = I - u u'. Nothing is divided by p, which may underflow.

    Parameters
    ----------
    scale : array of shape (n, columns)
        The diagonal of D.
    unit : array of shape (n, columns)
        u of every row.
    """

    scale: Array
    unit: Array

    def at(self, rows: Any) -> Root:
        """Return that of some rows."""
        return Root(self.scale[rows], self.unit[rows])

    def project(self, U: Array) -> Array:
        """Return (I - u u') U, without the part of U that R maps to zero."""
        return np.asarray(U - self.unit * (self.unit * U).sum(axis=-1, keepdims=True))

    def forward(self, U: Array) -> Array:
        """Return R U."""
        return self.scale * self.project(U)

    def back(self, V: Array) -> Array:
        """Return R'V."""
        return self.project(self.scale * V)

    def blocks(self) -> Array:
        """Return H of every row, of shape (n, columns, columns)."""
        crossed = self.scale * self.unit
        diagonal = (self.scale**2)[:, :, None] * np.eye(self.scale.shape[1])
        return np.asarray(diagonal - crossed[:, :, None] * crossed[:, None, :])

    def total(self) -> Array:
        """Return the sum of H over the rows, of shape (columns, columns)."""
        if self.scale.shape[1] == 1:
            return (self.scale**2).sum(axis=0)[None]
        crossed = self.scale * self.unit
        H = crossed.T @ crossed
        # Every row sums to zero: 1 - p is the sum of the others, of which rounding takes nothing.
        np.fill_diagonal(H, 0.0)
        return np.diag(H.sum(axis=1)) - H


def probabilities(F: Array) -> Array:
    """Return the probabilities of the classes: (n, 2) for one column of scores, else (n, m)."""
    return np.exp(log_probabilities(F))


def log_probabilities(F: Array) -> Array:
    """Return the logarithms of the probabilities, accurate however small those are."""
    if F.shape[1] == 1:
        return -np.logaddexp(0.0, np.hstack([F, -F]))
    F = F - F.max(axis=1, keepdims=True)
    return np.asarray(F - np.log(np.exp(F).sum(axis=1, keepdims=True)))
