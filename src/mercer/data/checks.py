"""Validation of arrays: each becomes a finite matrix of floats, or a clear error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Number, Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.data.categories import is_missing
from mercer.data.columns import as_seconds, column_names, is_table, table_matrix, take_rows
from mercer.data.layout import as_csr, check_entries, plain

# A dense array or sp.csr_array; SciPy ships no types, so that the union is Any.
Matrix: TypeAlias = Any
# What gives the names of columns, which take as long as a check where there are hundreds.
Titles: TypeAlias = Callable[[], Sequence[Any]]

# Python objects of a column that are looked at, since their dtype says nothing.
LOOKED_AT = 1000

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
LARGEST_SINGLE = float(np.finfo(np.float32).max)


def as_matrix(X: Any, name: str = "X") -> Matrix:
    """Return `X` as a finite float32 or float64 matrix of shape (rows, columns), dense or CSR.

    Integers and booleans become float64; float32 stays. Nothing is copied without need.
    """
    matrix, titles = as_floats(X, name)
    check_finite(matrix, name, titles)
    return matrix


def as_matrix_with_gaps(X: Any) -> Matrix:
    """Return `X` as `as_matrix` does, but with NaN where a number is missing."""
    matrix, titles = as_floats(X, "X")
    check_not_infinite(matrix, "X", titles)
    return matrix


def as_floats(X: Any, name: str) -> tuple[Matrix, Titles]:
    """Return `X` as a matrix of floats, and what gives the names of its columns if it has some."""
    titles: Titles = tuple
    if not isinstance(X, np.ndarray) and is_table(X):
        titles = partial(column_names, X)
        X = table_matrix(X, name)
    if _is_matrix(X):
        return X, titles
    matrix = _csr(X, name) if sp.issparse(X) else _dense(X, name)
    if matrix.shape[1] == 0:
        raise ValueError(f"{name} has 0 columns (shape {matrix.shape}); at least one is needed")
    return matrix, titles


def _is_matrix(X: Any) -> bool:
    """Whether `X` is an array that needs neither conversion nor a refusal."""
    return (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and X.shape[1] > 0
        and X.flags.aligned
        and X.strides[0] % X.itemsize == X.strides[1] % X.itemsize == 0
    )


def as_vector(v: Any, n: int, name: str) -> NDArray[Any]:
    """Return `v` as a finite vector of `n` floats."""
    refuse_masked(v, name)
    vector = np.asarray(v)
    if vector.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {vector.dtype}")
    if vector.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {vector.shape}")
    vector = vector if vector.dtype in FLOATS else vector.astype(np.float64)
    vector = plain(vector)
    if not np.isfinite(vector).all():
        row = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ValueError(f"{name} holds {vector[row]} at row {row}; it must be finite")
    return vector


def check_targets(y: Any) -> None:
    """Refuse what is no number to learn, or is masked, missing or infinite, naming its row.

    What is no array passes: it is refused for its shape.
    """
    refuse_masked(y, "y")
    if sp.issparse(y):
        raise ValueError(f"y is a sparse matrix of shape {y.shape}; pass y.toarray()")
    try:
        values = np.asarray(y)
    except (TypeError, ValueError, OverflowError):
        return
    # NumPy makes text of all values beside one.
    _refuse_no_numbers(np.asarray(y, object) if values.dtype.kind in "US" else values)
    check_no_gaps(y)


def check_no_gaps(y: Any) -> None:
    """Refuse numbers to learn of which one is missing or infinite, naming its row.

    What is no array of numbers passes: it may hold labels.
    """
    try:
        values = np.asarray(y)
        if values.dtype.kind == "O":
            numbers = [np.nan if is_missing(v) else v for v in values.flat]
            values = np.array(numbers, np.float64).reshape(values.shape)
    except (TypeError, ValueError, OverflowError):
        return
    if values.dtype.kind != "f" or values.ndim == 0 or np.isfinite(values).all():
        return
    row = int(np.nonzero(~np.isfinite(values))[0][0])
    what = "NaN" if np.isnan(values[row]).any() else "infinity or a value too large for float64"
    raise ValueError(f"Input y contains {what} at row {row}; drop such rows or fill them in")


def _refuse_no_numbers(values: NDArray[Any]) -> None:
    """Refuse text, dates and whatever else is no number, by the first of them."""
    if values.dtype.kind in "fiubc" or values.ndim == 0:
        return
    for place, value in np.ndenumerate(values):
        is_number = isinstance(value, Number | np.bool_) and not isinstance(value, np.timedelta64)
        if not is_number and not is_missing(value):
            what = "text" if isinstance(value, str | bytes) else type(value).__name__
            raise ValueError(
                f"y must hold numbers, got {what} at row {place[0]}: {str(value)!r:.40}; make "
                "numbers of it, such as days since a date, or use a classifier for labels"
            )


def check_agreeing(rows: int, y: Any) -> None:
    """Refuse targets or labels that are not as many as the rows."""
    if hasattr(y, "__len__") and np.ndim(y) > 0 and len(y) != rows:
        raise ValueError(f"X has {rows} rows but y has {len(y)}; they must agree")


def checked_flag(name: str, value: Any) -> bool:
    """Return True or False, and refuse what only counts as one of them."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def checked_positive(name: str, value: Any) -> float:
    """Return a finite number above zero."""
    if not (_is_number(value) and 0.0 < value < np.inf):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    return float(value)


def checked_not_negative(name: str, value: Any) -> float:
    """Return a finite number of at least zero."""
    if not (_is_number(value) and 0.0 <= value < np.inf):
        raise ValueError(f"{name} must be a finite number and not negative, got {value!r}")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.number) and not isinstance(value, bool | np.bool_)


def fits_single(A: Matrix) -> bool:
    """Whether no entry is beyond the range of float32."""
    values = A.data if sp.issparse(A) else A
    return values.size == 0 or bool(max(values.max(), -values.min()) <= LARGEST_SINGLE)


def check_not_negative(A: Matrix, need: str) -> None:
    """Refuse a matrix with a negative entry, naming the entry."""
    values = A.data if sp.issparse(A) else A
    if values.size and values.min() < 0:
        lowest = values.min()
        raise ValueError(
            f"{need} needs rows without negative entries, got {lowest}; shift or clip the data"
        )


def _dense(X: Any, name: str) -> NDArray[Any]:
    refuse_masked(X, name)
    refuse_mapping(X, name)
    if isinstance(X, np.ma.MaskedArray):
        X = X.data
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; they must be equal") from None
    check_no_text(array, name)
    array = as_seconds(array)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(cell_refusal(array, name) or str(error)) from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name} is complex (dtype {array.dtype}); take its real part or modulus")
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must hold numbers for this kernel, got dtype {array.dtype}; "
            "use a kernel for its kind, or select numeric columns with .on(...)"
        )
    if array.ndim != 2:
        raise ValueError(_not_a_matrix(name, array.shape))
    return _as_double(plain(array), name)


def _as_double(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return numbers as float64, unless they are float32; none may be beyond its range."""
    if array.dtype in FLOATS:
        return array
    with np.errstate(over="ignore"):
        double = array.astype(np.float64)
    lost = np.isfinite(array) & ~np.isfinite(double)
    if lost.any():
        row, column = (int(i[0]) for i in np.nonzero(lost))
        raise ValueError(
            f"{name} holds {array[row, column]!s} at row {row}, column {column}, beyond 1.8e308, "
            "where float64 ends; divide the column, or take its logarithm"
        )
    return double


def check_no_text(array: NDArray[Any], name: str) -> None:
    """Refuse an array of text, or of objects with some text among the first, for its numbers."""
    if array.dtype.kind not in "USO":
        return
    for i, value in enumerate(array.ravel()[:LOOKED_AT]):
        _refuse_text(value, name, [int(place) for place in np.unravel_index(i, array.shape)])


def check_no_text_in_rows(X: Any, name: str) -> None:
    """Refuse rows, as an array or a list, with some text among the first, for their numbers."""
    if isinstance(X, np.ndarray):
        check_no_text(X, name)
    elif isinstance(X, list | tuple) or hasattr(X, "iloc"):
        # Of a column of pandas X[0] would be the row of that label.
        for i, row in enumerate(take_rows(X, slice(0, LOOKED_AT))):
            if not isinstance(row, list | tuple):
                _refuse_text(row, name, [i])
                continue
            for j, value in enumerate(row):
                _refuse_text(value, name, [i, j])


def _refuse_text(value: Any, name: str, place: Sequence[int]) -> None:
    if not isinstance(value, str | bytes):
        return
    where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False))
    raise ValueError(
        f"{name} holds text, {_shown(value)}{where and f' at {where}'}, and this kernel is one of "
        "numbers; make a number of it, use a kernel of text such as 'spectrum' or of categories "
        "such as 'match', or select columns of numbers with .on(...)"
    )


def _shown(value: Any) -> str:
    """Return what a message shows of a value: of text no more than its beginning."""
    if isinstance(value, str | bytes):
        return f"{value[:30]!r}{' ...' if len(value) > 30 else ''}"
    return f"a {type(value).__name__}"


def _not_a_matrix(name: str, shape: tuple[int, ...]) -> str:
    hint = f"; use [{name}] for one row, or numpy.reshape({name}, (-1, 1)) for one column"
    received = f"got shape {shape}{hint if len(shape) == 1 else ''}"
    return f"{name} must be a matrix of shape (rows, columns), {received}"


def cell_refusal(X: Any, name: str) -> str:
    """Return what is wrong with the first cell of objects that is no number; nothing if none is."""
    try:
        array = np.asarray(X)
    except ValueError:
        # Rows of different lengths.
        return ""
    is_table = array.dtype == object and array.ndim == 2
    for place in np.ndindex(array.shape) if is_table else ():
        value = array[place]
        where = f"at row {place[0]}, column {place[1]}"
        try:
            float(value)
        except OverflowError:
            return (
                f"{name} holds a whole number {where} beyond 1.8e308, where float64 ends; divide "
                "the column, or take its logarithm"
            )
        except (TypeError, ValueError):
            return (
                f"{name} holds {_shown(value)} {where}, which is no number (an argument must be a "
                "string or a real number to become a float); take such cells apart into columns"
            )
    return ""


def _csr(X: Any, name: str) -> sp.csr_array:
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got a sparse matrix of dtype {X.dtype}")
    if X.ndim != 2:
        raise ValueError(_not_a_matrix(name, X.shape))
    check_entries(X, name)
    return as_csr(X, name)


def refuse_mapping(X: Any, name: str = "X") -> None:
    """Refuse columns that scikit-learn takes for no table: a mapping, or fields of an array."""
    if isinstance(X, Mapping) and not sp.issparse(X):
        raise ValueError(f"{name} is a dict of columns; pass a pandas or polars table, or an array")
    if isinstance(X, np.ndarray) and X.dtype.names:
        fields = ", ".join(map(repr, X.dtype.names[:5])) + ", ..." * (len(X.dtype.names) > 5)
        raise ValueError(
            f"{name} is an array of the fields {fields}; pass pandas.DataFrame({name})"
        )


def refuse_masked(values: Any, name: str) -> None:
    """Refuse an array of which some entries are masked: they are not to be learnt from."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(values)} masked entries; "
            "fill or drop them first"
        )


def check_not_infinite(matrix: Matrix, name: str, titles: Titles = tuple, first: int = 0) -> None:
    """Refuse a matrix with an infinite entry, which is named by its place; NaN may stand in it."""
    if sp.issparse(matrix):
        known = matrix.copy()
        known.data = np.where(np.isnan(known.data), 0.0, known.data)
    else:
        known = np.where(np.isnan(matrix), 0.0, matrix)
    check_finite(known, name, titles, first)


def check_finished(matrix: Matrix, name: str) -> None:
    """Refuse a finished Gram matrix with an entry that is no finite number, naming its place."""
    try:
        check_finite(matrix, name)
    except ValueError as error:
        found = str(error).partition(";")[0]
        raise ValueError(
            f"{found} of a precomputed Gram matrix; compute it again, or leave both rows out"
        ) from None


def check_finite(matrix: Matrix, name: str, titles: Titles = tuple, first: int = 0) -> None:
    """Refuse a matrix with an entry that is no finite number, which is named by its place.

    `first` is the number of its first row.
    """
    values = matrix.data if sp.issparse(matrix) else matrix
    # One pass without a temporary: a sum is finite unless an entry is not, or it overflows.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = values.size > 0 and not np.isfinite(values.sum())
    if not suspicious:
        return
    found = _first_not_finite(matrix)
    if found is None:
        return
    row, column = found
    what = "NaN" if np.isnan(matrix[row, column]) else "infinity"
    names = titles()
    title = repr(names[column]) if names else column
    hint = ""
    if what == "NaN":
        place = ", or give them a place by the kernel 'auto' or Standardize(missing='mean')"
        hint = ", or pass dense rows and the kernel 'auto'" if sp.issparse(matrix) else place
    raise ValueError(
        f"{name} contains {what} at row {first + row}, column {title}; impute or drop such rows "
        f"first{hint}"
    )


def _first_not_finite(matrix: Matrix) -> tuple[int, int] | None:
    """Return the row and the column of the first entry that is no finite number, if there is one.

    A dense matrix is looked at by blocks: what is as large as itself may be too large for memory.
    """
    if sp.issparse(matrix):
        entries = matrix.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))
        return (int(entries.row[bad[0]]), int(entries.col[bad[0]])) if len(bad) else None
    for rows in row_blocks(matrix.shape):
        places = np.argwhere(~np.isfinite(matrix[rows]))
        if len(places):
            return rows.start + int(places[0, 0]), int(places[0, 1])
    return None
