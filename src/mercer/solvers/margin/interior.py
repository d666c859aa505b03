"""An interior-point method for margin problems of few features, ill-conditioned or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf

from mercer.data.blocks import PANEL, row_blocks
from mercer.data.checks import Matrix
from mercer.data.limits.deadline import check
from mercer.gram import Gram, LowRankGram
from mercer.native.threads import in_threads
from mercer.solvers.margin.active_set import polished
from mercer.solvers.margin.problem import MarginProblem

Array = NDArray[np.float64]


def interior_point(
    F: Matrix,
    problem: MarginProblem,
    goal: float,
    is_over: Callable[[Array], bool],
    steps: int = 60,
    patience: int = 20,
) -> Array:
    """Return feasible, nearly optimal coefficients.

    In x >= 0, the coefficients above zero and minus those below, the dual is min 1/2 ||w||^2 + q'x
    with w = F'S x, q = epsilon - S z, x <= c and, if there is an offset, s'x = 0 for the signs s of
    the sides, S = diag(s). Newton's method on its optimality conditions, with v x = t (c - x) = mu
    for the slopes v and t at the bounds and a falling mu, as Mehrotra has it, solves with
    D + S F F'S for a diagonal D in every step, which takes a p x p matrix, 1 + F'S D^-1 S F.

    Parameters
    ----------
    F : array or CSR matrix of shape (n, p)
        The features.
    problem : MarginProblem
        The problem.
    goal : float
        The relative duality gap to reach.
    is_over : callable
        Shown the best coefficients before every step; True ends with them.
    steps : int
        Steps allowed.
    patience : int
        Steps without a better gap after which none is waited for: the first ones may be worse than
        no coefficients at all.

    References
    ----------
    S. Mehrotra (1992), On the implementation of a primal-dual interior point method; M. Ferris and
    T. Munson (2002), Interior-point methods for massive support vector machines.
    """
    sides = _Sides.of(F, problem)
    slopes = np.full(len(sides.rows), sides.scale)
    point = _Point(0.5 * sides.c, 0.5 * sides.c, 0.0, slopes, slopes)
    best, least, idle = np.zeros(F.shape[0]), np.inf, 0
    # Where a bound is reached to the last digit there is no way on, which is found out after it.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(steps):
            if not np.isfinite(point.x).all():
                break
            a, gap = sides.nearest(point)
            idle += 1
            if gap < least:
                best, least, idle = a, gap, 0
            if gap <= goal or idle == patience or is_over(best):
                break
            factor = _Factor.of(sides, point.v / point.x + point.t / point.room)
            if factor is None:
                break
            point = _after_a_step(factor, point)
    return best


def pivoted_factor(K: Array) -> Array:
    """Return F of as many columns as K has rank, F F' = K to rounding; K is overwritten.

    References
    ----------
    N. Higham (1990), Analysis of the Cholesky decomposition of a semi-definite matrix.
    """
    L, pivots, rank, _ = dpstrf(K.T, lower=True, overwrite_a=True)
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(L)[:, :rank]
    return F


class _Point(NamedTuple):
    """x, c - x, the multiplier of s'x, and the slopes at both bounds."""

    x: Array
    room: Array
    y: float
    v: Array
    t: Array

    @property
    def mu(self) -> float:
        """The mean of the products that are to vanish."""
        return float(self.x @ self.v + self.room @ self.t) / (2 * len(self.x))

    def stepped(self, step: _Step, share: float) -> _Point:
        """Return the point after a share of a step."""
        return _Point(
            self.x + share * step.dx,
            self.room - share * step.dx,
            self.y + share * step.dy,
            self.v + share * step.dv,
            self.t + share * step.dt,
        )

    def longest(self, step: _Step) -> float:
        """Return the share of a step, at most 1, at which the first of all is zero."""
        changes = ((self.x, step.dx), (self.room, -step.dx), (self.v, step.dv), (self.t, step.dt))
        return 1.0 / max(1.0, *(float((-change / value).max()) for value, change in changes))


class _Step(NamedTuple):
    """Changes of x and y, and of the slopes v and t."""

    dx: Array
    dy: float
    dv: Array
    dt: Array


def _after_a_step(factor: _Factor, point: _Point) -> _Point:
    """Return the point after Newton's step towards smaller products, which are kept alike."""
    slope = factor.sides.slope(point)
    below, above = -point.x * point.v, -point.room * point.t
    # What a step to zero would reach tells how far the products can fall together.
    plain = factor.step(point, slope, below, above)
    reached = point.stepped(plain, point.longest(plain)).mu
    centre = (reached / point.mu) ** 3 * point.mu
    below += centre - plain.dx * plain.dv
    above += centre + plain.dx * plain.dt
    step = factor.step(point, slope, below, above)
    # The share of the way to the nearest bound that a step goes.
    nearly = 0.995
    return point.stepped(step, nearly * point.longest(step))


@dataclass(frozen=True, eq=False)
class _Sides:
    """The dual in x: rows that can have coefficients above zero, then those below.

    Parameters
    ----------
    F : array or CSR matrix of shape (n, p)
        The features.
    problem : MarginProblem
        The problem.
    mean : array of shape (p,)
        What is subtracted from every row: with an offset, which makes up for it, their mean.
    rows : array of shape (m,)
        The row of every x.
    s, c, q : array of shape (m,)
        Its sign, its bound and its linear term.
    """

    # Shares of the rows whose squares are summed by themselves: as many as these entries hold,
    # within these bounds.
    summed: ClassVar[int] = 1 << 22
    fewest: ClassVar[int] = 2
    most: ClassVar[int] = 16

    F: Matrix
    problem: MarginProblem
    mean: Array
    rows: NDArray[np.intp]
    s: Array
    c: Array
    q: Array

    @classmethod
    def of(cls, F: Matrix, problem: MarginProblem) -> _Sides:
        above, below = np.flatnonzero(problem.upper > 0.0), np.flatnonzero(problem.lower < 0.0)
        rows = np.concatenate([above, below])
        s = np.repeat([1.0, -1.0], [len(above), len(below)])
        c = np.concatenate([problem.upper[above], -problem.lower[below]])
        q = problem.epsilon - s * problem.z[rows]
        mean = np.asarray(F.mean(axis=0), np.float64) * problem.fit_intercept
        return cls(F, problem, mean, rows, s, c, q)

    @cached_property
    def gram(self) -> Gram:
        """F F'."""
        return LowRankGram(self.F)

    @cached_property
    def scale(self) -> float:
        """The size of the slopes."""
        return float(np.abs(self.q).max()) or 1.0

    def coefficients(self, x: Array) -> Array:
        """Return S x, summed for every row."""
        return np.asarray(np.bincount(self.rows, self.s * x, self.F.shape[0]), np.float64)

    def nearest(self, point: _Point) -> tuple[Array, float]:
        """Return feasible coefficients near a point, and their relative duality gap."""
        problem = self.problem
        a = problem.feasible(self.coefficients(self.at_bounds(point)))
        found = [a]
        # Where there are no more free rows than features, rounding is worst and they are soon
        # solved for.
        if np.count_nonzero(problem.free(a)) <= self.F.shape[1] + 1:
            better = polished(self.gram, problem, a)
            found += [] if better is None else [problem.feasible(better[0])]
        gaps = [problem.gap(a, np.asarray(self.F @ (self.F.T @ a))).relative for a in found]
        nearest = int(np.argmin(gaps))
        return found[nearest], gaps[nearest]

    def at_bounds(self, point: _Point) -> Array:
        """Return x at the bounds where it is nearer to them than their slopes are to zero."""
        unit = self.c / self.scale
        low, high = point.x < unit * point.v, point.room < unit * point.t
        return np.where(low & ~high, 0.0, np.where(high & ~low, self.c, point.x))

    def weights(self, x: Array) -> Array:
        """Return F'S x."""
        a = self.coefficients(x)
        return np.asarray(self.F.T @ a - a.sum() * self.mean, np.float64)

    def values(self, w: Array) -> Array:
        """Return S F w."""
        return np.asarray(self.s * (self.F @ w - self.mean @ w)[self.rows], np.float64)

    def slope(self, point: _Point) -> Array:
        """Return what is to vanish of the slope in x, with those at the bounds."""
        slope = self.values(self.weights(point.x)) + self.q + self.s * point.y
        return np.asarray(slope - point.v + point.t)

    def squares(self, d: Array) -> Array:
        """Return F'S diag(d) S F."""
        n, p = self.F.shape
        roots = np.sqrt(np.bincount(self.rows, d, n))

        def run(share: slice) -> Array:
            H = np.zeros((p, p))
            for start in range(share.start, share.stop, height):
                check()
                part = slice(start, min(start + height, share.stop))
                block = self.F[part]
                A = (block.toarray() if sp.issparse(block) else block) - self.mean
                # Threads do not share what is ignored.
                with np.errstate(invalid="ignore", over="ignore"):
                    A *= roots[part, None]
                    H += A.T @ A
            return H

        # As many shares for every number of threads: the same sums in the same order.
        height = max(1, PANEL // p)
        count = int(np.clip(self.summed // p**2, self.fewest, self.most))
        first, *others = in_threads(run, list(row_blocks((n, 1), -(-n // count))))
        for other in others:
            first += other
        return first


@dataclass(frozen=True, eq=False)
class _Factor:
    """D + S F F'S by the Cholesky factor L of 1 + F'S D^-1 S F."""

    sides: _Sides
    D: Array
    L: Array

    @classmethod
    def of(cls, sides: _Sides, D: Array) -> _Factor | None:
        """Return the factor, or None where rounding or overflow leaves none."""
        H = sides.squares(1.0 / D)
        H[np.diag_indices_from(H)] += 1.0
        if not np.isfinite(H).all():
            return None
        L, order = dpotrf(H.T, lower=True, clean=False, overwrite_a=True)
        return cls(sides, D, L) if order == 0 else None

    def solve(self, h: Array) -> Array:
        """Return (D + S F F'S)^-1 h, refined once."""
        x = self._rough(h)
        rest = h - self.D * x - self.sides.values(self.sides.weights(x))
        return np.asarray(x + self._rough(rest))

    def _rough(self, h: Array) -> Array:
        u, _ = dpotrs(self.L, self.sides.weights(h / self.D), lower=True)
        return np.asarray((h - self.sides.values(u)) / self.D)

    @cached_property
    def border(self) -> Array:
        """(D + S F F'S)^-1 s."""
        return self.solve(self.sides.s)

    def step(self, point: _Point, slope: Array, below: Array, above: Array) -> _Step:
        """Return the step that makes the slope zero, x v grow by `below`, (c - x) t by `above`."""
        dx, dy = self.solve(below / point.x - above / point.room - slope), 0.0
        if self.sides.problem.fit_intercept:
            s = self.sides.s
            # Where rounding leaves no border the step is no number, and the last of them.
            dy = float(np.divide(s @ (point.x + dx), s @ self.border))
            dx = dx - dy * self.border
        dv = (below - point.v * dx) / point.x
        dt = (above + point.t * dx) / point.room
        return _Step(dx, dy, dv, dt)
