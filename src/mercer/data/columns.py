"""Rows and columns of whatever the user holds: arrays, CSR, tables, mappings, lists."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.layout import check_entries, narrowed
from mercer.data.symbols import Sequences

TABLE_MODULES = ("pandas", "polars", "pyarrow", "modin", "cudf")
# The types of columns that a data frame makes one matrix of as they would be side by side.
PLAIN = {"pandas": {"float64", "int64"}, "polars": {"Float64", "Int64"}}


def is_table(X: Any) -> bool:
    """Whether `X` is a mapping of columns or a data frame that narwhals understands."""
    if isinstance(X, np.ndarray | list | tuple) or sp.issparse(X):
        return False
    if _is_mapping(X):
        return True
    root = type(X).__module__.partition(".")[0]
    # A data frame library that was never imported cannot have made X.
    return root in TABLE_MODULES and root in sys.modules and hasattr(type(X), "columns")


def is_matrix(X: Any) -> bool:
    """Whether `X` is an array or a sparse matrix with columns."""
    return (isinstance(X, np.ndarray) or sp.issparse(X)) and X.ndim == 2


def _is_mapping(X: Any) -> bool:
    # SciPy's dictionary of keys is a mapping too, but no table.
    return isinstance(X, Mapping) and not sp.issparse(X)


def column_names(X: Any) -> list[str]:
    """Return the names of a table's columns, in order."""
    if _is_mapping(X):
        return [str(name) for name in X]
    return list(_frame(X).columns)


def n_rows(X: Any) -> int:
    """Return the number of rows of an array, CSR matrix, table, mapping or sequence."""
    if isinstance(X, np.ndarray) and X.ndim:
        return len(X)
    if _is_mapping(X):
        return len(next(iter(X.values()))) if X else 0
    if is_table(X):
        # One that is not in memory has no length, and is refused.
        return len(X if hasattr(type(X), "__len__") else _frame(X))
    if hasattr(X, "__array__") and not hasattr(X, "shape"):
        X = np.asarray(X)
    shape = X.shape if hasattr(X, "shape") else (len(X),) if hasattr(X, "__len__") else ()
    if not shape:
        again = "; give a function that returns it anew" if hasattr(X, "__next__") else ""
        raise ValueError(f"rows are needed (an array, a table or a list), got {X!r}{again}")
    return int(shape[0])


def n_columns(X: Any) -> int:
    """Return the number of columns of a matrix or a table."""
    if is_table(X):
        return len(column_names(X))
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"rows with columns are needed, got {type(X).__name__} of shape {shape}")
    return int(shape[1])


def column_places(X: Any, columns: Sequence[str | int]) -> list[int]:
    """Return the positions of columns that are given by name or position, as `select_columns`."""
    if not is_table(X):
        return [int(c) % n_columns(X) for c in columns]
    names = column_names(X)
    return [names.index(_name_of(c, names)) for c in columns]


def take_rows(X: Any, index: NDArray[np.intp] | slice) -> Any:
    """Return the rows at `index`, in the form in which `X` came."""
    if isinstance(X, np.ndarray):
        return X[index]
    if _is_mapping(X):
        return {name: take_rows(column, index) for name, column in X.items()}
    if is_table(X):
        rows = index if isinstance(index, slice) else np.asarray(index)
        return _frame(X)[rows].to_native()
    if sp.issparse(X):
        return X.tocsr()[index]
    if hasattr(X, "iloc"):  # a column of pandas, which X[index] would search by its labels
        return X.iloc[index]
    if isinstance(index, slice) or isinstance(X, Sequences):
        return X[index]
    # A column of pyarrow or of polars.
    pick = getattr(X, "take", None) or getattr(X, "gather", None)
    if pick is not None:
        return pick(index)
    return [X[i] for i in index]


def stack_rows(*parts: Any) -> Any:
    """Return the rows of all parts, one after the other, in the form in which they came.

    Numbers of a column that are whole in one table and not in another are float64 in all.
    """
    if is_table(parts[0]):
        import narwhals as nw

        frames = [_frame(part) for part in parts]
        kinds = [frame.schema for frame in frames]
        mixed = [
            name
            for name in kinds[0]
            if len({k[name] for k in kinds}) > 1 and all(k[name].is_numeric() for k in kinds)
        ]
        if mixed:
            frames = [frame.with_columns(nw.col(*mixed).cast(nw.Float64)) for frame in frames]
        return nw.concat(frames).to_native()
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate([np.asarray(part) for part in parts])
    return [row for part in parts for row in part]


def like_rows(X: Any, matrix: NDArray[Any]) -> Any:
    """Return the rows of a matrix in the form of `X`: with its names if that is a table."""
    if not is_table(X):
        return matrix
    columns = dict(zip(column_names(X), matrix.T, strict=True))
    if _is_mapping(X):
        return columns
    import narwhals as nw

    return nw.from_dict(columns, backend=_frame(X).implementation).to_native()


def exchanged_column(X: Any, place: int, others: Any) -> Any:
    """Return the rows `X` with the cells of as many other rows, of the same form, in one column."""
    if not is_table(X):
        return with_numbers(X, place, np.asarray(others)[:, place])
    name = column_names(X)[place]
    return _frame(X).with_columns(_frame(others).get_column(name)).to_native()


def with_numbers(X: Any, place: int, numbers: NDArray[Any]) -> Any:
    """Return the rows `X` with other numbers in one column."""
    if not is_table(X):
        matrix = np.array(X, np.result_type(np.asarray(X).dtype, numbers.dtype))
        matrix[:, place] = numbers
        return matrix
    import narwhals as nw

    frame = _frame(X)
    return frame.with_columns(
        nw.new_series(frame.columns[place], numbers, backend=frame.implementation)
    ).to_native()


def table_column(X: Any, name: str) -> Any:
    """Return one column of a table as an array, or as the list that a mapping holds."""
    return X[name] if _is_mapping(X) else _frame(X).get_column(name).to_numpy()


def select_columns(X: Any, columns: Sequence[str | int]) -> Any:
    """Return the columns by name or position, as a narrower table or matrix."""
    if not is_table(X):
        return _select_positions(X, columns)
    frame = None if _is_mapping(X) else _frame(X)
    names = column_names(X) if frame is None else list(frame.columns)
    wanted, places = [_name_of(c, names) for c in columns], {n: i for i, n in enumerate(names)}
    check_named([c for c in wanted if c not in places], names)
    if wanted == names:
        return X
    if frame is None:
        return {name: X[name] for name in wanted}
    # By position, since the columns of a table may be called by numbers as well.
    return frame[:, [places[c] for c in wanted]].to_native()


def check_named(missing: Sequence[str], names: Sequence[str]) -> None:
    """Refuse columns that are not among those of a table, all of them in one line."""
    if missing:
        raise ValueError(
            f"no column {_listed(missing)} in the table; it has {_listed(names)}"
            f"{_meant(missing[0], names)}"
        )


def table_matrix(X: Any, name: str) -> NDArray[Any]:
    """Return a table's columns side by side as a numeric matrix; a column of text is an error."""
    if is_plain(X):
        _frame(X)
        return np.array(X.to_numpy(), order="C")
    columns = [
        _numbers(title, as_seconds(np.asarray(values)), name) for title, values in column_values(X)
    ]
    if not columns:
        return np.empty((n_rows(X), 0))
    lengths = {len(c) for c in columns}
    if len(lengths) > 1:
        raise ValueError(f"the columns of {name} have different lengths: {sorted(lengths)}")
    return np.column_stack(columns)


def is_plain(X: Any) -> bool:
    """Whether a table is a data frame of pandas or polars of nothing but plain numbers.

    It is read at once: column by column it takes a tenth of a millisecond for each, and searches
    read hundreds of columns hundreds of times.
    """
    library = type(X).__module__.partition(".")[0]
    # A series has one dtype, and a frame that is not in memory yet would be planned to tell its.
    if library not in PLAIN or type(X).__name__ != "DataFrame":
        return False
    kinds = set(X.dtypes)
    return bool(kinds) and {str(kind) for kind in kinds} <= PLAIN[library]


def _numbers(title: str, array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column as numbers, or refuse it for its first value that is none."""
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    if array.dtype.kind in "fiub":
        return array
    values = array if array.dtype.kind in "OUS" else array[:0]
    row = next((i for i, v in enumerate(values) if v is not None and not _is_float(v)), 0)
    found = f"{str(array[row])!r:.40} at row {row}" if len(array) else f"dtype {array.dtype}"
    raise ValueError(
        f"column {title!r} of {name} does not hold numbers: {found}; make a number of it or a "
        "missing value, select columns of numbers with .on(...), or use a kernel for its kind, "
        "such as 'spectrum' for text and 'match' for categories"
    )


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _frame(X: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError:
        names = list(X.columns)
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"several columns are named {_listed(repeated)}; rename them") from None
    except TypeError:
        kind = f"{type(X).__module__}.{type(X).__name__}"
        raise ValueError(f"{kind} is not a table in memory; collect it first") from None


def column_values(X: Any) -> list[tuple[str, Any]]:
    """Return the columns of a table by name, as arrays; missing numbers are NaN."""
    if isinstance(X, Mapping):
        return [(str(name), values) for name, values in X.items()]
    return [(series.name, _array(series)) for series in table_series(X)]


def in_double(X: Any) -> Any:
    """Return a table whose numbers of single precision, if there are any, are float64."""
    if isinstance(X, Mapping):
        return X
    import narwhals as nw

    frame = _frame(X)
    single = [name for name, dtype in frame.schema.items() if dtype == nw.Float32]
    return frame.with_columns(nw.col(*single).cast(nw.Float64)).to_native() if single else X


def as_seconds(array: NDArray[Any]) -> NDArray[Any]:
    """Return durations as seconds, NaN where one is missing, and other values as they are."""
    if array.dtype.kind == "m":
        return _seconds(array)
    if array.dtype != object:
        return array
    values = array.reshape(-1)
    is_duration = np.array([isinstance(v, timedelta | np.timedelta64) for v in values], bool)
    if not is_duration.any():
        return array
    # A duration that is missing may also be None, or what differs from itself.
    is_missing = np.array([v is None or bool(v != v) for v in values]) & ~is_duration
    found = values.copy()
    found[is_duration] = _seconds(values[is_duration])
    found[is_missing] = np.nan
    is_all = bool((is_duration | is_missing).all())
    return found.reshape(array.shape).astype(np.float64 if is_all else object)


def _seconds(durations: NDArray[Any]) -> NDArray[np.float64]:
    known = durations.astype("m8[us]")
    return np.where(np.isnat(known), np.nan, known / np.timedelta64(1, "s"))


def _array(series: Any) -> NDArray[Any]:
    import narwhals as nw

    if series.dtype == nw.Boolean and series.null_count() > 0:
        series = series.cast(nw.Float64)
    return np.asarray(series.to_numpy())


def table_series(X: Any) -> list[Any]:
    """Return the columns of a data frame as series of narwhals."""
    frame = _frame(X)
    return [frame.get_column(name) for name in frame.columns]


def _name_of(column: str | int, names: list[str]) -> str:
    if isinstance(column, str):
        return column
    if not -len(names) <= column < len(names):
        raise ValueError(f"no column {column} in a table of {len(names)} columns")
    return names[column]


def _select_positions(X: Any, columns: Sequence[str | int]) -> Any:
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(
            f".on({_listed(columns)}) needs a table or a matrix, got {type(X).__name__} "
            f"of shape {shape}"
        )
    named = [c for c in columns if isinstance(c, str)]
    if named:
        raise ValueError(
            f"X is a matrix without column names, so .on({_listed(named)}) cannot be resolved; "
            "give column numbers or pass a table"
        )
    outside = [c for c in columns if not -shape[1] <= int(c) < shape[1]]
    if outside:
        raise ValueError(f"no column {_listed(outside)} in a matrix of {shape[1]} columns")
    positions = np.array([int(c) for c in columns], np.int64) % max(shape[1], 1)
    if not sp.issparse(X):
        return np.asarray(X)[:, positions]
    check_entries(X, "X")
    # First to the columns that are wanted, since SciPy would make a table of all that there are.
    distinct, places = np.unique(positions, return_inverse=True)
    matrix = X.tocsr()
    return type(matrix)(narrowed(matrix, distinct)[:, places])


def _meant(name: str, names: Sequence[Any]) -> str:
    """Return the end of a sentence that asks whether another name was meant, if one is like it."""
    close = get_close_matches(name, [n for n in names if isinstance(n, str)], 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(n) for n in names[:20])
    return shown + (", ..." if len(names) > 20 else "")
