"""Parameters that come from data: the median distance and scikit-learn's default scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.checks import as_matrix
from mercer.data.distinct import distinct_sample
from mercer.engine import Tile, compile_expression, evaluate

RULES = ("median", "columns")
SAMPLE = 1000


def resolve(rule: str, parameter: str, X: Any, metric: str) -> float:
    """Return the number that a rule stands for on the rows `X`.

    ``"median"`` is the median distance between rows. ``"columns"`` is what scikit-learn takes when
    gamma is not given, gamma = 1 / number of columns, expressed in this parameter.
    """
    matrix = as_matrix(X)
    if rule == "median":
        return median_distance(matrix, metric)
    columns = float(matrix.shape[1])
    if parameter != "length_scale":
        return 1.0 / columns
    return columns if metric == "manhattan" else float(np.sqrt(columns / 2.0))


def median_distance(X: Any, metric: str = "euclidean") -> float:
    """Return the median distance between distinct rows, over at most 1000 rows, seeded.

    Rows that occur several times count once, so that a weight of 2 and a row written twice mean
    the same. It is 1 where no two rows are apart.
    """
    X = distinct_sample(X, SAMPLE)
    t = Tile()
    formula = t.manhattan() if metric == "manhattan" else t.sqrt(t.squared_distance())
    distances = evaluate(compile_expression(formula), X)
    pairs = distances[np.triu_indices(len(distances), 1)].astype(np.float64)
    apart = pairs[pairs > 0.0]
    median = float(np.median(apart)) if apart.size else 1.0
    largest = np.finfo(distances.dtype).max
    # The engine takes the root of an overflow for that of the largest number.
    if median >= float(largest if metric == "manhattan" else np.sqrt(largest)):
        raise ValueError(
            "the squares of distances between rows overflow, with entries up to "
            f"{_largest(X):.3g}; scale the columns or give a length_scale"
        )
    return median


def _largest(X: Any) -> float:
    return float(max(abs(X.max()), abs(X.min())))
