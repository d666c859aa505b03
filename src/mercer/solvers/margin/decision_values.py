"""The values f = K a of a margin problem, with as many digits as its gap needs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.solvers.checkpoint import State
from mercer.solvers.margin.problem import Gap, MarginProblem

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Values:
    """Coefficients a and f = K a at all rows, which follow each other.

    f is kept with K in float32 until `certified` or `exact` asks for its digits, and with K in
    float64 from then on.

    Parameters
    ----------
    gram, single : Gram
        K in float64 and in float32.
    problem : MarginProblem
        The problem that a belongs to.

    Attributes
    ----------
    a, f : array of shape (n,)
        Coefficients and values.
    """

    # How far many steps in float64 let f drift from K a, as a share of the largest value.
    steps_error: ClassVar[float] = 1e-9

    def __init__(self, gram: Gram, single: Gram, problem: MarginProblem) -> None:
        self.gram = gram
        self.single = single
        self.problem = problem
        self.reset()

    def reset(self) -> None:
        """Begin at a = 0."""
        n = len(self.problem.z)
        self.a, self.f = np.zeros(n), np.zeros(n)
        self._is_exact = np.ones(n, bool)
        self._is_rough, self._is_stale = True, False

    def state(self) -> State:
        """Return what there is, for `restore`."""
        flags = np.array([self._is_rough, self._is_stale])
        return {"coefficients": self.a, "f": self.f, "is_exact": self._is_exact, "flags": flags}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.a, self.f, self._is_exact = state["coefficients"], state["f"], state["is_exact"]
        self._is_rough, self._is_stale = state["flags"].tolist()

    def holds(self, state: State) -> bool:
        """Whether the values of a state are those of its coefficients, or not known yet."""
        is_stale, a = bool(state["flags"][1]), state["coefficients"]
        return is_stale or self.are_values(a, state["f"], None, state["is_exact"])

    def are_values(
        self, a: Array, f: Array, rows: Rows | None, is_exact: bool | NDArray[np.bool_]
    ) -> bool:
        """Whether f is K a at some rows, or at all for None, but for rounding.

        Parameters
        ----------
        a, f : array
            Coefficients of all rows, and values at those rows.
        rows : index, optional
            Which rows.
        is_exact : bool or array of bool
            Where K was in float64, for each of the rows if it is an array.
        """
        used = np.flatnonzero(a)
        product = self.gram.partial_product(rows, used, a[used])
        share = np.where(is_exact, self.steps_error, 2.0 * self.gram.single_error)
        allowed = share * (self._largest(a) + np.abs(self.problem.z).max())
        # What is not a number is no value either.
        return bool(np.all(np.abs(product - f) <= allowed))

    @property
    def gap(self) -> Gap:
        """The duality gap, as far as f is known."""
        return self.problem.gap(self.a, self.f)

    def start(self, a: Array, rows: Rows) -> None:
        """Take other coefficients, and f at some rows only, until the next change."""
        self.a = a
        self._is_exact[:] = False
        self._is_rough = self._is_stale = True
        used = np.flatnonzero(a)
        self.f[rows] = self.single.partial_product(rows, used, a[used])

    def replace(self, a: Array, f: Array, is_exact: bool) -> None:
        """Take other coefficients with their values, which are exact if K was in float64."""
        self.a, self.f = a, f
        self._is_exact[:] = is_exact

    def add(self, rows: Rows, change: Array) -> None:
        """Change the coefficients of some rows, and f with them."""
        if self._is_stale:
            self.a[rows] += change
            used, rest = np.flatnonzero(self.a), np.flatnonzero(self.a == 0.0)
            for some in (used, rest):
                self.f[some] = self.single.partial_product(some, used, self.a[used])
            self._is_stale = False
            return
        some = np.flatnonzero(change)
        if len(some):
            source = self.single if self._is_rough else self.gram
            # A product that is broken off leaves the coefficients that f is known for.
            product = source.partial_product(None, rows[some], change[some])
            self._is_exact &= not self._is_rough
            self.f += product
        self.a[rows] += change

    def active(self, offset: float, near: float) -> Rows:
        """Return the active set, all rows but those that are clearly at a bound.

        Of the rows that are where they should be, the share `near` next to a kink may still change.
        """
        up, down = self.problem.slopes(self.a, self.f + offset - self.problem.z)
        worst = np.maximum(up, down)
        clear = worst < 0.0
        if clear.any():
            clear &= worst < np.quantile(worst[clear], 1.0 - near)
        return np.flatnonzero(~clear)

    def certified(self) -> Gap:
        """Return the largest gap there may be, with K in float64 at every row that could add to it.

        The other rows have a_i = 0 and no loss, by more than float32 may be off: `single_error`.
        """
        self._is_rough = False
        if not self._is_exact.all():
            b = self.problem.offset(self.f)
            up, down = self.problem.slopes(self.a, self.f + b - self.problem.z)
            error = 2.0 * self.gram.single_error * self._largest(self.a)
            wanted = ((self.a != 0.0) | (np.maximum(up, down) > -error)) & ~self._is_exact
            if wanted.any():
                self._recompute(wanted)
        return self.problem.proved(self.a, self.f, self.gram.diagonal())

    def unproved(self) -> Gap:
        """Return the offset that f gives as far as it is known, and no gap."""
        if self._is_stale:
            # f is known at some rows only: as good as no coefficients.
            self.a, self.f = np.zeros_like(self.a), np.zeros_like(self.f)
            self._is_stale = False
            return self.gap
        return Gap.unknown(self.problem.offset(self.f))

    def exact(self) -> None:
        """Compute f in float64 at all rows."""
        self._is_rough = False
        self._recompute(~self._is_exact)

    def _recompute(self, wanted: NDArray[np.bool_]) -> None:
        """Compute f in float64 at some rows."""
        used = self.a != 0.0
        rows, columns = np.flatnonzero(wanted), np.flatnonzero(used)
        either = np.flatnonzero(wanted | used)
        # A symmetric product takes half the entries.
        if 2 * len(rows) * len(columns) > len(either) ** 2:
            rows = columns = either
        self.f[rows] = self.gram.partial_product(rows, columns, self.a[columns])
        self._is_exact[rows] = True

    def _largest(self, a: Array) -> float:
        """Return what no value of K a exceeds, as no entry exceeds the largest of the diagonal."""
        return float(np.abs(a).sum() * np.abs(self.gram.diagonal()).max())


def write_rows(gram: Gram, most: int, index: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Write some rows, at most so many at a time, which are there twice for a moment."""
    for start in range(0, len(index), most):
        out[start : start + most] = gram.rows(index[start : start + most])
