"""Problems with a margin, hinge loss or epsilon-insensitive loss, and their duality gap."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, fsum

import numpy as np
from numpy.typing import NDArray

from mercer.native.smo import Box
from mercer.solvers.contract import OFFSET_ALONE, Solution, Solver
from mercer.solvers.refusals import LARGEST_COST, too_costly
from mercer.solvers.rounding import EPS, UNITS, column_norms, product_rounding, usual_unit

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """min over f, b of 1/2 ||f||^2 + sum_i loss_i(f(x_i) + b - z_i), and its dual.

    loss_i(r) = upper_i max(0, -r - epsilon) - lower_i max(0, r - epsilon), so that the dual is
    max over a of z'a - epsilon |a|_1 - 1/2 a'Ka with lower <= a <= upper, and sum(a) = 0 if there
    is an offset b. The solution is f(x) = sum_i a_i k(x_i, x).

    Parameters
    ----------
    z : array of shape (n,)
        The targets; the signs of the classes in classification.
    lower, upper : array of shape (n,)
        The bounds, lower <= 0 <= upper.
    epsilon : float
        Half the width of the tube without loss; zero in classification.
    fit_intercept : bool
        Whether there is an offset.
    start : array of shape (n,), optional
        Coefficients to start from, feasible or not.

    References
    ----------
    B. Schoelkopf, A. Smola (2002), Learning with kernels (chapters 7 and 9).
    """

    z: Array
    lower: Array
    upper: Array
    epsilon: float
    fit_intercept: bool
    start: Array | None = None

    def __post_init__(self) -> None:
        if self.largest > LARGEST_COST:
            raise too_costly(self.largest)

    @property
    def largest(self) -> float:
        """The largest bound."""
        return float(max(self.upper.max(initial=0.0), -self.lower.min(initial=0.0)))

    @classmethod
    def classification(cls, signs: Array, costs: Array, fit_intercept: bool) -> MarginProblem:
        """Return the soft margin: costs_i max(0, 1 - signs_i (f(x_i) + b))."""
        upper, lower = np.where(signs > 0, costs, 0.0), np.where(signs > 0, 0.0, -costs)
        return cls(signs, lower, upper, 0.0, fit_intercept)

    @classmethod
    def regression(
        cls, y: Array, costs: Array, epsilon: float, fit_intercept: bool
    ) -> MarginProblem:
        """Return the tube: costs_i max(0, |y_i - f(x_i) - b| - epsilon)."""
        return cls(y, -costs, costs, epsilon, fit_intercept)

    def on(self, index: NDArray[np.intp]) -> MarginProblem:
        """Return the problem of some of the rows."""
        return MarginProblem(
            self.z[index],
            self.lower[index],
            self.upper[index],
            self.epsilon,
            self.fit_intercept,
            None if self.start is None else self.start[index],
        )

    @property
    def box(self) -> Box:
        """The dual as the engine takes it."""
        return Box(self.z, self.lower, self.upper, self.epsilon, self.fit_intercept)

    def slopes(self, a: Array, r: Array) -> tuple[Array, Array]:
        """Return how steeply the dual rises as a_i goes up, and as it goes down.

        Minus infinity where a bound is in the way; positive where a_i should move.

        Parameters
        ----------
        a : array of shape (n,)
            Coefficients.
        r : array of shape (n,)
            The residuals f + b - z.
        """
        e = self.epsilon
        up = np.where(a < self.upper, -r - np.where(a >= 0.0, e, -e), -np.inf)
        down = np.where(a > self.lower, r + np.where(a > 0.0, e, -e), -np.inf)
        return up, down

    def free(self, a: Array) -> NDArray[np.bool_]:
        """Return which coefficients are between their bounds and not at zero."""
        return (a > self.lower) & (a < self.upper) & (a != 0.0)

    def feasible(self, a: Array) -> Array:
        """Return the coefficients in their bounds, with sum zero if there is an offset."""
        a = np.clip(a, self.lower, self.upper)
        if not self.fit_intercept:
            return a
        # What is missing goes to free coefficients, as far as they have room on their side of zero.
        missing = -float(a.sum())
        end = (
            np.where(a > 0.0, self.upper, 0.0)
            if missing > 0.0
            else np.where(a > 0.0, 0.0, self.lower)
        )
        room = np.where(self.free(a), np.abs(end - a), 0.0)
        total = float(room.sum())
        if abs(missing) < total:
            return self._balanced(np.asarray(a + missing / total * room))
        positive, negative = np.maximum(a, 0.0), np.minimum(a, 0.0)
        up, down = positive.sum(), -negative.sum()
        least = min(up, down)
        # The side that is too heavy is made lighter, which keeps every bound.
        return self._balanced(
            positive * (least / up if up > 0 else 0.0)
            + negative * (least / down if down > 0 else 0.0)
        )

    def _balanced(self, a: Array) -> Array:
        """Return coefficients without what rounding leaves of their sum, at one that has room."""
        rest = fsum(a)
        has_room = self.free(a) & (a - rest >= self.lower) & (a - rest <= self.upper)
        if has_room.any():
            a[np.where(has_room, np.abs(a), np.inf).argmin()] -= rest
        return a

    def steepest(self, a: Array, r: Array) -> Array:
        """Return s within the bounds that minimises r's + epsilon |s|_1, with the sum of a.

        Without an offset the sum is free, and s_i is minus the slope of the loss at r_i.

        Parameters
        ----------
        a : array of shape (n,)
            Coefficients.
        r : array of shape (n,)
            The residuals f - z.
        """
        if not self.fit_intercept:
            outside = np.where(r > self.epsilon, self.lower, 0.0)
            return np.where(r < -self.epsilon, self.upper, outside)
        # From the lower bounds upwards, the cheapest pieces first: below zero, above zero.
        slopes = np.concatenate([r - self.epsilon, r + self.epsilon])
        room = np.concatenate([-self.lower, self.upper])
        order = np.argsort(slopes, kind="stable")
        before = np.cumsum(room[order]) - room[order]
        taken = np.empty_like(room)
        taken[order] = np.clip(a.sum() - self.lower.sum() - before, 0.0, room[order])
        below, above = taken.reshape(2, -1)
        return np.asarray(self.lower + below + above)

    def offset(self, f: Array) -> float:
        """Return the offset at which the loss is least: where its slope in b changes sign."""
        if not self.fit_intercept:
            return 0.0
        at, change = self.z - f, self.upper - self.lower
        if self.epsilon > 0.0:
            # Both kinks of a row, where the loss stops falling and where it begins to rise.
            at = np.concatenate([at - self.epsilon, at + self.epsilon])
            change = np.concatenate([self.upper, -self.lower])
        rise = change[0]
        if (change == rise).all():
            # Every kink counts the same, so that their order tells where the slope is zero.
            share, rounding = float((self.upper / rise).sum()), 1e-12 * len(at)
            first, last = ceil(share - rounding) - 1, floor(share + rounding)
            middle = [max(first, 0), min(last, len(at) - 1)]
            return 0.5 * float(np.partition(at, middle)[middle].sum())
        order = np.argsort(at)
        slope = np.cumsum(change[order]) - self.upper.sum()
        # Rounding of the sums is no slope.
        flat = 1e-12 * change.sum()
        first = order[min(int(np.searchsorted(slope, -flat)), len(order) - 1)]
        last = order[min(int(np.searchsorted(slope, flat, side="right")), len(order) - 1)]
        return 0.5 * float(at[first] + at[last])

    def gap(self, a: Array, f: Array) -> Gap:
        """Return the duality gap of feasible coefficients a with f = K a."""
        b = self.offset(f)
        r = f + b
        r -= self.z
        loss = self._loss(r)
        objective = 0.5 * float(a @ f) + float(loss.sum())
        return Gap(b, max(float(self._terms(a, r, loss).sum()), 0.0), objective)

    def proved(self, a: Array, f: Array, diagonal: Array) -> Gap:
        """Return the largest gap that the coefficients may have, for all that rounding hides.

        The gap is a sum of convex functions of the residuals r, which are known as well as f = K a
        is computed: its largest value is at one of the ends of what r may be. A sum q of the
        coefficients that is not zero is taken back at one row j, which has room for it: this costs
        the dual at most (|r_j| + epsilon) |q| + k_j q^2 / 2.

        Parameters
        ----------
        a : array of shape (n,)
            Coefficients within their bounds.
        f : array of shape (n,)
            K a.
        diagonal : array of shape (n,)
            That of K.
        """
        found = self.gap(a, f)
        hidden = product_rounding(diagonal, a)
        r = f + found.offset - self.z
        taken_back = 0.0
        if self.fit_intercept:
            q = float(a.sum())
            size = abs(q) + UNITS * EPS * float(column_norms(a))
            costs = (np.abs(r) + hidden + self.epsilon + 0.5 * np.abs(diagonal) * size) * size
            has_room = (a - q >= self.lower) & (a - q <= self.upper)
            taken_back = float(costs[has_room].min() if has_room.any() else costs.max())
            del costs, has_room
        ends = (r - hidden, np.add(r, hidden, out=hidden))
        worst = np.maximum(*(self._terms(a, e, self._loss(e)) for e in ends))
        return Gap(found.offset, max(float(worst.sum()) + taken_back, found.gap), found.primal)

    def _loss(self, r: Array) -> Array:
        """Return the loss of every row with these residuals."""
        above, below = r - self.epsilon, -self.epsilon - r
        for beyond, cost in ((above, self.lower), (below, self.upper)):
            np.maximum(beyond, 0.0, out=beyond)
            beyond *= cost
        below -= above
        return below

    def _terms(self, a: Array, r: Array, loss: Array) -> Array:
        """Return what every row adds to the gap: at least zero, so that nothing cancels.

        There may be very many rows: it takes the place of the residuals.
        """
        r *= a
        r += self.epsilon * np.abs(a)
        r += loss
        return r

    @property
    def groups(self) -> NDArray[np.bool_]:
        """Which rows belong together: those of coefficients with one sign."""
        return self.upper > 0.0

    def in_units(self) -> tuple[MarginProblem, Array]:
        """Return the problem in a unit in which squares are numbers, and the unit, of shape (1,).

        In a unit u of targets, tube and coefficients the bounds are counted in it as well, and the
        objective in u^2. It is half way between targets and bounds, so that neither leaves the
        range of numbers.
        """
        size = float(np.abs(self.z).max(initial=0.0))
        if usual_unit(size) == 1.0:
            return self, np.ones(1)
        half_way = 0.5 * (np.log2(size) + np.log2(self.largest or size))
        unit = float(2.0 ** np.ceil(max(half_way, np.log2(self.largest / LARGEST_COST or size))))
        problem = MarginProblem(
            self.z / unit,
            self.lower / unit,
            self.upper / unit,
            self.epsilon / unit,
            self.fit_intercept,
            None if self.start is None else self.start / unit,
        )
        return problem, np.array([unit])

    def zero_solution(self, tol: float) -> Solution:
        """Return a = 0 and the best offset, whose duality gap takes no entry of K."""
        a = np.zeros(len(self.z))
        return self.solution(a, self.gap(a, a), tol, 0, OFFSET_ALONE, "")

    def solution(
        self, a: Array, gap: Gap, tol: float, iterations: int, solver: str, advice: str
    ) -> Solution:
        """Return coefficients of shape (n, 1), offset and gap of shape (1,)."""
        return Solution(
            a[:, None],
            np.array([gap.offset]),
            np.array([gap.relative]),
            np.array([np.sqrt(2.0 * gap.gap)]),
            tol,
            solver,
            measure="relative duality gap",
            iterations=iterations,
            advice=advice,
        )


class MarginSolver(Solver[MarginProblem]):
    """What solves margin problems; the residual of its solution is the relative duality gap."""


@dataclass(frozen=True)
class Gap:
    """A duality gap, with the offset at which it is least and the primal objective there."""

    offset: float
    gap: float
    primal: float

    @classmethod
    def unknown(cls, offset: float) -> Gap:
        """Return what is known of coefficients that there was no time to measure."""
        return cls(offset, np.inf, np.inf)

    @property
    def scale(self) -> float:
        """The larger objective, primal or dual, without its sign."""
        return max(abs(self.primal), abs(self.primal - self.gap))

    @property
    def relative(self) -> float:
        """The gap beside the larger objective."""
        if self.gap == np.inf:
            return np.inf
        return self.gap / self.scale if self.scale != 0.0 else 0.0
