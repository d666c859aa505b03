"""The functions of all pairs of classes, whose training rows have a coefficient per other class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import LARGE
from mercer.data.columns import n_rows, take_rows
from mercer.functions.dual import DualFunction
from mercer.functions.function import Array
from mercer.tiles import apply, evaluate


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return all pairs of classes in the order of scikit-learn."""
    return list(combinations(range(n_classes), 2))


def slot(own: int, other: int) -> int:
    """Return which coefficient a row of one class has against another one."""
    return other - 1 if other > own else other


def by_other_class(
    codes: NDArray[np.intp],
    indices: Sequence[NDArray[np.intp]],
    duals: Sequence[Array],
    n_classes: int,
) -> Array:
    """Return the coefficients of every row against the other classes, (n_classes - 1, n).

    Parameters
    ----------
    codes : array of shape (n,)
        The class of every row by its number.
    indices, duals : sequences of arrays
        The rows of every pair of classes, and their coefficients.
    n_classes : int
        The number of classes.
    """
    A = np.zeros((n_classes - 1, len(codes)))
    for (i, j), index, dual in zip(pairs_of(n_classes), indices, duals, strict=True):
        is_first = codes[index] == i
        A[slot(i, j), index[is_first]] = dual[is_first]
        A[slot(j, i), index[~is_first]] = dual[~is_first]
    return A


@dataclass(frozen=True, eq=False)
class PairFunction(DualFunction):
    """One f + b for every pair of classes; positive votes for the first class of the pair.

    A row takes part in the pairs of its own class alone, so that it has one coefficient for every
    other class, and each class is met with new rows once for all its pairs.

    Parameters
    ----------
    kernel, rows, intercept, columns
        As of `DualFunction`, with a target for every pair.
    coefficients : array of shape (m, n_classes - 1)
        Those of every row against the other classes, in their order.
    counts : array of shape (n_classes,)
        How many rows are of each class; those of the first come first.
    """

    form: ClassVar[str] = "pairs"
    # What is found for them, class by class, stays in memory that is used again.
    rows_at_a_time: ClassVar[int] = 2048

    counts: NDArray[Any] = field(kw_only=True)

    @property
    def by_target(self) -> Array:
        classes = len(self.counts)
        codes = np.repeat(np.arange(classes), self.counts)
        found = np.zeros((len(codes), self.n_targets))
        for k, (i, j) in enumerate(pairs_of(classes)):
            for own, other in ((i, j), (j, i)):
                mine = codes == own
                found[mine, k] = self.coefficients[mine, slot(own, other)]
        return found

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        X, n, m = self.compared(X), n_rows(X), len(self.coefficients)
        ends = np.cumsum(self.counts)
        parts = [slice(int(e - k), int(e)) for e, k in zip(ends, self.counts, strict=True)]
        # Entries of float32 are stored and multiplied faster than tiles of them, part by part.
        is_single = isinstance(self.rows, np.ndarray) and self.rows.dtype == np.float32
        are_stored = self.kernel.is_precomputed or is_single
        height, a = self.rows_at_a_time, self.coefficients
        if are_stored:
            height = max(1, min(height, LARGE // max(1, m)))
            a = a.astype(np.float64 if self.kernel.is_precomputed else np.float32)
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            some = take_rows(X, rows)
            if are_stored:
                K = evaluate(self.kernel.program, some, self.rows)
                sums = [K[:, p] @ a[p] for p in parts]
            else:
                sums = [self._part(some, p) for p in parts]
            yield rows, self._scores(sums)

    def _part(self, X: Any, part: slice) -> Array:
        """Return what the rows of one class add against every other one."""
        a = self.coefficients[part]
        if len(a) == 0:
            return np.zeros((n_rows(X), a.shape[1]))
        return np.asarray(apply(self.kernel.program, X, take_rows(self.rows, part), a), np.float64)

    def _scores(self, sums: list[Array]) -> Array:
        """Return f + b of every pair from what the rows of every class add."""
        pairs, width = pairs_of(len(sums)), len(sums) - 1
        stacked = np.concatenate(sums, axis=1)
        scores = stacked.take([i * width + slot(i, j) for i, j in pairs], axis=1)
        scores += stacked.take([j * width + slot(j, i) for i, j in pairs], axis=1)
        scores += self.intercept
        return scores
