"""What a model on text has learned: the weight of each k-gram or word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import as_vector
from mercer.explanation.subject import Subject
from mercer.gram import gram_of
from mercer.kernels import (
    Columns,
    GappedKmer,
    Kernel,
    Mismatch,
    Normalized,
    Scaled,
    Spectrum,
    Sum,
    Words,
)
from mercer.kernels.kernel import After, Constant, Product, ScaledBy
from mercer.kernels.kmers import Chain, gram_weights

Array = NDArray[np.float64]
Place = tuple[str | int, ...]
Texts = Spectrum | GappedKmer | Mismatch | Words

AT_THE_MEAN = "k-grams: in products the other factors are at their mean over the rows of the model"


class Weight(NamedTuple):
    """What one k-gram or word in a column adds to a function."""

    column: Any
    gram: Any
    weight: float
    target: Any


@dataclass(frozen=True, eq=False)
class KgramWeights:
    """The weights w_u of f(x) = sum_u w_u count_u(x), over all k-grams u of the training rows.

    It is iterated by rows (column, gram, weight, target), the largest weights of either sign first.

    Parameters
    ----------
    columns : list
        The column of each k-gram: its name or position, or None where rows are texts themselves.
    grams : sequence
        The k-grams and words, spelled when they are asked for: text, or tuples of tokens; a gap
        is a dot, or None. Where the training rows hold these, it is the first of "_", "*", "?"
        that they do not hold, or Ellipsis.
    weights : array of shape (p, targets)
        Their weights.
    targets : tuple
        What the functions speak for: numbers of targets, or classes. The function of a pair of
        classes is written "a over b".
    left_out : tuple of str
        The terms of the kernel that have no k-grams, without whose values the weights add up: in
        short, with the columns that they read.
    """

    columns: list[Any]
    grams: Sequence[Any]
    weights: Array
    targets: tuple[Any, ...]
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.weights.size

    def __iter__(self) -> Iterator[Weight]:
        """Yield the rows, the largest weights of either sign first."""
        grams = list(self.grams)
        for place in np.argsort(-np.abs(self.weights.reshape(-1)), kind="stable"):
            yield self._row(place, grams)

    @property
    def positive(self) -> list[Weight]:
        """The rows that speak for a larger value, the strongest first."""
        return self._strongest(1.0)

    @property
    def negative(self) -> list[Weight]:
        """The rows that speak for a smaller value, the strongest first."""
        return self._strongest(-1.0)

    def strongest(self, most: int) -> list[Weight]:
        """Return at most so many rows of either sign, those for a larger value first."""
        return [*self._strongest(1.0, most), *self._strongest(-1.0, most)]

    def _row(self, place: np.intp, grams: Sequence[Any]) -> Weight:
        i, j = divmod(int(place), len(self.targets))
        return Weight(self.columns[i], grams[i], float(self.weights[i, j]), self.targets[j])

    def _strongest(self, sign: float, most: int | None = None) -> list[Weight]:
        signed = sign * self.weights.reshape(-1)
        places = np.flatnonzero(signed > 0.0)
        order = np.argsort(-signed[places], kind="stable")[:most]
        grams = self.grams if most else list(self.grams)
        return [self._row(place, grams) for place in places[order]]


def kgram_weights(subject: Subject) -> tuple[KgramWeights | None, tuple[str, ...]]:
    """Return the weights of k-grams and words in a fitted function, and what has none, with why.

    Parameters
    ----------
    subject : Subject
        f, of a kernel with `Spectrum`, `GappedKmer`, `Mismatch` or `Words` on the rows or on some
        columns of a table, also scaled or normalised, in sums and products.

    Notes
    -----
    What a weight is:

    - Of a sum of terms, f(x) = sum_u w_u count_u(x) + (the terms without k-grams, which are left
      out) + b. A k-gram that the training rows do not hold has the weight zero, or for `Mismatch`
      a weight by those that it is near to.
    - Of a normalised kernel it belongs to the count over the length of the whole feature vector
      of x, of ``scaled_by(f)`` to f(x) times the count.
    - Of a product, say of numbers and text, a k-gram has another weight for every value of the
      other factor. This is the one at its mean: f averaged over the values of the other factors
      at the rows that the model holds (those of training, of support vector machines the support
      vectors), which is the partial dependence of f on the text. It does not add up to f.
    - A power of a kernel of text, and a product of two that read the same column, compare pairs
      of k-grams, so that one alone has no weight.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine (partial
    dependence).
    """
    dual = subject.function.dual
    if not _holds_texts(subject.kernel):
        return None, ()
    if dual is None:
        return None, ("k-grams have no weights: the model keeps no training rows",)
    walk = _Walk()
    for weight, part in dual.sums:
        walk.enter(part.kernel, part.rows, weight * part.by_target[:, subject.places], ())
    notes = tuple(f"k-grams: {reason}" for reason in walk.reasons)
    if not subject.has_columns:
        notes += tuple(f"not explained: {term}" for term in walk.left_out)
    if not walk.weights:
        return None, notes
    notes += (AT_THE_MEAN,) if walk.has_means else ()
    found = KgramWeights(*walk.merged(), subject.targets, tuple(walk.left_out))
    return found, notes


class _Walk:
    """The k-grams met on a walk through a kernel, and the terms that have none."""

    def __init__(self) -> None:
        # Where each part stands: words and k-grams of a column are not the same features.
        self.places: list[tuple[Place, bool]] = []
        self.grams: list[Sequence[Any]] = []
        self.weights: list[Array] = []
        self.left_out: list[str] = []
        self.has_means = False
        self.reasons: list[str] = []

    def enter(self, kernel: Kernel, rows: Any, a: Array, place: Place) -> None:
        """Take the k-grams of f(x) = sum_i a_i k(x_i, x) for a kernel k of the rows x_i."""
        match kernel:
            case _ if not _holds_texts(kernel):
                self.left_out.append(_named(kernel))
            case Sum(terms=terms):
                for term in terms:
                    self.enter(term, rows, a, place)
            case Scaled(kernel=inner, factor=factor):
                self.enter(inner, rows, factor * a, place)
            case Columns(kernel=inner, columns=columns):
                self.enter(inner, kernel.inputs(rows), a, (*place, *columns))
            case After(kernel=inner):
                self.enter(inner, kernel.inputs(rows), a, place)
            case ScaledBy(kernel=inner):
                factors = as_vector(kernel.factors(rows), len(a), "f(X) in scaled_by")
                self.enter(inner, rows, factors[:, None] * a, place)
            case Normalized(kernel=inner):
                self.enter(inner, rows, _inverse_length(inner, rows)[:, None] * a, place)
            case Spectrum(normalize=True) | Words(normalize=True):
                self.enter(kernel.with_params(normalize=False).normalized(), rows, a, place)
            case Spectrum() | GappedKmer() | Mismatch() | Words():
                self._take(kernel, rows, a, place)
            case Product(terms=factors) if _is_separable(factors):
                self._take_product(factors, rows, a, place)
            case _:
                self.left_out.append(_named(kernel))
                self.reasons.append(
                    f"{kernel!r:.100} compares pairs of k-grams of the same text, so that one "
                    "alone has no weight"
                )

    def _take(self, kernel: Texts, rows: Any, a: Array, place: Place) -> None:
        names, weights = gram_weights(kernel, rows, a)
        self.places.append((place, isinstance(kernel, Words)))
        self.grams.append(names)
        self.weights.append(weights)

    def merged(self) -> tuple[list[Any], Sequence[Any], Array]:
        """Return the columns, the k-grams and their weights; of a column each k-gram is one row."""
        places = list(dict.fromkeys(self.places))
        found = [self._merged(place) for place in places]
        columns = [
            place[-1] if place else None
            for (place, _), (grams, _) in zip(places, found, strict=True)
            for _ in range(len(grams))
        ]
        weights = np.concatenate([weights for _, weights in found])
        return columns, Chain([grams for grams, _ in found]), weights

    def _merged(self, place: tuple[Place, bool]) -> tuple[Sequence[Any], Array]:
        terms = [i for i, other in enumerate(self.places) if other == place]
        if len(terms) == 1:
            return self.grams[terms[0]], self.weights[terms[0]]
        # Only several terms can have the same k-gram.
        names = [name for i in terms for name in self.grams[i]]
        number = {name: i for i, name in enumerate(dict.fromkeys(names))}
        parts = np.concatenate([self.weights[i] for i in terms])
        weights = np.zeros((len(number), parts.shape[1]))
        np.add.at(weights, [number[name] for name in names], parts)
        return list(number), weights

    def _take_product(self, factors: tuple[Kernel, ...], rows: Any, a: Array, place: Place) -> None:
        """Take the k-grams of each factor, the others at their mean over the rows."""
        for i, factor in enumerate(factors):
            if not _holds_texts(factor):
                continue
            others = Product(factors[:i] + factors[i + 1 :])
            mean = gram_of(others, rows) @ np.full(len(a), 1.0 / len(a))
            self.has_means = True
            self.enter(factor, rows, mean[:, None] * a, place)


def _is_separable(factors: tuple[Kernel, ...]) -> bool:
    """Whether some factors read text, and no other factor reads the column of one of these."""
    if not any(map(_holds_texts, factors)):
        return False
    for i, factor in enumerate(factors):
        others = [_columns_read(other) for other in factors[:i] + factors[i + 1 :]]
        own = _columns_read(factor)
        if _holds_texts(factor) and any(_overlap(own, read) for read in others):
            return False
    return True


def _overlap(first: set[Any], second: set[Any]) -> bool:
    # None is the whole row, of which every column is a part.
    whole = None in first or None in second
    return bool(first & second) or (whole and bool(first) and bool(second))


def _named(kernel: Kernel, most: int = 10) -> str:
    """Return a kernel as it prints in short, and the columns that it reads if that counts them.

    At most so many columns are named.
    """
    text, columns = repr(kernel), sorted(map(str, _columns_read(kernel) - {None}))
    if all(column in text for column in columns):
        return text
    more = ", ..." if len(columns) > most else ""
    return f"{text} of {', '.join(columns[:most])}{more}"


def _columns_read(kernel: Kernel) -> set[Any]:
    if isinstance(kernel, Columns):
        return set(kernel.columns)
    if isinstance(kernel, Constant):
        return set()
    return set().union(*map(_columns_read, kernel.parts)) if kernel.parts else {None}


def _holds_texts(kernel: Kernel) -> bool:
    return isinstance(kernel, Texts) or any(map(_holds_texts, kernel.parts))


def _inverse_length(kernel: Kernel, rows: Any) -> Array:
    squares = np.asarray(kernel.diagonal(rows), np.float64)
    return np.where(squares > 0.0, 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0)), 0.0)
