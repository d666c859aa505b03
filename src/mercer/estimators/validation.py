"""What an estimator is given, checked and owned: a matrix of floats, or a table for the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.data.checks import (
    as_vector,
    cell_refusal,
    check_agreeing,
    check_finished,
    check_finite,
    check_not_infinite,
    check_targets,
    checked_flag,
    refuse_mapping,
)
from mercer.data.columns import (
    column_names,
    in_double,
    is_table,
    n_rows,
    select_columns,
    take_rows,
)
from mercer.data.kinds import may_be_numbers
from mercer.data.sequences import as_sequences, sequence_rows
from mercer.data.stream import Stream, stream_of
from mercer.data.stream.sources import CheckedSource
from mercer.estimators.arguments import parameters_of
from mercer.estimators.streams import BlockCheck
from mercer.kernels import Kernel
from mercer.kernels.columns import (
    check_cells,
    columns_of,
    named_columns,
    reads_everything,
    reads_unmapped,
    takes_missing,
)
from mercer.tiles import Rows

Array = NDArray[Any]


def checked_rows(estimator: Any, X: Any) -> Any:
    """Return rows to predict at by a fitted estimator, as they were in `checked_training`.

    Of a table the columns of the training table are taken, whatever stands beside them.
    """
    if not hasattr(estimator, "kernel_"):
        check_is_fitted(estimator)
    is_alike = _is_plain(X) and X.shape[1] == getattr(estimator, "n_features_in_", None)
    if is_alike and not hasattr(estimator, "feature_names_in_"):
        return X
    return _like_training(estimator, estimator.kernel_, X)


def checked_landmarks(estimator: Any, kernel: Kernel, landmarks: Any) -> Any:
    """Return landmarks that are given as rows, as the training rows were checked, or a rule."""
    if isinstance(landmarks, str):
        return landmarks
    try:
        return owned(_like_training(estimator, kernel, landmarks))
    except ValueError as error:
        raise ValueError(f"landmarks are rows like those of X: {error}") from None


def _like_training(estimator: Any, kernel: Kernel, X: Any) -> Any:
    """Return rows as those that the estimator was fitted to."""
    X = stream_of(X)
    if isinstance(X, Stream):
        return _checked_stream(
            estimator, kernel, X, _with_known_columns(estimator, kernel, X.head), False
        )
    X = _with_known_columns(estimator, kernel, X)
    if _is_kept(kernel, X):
        return _compared(estimator, kernel, X)
    return _as_matrix(estimator, kernel, X, reset=False)


def _is_plain(X: Any) -> bool:
    """Whether rows are just as scikit-learn's checks, which take longer, would hand them on."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or X.size == 0:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))


def _plain_rows(estimator: BaseEstimator, kernel: Kernel, X: Any) -> Rows | None:
    """Return training rows that are a matrix of finite numbers, their columns noted, else None."""
    if not _is_plain(X) or kernel.is_precomputed or _is_kept(kernel, X):
        return None
    estimator.n_features_in_ = X.shape[1]
    # Those of an earlier fit to a table.
    vars(estimator).pop("feature_names_in_", None)
    matrix = _shared(owned(X))
    return Rows(matrix, "X", matrix if matrix.flags.aligned else None)


def checked_training(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any
) -> tuple[Rows, NDArray[np.float64]]:
    """Return training rows and targets, and note the columns on the estimator."""
    check_given(estimator, y)
    rows = checked_unlabelled(estimator, kernel, X)
    return rows, checked_targets(estimator, rows, y)


def check_flags(estimator: BaseEstimator) -> None:
    """Refuse what is neither True nor False where an estimator has one of them by default."""
    for name, parameter in parameters_of(type(estimator).__init__).items():
        if isinstance(parameter.default, bool) and not isinstance(getattr(estimator, name), bool):
            checked_flag(name, getattr(estimator, name))


def check_given(estimator: BaseEstimator, y: Any) -> None:
    """Refuse targets that are not there, in the words of scikit-learn."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None")


def checked_targets(estimator: BaseEstimator, rows: Rows, y: Any) -> NDArray[np.float64]:
    """Return the targets of checked rows as finite numbers."""
    check_given(estimator, y)
    is_vector = type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (rows.n,)
    if is_vector and np.isfinite(y).all():
        return np.array(y)
    check_targets(y)
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=estimator)
    check_agreeing(rows.n, y)
    return np.array(y)


def checked_unlabelled(estimator: BaseEstimator, kernel: Kernel, X: Any) -> Rows:
    """Return training rows without targets, and note the columns on the estimator."""
    check_flags(estimator)
    if isinstance(X, Stream):
        found = _checked_stream(estimator, kernel, X, _narrowed(kernel, X.sample))
        found.read_through()
        return Rows.checked(found)
    plain = _plain_rows(estimator, kernel, X)
    if plain is not None:
        return plain
    X = _narrowed(kernel, X)
    if _is_kept(kernel, X):
        return _taken_apart(estimator, kernel, X)
    # What has no number of rows, as an iterator, is refused before numbers are looked for in it.
    n_rows(X)
    return Rows.checked(_as_matrix(estimator, kernel, X))


def is_first_call(estimator: Any) -> bool:
    """Whether `partial_fit` has learned nothing yet, nor has `fit`."""
    return not hasattr(estimator, "function_")


def checked_block(estimator: Any, kernel: Kernel, X: Any) -> Rows:
    """Return rows of one call of `partial_fit`: the first are training rows, others like these."""
    if is_first_call(estimator):
        return checked_unlabelled(estimator, kernel, X)
    return Rows.checked(owned(checked_rows(estimator, X)))


def checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Return the weights of `n` rows: not negative, and not all zero."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    weights = np.array(as_vector(sample_weight, n, "sample_weight"), np.float64)
    if weights.min() < 0:
        row = int(weights.argmin())
        raise ValueError(f"sample_weight must not be negative, got {weights[row]:g} at row {row}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one weight must not be")
    return weights


def checked_seed(random_state: Any) -> int | None:
    """Return a seed drawn from scikit-learn's `random_state`; None leaves the solver its own."""
    return None if random_state is None else int(check_random_state(random_state).randint(2**31))


def training_subset(kernel: Kernel, X: Any, index: NDArray[np.intp]) -> Any:
    """Return some training rows; of a precomputed Gram matrix the columns as well."""
    if kernel.is_precomputed:
        return X[np.ix_(index, index)]
    return X.part(index) if isinstance(X, Stream) else take_rows(X, index)


def used_rows(kernel: Kernel, X: Any, used: NDArray[np.bool_]) -> Any:
    """Return the training rows that count: `X` itself where all do."""
    return X if used.all() else training_subset(kernel, X, np.flatnonzero(used))


def _as_matrix(estimator: BaseEstimator, kernel: Kernel, X: Any, **checks: Any) -> Any:
    """Return rows by scikit-learn's checks: a matrix, all finite."""
    is_plain = type(X) is np.ndarray and X.dtype.kind in "fiub"
    X, titles = (X, ()) if is_plain else may_be_numbers(X, "X")
    # A finished Gram matrix keeps its precision, which says how symmetric it can be.
    is_finished = kernel.is_precomputed
    dtype = [np.float64, np.float32] if is_finished else np.float64
    # A model owns its rows: what becomes of the caller's later changes no answer.
    is_owned = checks.get("reset", True) and not is_constant(X)
    # What is not finite is refused below, by its row and the name of its column.
    checks |= {"accept_sparse": "csr", "copy": is_owned, "ensure_all_finite": False}
    try:
        matrix = validate_data(estimator, X, dtype=dtype, **checks)
    except (OverflowError, TypeError, ValueError) as error:
        refusal = "" if sp.issparse(X) else cell_refusal(X, "X")
        if not refusal:
            raise
        raise (TypeError if isinstance(error, TypeError) else ValueError)(refusal) from None
    if is_finished:
        check_finished(matrix, "X")
    else:
        check = check_not_infinite if takes_missing(kernel) else check_finite
        check(matrix, "X", lambda: titles)
    return _shared(matrix) if is_owned else matrix


def _checked_stream(
    estimator: BaseEstimator, kernel: Kernel, X: Stream, some: Any, reset: bool = True
) -> Stream:
    """Return a stream of checked rows, and note or compare the columns by some of them."""
    if reset:
        _taken_apart(estimator, kernel, some)
    else:
        _compared(estimator, kernel, some)
    names = tuple(column_names(some)) if is_table(some) else None
    is_matrix, has_gaps = not _is_kept(kernel, some), takes_missing(kernel)
    check = BlockCheck(names, is_matrix, has_gaps, partial(_kept, kernel))
    # Blocks are checked whenever they are read.
    return replace(X, source=CheckedSource(X.source, check))


def _taken_apart(estimator: BaseEstimator, kernel: Kernel, X: Any) -> Rows:
    """Return training rows that the kernel takes apart, and note their columns."""
    rows = Rows.checked(owned(_kept(kernel, X)))
    if is_table(X):
        # Before rows are left out or sorted, which would change their numbers.
        check_cells(kernel, rows)
    if _holds_sequences(kernel, X):
        vars(estimator).pop("n_features_in_", None)
    validate_data(estimator, _with_columns(kernel, rows.X), skip_check_array=True)
    return rows


def _compared(estimator: BaseEstimator, kernel: Kernel, X: Any) -> Any:
    """Return more rows that the kernel takes apart, of the columns that were noted."""
    rows = _kept(kernel, X)
    validate_data(estimator, _with_columns(kernel, rows), reset=False, skip_check_array=True)
    return rows


def _with_columns(kernel: Kernel, rows: Any) -> Any:
    """Return rows as scikit-learn is to count their columns: those of sequences have none."""
    # It would count the tokens of the first.
    return np.empty(len(rows), object) if _holds_sequences(kernel, rows) else rows


def _narrowed(kernel: Kernel, X: Any) -> Any:
    """Return a table with the columns that the kernel reads, in the order of the table."""
    refuse_mapping(X)
    if not is_table(X):
        return X
    if reads_everything(kernel) or "numbers" in kernel.row_domains:
        return X
    names = column_names(X)
    # A kernel that reads nothing, such as a constant, still needs rows to be counted.
    wanted = named_columns(kernel) or set(names)
    if wanted == set(names):
        return X
    missing = sorted(wanted.difference(names))
    return select_columns(X, [*(name for name in names if name in wanted), *missing])


def _with_known_columns(estimator: BaseEstimator, kernel: Kernel, X: Any) -> Any:
    """Return a table with the columns that the estimator was fitted to."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return X
    if is_table(X):
        refuse_mapping(X)
        return select_columns(X, names.tolist())
    wanted = sorted(named_columns(kernel))
    if wanted:
        raise ValueError(
            f"the kernel reads columns by name, such as {wanted[0]!r}, and X has no names "
            f"({type(X).__name__}); pass a table with the columns of the training table"
        )
    return X


def _is_kept(kernel: Kernel, X: Any) -> bool:
    """Whether the rows are no matrix of numbers, and the kernel takes them apart by itself."""
    if "numbers" in kernel.row_domains:
        return False
    return _holds_sequences(kernel, X) or not _is_matrix(X)


def _kept(kernel: Kernel, X: Any) -> Any:
    """Return rows that the kernel takes apart: sequences as a list, each checked to be one."""
    if n_rows(X) == 0:
        raise ValueError("X has 0 rows; at least one is needed")
    if is_table(X):
        for name in sorted(columns_of(kernel, "sequences")):
            # Refuses a row that is none, by its number among all rows and not in a sample of them.
            as_sequences(select_columns(X, [name]))
        # As numbers of matrices are: rounding of float32 is no eigenvalue below a small penalty.
        X = in_double(X)
    if not _holds_sequences(kernel, X):
        return X
    rows = sequence_rows(X)
    if reads_unmapped(kernel, "sequences"):
        as_sequences(rows)
    return rows


def _holds_sequences(kernel: Kernel, X: Any) -> bool:
    """Whether the rows themselves, and not some column of a table, are to be sequences."""
    return "sequences" in kernel.row_domains and not is_table(X)


def _is_matrix(X: Any) -> bool:
    if sp.issparse(X) or is_table(X):
        return bool(sp.issparse(X))
    try:
        return np.asarray(X).dtype.kind in "fiubc"
    except ValueError:
        # Sequences of different lengths.
        return False


def owned(X: Any) -> Any:
    """Return rows that nobody else can change: copies of what can be changed.

    A read-only memory map is not copied, and neither is another array that is not writeable, nor
    a view of one that is: large data on a disk stay there, and whoever promises not to change an
    array, by ``X.flags.writeable = False``, shares it with the model.
    """
    if isinstance(X, np.ndarray):
        return X if is_constant(X) else np.array(X)
    if sp.issparse(X):
        if X.format != "csr":
            return X.copy()
        parts = (owned(X.data), owned(X.indices), owned(X.indptr))
        is_same = all(a is b for a, b in zip(parts, (X.data, X.indices, X.indptr), strict=True))
        return X if is_same else type(X)(parts, shape=X.shape)
    if isinstance(X, Mapping):
        return {name: owned(column) for name, column in X.items()}
    if isinstance(X, list | tuple):
        rows = [row if isinstance(row, str) else owned(row) for row in X]
        if isinstance(X, list):
            return rows
        # A named tuple takes its values one by one.
        return X._make(rows) if hasattr(X, "_make") else tuple(rows)
    if is_table(X):
        import narwhals as nw

        return nw.from_native(X, eager_only=True).clone().to_native()
    # A column of pandas; those of polars and pyarrow have no such method, and do not change.
    return X.copy() if hasattr(X, "iloc") else X


def is_constant(X: Any) -> bool:
    """Whether `X` is an array, and neither it nor what it is a view of can be written to."""
    if not isinstance(X, np.ndarray):
        return False
    while isinstance(X, np.ndarray):
        if X.flags.writeable or X.dtype == object:
            return False
        X = X.base
    # An array owns its memory, or something else does: a buffer such as a memory map, or an object
    # that tells nothing.
    try:
        return X is None or memoryview(X).readonly
    except TypeError:
        return False


def _shared(matrix: Any) -> Any:
    """Return a matrix that a model owns, which another one that is fitted to it shares."""
    if isinstance(matrix, np.ndarray):
        matrix.flags.writeable = False
    return matrix
