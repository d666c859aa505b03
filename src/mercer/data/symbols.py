"""Sequences of symbols: every row a run of numbers in one long vector."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from sys import maxunicode
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Sequences:
    """Rows of symbols: row i is ``symbols[starts[i]:starts[i + 1]]``.

    A character is its code point and a byte its value; any other token is a hash of its own,
    beyond all code points, so that the number of a symbol does not depend on the other rows.

    Parameters
    ----------
    symbols : array of unsigned integers
        All rows, one after the other.
    starts : array of shape (n + 1,)
        Where each row begins, and where the last one ends.
    """

    symbols: NDArray[Any]
    starts: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int]:
        """The number of rows."""
        return (len(self.starts) - 1,)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of symbols in each row."""
        return np.diff(self.starts)

    @property
    def longest(self) -> int:
        """The number of symbols in the longest row."""
        return int(self.lengths.max(initial=0))

    def each(self) -> list[NDArray[Any]]:
        """Return the rows as a list."""
        return np.split(self.symbols, self.starts[1:-1]) if len(self) else []

    def folded(self) -> Sequences:
        """Return the rows with small letters for capitals, where one is written for one."""
        distinct, places = np.unique(self.symbols, return_inverse=True)
        small = np.array([_small(int(s)) for s in distinct], self.symbols.dtype)
        return Sequences(small[places], self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> Sequences:
        if isinstance(index, slice) and index.step in (None, 1):
            first, last, _ = index.indices(len(self))
            starts = self.starts[first : max(first, last) + 1]
            return Sequences(self.symbols[starts[0] : starts[-1]], starts - starts[0])
        rows = np.arange(len(self))[index]
        lengths = self.lengths[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        # Position in the new vector, plus how far the row was moved.
        moved = np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Sequences(self.symbols[np.arange(starts[-1]) + moved], starts)


def _small(symbol: int) -> int:
    """Return the symbol of the small letter, or the same one if there is none."""
    letter = chr(symbol).lower() if symbol <= maxunicode else ""
    return ord(letter) if len(letter) == 1 else symbol


def symbols_of(tokens: Iterable[Hashable]) -> dict[Hashable, int]:
    """Return the number of every distinct token, which it has in any other data as well."""
    numbers = {token: symbol(token) for token in dict.fromkeys(tokens)}
    if len(set(numbers.values())) < len(numbers):
        known: dict[int, Hashable] = {}
        for token, number in numbers.items():
            if known.setdefault(number, token) is not token:
                raise ValueError(
                    f"the tokens {known[number]!r} and {token!r} have the same 63-bit hash; "
                    "spell one of them differently"
                )
    return numbers


def symbol(token: Any) -> int:
    """Return the number of a token: equal tokens have equal numbers, in every process."""
    if isinstance(token, str) and len(token) == 1:
        return ord(token)
    digest = hashlib.blake2b(_spelled(token), digest_size=8).digest()
    # Tokens are numbered from here on, beyond all characters.
    tokens = 1 << 63
    return int.from_bytes(digest, "little") | tokens


def _spelled(token: Any) -> bytes:
    """Return bytes that are the same for equal tokens, and differ for others."""
    if isinstance(token, str):
        return b"s" + token.encode("utf-8", "surrogatepass")
    if isinstance(token, bytes):
        return b"b" + token
    if token is None:
        return b"0"
    if isinstance(token, np.generic):
        token = token.item()
    if isinstance(token, Integral):
        return b"n%d" % int(token)
    if isinstance(token, Real) and float(token).is_integer():
        # 1 and 1.0 are equal.
        return b"n%d" % int(float(token))
    if isinstance(token, Real) and token == token:
        return b"n" + repr(float(token)).encode()
    if isinstance(token, tuple):
        return b"t" + b"".join(symbol(part).to_bytes(8, "little") for part in token)
    raise ValueError(
        f"a token must be text, bytes, a number, None or a tuple of these, got "
        f"{type(token).__name__}: {token!r}; replace it by a name"
    )
