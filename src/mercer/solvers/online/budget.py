"""The perceptron on a budget: never more than so many points in the sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.native.lapack import one_blas_thread

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Basis:
    """A function in the span of a few points, f = sum_j a_j k(x_j, .), for every problem.

    Parameters
    ----------
    rows : array of shape (s,)
        The points, by their rows.
    inverse : array of shape (s, s)
        K_SS^-1.
    last : array of shape (s, problems)
        a after the last step.
    late : array of shape (s, problems)
        The sum of all changes of a, each times the step at which it was made.
    steps : int
        The number of steps T; the mean over all of them is a - late / T.
    """

    # A point is in the span of the basis if its squared distance is a smaller share of k(x, x).
    in_span: ClassVar[float] = 1e-7

    rows: Rows
    inverse: Array
    last: Array
    late: Array
    steps: int

    @classmethod
    def empty(cls, problems: int) -> Basis:
        """Return the basis of the function zero."""
        none = np.empty((0, problems))
        return cls(np.empty(0, np.intp), np.empty((0, 0)), none, none, 0)

    def mean(self) -> Array:
        """Return the coefficients of the mean over all steps, of shape (s, problems)."""
        return self.last - self.late / max(self.steps, 1)

    def after(self, row: int, k: Array, kxx: float, change: Array, step: int) -> Basis:
        """Return the basis after f += change k(x, .), with x added unless it is in the span.

        Parameters
        ----------
        row : int
            The row of x.
        k : array of shape (s,)
            k(x_j, x) for the points of the basis.
        kxx : float
            k(x, x).
        change : array of shape (problems,)
            What to add.
        step : int
            The number of the step.
        """
        q = self.inverse @ k
        if row in self.rows:
            q = (self.rows == row).astype(np.float64)
        distance = kxx - k @ q
        if distance <= self.in_span * kxx:
            share = np.outer(q, change)
            return Basis(
                self.rows, self.inverse, self.last + share, self.late + step * share, self.steps
            )
        # The inverse of a bordered matrix.
        s = len(self.rows)
        inverse = np.empty((s + 1, s + 1))
        inverse[:s, :s] = self.inverse + np.outer(q, q / distance)
        inverse[s, :s] = inverse[:s, s] = -q / distance
        inverse[s, s] = 1.0 / distance
        return Basis(
            np.append(self.rows, row),
            inverse,
            np.vstack([self.last, change]),
            np.vstack([self.late, step * change]),
            self.steps,
        )

    def reduced(self) -> tuple[Basis, int]:
        """Return the closest function that uses one point fewer, and which point it lacks.

        Without point r the closest f is off by a_r^2 / Q_rr in squared norm, Q = K_SS^-1, summed
        over the problems; the point of the least is taken out and its part is put on the others.
        """
        losses = (self.last**2).sum(axis=1) / self.inverse.diagonal()
        r = int(losses.argmin())
        others = np.delete(np.arange(len(self.rows)), r)
        shares = self.inverse[others, r] / self.inverse[r, r]
        inverse = np.delete(np.delete(self.inverse, r, axis=0), r, axis=1)
        inverse -= np.outer(shares, self.inverse[r, others])
        return (
            Basis(
                self.rows[others],
                inverse,
                self.last[others] - np.outer(shares, self.last[r]),
                self.late[others] - np.outer(shares, self.late[r]),
                self.steps,
            ),
            r,
        )


class BudgetedPerceptron:
    """A perceptron in the span of at most `budget` points.

    A mistake adds its point, as in every perceptron; where there is one too many, f is replaced
    by the closest function, in the norm of the kernel's space, that needs one point fewer.

    Parameters
    ----------
    gram : Gram
        K of the points of the basis and the rows to visit.
    signs : array of shape (n, problems)
        The sign of every row's class times the size of its step.
    basis : Basis
        Where to begin.
    budget : int
        The most points.
    start : int
        The first row to visit.

    References
    ----------
    Z. Wang, K. Crammer and S. Vucetic (2012), Breaking the curse of kernelization: budgeted
    stochastic gradient descent for large-scale SVM training.
    """

    # Rows for which the entries beside the basis are computed at a time.
    rows_at_a_time = 64

    def __init__(self, gram: Gram, signs: Array, basis: Basis, budget: Any, start: int) -> None:
        if not isinstance(budget, int | np.integer) or budget < 1:
            raise ValueError(f"budget must be a whole number of at least 1 or None, got {budget!r}")
        self.gram = gram
        self.signs = signs
        # An earlier call may have allowed more.
        while len(basis.rows) > budget:
            basis = basis.reduced()[0]
        self.basis = basis
        self.budget = budget
        self.start = start
        self._made = np.zeros(signs.shape[1], np.int64)
        self._updates = 0

    def visit(self, order: Rows) -> None:
        """Visit at most a block of rows."""
        rows = self.start + order
        # Whatever enters the basis on the way comes from the block.
        pool = np.append(self.basis.rows, rows)
        K = np.asarray(self.gram.between(rows, pool), np.float64)
        places = np.arange(len(self.basis.rows))
        first, signs = self.basis.steps, self.signs[rows]
        i = 0
        while i < len(rows):
            values = K[np.ix_(np.arange(i, len(rows)), places)] @ self.basis.last
            wrong = np.sign(signs[i:]) * values <= 0.0
            mistakes = wrong.any(axis=1)
            if not mistakes.any():
                break
            at = int(mistakes.argmax())
            i += at
            own = len(pool) - len(rows) + i
            change = np.where(wrong[at], signs[i], 0.0)
            self._made += wrong[at]
            places = self._learn(rows[i], K[i], places, own, change, first + i)
            i += 1
        self.basis = self._at(first + len(rows))
        if self._updates >= max(self.budget, self.rows_at_a_time):
            self._renew()

    def _learn(self, row: int, k: Array, places: Rows, own: int, change: Array, step: int) -> Rows:
        """Change f at a mistake, and return where the basis lies in the pool."""
        before = len(places)
        self.basis = self.basis.after(row, k[places], float(k[own]), change, step)
        if len(self.basis.rows) > before:
            places = np.append(places, own)
            self._updates += 1
        if len(places) > self.budget:
            self.basis, removed = self.basis.reduced()
            places = np.delete(places, removed)
        return places

    def _at(self, steps: int) -> Basis:
        b = self.basis
        return Basis(b.rows, b.inverse, b.last, b.late, steps)

    def _renew(self) -> None:
        """Compute the inverse afresh, lest the rounding errors of its updates add up."""
        b = self.basis
        K = np.asarray(self.gram.between(b.rows, b.rows), np.float64)
        # So small a matrix is not worth the threads of the BLAS, which wait for each other.
        with one_blas_thread():
            inverse = np.linalg.inv(K)
        self.basis = Basis(b.rows, (inverse + inverse.T) / 2.0, b.last, b.late, b.steps)
        self._updates = 0

    def mistakes(self) -> NDArray[np.int64]:
        """Return the number of mistakes so far in every problem."""
        return self._made.copy()

    def settle(self, is_right: NDArray[np.bool_]) -> None:
        """Do nothing: all problems share the basis, and whoever is right learns nothing."""
