"""Kernels of sequences that compare pairs of them: common subsequences and edit distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.data.sequences import as_sequences, sequence_rows
from mercer.data.symbols import Sequences
from mercer.errors import KernelOverflowError
from mercer.kernels import domains
from mercer.kernels.formula import Array, Rule
from mercer.kernels.kernel import Kernel
from mercer.native.core import thread_count
from mercer.native.strings import subsequence_diagonal, subsequences
from mercer.tiles import Expression, Tile


@dataclass(frozen=True)
class Symbols:
    """The map of rows to sequences of symbols, done once for all pairs."""

    is_discrete: ClassVar[bool] = True

    def __call__(self, X: Any) -> Sequences:
        return as_sequences(X)

    def as_latex(self, x: str) -> str:
        """Return the row itself."""
        return x


@dataclass(frozen=True)
class CommonSubsequences:
    """The block of sums over common subsequences, of some lengths, of decaying weights."""

    lengths: tuple[int, ...]
    decay: float

    def __call__(self, S: Sequences, T: Sequences) -> Array:
        weights = self._weights(min(S.lengths.max(initial=0), T.lengths.max(initial=0)))
        if not len(weights):
            return np.zeros((len(S), len(T)))
        with np.errstate(over="ignore", invalid="ignore"):
            values = subsequences(S, T, weights, self.decay)
        return self._finite(values)

    def diagonal(self, S: Sequences) -> Array:
        """Return the sums of every sequence with itself."""
        weights = self._weights(S.lengths.max(initial=0))
        if not len(weights):
            return np.zeros(len(S))
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._finite(subsequence_diagonal(S, weights, self.decay))
        # Every sequence of k symbols is like itself, so that a zero is a sum that was lost.
        is_lost = (values == 0.0) & (S.lengths >= min(self.lengths)) & (self.decay > 0.0)
        if is_lost.any():
            raise ValueError(
                f"subsequences of {min(self.lengths)} symbols at decay {self.decay:g} weigh less "
                f"than the smallest number at row {int(is_lost.argmax())}; use a smaller k or a "
                "larger decay"
            )
        return values

    def pair_steps(self, S: Sequences) -> float:
        """Return how many pairs of symbols two of these rows are compared by, on average."""
        return float(max(self.lengths) * np.mean(S.lengths) ** 2)

    def as_latex(self, x: str, z: str) -> str:
        """Return the sum as a formula."""
        lengths = r",\,".join(str(k) for k in self.lengths)
        chosen = rf"= {lengths}" if len(self.lengths) == 1 else rf"\in \{{{lengths}\}}"
        return rf"\sum_{{\lvert u\rvert {chosen}}} \phi_u({x}) \phi_u({z})"

    def _finite(self, values: Array) -> Array:
        if not np.isfinite(values).all():
            raise KernelOverflowError(
                f"the sum over common subsequences of {max(self.lengths)} symbols at decay "
                f"{self.decay:g} overflows on these sequences; use a smaller k or decay"
            )
        return values

    def _weights(self, longest: int) -> Array:
        """Return the weight of every length, without those that no sequence has."""
        there = [k for k in self.lengths if k <= longest]
        weights = np.zeros(max(there, default=0))
        weights[np.array(there, dtype=int) - 1] = 1.0
        return weights


@dataclass(frozen=True)
class Subsequence(Kernel):
    """Common subsequences with gaps: sum over all u of k symbols of phi_u(x) phi_u(z).

    phi_u(x) is the sum of decay^(i_k - i_1) over all places i_1 < ... < i_k of x at which u
    stands. So a k-gram without gaps weighs decay^(k - 1), and with decay 0 only k = 1 is not zero.
    The text kernel of Lodhi and others counts the window one longer, i_k - i_1 + 1: it is this
    value times decay^2, and the same after ``normalized()``.

    Parameters
    ----------
    k : int or tuple of int
        The number of symbols; the values of several are added, at the cost of the longest.
    decay : float
        What each further position costs, from 0 to 1.
    """

    domain: ClassVar[str] = "sequences"

    k: int | tuple[int, ...] = domains.lengths(3)
    decay: float = domains.fraction(0.5)

    def lower(self, t: Tile) -> Expression:
        lengths = self.k if isinstance(self.k, tuple) else (self.k,)
        fill = CommonSubsequences(lengths, self.decay)
        return t.after(Symbols()).opaque(fill, fill.diagonal)

    def rule(self) -> Rule:
        return "inner product of explicit features: decaying counts of subsequences"


@dataclass(frozen=True)
class CheckedRows:
    """The map of rows to a list of sequences, each checked to be one."""

    is_discrete: ClassVar[bool] = True

    def __call__(self, X: Any) -> list[Any]:
        # Checked as it came, since only a table names the column in which a row is wrong.
        as_sequences(X)
        rows = sequence_rows(X)
        return [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]

    def as_latex(self, x: str) -> str:
        """Return the row itself."""
        return x


@dataclass(frozen=True)
class Levenshtein:
    """The block of edit distances: insertions, deletions and substitutions of one symbol.

    Two sequences of n symbols take a time in proportion to n d, where d is their distance or
    `most`, whichever is less (Ukkonen 1985, Algorithms for approximate string matching).

    Parameters
    ----------
    most : int
        The largest distance of interest; any beyond it is infinite.
    """

    # The largest distance that is told apart.
    largest: ClassVar[int] = 2**31 - 2

    most: int = largest

    def __call__(self, X: Sequence[Any], Z: Sequence[Any]) -> Array:
        # Imported here because only this kernel needs it.
        from rapidfuzz.distance import Levenshtein as scorer
        from rapidfuzz.process import cdist

        if not (len(X) and len(Z)):
            return np.zeros((len(X), len(Z)))
        distances = cdist(
            X,
            Z,
            scorer=scorer.distance,
            score_cutoff=self.most,
            dtype=np.int32,
            workers=thread_count(),
        )
        return np.where(distances > self.most, np.inf, distances)

    def diagonal(self, X: Sequence[Any]) -> Array:
        """Return the distance of every row from itself."""
        return np.zeros(len(X))

    def pair_steps(self, X: Sequence[Any]) -> float:
        """Return how many pairs of symbols two of these rows are compared by, on average.

        64 of them are compared at a time (Hyyro 2003, A bit-vector algorithm for computing
        Levenshtein and Damerau edit distances).
        """
        # Pairs of symbols that stand for beginning with two sequences, and for comparing a symbol
        # with 64.
        begun, word = 1000.0, 30.0
        length = float(np.mean([len(x) for x in X]))
        return begun + word * length * math.ceil(length / 64.0)

    def as_latex(self, x: str, z: str) -> str:
        """Return the distance as a formula."""
        return rf"\operatorname{{levenshtein}}({x}, {z})"


@dataclass(frozen=True)
class EditDistance(Kernel):
    """Exponential of the edit distance: exp(-levenshtein(x, z) / scale).

    The edit distance is not negative definite, so that this is not positive semi-definite for
    every scale: ``check`` looks for a witness, and `KernelRidge` and others take ``repair=``.

    Parameters
    ----------
    scale : float
        The number of edits at which the value is 1/e. Long sequences that are far apart are told
        so soon: beyond 746 times the scale the value is zero.
    """

    domain: ClassVar[str] = "sequences"

    scale: float = domains.positive(1.0)

    def lower(self, t: Tile) -> Expression:
        # exp(-x) is zero from here on, in float64.
        vanishing = 746.0
        # A power of two, which a little more or less of the scale leaves as it is.
        most = 2 ** math.ceil(math.log2(max(vanishing * self.scale, 1.0)))
        fill = Levenshtein(min(most, Levenshtein.largest))
        distance = t.after(CheckedRows()).opaque(fill, fill.diagonal)
        return t.exp(-1.0 / max(self.scale, 1e-300) * distance)
