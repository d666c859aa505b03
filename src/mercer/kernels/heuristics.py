"""Parameters that come from data: the median distance and scikit-learn's default scales."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.data.distinct import distinct_rows, distinct_sample
from mercer.data.moments import moments_of
from mercer.data.stream import Stream
from mercer.errors import KernelOverflowError
from mercer.tiles import Program, Rows, Tile, compile_expression, evaluate

RULES = ("median", "columns", "variance")


def resolve(
    rule: str, parameter: str, rows: Rows, metric: str, weights: NDArray[Any] | None = None
) -> float:
    """Return the number that a rule stands for on some rows.

    ``"median"`` is the median distance between rows. The others are gammas of scikit-learn,
    expressed in this parameter: ``"columns"`` is 1 / number of columns, which it calls "auto";
    ``"variance"`` is 1 / (number of columns times the variance of all entries), its "scale", in
    which a whole weight counts as that many equal rows.
    """
    matrix = rows.X.mapped(as_matrix) if isinstance(rows.X, Stream) else rows.matrix(())
    if rule == "median":
        return median_distance(matrix, metric)
    size = float(matrix.shape[1])
    if rule == "variance":
        # Rows that are all the same have gamma = 1.
        size = max(0.0, size * _variance(matrix, weights)) or 1.0
        if not np.isfinite(size):
            raise _overflow(_largest(matrix))
    if parameter != "length_scale":
        return 1.0 / size
    return size if metric == "manhattan" else float(np.sqrt(size / 2.0))


def _variance(X: Any, weights: NDArray[Any] | None) -> float:
    """Return the variance of all entries of a matrix, or of a stream of them."""
    if isinstance(X, Stream):
        found = moments_of(X.mapped(_dense), weights)
        return float((found.spread**2 + (found.mean - found.mean.mean()) ** 2).mean())
    _refuse_small(X)
    if weights is None or (weights == weights[0]).all():
        return float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var())
    share = weights / (weights.sum() * X.shape[1])
    mean = float(share @ np.asarray(X.sum(axis=1)).reshape(-1))
    if sp.issparse(X):
        return float(share @ np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)) - mean**2
    return float(share @ ((X - mean) ** 2).sum(axis=1))


def median_distance(X: Any, metric: str = "euclidean", most: int = 1000) -> float:
    """Return the median distance between distinct rows, over so many rows at most, seeded.

    Rows that occur several times count once, so that a weight of 2 and a row written twice mean
    the same. It is 1 where no two rows are apart.
    """
    # Imported here because kernels alone, and the help of the command, do without it.
    from scipy.spatial.distance import squareform

    if isinstance(X, Stream):
        X = distinct_rows(X, most)
    _refuse_small(X)
    if X.shape[0] > most:
        X = X[distinct_sample(X, most)]
    distances = evaluate(_distance(metric), Rows(X, "X", X))
    pairs = squareform(distances, checks=False)
    if not pairs.all():
        # Of rows that are zero apart, equal or so near that the distance underflows, the first
        # counts.
        is_first = ~np.tril(distances == 0.0, -1).any(axis=1)
        pairs = squareform(distances[np.ix_(is_first, is_first)], checks=False)
    median = float(np.median(pairs.astype(np.float64))) if pairs.size else 1.0
    largest = np.finfo(distances.dtype).max
    # The engine takes the root of an overflow for that of the largest number.
    if median >= float(largest if metric == "manhattan" else np.sqrt(largest)):
        raise _overflow(_largest(X))
    return median


@cache
def _distance(metric: str) -> Program:
    t = Tile()
    return compile_expression(
        t.manhattan() if metric == "manhattan" else t.sqrt(t.squared_distance())
    )


def _refuse_small(X: Any) -> None:
    """Refuse rows that differ, but by so little that the squares of distances are all zero."""
    # The least range of entries whose squares are numbers.
    least = float(np.sqrt(np.finfo(np.float64).tiny))
    if 0.0 < float(X.max()) - float(X.min()) < least:
        raise ValueError(
            "the squares of distances between rows are too small for float64, with entries up to "
            f"{_largest(X):.3g}; scale the columns"
        )


def _overflow(largest: float) -> KernelOverflowError:
    return KernelOverflowError(
        "the squares of distances between rows overflow, with entries up to "
        f"{largest:.3g}; scale the columns or give a length_scale"
    )


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)


def _largest(X: Any) -> float:
    return float(max(abs(X.max()), abs(X.min())))
