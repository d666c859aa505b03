"""Rows that a model keeps: compared by what they hold, and as arrays and plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.categories import is_missing
from mercer.data.columns import column_names, column_values, is_table
from mercer.data.dates import clock_of

# Plain values and arrays by name.
State = dict[str, Any]


def same_rows(X: Any, Z: Any) -> bool:
    """Whether two sets of rows hold the same, in the same form; missing numbers are equal."""
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
        return _same_arrays(X, Z)
    if sp.issparse(X) and sp.issparse(Z):
        if X.format != Z.format or X.shape != Z.shape:
            return False
        X, Z = _compressed(X), _compressed(Z)
        pairs = ((X.data, Z.data), (X.indices, Z.indices), (X.indptr, Z.indptr))
        return all(_same_arrays(a, b) for a, b in pairs)
    if is_table(X) and is_table(Z):
        ours, theirs = column_values(X), column_values(Z)
        return [name for name, _ in ours] == [name for name, _ in theirs] and all(
            _same_arrays(np.asarray(a), np.asarray(b))
            for (_, a), (_, b) in zip(ours, theirs, strict=True)
        )
    if isinstance(X, list | tuple) and isinstance(Z, list | tuple):
        return len(X) == len(Z) and all(same_rows(a, b) for a, b in zip(X, Z, strict=True))
    return type(X) is type(Z) and bool(X == Z)


def _same_arrays(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return False
    if a.dtype != object:
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM")
    return all(map(_same_values, a.flat, b.flat))


def _same_values(p: Any, q: Any) -> bool:
    """Whether two cells hold the same; what is missing differs from itself, or is no answer."""
    if p is q:
        return True
    if is_missing(p) or is_missing(q):
        return is_missing(p) and is_missing(q) and (p is None) == (q is None)
    return same_rows(p, q)


def _compressed(X: Any) -> Any:
    """Return a sparse matrix with the three vectors of its rows, or of its columns if it is CSC."""
    return X if X.format in ("csr", "csc") else X.tocsr()


def rows_state(X: Any) -> State:
    """Return rows as arrays and plain values by name, from which `rows_from_state` makes them.

    Arrays and the vectors of CSR matrices stay as they are. Sequences are a list of texts or of
    lists of tokens. Of a table every column is an array of numbers or times, or a list of texts;
    moments on the clock of a time zone are those of UTC, with the name of the zone.
    """
    if isinstance(X, np.ndarray) and X.dtype != object:
        return {"kind": "array", "values": X}
    if sp.issparse(X):
        X = _compressed(X)
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        return {"kind": X.format, **parts, "shape": list(map(int, X.shape))}
    if is_table(X):
        return _table_state(X)
    if isinstance(X, list | tuple | np.ndarray):
        values = [row if isinstance(row, str) else np.asarray(row, object).tolist() for row in X]
        return {"kind": "list", "values": values}
    raise ValueError(
        f"rows of the type {type(X).__name__} have no state of arrays and plain values; fit the "
        "model to an array, a CSR matrix, a table or a list"
    )


def _table_state(X: Any) -> State:
    library = "mapping" if isinstance(X, Mapping) else type(X).__module__.partition(".")[0]
    state: State = {"kind": "table", "library": library, "names": column_names(X)}
    for i, (name, column) in enumerate(column_values(X)):
        values = np.asarray(column).view()
        values.flags.writeable = False
        is_text = values.dtype == object or values.dtype.kind == "U"
        state[f"column{i}"] = values.tolist() if is_text else values
        state |= {f"column{i}.{key}": value for key, value in _form_of(X, name).items()}
    return state


def _form_of(X: Any, name: str) -> State:
    """Return what the values of a column do not tell: that they are categories, or their zone."""
    if isinstance(X, Mapping):
        return {}
    import narwhals as nw

    dtype = nw.from_native(X, eager_only=True).get_column(name).dtype
    if dtype in (nw.Categorical, nw.Enum):
        return {"is_categorical": True}
    zone = getattr(dtype, "time_zone", None)
    return {} if zone is None else {"zone": zone}


def rows_from_state(state: State) -> Any:
    """Return the rows that `rows_state` described; those of a table need its library."""
    kind = state["kind"]
    if kind in ("array", "list"):
        return state["values"]
    if kind in ("csr", "csc"):
        parts = (state["data"], state["indices"], state["indptr"])
        made = sp.csr_array if kind == "csr" else sp.csc_array
        return made(parts, shape=tuple(state["shape"]))
    if kind != "table":
        raise ValueError(f"rows are an array, csr, csc, list or table, got {kind!r} in the state")
    columns = {name: state[f"column{i}"] for i, name in enumerate(state["names"])}
    if state["library"] == "mapping":
        return columns
    import narwhals as nw

    frame = nw.from_dict(columns, backend=state["library"])
    categorical = [
        name for i, name in enumerate(state["names"]) if state.get(f"column{i}.is_categorical")
    ]
    if categorical:
        frame = frame.with_columns(nw.col(*categorical).cast(nw.Categorical))
    zones = {name: state.get(f"column{i}.zone") for i, name in enumerate(state["names"])}
    for name, zone in zones.items():
        if zone is not None:
            frame = frame.with_columns(_on_clock(frame.get_column(name), zone))
    return frame.to_native()


def _on_clock(series: Any, zone: str) -> Any:
    """Return moments of UTC, a series of narwhals, on the clock of a zone."""
    import narwhals as nw

    # Refuses what is no zone, which every library words in its own way.
    clock_of(zone)
    if series.dtype != nw.Datetime:
        raise ValueError(f"column {series.name!r:.40} has the time zone {zone} and no dates")
    try:
        return series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    except nw.exceptions.NarwhalsError as error:
        raise ValueError(f"column {series.name!r:.40}: {error}") from None
