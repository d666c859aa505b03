"""What a model on text has learnt: the weight of each k-gram or word, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import as_vector
from mercer.data.listing import as_frame, as_html, as_text
from mercer.functions import PairFunction
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

# Rows that are printed of either sign.
SHOWN = 10
# Columns that are named of a term that is left out.
MOST_NAMED = 10
HEADER = ("column", "k-gram", "weight", "target")
AT_THE_MEAN = "in products the other factors are at their mean over the rows of the model"


class Weight(NamedTuple):
    """A row of an explanation: what one k-gram or word in a column adds to a function."""

    column: Any
    gram: Any
    weight: float
    target: Any


@dataclass(frozen=True, eq=False)
class Explanation:
    """The weights w_u of f(x) = sum_u w_u count_u(x), over all k-grams u of the training rows.

    It prints as a table, is iterated by rows (column, gram, weight, target), the largest weights
    of either sign first, and `to_pandas` makes a data frame of it.

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
    has_means : bool
        Whether some weights are those at the mean of other factors of a product.
    """

    columns: list[Any]
    grams: Sequence[Any]
    weights: Array
    targets: tuple[Any, ...]
    left_out: tuple[str, ...] = ()
    has_means: bool = False

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

    def to_pandas(self) -> Any:
        """Return all rows as a data frame of pandas."""
        return as_frame(HEADER, self)

    def __str__(self) -> str:
        return "\n".join([self._title(), *self._unexplained(), as_text(*self._shown())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html("; ".join([self._title(), *self._unexplained()]), *self._shown())

    def _row(self, place: np.intp, grams: Sequence[Any]) -> Weight:
        i, j = divmod(int(place), len(self.targets))
        return Weight(self.columns[i], grams[i], float(self.weights[i, j]), self.targets[j])

    def _strongest(self, sign: float, most: int | None = None) -> list[Weight]:
        signed = sign * self.weights.reshape(-1)
        places = np.flatnonzero(signed > 0.0)
        order = np.argsort(-signed[places], kind="stable")[:most]
        grams = self.grams if most else list(self.grams)
        return [self._row(place, grams) for place in places[order]]

    def _title(self) -> str:
        strongest = f"{len(self)} weights, the strongest of either sign first"
        one = f"for {self.targets[0]!r}" if len(self.targets) == 1 and self.targets != (0,) else ""
        means = AT_THE_MEAN if self.has_means else ""
        return "; ".join(part for part in (strongest, one, means) if part)

    def _unexplained(self) -> list[str]:
        return [f"not explained: {term}" for term in self.left_out]

    def _shown(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the header and the rows to print: columns that tell nothing are left out."""
        rows = [*self._strongest(1.0, SHOWN), *self._strongest(-1.0, SHOWN)]
        tells = [set(self.columns) > {None} or None not in self.columns, True, True]
        tells.append(len(self.targets) > 1)
        cells = [(row.column, repr(row.gram), row.weight, row.target) for row in rows]
        return (
            [name for name, told in zip(HEADER, tells, strict=True) if told],
            [tuple(v for v, told in zip(row, tells, strict=True) if told) for row in cells],
        )


def explain(model: Any, target: int | None = None) -> Explanation:
    """Return the weights of k-grams and words in a fitted model, the strongest first.

    Print it to read it; ``positive`` and ``negative`` are lists of its rows.

    Parameters
    ----------
    model : estimator
        Fitted with `Spectrum`, `GappedKmer`, `Mismatch` or `Words` on the rows or on some columns
        of a table, also scaled or normalised, and as terms of sums and factors of products. Of a
        search it is the model that was chosen.
    target : int, optional
        Which target, or which function of a classifier, if there are several: those of pairs of
        classes are in the order of scikit-learn, (0, 1), (0, 2), ..., and large for the first.
        All of them by default.

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
      of k-grams, so that one alone has no weight. They are refused, or left out of a sum.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine (partial
    dependence).
    """
    check_is_fitted(model)
    classes = _classes(model)
    model = _chosen(model)
    dual = model.function_.dual
    rows, a = dual.rows, dual.by_target
    targets = _targets(classes, a.shape[1], isinstance(dual, PairFunction))
    if target is not None:
        if target not in range(a.shape[1]):
            raise ValueError(f"target must be one of 0 to {a.shape[1] - 1}, got {target!r}")
        a, targets = a[:, [target]], (targets[target],)
    walk = _Walk()
    walk.enter(model.kernel_, rows, a, ())
    if not walk.weights:
        raise ValueError(
            f"{model.kernel_!r} has no k-grams to explain{walk.why}; fit a model with Spectrum, "
            "GappedKmer, Mismatch or Words, in sums or products with kernels of other columns"
        )
    columns, grams, weights = walk.merged()
    return Explanation(columns, grams, weights, targets, tuple(walk.left_out), walk.has_means)


class _Walk:
    """The k-grams met on a walk through a kernel, and the terms that have none."""

    def __init__(self) -> None:
        # Where each part stands: words and k-grams of a column are not the same features.
        self.places: list[tuple[Place, bool]] = []
        self.grams: list[Sequence[Any]] = []
        self.weights: list[Array] = []
        self.left_out: list[str] = []
        self.has_means = False
        self.why = ""

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
                self.why = (
                    ": it compares pairs of k-grams of the same text, so that one alone has no "
                    "weight"
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


def _named(kernel: Kernel) -> str:
    """Return a kernel as it prints in short, and the columns that it reads if that counts them."""
    text, columns = repr(kernel), sorted(map(str, _columns_read(kernel) - {None}))
    if all(column in text for column in columns):
        return text
    more = ", ..." if len(columns) > MOST_NAMED else ""
    return f"{text} of {', '.join(columns[:MOST_NAMED])}{more}"


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


def _classes(model: Any) -> Any:
    """Return the classes that a classifier, or what it wraps, was fitted to, or None."""
    classes = getattr(model, "classes_", None)
    for name in ("best_estimator_", "estimator_"):
        if classes is None and hasattr(model, name):
            return _classes(getattr(model, name))
    return classes


def _chosen(model: Any) -> Any:
    """Return the model that holds the coefficients, which a search or a classifier may wrap."""
    for name in ("best_estimator_", "estimator_"):
        model = getattr(model, name, model)
    if not hasattr(model, "kernel_") or not hasattr(model, "dual_coef_"):
        raise ValueError(
            f"{type(model).__name__} has no weights of k-grams; explain a kernel machine of mercer"
        )
    return model


def _targets(classes: Any, functions: int, is_by_pairs: bool) -> tuple[Any, ...]:
    """Return what each function speaks for: a class, a pair of classes, or a number."""
    if classes is None:
        return tuple(range(functions))
    labels = np.asarray(classes).tolist()
    if is_by_pairs:
        return tuple(f"{a} over {b}" for a, b in combinations(labels, 2))
    return tuple(labels) if functions > 1 else (labels[-1],)
