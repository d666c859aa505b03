"""The values f = K a of a margin problem, with as many digits as its gap needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram, partial_product
from mercer.solvers.margin import Gap, MarginProblem

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Relative error granted to an entry of K in float32.
SINGLE = 4e-6
# Rows that tell how much of it f has in fact, and how many times that is granted to other rows.
MANY, SAFETY = 1024, 4.0


class Values:
    """Coefficients a and f = K a at all rows, which follow each other.

    From a `start` on f is kept with K in float32, until `certified` asks for its digits; else, and
    from then on, with K in float64.

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

    def __init__(self, gram: Gram, single: Gram, problem: MarginProblem) -> None:
        n = len(gram)
        self.gram = gram
        self.single = single
        self.problem = problem
        self.a, self.f = np.zeros(n), np.zeros(n)
        self._is_exact = np.ones(n, bool)
        self._is_rough = self._is_stale = False
        self._error = 0.0

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
        self.f[rows] = partial_product(self.single, rows, used, a[used])

    def replace(self, a: Array, f: Array, is_exact: bool) -> None:
        """Take other coefficients with their values, which are exact if K was in float64."""
        self.a, self.f = a, f
        self._is_exact[:] = is_exact

    def add(self, rows: Rows, change: Array) -> None:
        """Change the coefficients of some rows, and f with them."""
        self.a[rows] += change
        if self._is_stale:
            used, rest = np.flatnonzero(self.a), np.flatnonzero(self.a == 0.0)
            for some in (used, rest):
                self.f[some] = partial_product(self.single, some, used, self.a[used])
            self._is_stale = False
            return
        some = np.flatnonzero(change)
        if len(some):
            source = self.single if self._is_rough else self.gram
            self.f += partial_product(source, None, rows[some], change[some])

    def certified(self) -> Gap:
        """Return the gap, with K in float64 at every row that could add to it.

        The other rows have a_i = 0 and no loss, whatever the rounding of float32.
        """
        self._is_rough = False
        used = self.a != 0.0
        if np.count_nonzero(used & ~self._is_exact) >= MANY:
            self._recompute(used)
        gap = self.gap
        if self._is_exact.all():
            return gap
        up, down = self.problem.slopes(self.a, self.f + gap.offset - self.problem.z)
        wanted = (used | (np.maximum(up, down) > -self._doubt())) & ~self._is_exact
        if not wanted.any():
            return gap
        self._recompute(wanted)
        return self.gap

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
        exact = partial_product(self.gram, rows, columns, self.a[columns])
        if len(rows) >= MANY:
            self._error = max(self._error, float(np.abs(exact - self.f[rows]).max()))
        self.f[rows] = exact
        self._is_exact[rows] = True

    def _doubt(self) -> float:
        """Return how far f may be off at a row where K was taken in float32."""
        # |K_ij| is at most the largest diagonal entry, and both f and b may be off.
        largest = float(np.abs(self.single.diagonal()).max())
        most = 2.0 * SINGLE * float(np.abs(self.a).sum()) * largest
        return min(SAFETY * self._error, most) if self._error > 0.0 else most
