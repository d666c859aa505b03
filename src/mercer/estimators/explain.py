"""What a model on k-grams has learnt: the weight of each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.data.columns import n_rows
from mercer.estimators.supports import SupportVectorMachine
from mercer.gram import feature_weights
from mercer.kernels import (
    Columns,
    FromFeatures,
    GappedKmer,
    Kernel,
    Normalized,
    Scaled,
    Spectrum,
    Sum,
)
from mercer.kernels.sequence import Grams

Array = NDArray[np.float64]
Place = tuple[str | int, ...]

# k-grams that are printed of either sign.
SHOWN = 10


@dataclass(frozen=True, eq=False)
class GramWeights:
    """The weights w_u of f(x) = sum_u w_u count_u(x), over all k-grams u of the training rows.

    A k-gram that is not among them has the weight zero. For a normalised kernel it is the count
    over the length of the whole feature vector of x.

    Parameters
    ----------
    grams : list
        The k-grams: text, or tuples of tokens; a gap is a dot, or None. Where the training rows
        hold these, it is the first of "_", "*", "?" that they do not hold, or Ellipsis.
    weights : array of shape (p,)
        Their weights.
    """

    grams: list[Any]
    weights: Array

    def __len__(self) -> int:
        return len(self.grams)

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        """Yield k-grams and weights, the largest of either sign first."""
        order = np.argsort(-np.abs(self.weights), kind="stable")
        return ((self.grams[i], float(self.weights[i])) for i in order)

    @property
    def positive(self) -> list[tuple[Any, float]]:
        """The k-grams that speak for a larger value, the strongest first."""
        return [(gram, weight) for gram, weight in self if weight > 0.0]

    @property
    def negative(self) -> list[tuple[Any, float]]:
        """The k-grams that speak for a smaller value, the strongest first."""
        return [(gram, weight) for gram, weight in self if weight < 0.0]

    def __str__(self) -> str:
        lines = [f"{len(self)} k-grams, the strongest of either sign first"]
        for some in (self.positive[:SHOWN], self.negative[:SHOWN]):
            lines += [f"{weight:+12.4g}  {gram!r}" for gram, weight in some]
        return "\n".join(lines)

    __repr__ = __str__


def explain(model: Any, target: int = 0) -> GramWeights:
    """Return the weights of the k-grams in a fitted model, the most positive and negative first.

    Print it to read it; ``positive`` and ``negative`` are lists of (k-gram, weight).

    Parameters
    ----------
    model : estimator
        Fitted with `Spectrum` or `GappedKmer`, also scaled, normalised, on a column of a table,
        or as terms of a sum, whose other terms are left out. Of a search it is the model that was
        chosen.
    target : int
        Which target, or which function of a classifier, if there are several: those of pairs of
        classes are in the order of scikit-learn, (0, 1), (0, 2), ..., and large for the first.
    """
    check_is_fitted(model)
    model = _chosen(model)
    rows, a = _expansion(model, target)
    weights: dict[Any, float] = {}
    places = set()
    for place, factor, grams, some, scale in _features(
        model.kernel_, rows, 1.0, np.ones(len(a)), ()
    ):
        places.add(place)
        theta = _weights(grams, some, factor * scale * a)
        for gram, weight in zip(grams.spelled(some), theta, strict=True):
            weights[gram] = weights.get(gram, 0.0) + float(weight)
    if not places:
        raise ValueError(
            f"{model.kernel_} has no k-grams to explain; fit a model with Spectrum or GappedKmer"
        )
    if len(places) > 1:
        raise ValueError(
            f"the k-grams of {model.kernel_} are those of several columns, where one and the same "
            "has several weights; explain a model of one column"
        )
    return GramWeights(list(weights), np.array(list(weights.values())))


def _chosen(model: Any) -> Any:
    """Return the model that holds the coefficients, which a search or a classifier may wrap."""
    for name in ("best_estimator_", "estimator_"):
        model = getattr(model, name, model)
    if not hasattr(model, "kernel_") or not hasattr(model, "dual_coef_"):
        raise ValueError(
            f"{type(model).__name__} has no weights of k-grams; explain a kernel machine of mercer"
        )
    return model


def _expansion(model: Any, target: int) -> tuple[Any, Array]:
    """Return the rows x_i and coefficients a_i of f(x) = sum_i a_i k(x_i, x) + b."""
    rows = model.support_vectors_ if hasattr(model, "support_vectors_") else model.X_fit_
    a = model._functions if isinstance(model, SupportVectorMachine) else model.dual_coef_
    columns = np.asarray(a).reshape(n_rows(rows), -1)
    if not 0 <= target < columns.shape[1]:
        raise ValueError(f"target must be one of 0 to {columns.shape[1] - 1}, got {target!r}")
    return rows, columns[:, target]


def _features(
    kernel: Kernel, rows: Any, factor: float, scale: Array, place: Place
) -> Iterator[tuple[Place, float, Grams, Any, Array]]:
    """Yield the k-grams in a kernel: their column, their factor, their rows, what scales each."""
    if isinstance(kernel, Columns):
        yield from _features(
            kernel.kernel, kernel.inputs(rows), factor, scale, (*place, *kernel.columns)
        )
    elif isinstance(kernel, Scaled):
        yield from _features(kernel.kernel, rows, factor * kernel.factor, scale, place)
    elif isinstance(kernel, Sum):
        for term in kernel.terms:
            yield from _features(term, rows, factor, scale, place)
    elif isinstance(kernel, Normalized):
        shorter = scale * _inverse_length(kernel, rows)
        yield from _features(kernel.kernel, rows, factor, shorter, place)
    elif isinstance(kernel, Spectrum) and kernel.normalize:
        plain = kernel.with_params(normalize=False).normalized()
        yield from _features(plain, rows, factor, scale, place)
    elif isinstance(kernel, Spectrum | GappedKmer):
        for weight, grams in kernel.grams:
            yield place, factor * weight, grams, rows, scale


def _inverse_length(kernel: Normalized, rows: Any) -> Array:
    squares = np.asarray(kernel.kernel.diagonal(rows), np.float64)
    return np.where(squares > 0.0, 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0)), 0.0)


def _weights(grams: Grams, rows: Any, a: Array) -> Array:
    """Return sum_i a_i count_u(x_i) for every k-gram in the rows, in the order of the columns."""
    weights = feature_weights(FromFeatures(grams), rows, a)
    return np.empty(0) if weights is None else weights[1][: len(weights[0])]
