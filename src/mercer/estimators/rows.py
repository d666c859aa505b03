"""Rows at an estimator's door: a matrix of floats, or the table that the kernel takes apart."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from mercer.data.checks import as_vector
from mercer.data.columns import is_table, n_rows, take_rows
from mercer.gram import is_precomputed
from mercer.kernels import After, Columns, Kernel

Array = NDArray[Any]


def checked_rows(estimator: BaseEstimator, kernel: Kernel, X: Any) -> Any:
    """Return rows to predict at, as they were in `checked_training`."""
    if _is_kept(kernel, X):
        return validate_data(estimator, X, reset=False, skip_check_array=True)
    return validate_data(estimator, X, reset=False, **_matrix(kernel))


def checked_training(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any
) -> tuple[Any, NDArray[np.float64]]:
    """Return training rows and targets, and note the columns on the estimator."""
    if not _is_kept(kernel, X):
        X, y = validate_data(estimator, X, y, multi_output=True, y_numeric=True, **_matrix(kernel))
        return X, y.astype(np.float64, copy=False)
    X, y = validate_data(estimator, X, y, skip_check_array=True)
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=estimator)
    if n_rows(X) != len(y):
        raise ValueError(f"X has {n_rows(X)} rows but y has {len(y)}; they must agree")
    return X, y


def checked_classification(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any
) -> tuple[Any, NDArray[np.intp], Array]:
    """Return training rows, the class of each by its number, and the classes in order."""
    if _is_kept(kernel, X):
        X = validate_data(estimator, X, skip_check_array=True)
    else:
        X = validate_data(estimator, X, **_matrix(kernel))
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y", estimator_name=type(estimator).__name__)
    check_classification_targets(labels)
    if n_rows(X) != len(labels):
        raise ValueError(f"X has {n_rows(X)} rows but y has {len(labels)}; they must agree")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes, got 1 class: "
            f"{classes[0]!r} in all {len(labels)} rows"
        )
    return X, codes, classes


def checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Return the weights of `n` rows: not negative, and not all zero."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    weights = as_vector(sample_weight, n, "sample_weight").astype(np.float64, copy=False)
    if weights.min() < 0:
        row = int(weights.argmin())
        raise ValueError(f"sample_weight must not be negative, got {weights[row]:g} at row {row}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one weight must not be")
    return weights


def checked_ridges(alpha: Any, name: str, meaning: str) -> NDArray[np.float64]:
    """Return ridges as an array of their shape: numbers, finite and not negative."""
    ridges = np.asarray(alpha)
    if ridges.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be {meaning}, got {alpha!r}")
    bad = ~np.isfinite(ridges) | (ridges < 0)
    if bad.any():
        raise ValueError(
            f"{name} must be finite and not negative, got {ridges[bad].flat[0]:g}; "
            "0 is the least there is"
        )
    return ridges.astype(np.float64)


def checked_seed(random_state: Any) -> int | None:
    """Return a seed drawn from scikit-learn's `random_state`; None is another one every time."""
    return None if random_state is None else int(check_random_state(random_state).randint(2**31))


def training_subset(kernel: Kernel, X: Any, index: NDArray[np.intp]) -> Any:
    """Return some training rows; of a precomputed Gram matrix the columns as well."""
    if is_precomputed(kernel):
        return X[np.ix_(index, index)]
    return take_rows(X, index)


def _matrix(kernel: Kernel) -> dict[str, Any]:
    """Return how scikit-learn is to check a matrix for this kernel."""
    # A finished Gram matrix keeps its precision, which says how symmetric it can be.
    dtype = [np.float64, np.float32] if is_precomputed(kernel) else np.float64
    return {"accept_sparse": "csr", "dtype": dtype}


def _is_kept(kernel: Kernel, X: Any) -> bool:
    """Whether the rows are no matrix of numbers, and the kernel takes them apart by itself."""
    if _reads_matrix(kernel):
        return False
    if isinstance(X, Mapping) and not sp.issparse(X):
        raise ValueError("X is a dict of columns; pass a pandas or polars table, or an array")
    return not _is_matrix(X)


def _reads_matrix(kernel: Kernel) -> bool:
    """Whether some part of the kernel reads all columns as one matrix of numbers."""
    if isinstance(kernel, Columns | After):
        return False
    if not kernel.parts:
        return kernel.domain == "numbers"
    return any(_reads_matrix(part) for part in kernel.parts)


def _is_matrix(X: Any) -> bool:
    if sp.issparse(X) or is_table(X):
        return not is_table(X)
    try:
        return np.asarray(X).dtype.kind in "fiubc"
    except ValueError:
        # Sequences of different lengths.
        return False
