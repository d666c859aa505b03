"""Categories: columns of which the values are equal or not, by the numbers of their levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.columns import is_table, table_series

Codes = NDArray[np.int64]

REFUSE, OWN_CATEGORY = "refuse", "own-category"
# The scalars by which pandas says that a value is missing; it need not be installed.
MISSING_TYPES = ("NAType", "NaTType")


@dataclass(frozen=True, eq=False)
class Categories:
    """Rows of categories: value i of column j is ``levels[j][codes[i, j]]``.

    A missing value is the level None.
    """

    codes: Codes
    levels: tuple[tuple[Any, ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        n, d = self.codes.shape
        return n, d


@dataclass(frozen=True)
class AsCategories:
    """The map of rows of any kind to their categories.

    Parameters
    ----------
    missing : {"refuse", "own-category"}
        Whether a missing value is an error, or a category that missing values share.
    """

    missing: str = REFUSE

    def __call__(self, X: Any) -> Categories:
        columns = [self._column(title, values) for title, values in titled_columns(X)]
        n = len(columns[0][0])
        if any(len(codes) != n for codes, _ in columns):
            lengths = sorted({len(codes) for codes, _ in columns})
            raise ValueError(f"the columns of X have different lengths: {lengths}")
        return Categories(
            np.column_stack([codes for codes, _ in columns]),
            tuple(levels for _, levels in columns),
        )

    def _column(self, title: Any, values: Any) -> tuple[Codes, tuple[Any, ...]]:
        codes, levels = coded(title, values)
        missing = [i for i, level in enumerate(levels) if is_missing(level)]
        if missing and self.missing == REFUSE:
            row = int(np.flatnonzero(np.isin(codes, missing))[0])
            raise ValueError(
                f"column {title!r} has a missing value at row {row}; fill it or drop the row, or "
                f"use Match(missing={OWN_CATEGORY!r}), to which missing values are equal"
            )
        if len(missing) > 1:
            codes = np.where(np.isin(codes, missing), missing[0], codes)
        return codes, tuple(None if is_missing(level) else level for level in levels)


def joint_codes(left: Categories, right: Categories) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the categories of both sides as numbers that agree where the values do.

    Levels of the right side that the left one has not are -1, which is no number of the left.
    """
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"X has {left.shape[1]} columns and Z has {right.shape[1]}; both must have the same "
            "columns"
        )
    most = max((len(levels) for levels in left.levels), default=0)
    # Whole numbers up to this one are exact in single precision.
    exact_in_single = 1 << 24
    dtype = np.float32 if most <= exact_in_single else np.float64
    if right is left:
        codes = left.codes.astype(dtype)
        return codes, codes
    translated = [
        _translation(known, other)[codes]
        for known, other, codes in zip(left.levels, right.levels, right.codes.T, strict=True)
    ]
    return left.codes.astype(dtype), np.column_stack(translated).astype(dtype)


def coded(title: Any, values: Any) -> tuple[Codes, tuple[Any, ...]]:
    """Return the values of a column as numbers of its levels, and the levels."""
    array = values if isinstance(values, list) else np.asarray(values)
    if isinstance(array, np.ndarray) and array.dtype.kind in "biuf":
        levels, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.int64), tuple(levels.tolist())
    if isinstance(array, np.ndarray) and array.dtype.kind in "mM":
        levels, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.int64), tuple(_as_python(levels))
    objects = array if isinstance(array, list) else array.tolist()
    try:
        distinct = tuple(dict.fromkeys(objects))
    except TypeError as error:
        raise ValueError(
            f"the values of column {title!r} cannot be categories ({error}); use strings, numbers "
            "or truth values"
        ) from None
    number = {level: i for i, level in enumerate(distinct)}
    return np.fromiter(map(number.__getitem__, objects), np.int64, len(objects)), distinct


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, NaT, or the NA of pandas."""
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float) and value != value


def titled_columns(X: Any) -> list[tuple[Any, Any]]:
    """Return the columns of a table by name, or of an array or list by position."""
    if is_table(X):
        columns: list[tuple[Any, Any]]
        if isinstance(X, Mapping):
            columns = [(str(name), values) for name, values in X.items()]
        else:
            columns = [(series.name, _values(series)) for series in table_series(X)]
        if not columns:
            raise ValueError("X has 0 columns; at least one is needed")
        return columns
    if sp.issparse(X):
        raise ValueError(
            "categories cannot be read from a sparse matrix; pass a dense array or a table"
        )
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise ValueError(
            f"categories need a table, a matrix or a list of values, got shape {array.shape}"
        )
    return list(enumerate(array[:, None].T if array.ndim == 1 else array.T))


def _translation(known: Sequence[Any], other: Sequence[Any]) -> Codes:
    # Of several levels that stand for missing values the first counts.
    number = {level: i for i, level in reversed(list(enumerate(known)))}
    # One entry more, so that a column without rows has something to be empty of.
    return np.array([*(number.get(level, -1) for level in other), -1], np.int64)


def _as_python(times: NDArray[Any]) -> list[Any]:
    """Return times as those of Python where it has them, which compare across containers."""
    coarse = times.astype(f"{times.dtype.kind}8[us]")
    known = ~np.isnat(times)
    unit = np.datetime_data(times.dtype)[0]
    fine = unit in ("ns", "ps", "fs", "as")
    return list((coarse if fine and (coarse == times)[known].all() else times).tolist())


def _values(series: Any) -> Any:
    # Only an array of floats can say that a value is missing: whole numbers would lose digits in
    # it, and pyarrow makes the gaps of a dictionary column one of its values.
    if series.null_count() > 0 and not series.dtype.is_float():
        return series.to_list()
    return series.to_numpy()
