"""Designs of sequences: sets of words on which a kernel that is no kernel tends to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.kernels.validity.designs import SIZES

if TYPE_CHECKING:
    from mercer.kernels.kernel import Kernel

Column = str | int | None
LETTERS = "abcd"


def domains_read(kernel: Kernel) -> dict[Column, str]:
    """Return what a kernel reads, "sequences" or other domains, by column; None is the whole row.

    Parameters
    ----------
    kernel : Kernel
        Any kernel. What a user's map makes of the rows is not known, and left out.
    """
    columns = getattr(kernel, "columns", None)
    if not kernel.parts:
        return {None: kernel.domain}
    if hasattr(kernel, "g"):  # a user's map of the rows
        return {}
    found: dict[Column, str] = {}
    for part in kernel.parts:
        inner = domains_read(part)
        if columns is None:
            found |= inner
            continue
        for place, domain in inner.items():
            found |= dict.fromkeys(_selected(place, columns), domain)
    return found


def _selected(place: Column, columns: tuple[str | int, ...]) -> tuple[Column, ...]:
    """Return the columns of a table that a place in a selection of columns means."""
    if place is None:
        return columns
    is_position = isinstance(place, int) and -len(columns) <= place < len(columns)
    return (columns[int(place)],) if is_position else (place,)


def text_designs(
    reads: dict[Column, str], trials: int, rng: np.random.Generator
) -> Iterator[list[str] | dict[str, Any] | np.ndarray[Any, Any]]:
    """Yield lists of words, or tables with columns of words and numbers, for what a kernel reads.

    Every short word over two letters comes first, on which many distances fail.
    """
    for trial in range(trials):
        make = SHAPES[trial] if trial < len(SHAPES) else _some_words
        words = make(rng)
        if set(reads) <= {None}:
            yield words
            continue
        columns = {c: _values(d, words, rng) for c, d in reads.items() if c is not None}
        yield _table(columns, len(words))


def _values(domain: str, words: list[str], rng: np.random.Generator) -> Any:
    """Return a column of a table: the words in some order, or numbers."""
    if domain == "sequences":
        return [words[i] for i in rng.permutation(len(words))]
    return rng.standard_normal(len(words))


def _table(columns: dict[str | int, Any], n: int) -> dict[str, Any] | np.ndarray[Any, Any]:
    if all(isinstance(column, str) for column in columns):
        return {str(column): values for column, values in columns.items()}
    positions = [c for c in columns if isinstance(c, int)]
    width = max(c + 1 if c >= 0 else -c for c in positions)
    matrix = np.zeros((n, width), object)
    for column in positions:
        matrix[:, column] = columns[column]
    return matrix


def _all_words(letters: str, longest: int) -> Callable[[np.random.Generator], list[str]]:
    words = ["".join(w) for n in range(longest + 1) for w in product(letters, repeat=n)]
    return lambda rng: words


def _rearranged(rng: np.random.Generator) -> list[str]:
    """Return all orders of four letters."""
    return ["".join(w) for w in permutations(LETTERS)]


def _neighbours(rng: np.random.Generator) -> list[str]:
    """Return a word and all that are one deletion, insertion or substitution away."""
    word = _word(rng, 3, 6)
    near = {word}
    for i in range(len(word) + 1):
        near.add(word[:i] + word[i + 1 :])
        for letter in LETTERS[:3]:
            near |= {word[:i] + letter + word[i:], word[:i] + letter + word[i + 1 :]}
    return sorted(near)


def _some_words(rng: np.random.Generator) -> list[str]:
    """Return random words over a few letters."""
    n, letters = int(rng.choice(SIZES)), int(rng.integers(1, len(LETTERS) + 1))
    longest_word = 12
    return [_word(rng, letters, int(rng.integers(longest_word + 1))) for _ in range(n)]


def _word(rng: np.random.Generator, letters: int, length: int) -> str:
    return "".join(rng.choice(list(LETTERS[:letters]), length))


SHAPES = (
    _all_words("ab", 2),
    _all_words("ab", 3),
    _all_words("abc", 2),
    _all_words("ab", 4),
    _rearranged,
    _neighbours,
    _all_words("ab", 5),
    _all_words("abc", 3),
)
