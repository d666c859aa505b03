"""The weights of k-grams and words in f(x) = sum_i a_i k(x_i, x), and how these are spelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from sys import maxunicode
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.layout import used_columns
from mercer.data.sequences import sequence_rows
from mercer.data.symbols import Sequences
from mercer.kernels.families.sequence import GappedKmer, Grams, Mismatch, Spectrum
from mercer.kernels.families.words import WordCounts, Words
from mercer.kernels.features import FormulaMap, Inner, RowScaled
from mercer.tiles import Rows
from mercer.tiles.kmers import gram_places, gram_sums
from mercer.tiles.tile import Transform

Array = NDArray[Any]

# Characters that stand for a gap, by preference.
GAPS = "._*?"


def gram_weights(
    kernel: Spectrum | GappedKmer | Mismatch | Words, rows: Any, a: Array
) -> tuple[Sequence[Any], Array]:
    """Return all u that occur in the rows, and the w_u of f(x) = sum_u w_u count_u(x).

    The features of `Spectrum` and `GappedKmer` are counts, so that w_u = sum_i a_i count_u(x_i)
    times the weight of the length of u. `Mismatch` is sum_uv shared(u, v) count_u(x) count_v(z),
    with the number of words near to both, so that w_u = sum_iv a_i shared(u, v) count_v(x_i): a
    k-gram that occurs in no row x_i has a weight as well, by those that it is near to. Words in
    the same column of their hash have the same weight.

    Parameters
    ----------
    kernel : Spectrum, GappedKmer, Mismatch or Words
        k, not normalised.
    rows : rows
        The x_i.
    a : array of shape (n, targets)
        The a_i.

    Returns
    -------
    names : sequence
        The u, spelled when they are asked for: text, with a dot for a gap, or a tuple of tokens,
        with None. Where the rows hold a dot the gap is the first of "_", "*", "?" and of further
        characters that they do not hold, and where they hold None it is Ellipsis.
    weights : array of shape (p, targets)
        The w_u.
    """
    if isinstance(kernel, Words):
        return _word_weights(rows, a)
    if isinstance(kernel, Mismatch):
        return _near_weights(kernel, rows, a)
    names: list[Sequence[Any]] = []
    weights = [np.empty((0, a.shape[1]))]
    for factor, grams in kernel.grams:
        speller = _Speller(grams, rows)
        for mask in speller.masks:
            found = gram_sums(speller.S, grams.width, mask, a)
            order = np.argsort(found.places)
            names.append(_Windows(speller, found.places[order], mask))
            weights.append(factor * found.sums[order])
    return Chain(names), np.concatenate(weights)


def _near_weights(kernel: Mismatch, rows: Any, a: Array) -> tuple[Sequence[Any], Array]:
    """Return the k-grams of rows, each with the sum of what all masks of the formula read in it."""
    whole = _Speller(Grams(kernel.k, is_folded=kernel.case == "fold"), rows)
    if not whole.masks:
        return [], np.empty((0, a.shape[1]))
    (mask,) = whole.masks
    plain = gram_sums(whole.S, kernel.k, mask, a)
    order = np.argsort(plain.places)
    windows = plain.first[order]
    weights = np.zeros(plain.sums.shape)
    for factor, grams in kernel.grams:
        speller = _Speller(grams, rows)
        for some in speller.masks:
            read = gram_sums(speller.S, kernel.k, some, a)
            weights += factor * read.sums[read.numbers[windows]]
    return _Windows(whole, plain.places[order], mask), weights


def _word_weights(rows: Any, a: Array) -> tuple[list[str], Array]:
    counts = WordCounts()
    names = counts.words(rows)
    return names, np.asarray(counts(rows).T @ a)[counts(names).indices]


def feature_names(phi: FormulaMap, rows: Rows) -> list[Any]:
    """Return what the columns in use of a linear feature map stand for, in their order.

    They are k-grams where these are counted, and else the numbers of columns; a constant is 1.
    """
    names: list[Any] = []
    for monomial, _ in phi.terms:
        names += _atom_names(phi.atoms[monomial[0][0]], rows) if monomial else [1]
    return names


def _atom_names(atom: Inner | RowScaled, rows: Rows) -> list[Any]:
    if isinstance(atom, RowScaled):
        return feature_names(atom.phi, rows)
    last = atom.view[-1] if atom.view else None
    if not isinstance(last, Transform) or not isinstance(last.g, Grams):
        return list(used_columns(rows.matrix(atom.view)).tolist())
    speller = _Speller(last.g, rows.raw(atom.view[:-1]))
    if not speller.masks:
        return []
    places, masks = gram_places(speller.S, speller.width, speller.masks)
    names = np.empty(len(places), object)
    for number, mask in enumerate(speller.masks):
        chosen = np.flatnonzero(masks == number)
        for i, name in zip(chosen, speller.spelled(places[chosen], mask), strict=True):
            names[i] = name
    return list(names)


class Chain(Sequence[Any]):
    """Several sequences one after the other."""

    def __init__(self, parts: Sequence[Sequence[Any]]) -> None:
        self.parts = parts
        self.ends = np.cumsum([len(part) for part in parts], dtype=np.int64)

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return list(self)[index]
        i = range(len(self))[index]
        part = int(np.searchsorted(self.ends, i, side="right"))
        return self.parts[part][i - int(self.ends[part])]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts)


class _Windows(Sequence[Any]):
    """The k-grams that a mask reads at some places."""

    def __init__(self, speller: _Speller, places: NDArray[np.int64], mask: tuple[int, ...]) -> None:
        self.speller, self.places, self.mask = speller, places, mask

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.speller.spelled(self.places[index], self.mask)
        return self.speller.spelled(self.places[[index]], self.mask)[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])


class _Speller:
    """The k-grams of some rows as text or tuples, given where they stand."""

    # The first of the characters that stand for a gap where the preferred ones occur: a line.
    more_gaps: ClassVar[int] = 0x2500

    def __init__(self, grams: Grams, rows: Any) -> None:
        self.S: Sequences = grams.compared(rows)
        self.width = grams.width
        # None where no row is as long as a window.
        self.masks = list(grams.masks()) if grams.width <= self.S.longest else []
        self.rows = [
            row.decode("latin-1") if isinstance(row, bytes) else row for row in sequence_rows(rows)
        ]
        self.are_texts = all(isinstance(row, str) for row in self.rows)
        self.gap = self._gap()

    def spelled(self, places: NDArray[np.int64], mask: tuple[int, ...]) -> list[Any]:
        """Return the k-grams that begin at these places of all symbols, as a mask reads them."""
        if not self.are_texts:
            return self._one_by_one(places, mask)
        # Characters are their code points, so that all of them are decoded in one go.
        codes = self.S.symbols[places[:, None] + np.arange(self.width)].astype("<u4")
        codes[:, [i for i in range(self.width) if i not in mask]] = ord(self.gap)
        text = codes.tobytes().decode("utf-32-le", "surrogatepass")
        return [text[i : i + self.width] for i in range(0, len(text), self.width)]

    def _one_by_one(self, places: NDArray[np.int64], mask: tuple[int, ...]) -> list[Any]:
        owners = np.searchsorted(self.S.starts, places, side="right") - 1
        windows = (
            self.rows[owner][place : place + self.width]
            for owner, place in zip(owners, places - self.S.starts[owners], strict=True)
        )
        return [
            window
            if len(mask) == self.width and isinstance(window, str)
            else tuple(t if i in mask else self.gap for i, t in enumerate(window))
            for window in windows
        ]

    def _gap(self) -> Any:
        """Return what stands for a gap: a character or a token that no row holds."""
        if not self.are_texts:
            return ... if any(token is None for row in self.rows for token in row) else None
        used = set(np.unique(self.S.symbols).tolist())
        candidates = chain(map(ord, GAPS), range(self.more_gaps, maxunicode))
        return chr(next(c for c in candidates if c not in used))
