"""The exact solver for points on a line: O(n) for every ridge, leave-one-out included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import CACHE, row_blocks
from mercer.gram import ChainGram, Gram
from mercer.native.chain import Precision, Rows
from mercer.native.threads import in_threads
from mercer.solvers.contract import Solution
from mercer.solvers.refusals import overflow
from mercer.solvers.ridge.bordered import RidgeProblem, RidgeSolver, proved
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChainSolution(Solution):
    """The answer for points on a line, with the values of f from which all others follow.

    Parameters
    ----------
    knots : array of shape (knots,)
        The distinct points, ascending.
    values : array of shape (knots, targets)
        f at the knots, without the share of a constant in the kernel.
    level : array of shape (targets,)
        That share.
    """

    knots: Array = field(kw_only=True)
    values: Array = field(kw_only=True)
    level: Array = field(kw_only=True)

    def in_units(self, unit: Array) -> Self:
        found = super().in_units(unit)
        return replace(found, values=self.values * unit, level=self.level * unit)


@dataclass(frozen=True)
class Banded(RidgeSolver):
    """Solve (K + alpha W^-1) a + b 1 = y, 1'a = 0 where K^-1 is tridiagonal on distinct points.

    With T = K^-1 the values f obey (W + alpha T) f = W (y - b), a tridiagonal
    system. It is solved from both ends with positive terms only, in O(n) steps and
    to full accuracy for every ridge, gap and weight.

    Parameters
    ----------
    tol : float
        Relative residual that the certificate has to reach.

    References
    ----------
    J. Hartikainen and S. Sarkka (2010), Kalman filtering and smoothing solutions to temporal
    Gaussian process regression models; H. Rue and L. Held (2005), Gaussian Markov random fields.
    """

    iterates: ClassVar[bool] = False
    name: ClassVar[str] = "banded"
    # Below this a sum of squares may have lost digits to underflow.
    tiny: ClassVar[float] = 1e-280
    # Beyond this ridge nothing changes any more, and the weights must not vanish beside it.
    least_per_alpha: ClassVar[float] = 1e-250

    tol: float = 1e-6

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> ChainSolution:
        """Return the solution for every target; all weights must be positive."""
        system = ChainSystem(as_chain(gram), problem)
        a, values, b, level = system.solve()
        residual, radius = system.proved(a, b)
        knots = system.gram.knots.positions
        return ChainSolution(
            a, b, residual, radius, self.tol, "banded", knots=knots, values=values, level=level
        )

    def leave_one_out_errors(self, gram: Gram, problem: RidgeProblem, alphas: Any) -> Array:
        """Return the weighted mean squared leave-one-out error, of shape (alphas, targets).

        The residual of row i, left out, is e_i = a_i / B_ii. Nothing of the size of rows x alphas
        is stored. It is NaN where a row left out leaves none.

        Parameters
        ----------
        gram : ChainGram
            K.
        problem : RidgeProblem
            Targets, weights and whether there is an offset; its alpha is not used.
        alphas : array of shape (alphas,)
            The ridges.
        """
        system = ChainSystem(as_chain(gram), problem)
        sums = [system.held_out(k, alphas) for k in range(problem.y.shape[1])]
        return np.column_stack(sums) / problem.weights.sum()

    def leave_one_out(self, gram: Gram, problem: RidgeProblem, alphas: Any) -> Array:
        """Return the residual y_i - f(x_i) - b of every row, left out: (alphas, n, targets).

        The parameters are those of `leave_one_out_errors`.
        """
        system = ChainSystem(as_chain(gram), problem)
        n, targets = problem.y.shape
        out = np.empty((len(alphas), n, targets))
        for k in range(targets):
            e = np.empty((len(alphas), n))
            system.held_out(k, alphas, e)
            out[:, :, k] = system.knots.as_given(e.T).T
        return out


def as_chain(gram: Gram) -> ChainGram:
    """Return the Gram matrix if it is a chain, or say which solvers do without."""
    chain = gram.chain()
    if chain is not None:
        return chain
    raise ValueError(
        "solver='banded' needs Sobolev, Exponential or Laplacian on one column, scaled or plus a "
        "constant at most; use solver='cholesky' or 'auto' for other kernels and several columns"
    )


class ChainSystem:
    """A ridge problem on a chain: the targets and weights of its knots, and their precision matrix.

    Parameters
    ----------
    gram : ChainGram
        K.
    problem : RidgeProblem
        The problem; all weights positive.
    """

    def __init__(self, gram: ChainGram, problem: RidgeProblem) -> None:
        self.gram, self.problem, self.knots = gram, problem, gram.knots
        self.rows = Rows(self.knots.ascending(problem.weights), self.knots.starts)
        y, self.steps = self._grouped(self.knots.ascending(problem.y))
        # A free intercept removes the row sum of a line that has only one.
        self.is_adrift = problem.fit_intercept and gram.is_rooted
        self.precision = Precision(
            gram.links,
            np.zeros(len(self.knots)) if self.is_adrift else gram.row_sums,
            self.knots.sums(self.rows.weights),
            self._b_penalty(),
        )
        self.centre = np.zeros(y.shape[1])
        if problem.fit_intercept:
            # What of an offset is known beforehand: the rest is small, and so are its errors.
            # By einsum: BLAS would start its threads, which costs more than the sum.
            w = self.precision.weights
            self.centre = np.einsum("i,ij->j", w, y) / w.sum()
            y = y - self.centre
        self.y = np.ascontiguousarray(y.T)  # (targets, knots)

    def _b_penalty(self) -> float:
        """Return the penalty of b, which is the offset or the constant."""
        if self.is_adrift:
            return math.inf
        if self.problem.fit_intercept:
            return 0.0
        return self.gram.factor / self.gram.constant if self.gram.constant > 0.0 else math.inf

    def _grouped(self, y: Array) -> tuple[Array, Array]:
        """Return the mean target of every knot, and the steps of its rows from there."""
        if self.knots.starts is None:
            return y, np.empty((y.shape[1], 0))
        # Relative to the first row of a knot, so that rows almost alike keep their difference.
        first = self.knots.firsts(y)
        steps = y - self.knots.repeated(first)
        w = self.rows.weights[:, None]
        mean = self.knots.sums(w * steps) / self.knots.sums(w)
        return first + mean, np.ascontiguousarray((steps - self.knots.repeated(mean)).T)

    def solve(self) -> tuple[Array, Array, Array, Array]:
        """Return a of the rows, f of the knots, offsets and levels, for all targets."""
        jobs = list(enumerate(self.problem.alpha))
        a, f, b, level = zip(*in_threads(lambda job: self.solved(*job), jobs), strict=True)
        return _side_by_side(a), _side_by_side(f), np.array(b), np.array(level)

    def solved(self, k: int, alpha: float) -> tuple[Array, Array, float, float]:
        """Return a of the rows, f of the knots, offset and level of one target at this ridge."""
        f, a, b = self.precision.solve(self.y[k], float(self.per_alpha(alpha)))
        if self.gram.factor != 1.0:
            a /= self.gram.factor
        if self.knots.starts is not None:
            a = self.knots.repeated(a / self.precision.weights) + self.steps[k] / alpha
            a *= self.rows.weights
        if self.is_adrift:
            # The intercept is the value of the knot whose row sum it removed.
            b = float(f[0])
            f -= b
        a = self.knots.as_given(a)
        return (a, f, self.centre[k] + b, 0.0) if self.problem.fit_intercept else (a, f, 0.0, b)

    def held_out(self, k: int, alphas: Any, residuals: Array | None = None) -> Array:
        """Return sum_i w_i e_i^2 for every ridge; write e, in ascending order, if asked to."""
        ridges = self.per_alpha(alphas)
        return self.precision.held_out(self.y[k], self.steps[k], self.rows, ridges, residuals)

    def generalised(self, k: int, alphas: Any, more: float = 0.0) -> Array:
        """Return the criterion of generalised cross-validation for every ridge.

        `more` is the number of copies of rows beyond the rows themselves.
        """
        per_alpha = self.per_alpha(alphas)
        ratios = self.precision.generalised(self.y[k], self.steps[k], self.rows, per_alpha, more)
        return np.asarray((len(self.problem.y) + more) ** 2 / self.problem.weights.sum() * ratios)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def proved(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Return the relative residual and a bound on ||f - f*||, as `measured` has them."""
        alpha, Ka, unit = self.problem.alpha, self.gram @ a, np.ones(len(b))
        squares = self._squares(a, b, Ka, unit)
        if not (np.isfinite(squares).all() and (squares[1] > Banded.tiny).all()):
            # Measured in units of the largest target their squares are in range.
            unit = np.maximum(np.abs(self.problem.y).max(axis=0), Banded.tiny)
            squares = self._squares(a, b, Ka, unit)
        missed = np.sqrt(squares[0])
        if not np.isfinite(missed).all():
            raise overflow(float(alpha.min()))
        unit = unit * np.sqrt(self.problem.weights.max())
        gram = self.gram
        # Without a root it is the same at all points, and is not worked out for each.
        diagonal = gram.diagonal() if gram.is_rooted else np.broadcast_to(gram.first, len(a))
        return proved(self.problem, a, unit * missed, diagonal)

    def _squares(self, a: Array, b: Array, Ka: Array, unit: Array) -> Array:
        """Return the sums of w r^2 and w y^2 for r = y - (K + alpha W^-1) a - b.

        The largest weight counts as one.
        """
        squares, largest = np.zeros((2, len(b))), self.problem.weights.max()
        # A block at a time, so that r is never stored.
        for rows in row_blocks(a.shape, CACHE):
            w, y = self.problem.weights[rows], self.problem.y[rows] / unit
            r = a[rows] / w[:, None]
            r *= self.problem.alpha
            r += Ka[rows]
            r += b
            r /= -unit
            r += y
            w = w / largest
            squares[0] += np.einsum("i,ij,ij->j", w, r, r)
            squares[1] += np.einsum("i,ij,ij->j", w, y, y)
        return squares

    def per_alpha(self, alphas: Any) -> Array:
        """Return the factor of K0 over every ridge, infinite at zero."""
        ridges = np.asarray(alphas, np.float64)
        if not (ridges >= 0.0).all():
            raise ValueError(f"alpha must not be negative, got {ridges.min():g}")
        if not ridges.all() and (self.knots.starts is not None or self._is_pinned):
            raise ValueError(
                "alpha = 0 needs an invertible Gram matrix, but rows share a position or lie at "
                "x = 0 of min(x, z); use alpha > 0 or drop those rows"
            )
        with np.errstate(divide="ignore", over="ignore"):
            return np.maximum(self.gram.factor / ridges, Banded.least_per_alpha)

    @property
    def _is_pinned(self) -> bool:
        """Whether a knot lies where every f is zero."""
        return self.gram.is_rooted and self.gram.root == 0.0 and not self.is_adrift


def _side_by_side(columns: Sequence[Array]) -> Array:
    """Return vectors as the columns of a matrix, one alone without copying it."""
    return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)
