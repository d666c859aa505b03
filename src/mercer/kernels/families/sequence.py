"""Kernels of the k-grams of sequences: text, bytes or lists of tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.data.sequences import as_sequences
from mercer.data.symbols import Sequences
from mercer.kernels import domains
from mercer.kernels.formula import Array, Rule
from mercer.kernels.kernel import Kernel
from mercer.kernels.language.brief import shown
from mercer.kernels.monomials import choose
from mercer.tiles import Expression, Tile
from mercer.tiles.kmers import COLUMNS, gram_counts
from mercer.tiles.windows import (
    TABLE_ENTRIES,
    Cost,
    matched_windows,
    matched_windows_diagonal,
)


@dataclass(frozen=True)
class MatchedWindows:
    """The block of sums over all pairs of windows of the value for their equal positions.

    Two windows with e equal positions read the same under C(e, k) of the masks that read k.

    Parameters
    ----------
    values : tuple of int
        The value for every number of equal positions, up to the width of a window.
    """

    values: tuple[int, ...]

    def __call__(self, S: Sequences, T: Sequences) -> Array:
        return matched_windows(S, T, self.values)

    def diagonal(self, S: Sequences) -> Array:
        """Return the sums of every sequence with itself."""
        return matched_windows_diagonal(S, self.values)


@dataclass(frozen=True)
class Grams:
    """The map of a sequence to the counts of its windows, some positions of which are not read.

    Parameters
    ----------
    width : int
        The number of symbols in a window.
    gaps : int
        How many of them are not read; every choice of the others is a feature of its own.
    letters : int, optional
        How many different symbols rows may have that are compared with each other.
    is_folded : bool
        Whether letters of either case are the same.
    """

    width: int
    gaps: int = 0
    letters: int | None = None
    is_folded: bool = False

    # There is a column for everything that might occur.
    columns: ClassVar[int] = COLUMNS
    is_discrete: ClassVar[bool] = True
    # Ways to choose the positions of gaps up to which features are counted.
    most_masks: ClassVar[int] = 1 << 16

    def __call__(self, X: Any) -> sp.csr_array:
        S = self.compared(X)
        if self.width > S.longest:
            return sp.csr_array((len(S), COLUMNS))
        return gram_counts(S, self.width, list(self.masks()))

    def compared(self, X: Any) -> Sequences:
        """Return the rows as sequences."""
        S = as_sequences(X)
        return S.folded() if self.is_folded else S

    def comparison(self, S: Sequences, T: Sequences) -> MatchedWindows | None:
        """Return what compares windows pair by pair, or None if they are counted more quickly."""
        prefers_pairs = not self.is_countable or self._cost(S, T).prefers_pairs
        return self._pairs if prefers_pairs else None

    def own_comparison(self, S: Sequences) -> MatchedWindows | None:
        """Return what compares the windows of a row, or None if they are counted more quickly."""
        cost = self._cost(S, S)
        prefers_pairs = not self.is_countable or cost.paired_diagonal() < cost.codes()
        return self._pairs if prefers_pairs else None

    def entries(self, S: Sequences) -> int:
        """Return the number of windows under all masks, which may be fewer different k-grams."""
        windows = np.maximum(S.lengths - self.width + 1, 0).sum()
        return int(windows) * math.comb(self.width, self.gaps)

    def pays(self, S: Sequences) -> bool:
        """Whether a window is counted in less time than it is compared with all others."""
        return self._cost(S, S).window_pays

    def _cost(self, S: Sequences, T: Sequences) -> Cost:
        return Cost(S, T, self.width, self.width - self.gaps)

    @property
    def is_countable(self) -> bool:
        """Whether the gaps can be chosen in so few ways that what is read is counted for each."""
        return choose(self.width, self.gaps) <= self.most_masks

    @property
    def is_comparable(self) -> bool:
        """Whether there are gaps, in windows that can be compared pair by pair."""
        # Windows without gaps are counted once, which no comparison of pairs is quicker than.
        has_table = 0 < self.gaps < self.width < TABLE_ENTRIES
        return has_table and max(self._pairs.values) <= np.iinfo(np.int64).max

    @property
    def _pairs(self) -> MatchedWindows:
        read = self.width - self.gaps
        return MatchedWindows(tuple(math.comb(e, read) for e in range(self.width + 1)))

    def masks(self) -> Iterator[tuple[int, ...]]:
        """Return the positions that are read, for every choice of the gaps."""
        _check_masks("features", self)
        return combinations(range(self.width), self.width - self.gaps)

    def as_latex(self, x: str) -> str:
        """Return the counts as a formula."""
        gaps = rf",\,{self.gaps}" if self.gaps else ""
        return rf"\phi_{{{self.width}{gaps}}}({x})"

    def check_together(self, X: Any) -> None:
        """Refuse rows of more different symbols than there are letters."""
        if self.letters is None:
            return
        S = self.compared(X)
        found = len(np.unique(S.symbols))
        if found > self.letters:
            without_case = len(np.unique(S.folded().symbols))
            fold = "case='fold', if 'a' and 'A' are the same, or " if without_case < found else ""
            raise ValueError(
                f"Mismatch(letters={self.letters}) was given rows of {found} different symbols; "
                f"give {fold}letters={found} or more, 20 for proteins"
            )


@dataclass(frozen=True)
class Spectrum(Kernel):
    """Common k-grams: sum over all u of k symbols of count_u(x) count_u(z).

    The count is that of the places where u stands in the sequence without gaps. A sequence shorter
    than k has none. Several lengths are blended, sum_k w_k of the above.

    Parameters
    ----------
    k : int or tuple of int
        The number of symbols, or several.
    weights : tuple of float, optional
        w_k, at least zero, one for each k; 1 by default.
    normalize : bool
        Whether to divide by the lengths of both feature vectors: the cosine.
    """

    domain: ClassVar[str] = "sequences"

    k: int | tuple[int, ...] = domains.lengths(3)
    weights: tuple[float, ...] | None = domains.optional_weights()
    normalize: bool = domains.truth(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is not None and len(self.weights) != len(self.lengths):
            raise ValueError(
                f"Spectrum: weights must have one entry for each of {len(self.lengths)} lengths, "
                f"got {shown(self.weights)}"
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """All k."""
        return self.k if isinstance(self.k, tuple) else (self.k,)

    @property
    def grams(self) -> tuple[tuple[float, Grams], ...]:
        """The features, with the weight of their inner product."""
        weights = self.weights or (1.0,) * len(self.lengths)
        return tuple(zip(weights, map(Grams, self.lengths), strict=True))

    def lower(self, t: Tile) -> Expression:
        is_plain = self.weights is None
        terms = [t.after(g).dot() if is_plain else w * t.after(g).dot() for w, g in self.grams]
        blend = terms[0] if len(terms) == 1 else t.sum(terms)
        return t.normalize(blend) if self.normalize else blend

    def rule(self) -> Rule:
        return "inner product of explicit features: counts of k-grams"


@dataclass(frozen=True)
class GappedKmer(Kernel):
    """Common windows with gaps: sum over masks of m gaps in g positions of common k-mers.

    For each of the C(g, m) choices of the k = g - m positions that are read, it is the inner
    product of the counts of what is read there, over all windows of g symbols. Two windows that
    agree on j positions add C(j, k). So the values are had either by counts, mask by mask, or from
    all pairs of windows, in a time that depends neither on g nor on m: whichever is cheaper.

    Parameters
    ----------
    g : int
        The number of symbols in a window.
    m : int
        The number of gaps, less than g.
    """

    domain: ClassVar[str] = "sequences"

    g: int = domains.whole(7)
    m: int = domains.count(3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m >= self.g:
            raise ValueError(
                f"GappedKmer: m must be less than g = {shown(self.g)}, got {shown(self.m)}"
            )
        grams = Grams(self.g, self.m)
        if not grams.is_comparable:
            _check_masks("GappedKmer", grams)

    @property
    def grams(self) -> tuple[tuple[float, Grams], ...]:
        """The features, with the weight of their inner product."""
        return ((1.0, Grams(self.g, self.m)),)

    def lower(self, t: Tile) -> Expression:
        return t.after(Grams(self.g, self.m)).dot()

    def rule(self) -> Rule:
        return "inner product of explicit features: counts of k-mers with gaps"


@dataclass(frozen=True)
class Mismatch(Kernel):
    """k-grams up to m substitutions: sum over all u of k letters of near_u(x) near_u(z).

    near_u counts the k-grams of a sequence that differ from u in at most m positions. Two k-grams
    at Hamming distance d have a number of such u in common that depends on d alone, and pairs at
    each distance are counted by masks: pairs that agree on j positions, for every choice of them.

    Parameters
    ----------
    k : int
        The number of symbols.
    m : int
        The number of substitutions, less than k.
    letters : int
        The size of the alphabet, 4 for DNA and 20 for proteins. Rows with more are refused where
        they are compared with each other, in ``k(X)`` or `fit`, since the matrix need not be
        positive semi-definite. In ``k(X, Z)`` or `predict` a symbol that the other side does not
        have is one more that differs from all of its symbols. `partial_fit` of support vector
        machines, which sees some rows at a time, does not count them.
    case : {"keep", "fold"}
        Whether letters of either case are different symbols, or the same.
    """

    domain: ClassVar[str] = "sequences"

    k: int = domains.whole(5)
    m: int = domains.count(1)
    letters: int = domains.whole(4)
    case: str = domains.choice("keep", "fold")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m >= self.k:
            raise ValueError(
                f"Mismatch: m must be less than k = {shown(self.k)}, got {shown(self.m)}"
            )
        _check_masks("Mismatch", Grams(self.k, min(2 * self.m, self.k // 2)))
        try:
            self._factors()
        except OverflowError:
            raise ValueError(
                f"Mismatch: the words of {shown(self.letters)} letters within {self.m} "
                "substitutions are more than the largest number; use fewer letters"
            ) from None

    @property
    def grams(self) -> tuple[tuple[float, Grams], ...]:
        """What the formula is made of, with factors that may be negative."""
        return tuple(
            (factor, Grams(self.k, self.k - j, self.letters, self.case == "fold"))
            for j, factor in self._factors().items()
            if factor
        )

    def lower(self, t: Tile) -> Expression:
        return t.sum(factor * t.after(grams).dot() for factor, grams in self.grams)

    def rule(self) -> Rule:
        return "inner product of explicit features: counts of k-mers in a neighbourhood"

    def shared(self, d: int) -> int:
        """Return the number of words within m substitutions of two at Hamming distance d."""
        k, m, letters = self.k, self.m, self.letters
        total = 0
        # The word equals the first on a of the d positions, the second on b, neither on the rest.
        for a in range(d + 1):
            for b in range(d - a + 1):
                rest = d - a - b
                ways = math.comb(d, a) * math.comb(d - a, b) * (letters - 2) ** rest if d else 1
                left = m - max(d - a, d - b)
                outside = range(min(left, k - d) + 1)
                total += ways * sum(math.comb(k - d, e) * (letters - 1) ** e for e in outside)
        return total

    def _factors(self) -> dict[int, float]:
        """Return the factors v_j of pairs that agree on j positions, for every choice of them.

        The pairs at distance k - e are sum_j (-1)^(j - e) C(j, e) of these numbers of pairs, and
        none at a distance above 2 m has a word in common.
        """
        agreements = range(max(self.k - 2 * self.m, 0), self.k + 1)
        shared = {e: self.shared(self.k - e) for e in agreements}
        return {
            j: float(
                sum((-1) ** (j - e) * math.comb(j, e) * shared[e] for e in agreements if e <= j)
            )
            for j in agreements
        }


def _check_masks(name: str, grams: Grams) -> None:
    """Refuse windows with gaps in more ways than can be counted."""
    if not grams.is_countable:
        raise ValueError(
            f"{name}: {shown(grams.gaps)} gaps in {shown(grams.width)} positions can be chosen in "
            f"more than the {Grams.most_masks} ways that can be counted; use a shorter window or "
            "fewer gaps"
        )
