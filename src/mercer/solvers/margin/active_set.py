"""Newton steps of a margin problem: all coefficients that are free at once, the others held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.solvers.margin.problem import MarginProblem
from mercer.solvers.rounding import EPS, UNITS

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Entries = Callable[[Rows], Array]


@dataclass(eq=False)
class NewtonStep:
    """A damped Newton step of `a`, and with it of g = K a - z, on the active set of the box.

    Free are the rows F between their bounds, with the sign they have, and those at a bound or at
    zero that should leave it. Where no bound is in the way the change d solves
    (K_FF + s I) d + b 1 = -(g_F + epsilon sign(a_F)), 1'd = 0; coefficients that would cross a
    bound are held there and the rest solved for again. Along d the objective is least at
    t = -slope / d'Kd. The damping s grows where that is a small part of the way and shrinks where
    it is all of it.

    Parameters
    ----------
    entries : callable
        entries(rows) is K in float64 at some rows and the same columns, to be overwritten.
    gram : Gram
        K, which may be in float32.
    problem : MarginProblem
        The problem.
    a, g : array of shape (n,)
        Feasible coefficients and their gradient, both overwritten.
    damping : float, optional
        s; by default what moves the steepest coefficient about from bound to bound.
    is_over : callable, optional
        Asked before every factorisation; True gives the step up.

    References
    ----------
    K. Scheinberg (2006), An efficient implementation of an active set method for SVMs.
    """

    # Tries within a step: coefficients that leave their bounds are held there in the next. The
    # share of them that may be held before the rest has a factorisation of its own.
    tries: ClassVar[int] = 8
    most_held: ClassVar[float] = 0.1
    # Matrices of all free rows that are in memory at the same time: K, part of it, and its factor.
    matrices: ClassVar[int] = 3
    # The share of the limit of memory that they may take, beside rows of K that are kept.
    share: ClassVar[float] = 0.5
    # What is added to the diagonal of K, beside its largest entry: less is lost in rounding.
    jitter: ClassVar[float] = 1e-10
    # Shares of the way up to which a Newton step is short and from which on it is long, and how
    # much less the damping is after a long one.
    short: ClassVar[float] = 0.3
    long: ClassVar[float] = 0.9
    less: ClassVar[float] = 0.1
    # A sum of changes beside the sum of their sizes that counts as zero.
    rounding: ClassVar[float] = 1e-13

    entries: Entries
    gram: Gram
    problem: MarginProblem
    a: Array
    g: Array
    damping: float | None = None
    is_over: Callable[[], bool] = lambda: False

    def __call__(self) -> float:
        """Move, and return the share t of the way, or zero if it leads nowhere."""
        free = _Free.at(self.problem, self.a, self.g)
        needed = self.matrices * 8 * len(free.rows) ** 2
        if len(free.rows) == 0 or needed > self.share * self.gram.memory:
            return 0.0
        if self.damping is None:
            self.damping = free.first_damping
        change = free.newton(self.entries(free.rows), self.damping, self.is_over)
        slope = float(free.gradient @ change)
        if not slope < 0.0:
            self._settle(free, 0.0)
            return 0.0
        moving = np.flatnonzero(change)
        lift = self.gram.partial_product(None, free.rows[moving], change[moving])
        curvature = float(change @ lift[free.rows])
        t = min(1.0, -slope / curvature) if curvature > 0.0 else 1.0
        # At the end of the way a bound is met to the last bit.
        end = free.start + (change if t == 1.0 else t * change)
        self.a[free.rows] = np.clip(end, free.low, free.high)
        self.g += t * lift
        self._settle(free, t)
        return t

    def _settle(self, free: _Free, t: float) -> None:
        """Choose the damping of the next step by how far this one went."""
        assert self.damping is not None
        if t < self.short:
            self.damping = max(self.damping / self.less, free.first_damping)
        elif t > self.long:
            self.damping *= self.less


@dataclass(frozen=True, eq=False)
class _Free:
    """The coefficients that may move, each between zero and the bound of its sign."""

    rows: Rows
    start: Array
    gradient: Array
    low: Array
    high: Array
    has_offset: bool

    @classmethod
    def at(cls, problem: MarginProblem, a: Array, g: Array) -> _Free:
        up, down = problem.slopes(a, g + problem.offset(g + problem.z))
        sign = np.where(a != 0.0, np.sign(a), np.where(up > down, 1.0, -1.0))
        rows = np.flatnonzero(problem.free(a) | (np.maximum(up, down) > 0.0))
        sign = sign[rows]
        return cls(
            rows,
            a[rows],
            g[rows] + problem.epsilon * sign,
            np.where(sign > 0.0, 0.0, problem.lower[rows]),
            np.where(sign > 0.0, problem.upper[rows], 0.0),
            problem.fit_intercept,
        )

    @property
    def first_damping(self) -> float:
        """The damping at which a slope moves a coefficient from bound to bound."""
        return float(np.abs(self.gradient).max() / (self.high - self.low).max())

    def newton(self, K: Array, damping: float, is_over: Callable[[], bool]) -> Array:
        """Return the change of the coefficients, of sum zero if there is an offset."""
        K[np.diag_indices_from(K)] += max(damping, NewtonStep.jitter * float(K.diagonal().max()))
        change, inside = np.zeros(len(K)), np.arange(len(K))
        right, total = -self.gradient, 0.0
        system = None if is_over() else _System.of(K, right, total, self.has_offset)
        for _ in range(NewtonStep.tries):
            if system is None or is_over():
                return np.zeros(len(change))
            end = self.start[inside] + system.solution()
            outside = np.flatnonzero((end < self.low[inside]) | (end > self.high[inside]))
            # Rounding may put a coefficient that is held at its bound just beyond it.
            leaves = np.setdiff1d(outside, system.held)
            change[inside] = np.clip(end, self.low[inside], self.high[inside]) - self.start[inside]
            held = np.concatenate([system.held, leaves])
            if len(leaves) == 0 or len(held) == len(inside):
                break
            if len(held) <= NewtonStep.most_held * len(inside):
                system.hold(leaves, change[inside[leaves]])
            else:
                rest = np.delete(np.arange(len(inside)), held)
                fixed = change[inside[held]]
                right, total = right[rest] - K[np.ix_(rest, held)] @ fixed, total - fixed.sum()
                K, inside = K[np.ix_(rest, rest)], inside[rest]
                system = _System.of(K, right, total, self.has_offset)
        excess = float(change.sum())
        if self.has_offset and abs(excess) > NewtonStep.rounding * float(np.abs(change).sum()):
            return self._balanced(change)
        return change

    def _balanced(self, change: Array) -> Array:
        """Return the change shifted by what makes its sum zero within the bounds."""
        least, most = self.low - self.start, self.high - self.start
        # Shifted by the largest of them no change is above zero, or none below.
        high = float(np.abs(change).max())
        low = -high
        for _ in range(60):
            middle = 0.5 * (low + high)
            if np.clip(change + middle, least, most).sum() > 0.0:
                high = middle
            else:
                low = middle
        return np.asarray(np.clip(change + low, least, most))


class _System:
    """K d + b 1 = right, sum(d) = total, with some of d held at values; without an offset no b.

    With W the columns of K^-1 at the rows that are held, d = K^-1 right - b K^-1 1 + W p, and what
    p and b are follows from what is asked of d: a row more costs n^2 multiplications, not n^3.
    """

    def __init__(
        self, factor: tuple[Array, bool], right: Array, total: float, has_offset: bool
    ) -> None:
        self.factor = factor
        self.total = total
        borders = [np.ones_like(right)] if has_offset else []
        solved = self._solve(np.stack([right, *borders], axis=1))
        self.base, self.columns = solved[:, 0], solved[:, 1:]
        self.n_borders = len(borders)
        self.held = np.empty(0, np.intp)
        self.values = np.empty(0)

    @classmethod
    def of(cls, K: Array, right: Array, total: float, has_offset: bool) -> _System | None:
        """Return the system, or None where K is not positive definite."""
        try:
            # Transposed, the rows of K are the columns that LAPACK counts along.
            factor = scipy.linalg.cho_factor(K.T, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return None
        return cls(factor, right, total, has_offset)

    def hold(self, rows: Rows, values: Array) -> None:
        """Hold more of d."""
        units = np.zeros((len(self.base), len(rows)))
        units[rows, np.arange(len(rows))] = 1.0
        self.columns = np.hstack([self.columns, self._solve(units)])
        self.held = np.concatenate([self.held, rows])
        self.values = np.concatenate([self.values, values])

    def solution(self) -> Array:
        """Return d."""
        if self.columns.shape[1] == 0:
            return self.base
        border, held = slice(0, self.n_borders), self.held
        asked = np.concatenate([[self.total][border], self.values])
        found = np.concatenate([[self.base.sum()][border], self.base[held]])
        sums = self.columns.sum(axis=0)[None, :][border]
        system = np.concatenate([sums, self.columns[held]])
        d = self.base + self.columns @ np.linalg.solve(system, asked - found)
        d[held] = self.values
        return np.asarray(d)

    def _solve(self, V: Array) -> Array:
        return np.asarray(scipy.linalg.cho_solve(self.factor, V, check_finite=False))


def polished(
    gram: Gram, problem: MarginProblem, a: Array, most: int = 512
) -> tuple[Array, Array] | None:
    """Return coefficients and values with free rows exactly at their kinks, if that is feasible.

    Free rows F, between their bounds and not at zero in a tube, have f_F + b = z_F - epsilon
    sign(a_F), which with sum(a) = 0 is a linear system for the change of a_F.

    Parameters
    ----------
    gram : Gram
        K.
    problem : MarginProblem
        The problem.
    a : array of shape (n,)
        Feasible coefficients near the optimum.
    most : int
        Free rows beyond which the system costs more than the digits are worth.

    References
    ----------
    L. Bottou and C.-J. Lin (2007), Support vector machine solvers, on the KKT conditions.
    """
    free = np.flatnonzero(problem.free(a))
    if not 0 < len(free) <= most:
        return None
    f = np.asarray(gram.product(a), np.float64)
    n = len(free)
    border = int(problem.fit_intercept)
    system = np.zeros((n + border, n + border))
    system[:n, :n] = gram.between(free, free)
    # As large as K, or the sum would count for nothing beside it.
    size = float(np.abs(system).max()) or 1.0
    system[:n, n:] = system[n:, :n] = size
    goal = problem.z[free] - problem.epsilon * np.sign(a[free]) - f[free]
    right = np.concatenate([goal, [-size * a.sum()] * border])
    # Directions in which K is this small beside its largest one are left alone.
    flat = 1e-12
    change = scipy.linalg.lstsq(system, right, cond=flat, lapack_driver="gelsy")[0][:n]
    stepped = a.copy()
    stepped[free] += change
    if border and abs(stepped.sum()) > UNITS * EPS * np.linalg.norm(stepped):
        # An ill-conditioned system keeps the sum only as well as its other equations.
        stepped = problem.feasible(stepped)
    inside = (stepped >= problem.lower) & (stepped <= problem.upper)
    if not (inside.all() and (np.sign(stepped[free]) == np.sign(a[free])).all()):
        return None
    return stepped, np.asarray(gram.product(stepped), np.float64)
