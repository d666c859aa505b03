"""Windows of sequences compared pair by pair, and what that costs beside counting them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.symbols import Sequences
from mercer.native.core import core, cpu_level, thread_count
from mercer.native.strings import numbered
from mercer.native.twins import strings as strings_twin
from mercer.tiles.counts import DENSE_BYTES

Array = NDArray[Any]

# Windows have fewer positions than a table of values has entries.
TABLE_ENTRIES = 64


@dataclass(frozen=True)
class Rates:
    """Seconds that a step takes on a thread; what matters is which of two sums is larger.

    Measured with random DNA and proteins, 300 to 1000 rows of 100 to 150 symbols, on a Xeon with
    AVX-512.

    Parameters
    ----------
    mask, window : float
        Counting: what every mask takes, and every window under every mask.
    product, column : float
        Multiplying counts: two entries of sparse rows that meet, and a column of dense rows.
    rows, pair : float
        Comparing: what every pair of rows takes, and every pair of symbols.
    """

    mask: float
    window: float
    product: float
    column: float
    rows: float
    pair: float


NATIVE = Rates(3e-5, 1.2e-7, 2.5e-9, 5e-11, 5e-10, 4e-11)
NUMPY = Rates(3e-5, 1.8e-7, 3e-9, 1e-10, 6e-5, 8e-9)


@dataclass(frozen=True)
class Cost:
    """What the sums over all windows of two sets of sequences take, in seconds, either way.

    Parameters
    ----------
    S, T : Sequences
        The rows; half of the pairs suffice where `T` is `S`.
    width : int
        The number of symbols in a window.
    read : int
        How many of them a mask reads.
    """

    S: Sequences
    T: Sequences
    width: int
    read: int

    @property
    def masks(self) -> int:
        """The choices of the symbols that are read."""
        return math.comb(self.width, self.read)

    @property
    def prefers_pairs(self) -> bool:
        """Whether windows are compared pair by pair in less time than they are counted."""
        pairing = self.pairing()
        # Counts that take longer before they are multiplied need no look at the products.
        return pairing < self.codes() or pairing < self.counting()

    def codes(self) -> float:
        """Return the time to count what every mask reads."""
        sides = [self.S] if self.T is self.S else [self.S, self.T]
        windows = sum(_windows(side, self.width) for side in sides)
        return self.masks * (len(sides) * self._rates.mask + windows * self._rates.window)

    def counting(self) -> float:
        """Return the time to count what every mask reads, and to multiply the counts."""
        return self.codes() + self._shares * self._products()

    def pairing(self) -> float:
        """Return the time to compare all windows with all others."""
        rows, symbols = len(self.S) * len(self.T), len(self.S.symbols) * len(self.T.symbols)
        return self._shares * (rows * self._rates.rows + symbols * self._rates.pair)

    @property
    def window_pays(self) -> bool:
        """Whether one more window is counted in less time than it is compared with those of `S`.

        What both take once for many rows is not counted.
        """
        pairing = len(self.S.symbols) * self._rates.pair / self._threads
        return self.masks * self._rates.window < pairing

    def paired_diagonal(self) -> float:
        """Return the time to compare all windows of a row with each other, for every row of `S`."""
        lengths = self.S.lengths.astype(np.float64)
        return len(lengths) * self._rates.rows + float(lengths @ lengths) * self._rates.pair

    def _products(self) -> float:
        """Return the time to multiply the counts of all rows, sparse or dense."""
        left, right = (_shares(side) for side in (self.S, self.T))
        # The probability that two symbols are equal, if they were drawn at random.
        equal = sum(share * right.get(symbol, 0.0) for symbol, share in left.items())
        pairs = _windows(self.S, self.width) * _windows(self.T, self.width)
        sparse = self.masks * pairs * equal**self.read * self._rates.product
        # Very many tokens have more columns than a number can say.
        columns = self.masks * math.exp(min(self.read * math.log(max(len(left | right), 1)), 700.0))
        if 2 * (len(self.S) + len(self.T)) * columns > DENSE_BYTES:
            return sparse
        return min(sparse, len(self.S) * len(self.T) * columns * self._rates.column)

    @property
    def _rates(self) -> Rates:
        return NUMPY if core() is None else NATIVE

    @property
    def _shares(self) -> float:
        """The share of the pairs that a thread computes."""
        return (0.5 if self.T is self.S else 1.0) / self._threads

    @property
    def _threads(self) -> int:
        return 1 if core() is None else thread_count()


def _windows(S: Sequences, width: int) -> float:
    return float(np.maximum(S.lengths - width + 1, 0).sum())


def _shares(S: Sequences) -> dict[int, float]:
    """Return how frequent every symbol is."""
    if S.symbols.dtype == np.uint8:
        counts = np.bincount(S.symbols)
        symbols = np.flatnonzero(counts)
        counts = counts[symbols]
    else:
        symbols, counts = np.unique(S.symbols, return_counts=True)
    shares = counts / max(len(S.symbols), 1)
    return dict(zip(symbols.tolist(), shares.tolist(), strict=True))


def matched_windows(S: Sequences, T: Sequences, values: Sequence[int]) -> Array:
    """Return the sum over all pairs of windows of values[how many positions are equal].

    It is of the shape (n, m), for every row of `S` and of `T`, half of them where `T` is `S`. A
    window has one position less than there are values, which are whole numbers of at least 0.
    """
    out = np.empty((len(S), len(T)))
    native = core()
    if native is None:
        for i, s in enumerate(S.each()):
            for j, t in enumerate(T.each()):
                out[i, j] = strings_twin.matched_windows(s, t, values)
        return out
    # The side with more rows fills the lanes.
    left, right, block = (S, T, out) if len(T) >= len(S) else (T, S, out.T)
    letters, (A, B) = _numbered(left, right)
    tables, width = _tables(values), len(values) - 1
    sides = (A, left.starts, B, right.starts)
    native.matched_windows(
        *sides, tables, width, letters, block, T is S, thread_count(), cpu_level()
    )
    return out


def matched_windows_diagonal(S: Sequences, values: Sequence[int]) -> Array:
    """Return the sum over all pairs of windows of a row with itself, for every row."""
    native = core()
    if native is None:
        return np.array([strings_twin.matched_windows(s, s, values) for s in S.each()])
    out = np.empty(len(S))
    letters, (A,) = _numbered(S)
    tables, width = _tables(values), len(values) - 1
    native.matched_windows_diagonal(
        A, S.starts, tables, width, letters, out, thread_count(), cpu_level()
    )
    return out


def _numbered(*sides: Sequences) -> tuple[int, list[Array]]:
    """Return how many different symbols there are, and the number of each, side by side."""
    distinct = list(dict.fromkeys(sides))
    kind = np.result_type(*(S.symbols.dtype for S in distinct))
    symbols = np.concatenate([S.symbols.astype(kind, copy=False) for S in distinct])
    letters, places = numbered(symbols.view(np.int64) if kind == np.uint64 else symbols)
    ends = np.cumsum([len(S.symbols) for S in distinct])
    parts = dict(zip(distinct, np.split(places, ends[:-1]), strict=True))
    return letters, [parts[S] for S in sides]


def _tables(values: Sequence[int]) -> NDArray[np.uint8]:
    """Return the bytes of the values, the lowest of all first, each padded with zeros."""
    count = max(-(-max(values).bit_length() // 8), 1)
    tables = np.zeros((count, TABLE_ENTRIES), np.uint8)
    tables[:, : len(values)] = [[value >> 8 * p & 0xFF for value in values] for p in range(count)]
    return tables.reshape(-1)
