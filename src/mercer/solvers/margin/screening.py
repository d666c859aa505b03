"""Screening of a margin problem of many rows: which of them are solved for (shrinking)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.margin.decision_values import Values
from mercer.solvers.margin.low_rank_start import are_bounded, low_rank_start
from mercer.solvers.margin.problem import Gap
from mercer.solvers.run import Run

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Screening:
    """Shrinking: the active set of rows, while all others keep their coefficient.

    Rows far from the kinks of the loss have a coefficient at its bound, and stay there. Where the
    active rows are most of all, all are: None stands for them.

    Parameters
    ----------
    values : Values
        Coefficients a and f = K a.
    run : Run
        When to end.

    References
    ----------
    T. Joachims (1999), Making large-scale SVM learning practical (shrinking).
    """

    # Rows from which on it pays: a tube leaves few rows that are clearly at a bound.
    least_rows: ClassVar[int] = 8192
    least_rows_in_tube: ClassVar[int] = 20_000
    # The share of the rows that are at a bound, next to a kink of the loss, that count as active.
    near_share: ClassVar[float] = 0.05
    # The share of the rows beyond which all are active.
    most_active: ClassVar[float] = 0.8
    # The relative gap that the first active rows are solved to, and what the later ones leave of
    # the gap of all rows: a wrong choice of rows is not worth more digits.
    first_gap: ClassVar[float] = 1e-2
    left_gap: ClassVar[float] = 0.02
    # The share of the tolerance at which float64 measures the gap, and the relative gap below
    # which float32 may be what keeps it from falling.
    screened_share: ClassVar[float] = 0.3
    single_gap: ClassVar[float] = 1e-3

    values: Values
    run: Run

    def start(self) -> Rows | None:
        """Start from the solution for a low-rank copy of K; return the active set then.

        At these alone f is computed.
        """
        values = self.values
        n = len(values.a)
        with self.run.guarded(lambda: False):
            pays = are_bounded(values.single, values.problem, self.run)
            start = (
                low_rank_start(values.gram, values.single, values.problem, self.run.is_over)
                if pays
                else None
            )
            if start is None:
                return None
            values.start(start.a, start.active)
            if 0 < len(start.active) < self.most_active * n:
                return start.active
            values.add(np.arange(n), np.zeros(n))
            return None
        # The start is given up.
        values.reset()
        return None

    def active(self, gap: Gap) -> Rows | None:
        """Return the active set: not the rows clearly at a bound."""
        active = self.values.active(gap.offset, self.near_share)
        return active if len(active) < self.most_active * len(self.values.a) else None

    def has_more(self, gap: float, before: float, tol: float, active: Rows | None) -> bool:
        """Whether float32 can still lower the relative gap towards the tolerance.

        From the time that it cannot f is kept in float64, at the cost of all rows in every stage.
        """
        is_rounded = gap > 0.5 * before and (active is None or gap <= self.single_gap)
        return gap > self.screened_share * tol and not is_rounded
