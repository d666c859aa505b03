"""Perceptrons: mistakes counted row by row, with K in memory or computed beside mistakes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.native.perceptron import sweep
from mercer.native.threads import in_threads

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Rows = NDArray[np.intp]


class Learner(Protocol):
    """What visits rows and learns from its mistakes."""

    rows_at_a_time: int

    def visit(self, order: Rows) -> None:
        """Visit some rows, in order."""

    def mistakes(self) -> Whole:
        """Return the number of mistakes so far in every problem."""

    def settle(self, is_right: NDArray[np.bool_]) -> None:
        """Hear which problems had no mistake in a whole epoch."""


@dataclass(frozen=True, eq=False)
class Tally:
    """What a perceptron knows: mistakes by row, for every problem.

    The function after the last step is sum_i s_i c_i k(x_i, .), and the mean over all steps is
    sum_i s_i (c_i - l_i / T) k(x_i, .), since a mistake at step t tells in the T - t functions
    from there on.

    Parameters
    ----------
    signs : array of shape (problems, n)
        s, the sign of every row's class times the size of its step.
    counts : array of shape (problems, n)
        c, the mistakes.
    late : array of shape (problems, n)
        l, the sum of the steps at which they were made.
    steps : array of shape (problems,)
        T.
    """

    signs: Array
    counts: Whole
    late: Whole
    steps: Whole

    @classmethod
    def fresh(cls, signs: Array) -> Tally:
        """Return the tally of a perceptron that starts at zero."""
        counts, late = np.zeros((2, *signs.shape), np.int64)
        return cls(np.ascontiguousarray(signs), counts, late, np.zeros(len(signs), np.int64))

    def followed_by(self, signs: Array) -> Tally:
        """Return the tally with further rows, at which no mistake was made so far."""
        more = np.zeros(signs.shape, np.int64)
        return Tally(
            np.hstack([self.signs, signs]),
            np.hstack([self.counts, more]),
            np.hstack([self.late, more]),
            self.steps.copy(),
        )

    def on(self, rows: Rows) -> Tally:
        """Return the tally of some rows."""
        return Tally(
            self.signs[:, rows], self.counts[:, rows], self.late[:, rows], self.steps.copy()
        )

    @property
    def support(self) -> Rows:
        """The rows with a mistake in any problem."""
        return np.flatnonzero(self.counts.any(axis=0))

    def last(self) -> Array:
        """Return the coefficients after the last step, of shape (problems, n)."""
        return self.signs * self.counts

    def mean(self) -> Array:
        """Return the coefficients of the mean over all steps, of shape (problems, n)."""
        return self.signs * (self.counts - self.late / np.maximum(self.steps, 1)[:, None])


class HeldPerceptron:
    """A perceptron whose Gram matrix lies in memory: every mistake adds a row of it to f.

    Parameters
    ----------
    K : array of shape (n, n)
        The matrix.
    tally : Tally
        Where to begin; written to.
    values : array of shape (problems, n)
        The values of f there; written to.
    """

    # Entries of a held matrix that are read between two looks at the clock, at most: about 50 ms.
    entries_at_a_time: ClassVar[int] = 1 << 26
    # Rows below which a problem is not worth a thread of its own.
    rows_for_threads: ClassVar[int] = 1000

    def __init__(self, K: NDArray[Any], tally: Tally, values: Array) -> None:
        self.K = K if K.strides[1] == K.itemsize else np.ascontiguousarray(K)
        self.tally = tally
        self.values = values
        self.rows_at_a_time = max(1, self.entries_at_a_time // max(len(K), 1))
        self._active = list(range(len(tally.steps)))

    def visit(self, order: Rows) -> None:
        """Visit some rows, the problems side by side."""
        t = self.tally
        rows = order.astype(np.int64, copy=False)

        def run(p: int) -> None:
            steps = t.steps[p : p + 1]
            sweep(self.K, rows, t.signs[p], self.values[p], t.counts[p], t.late[p], steps)

        if len(self.K) < self.rows_for_threads:
            for p in self._active:
                run(p)
        else:
            in_threads(run, self._active)

    def mistakes(self) -> Whole:
        """Return the number of mistakes so far in every problem."""
        return self.tally.counts.sum(axis=1)

    def settle(self, is_right: NDArray[np.bool_]) -> None:
        """Leave the problems alone that are solved."""
        self._active = np.flatnonzero(~is_right).tolist()


class StreamedPerceptron:
    """A perceptron whose Gram matrix is not stored: entries are computed beside mistakes alone.

    Rows are visited block by block. A block without a mistake costs no entry; else the mistakes
    are found with the entries within the block, and then told to the values at all rows.

    Parameters
    ----------
    gram : Gram
        K of the rows known before, from which nothing is to be learned, and the rows to visit.
    tally : Tally
        Where to begin; written to.
    start : int
        The first row to visit.
    """

    # Rows among which mistakes tell on each other before all others are told.
    rows_at_a_time = 256

    def __init__(self, gram: Gram, tally: Tally, start: int) -> None:
        self.gram = gram
        self.tally = tally
        self.start = start
        self.visited = slice(start, len(gram))
        known = tally.support
        self.values = np.zeros((len(tally.steps), len(gram) - start))
        if len(known):
            self.values += gram.partial_product(self.visited, known, tally.last()[:, known].T).T
        self._active = np.arange(len(tally.steps))

    def visit(self, order: Rows) -> None:
        """Visit at most a block of rows."""
        t, rows = self.tally, self.start + order
        signs, counts, late = (v.take(rows, axis=1) for v in (t.signs, t.counts, t.late))
        f = self.values.take(order, axis=1)
        if not ((np.sign(signs) * f)[self._active] <= 0.0).any():
            t.steps[self._active] += len(order)
            return
        K = np.ascontiguousarray(self.gram.between(rows, rows))
        local, steps = np.arange(len(rows)), t.steps.copy()
        for p in self._active:
            sweep(K, local, signs[p], f[p], counts[p], late[p], steps[p : p + 1])
        change = signs * (counts - t.counts[:, rows])
        new = np.flatnonzero(change.any(axis=0))
        self.values += self.gram.partial_product(self.visited, rows[new], change[:, new].T).T
        # Together, so that a block that is broken off leaves no trace.
        t.counts[:, rows], t.late[:, rows], t.steps[:] = counts, late, steps

    def mistakes(self) -> Whole:
        """Return the number of mistakes so far in every problem."""
        return self.tally.counts.sum(axis=1)

    def settle(self, is_right: NDArray[np.bool_]) -> None:
        """Leave the problems alone that are solved."""
        self._active = np.flatnonzero(~is_right)


def perceptron(gram: Gram, tally: Tally, start: int = 0) -> HeldPerceptron | StreamedPerceptron:
    """Return the perceptron that visits the rows of a Gram matrix from `start` on.

    References
    ----------
    Y. Freund, R. Schapire (1999), Large margin classification using the perceptron algorithm.
    """
    if gram.held_bytes and not start and not len(tally.support):
        return HeldPerceptron(gram.dense(), tally, np.zeros(tally.signs.shape))
    return StreamedPerceptron(gram, tally, start)


def margins(tally: Tally, values: Array) -> Array:
    """Return min_i y_i f(x_i) / ||f|| of the function after the last step, for every problem.

    Parameters
    ----------
    tally : Tally
        With the mistakes at all rows.
    values : array of shape (problems, n)
        f at all rows.
    """
    norms = np.sqrt(np.maximum((tally.last() * values).sum(axis=1), 0.0))
    least = (np.sign(tally.signs) * values).min(axis=1)
    return np.divide(least, norms, where=norms > 0.0, out=np.zeros_like(least))


def novikoff_bound(margins: Array, largest: float, steps: Array) -> float:
    """Return the most mistakes that a perceptron can make on rows that separate: sum R^2 / g^2.

    With R^2 the largest k(x, x) and g a margin of some function, the function after M mistakes
    with steps of sizes s has an inner product of at least g sum(s) with it, and a squared norm
    of at most R^2 sum(s^2); so M <= (R / g)^2 (max s / min s)^2.

    Parameters
    ----------
    margins : array of shape (problems,)
        g, positive.
    largest : float
        R^2.
    steps : array of shape (n,)
        The sizes of steps, positive.
    """
    spread = float(steps.max() / steps.min())
    # A margin may be so small that the bound is no number.
    with np.errstate(over="ignore"):
        return float(((np.sqrt(largest) * spread / margins) ** 2).sum())
