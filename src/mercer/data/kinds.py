"""What columns hold: numbers, truth values, text, categories, by their dtypes; dates as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data.categories import is_missing
from mercer.data.checks import LOOKED_AT, check_no_text_in_rows, refuse_masked
from mercer.data.columns import (
    as_seconds,
    column_names,
    is_plain,
    is_table,
    table_matrix,
    table_series,
)
from mercer.data.layout import check_entries


class Kind(StrEnum):
    """What a column holds."""

    NUMBERS = "numbers"
    BOOLEANS = "truth values"
    CATEGORIES = "categories"
    TEXT = "text"
    SEQUENCES = "lists"
    DATES = "dates"
    CLOCK_TIMES = "times of the day"
    DURATIONS = "durations"
    EMPTY = "no value"
    OTHER = "other values"


# The kinds of column that a kernel reads, by its domain.
READ = {
    "numbers": (Kind.NUMBERS, Kind.BOOLEANS),
    "categories": (Kind.CATEGORIES, Kind.TEXT, Kind.BOOLEANS),
    "sequences": (Kind.TEXT, Kind.SEQUENCES),
    "dates": (Kind.DATES, Kind.CLOCK_TIMES),
}


# Dates as ISO 8601 writes them, with a time of day or without, on the clock of no zone.
ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?")
# The precision of moments.
MICROSECONDS = "M8[us]"


# What a column of text holds that spells dates of ISO 8601 throughout.
DATES_AS_TEXT = "dates as text"


def column_kinds(X: Any) -> dict[str, Kind]:
    """Return the kind of every column of a table, in order."""
    if isinstance(X, Mapping):
        return {str(name): kind_of_values(_vector(values)) for name, values in X.items()}
    if is_plain(X):
        return dict.fromkeys(column_names(X), Kind.NUMBERS)
    return {series.name: _kind_of_series(series) for series in table_series(X)}


def numbers_of(X: Any) -> Any:
    """Return a list or a table of numbers as an array of shape (n, columns), all else as it is."""
    if is_table(X):
        return table_matrix(X, "X") if _are_numbers(X) else X
    if not isinstance(X, list | tuple):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        # Rows of different lengths, such as lists of tokens.
        return X
    return array if array.ndim == 2 and array.dtype.kind in "fiub" else X


def may_be_numbers(X: Any, name: str) -> tuple[Any, list[str]]:
    """Return rows that may become a matrix of numbers, with the names of their columns, if any.

    Columns and rows that hold something else are refused here, by their names and values.
    """
    refuse_masked(X, name)
    if isinstance(X, np.ndarray):
        X = as_seconds(X)
    elif sp.issparse(X):
        check_entries(X, name)
    titles = column_names(X) if is_table(X) else []
    if not titles:
        check_no_text_in_rows(X, name)
    elif not _are_numbers(X):
        # Names the column, the row and the value of what is no number.
        table_matrix(X, name)
    return X, titles


def kind_of_values(array: np.ndarray[Any, Any]) -> Kind:
    """Return the kind of the values of an array."""
    kinds = {
        "b": Kind.BOOLEANS,
        "i": Kind.NUMBERS,
        "u": Kind.NUMBERS,
        "f": Kind.NUMBERS,
        "U": Kind.TEXT,
        "S": Kind.TEXT,
        "m": Kind.DURATIONS,
        "M": Kind.DATES,
    }
    if array.dtype.kind != "O":
        return kinds.get(array.dtype.kind, Kind.OTHER)
    known = (v for v in array[:LOOKED_AT] if not is_missing(v))
    found = {next((kind for kind, of in CLASSES if isinstance(v, of)), Kind.OTHER) for v in known}
    if not found:
        return Kind.EMPTY
    return found.pop() if len(found) == 1 else Kind.OTHER


def are_iso_dates(texts: Iterable[Any]) -> bool:
    """Whether all texts are dates as ISO 8601 writes them, and some that exist."""
    known = list(texts)
    if not all(isinstance(text, str) and ISO_DATE.fullmatch(text) for text in known):
        return False
    try:
        np.array(known, MICROSECONDS)
    except ValueError:
        return False
    return bool(known)


def _are_numbers(X: Any) -> bool:
    """Whether all columns of a table hold numbers or truth values."""
    return all(kind in READ["numbers"] for kind in column_kinds(X).values())


def _vector(values: Any) -> np.ndarray[Any, Any]:
    """Return a column as an array of one dimension, whose entries may be lists."""
    if isinstance(values, list | tuple) and any(
        isinstance(value, list | tuple | np.ndarray) for value in values
    ):
        array = np.empty(len(values), object)
        array[:] = list(values)
        return array
    return np.asarray(values)


def _kind_of_series(series: Any) -> Kind:
    import narwhals as nw

    dtype = series.dtype
    if dtype == nw.Boolean:
        return Kind.BOOLEANS
    if dtype.is_numeric():
        return Kind.NUMBERS
    if len(series) > 0 and series.null_count() == len(series):
        # pandas has no dtype for nothing, and calls it objects or text.
        return Kind.EMPTY
    if dtype in (nw.Categorical, nw.Enum):
        return Kind.CATEGORIES
    if dtype in (nw.String, nw.Binary):
        return Kind.TEXT
    if dtype in (nw.List, nw.Array):
        return Kind.SEQUENCES
    if dtype in (nw.Datetime, nw.Date):
        return Kind.DATES
    if dtype in (nw.Duration, nw.Time):
        return Kind.DURATIONS if dtype == nw.Duration else Kind.CLOCK_TIMES
    # Those of pandas that hold few values, such as SparseDtype, are unknown to narwhals.
    is_open = dtype in (nw.Object, nw.Unknown)
    return kind_of_values(series.to_numpy()) if is_open else Kind.OTHER


# What a value of Python is, by the first of these classes that it belongs to.
CLASSES: tuple[tuple[Kind, tuple[type, ...]], ...] = (
    (Kind.BOOLEANS, (bool, np.bool_)),
    # A timedelta64 is a whole number as well.
    (Kind.DURATIONS, (timedelta, np.timedelta64)),
    (Kind.NUMBERS, (int, float, np.integer, np.floating, Decimal)),
    (Kind.TEXT, (str, bytes)),
    (Kind.DATES, (date, np.datetime64)),
    (Kind.CLOCK_TIMES, (time,)),
    (Kind.SEQUENCES, (list, tuple, np.ndarray)),
)
