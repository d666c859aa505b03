"""What the column to predict holds: numbers or classes, and what is wrong with cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import LOOKED_AT
from mercer.data.kinds import are_iso_dates
from mercer.data.listing import in_four_digits
from mercer.errors import DataFileError
from mercer.files.numbers import is_word

Array = NDArray[Any]

# Distinct whole numbers up to which they are taken for classes.
MOST_CLASSES = 10


def is_known(series: Any) -> Array:
    """Return which cells of a column of polars hold a value."""
    known = series.is_not_null()
    if series.dtype.is_float():
        known = known & series.is_not_nan().fill_null(False)
    return np.asarray(known.to_numpy(), bool)


def check_finite(table: Any, path: str) -> None:
    """Refuse an infinite number of a table of polars, by its column and row.

    Parameters
    ----------
    table : polars.DataFrame
        All rows, so that they are counted as in the file.
    path : str
        The file, for the error.
    """
    for series in table.get_columns():
        if series.dtype.is_float() and series.is_infinite().any():
            row = int(series.is_infinite().fill_null(False).arg_max() or 0)
            raise DataFileError(
                f"{path}: column {series.name!r} has {series[row]} in row {row + 1}, which is no "
                "number to compute with; mend or empty that cell, or leave out the column by --drop"
            )


def counted(rows: int) -> str:
    """Return a number of rows in words."""
    return "1 row" if rows == 1 else f"{rows} rows"


def task_of(
    series: Any, path: str, asked: str, instead: str = ", or use --task classification"
) -> tuple[bool, str]:
    """Return whether a target is a class, and a sentence that says so and why.

    Parameters
    ----------
    series : polars.Series
        All cells of the target, those without a value included, so that rows are counted right.
    path : str
        The file, for errors.
    asked : {"auto", "regression", "classification"}
        What the user wants.
    instead : str
        The end of an advice on a target that is no numbers.
    """
    known = series.filter(is_known(series))
    distinct = known.n_unique()
    if asked == "classification":
        return True, f"{distinct} classes, as asked for: classification"
    if not series.dtype.is_numeric():
        return _task_of_text(series, known, path, asked, instead)
    if asked == "regression":
        return False, "numbers, as asked for: regression"
    values = known.to_numpy()
    is_whole = known.dtype.is_integer() or bool((values == np.round(values)).all())
    if is_whole and distinct <= MOST_CLASSES:
        kinds = f"{distinct} distinct whole numbers"
        return True, f"{kinds}: classification (--task regression if they are numbers)"
    least, most = in_four_digits(values.min()), in_four_digits(values.max())
    return False, f"numbers from {least} to {most}: regression"


def _task_of_text(series: Any, known: Any, path: str, asked: str, instead: str) -> tuple[bool, str]:
    import polars as pl

    name, distinct = series.name, known.n_unique()
    if series.dtype == pl.Boolean:
        if asked == "regression":
            return False, "false and true as 0 and 1: regression, as asked for"
        return True, "false or true: classification"
    if _are_dates(series, known):
        raise DataFileError(
            f"{path}: the target {name!r} holds dates, such as {str(known[0])!r}; make a number of "
            f"them, such as days since the first one{instead}"
        )
    numbers = known.cast(pl.Float64, strict=False).is_not_null().sum() if known.len() else 0
    # Numbers throughout that a file has as text, such as names of sequences, are labels.
    is_number_but_few = known.len() // 2 < numbers < known.len()
    if asked == "regression" or is_number_but_few or distinct > max(MOST_CLASSES, known.len() // 2):
        if _are_words(known):
            raise DataFileError(
                f"{path}: the target {name!r} is text with {distinct} distinct values, such as "
                f"{str(known[0])!r}, and no numbers; give another column by --target{instead}"
            )
        row, value = _first_text(series)
        many = "" if is_number_but_few else f", and {distinct} distinct values"
        raise DataFileError(
            f"{path}: the target {name!r} has {value!r} in row {row + 1}, which is no number"
            f"{many}; mend that cell{instead}"
        )
    return True, f"{distinct} distinct labels: classification"


def _are_dates(series: Any, known: Any) -> bool:
    """Whether a target is dates, as such or as text of ISO 8601."""
    import polars as pl

    if series.dtype.is_temporal():
        return True
    texts = known.head(LOOKED_AT).to_list() if series.dtype == pl.String else []
    return bool(texts) and are_iso_dates(texts)


def _are_words(known: Any) -> bool:
    """Whether most cells are words, and neither numbers in any dress nor marks for missing ones."""
    import polars as pl

    texts = known.cast(pl.String).to_frame()
    words = int(texts.select(is_word(pl.col(known.name)).sum()).item())
    return 2 * words > known.len()


def _first_text(series: Any) -> tuple[int, Any]:
    """Return the first row of a target that is no number, and what it holds.

    A mark for a missing number, or money, is named only where there is nothing else.
    """
    import polars as pl

    texts = series.cast(pl.String).to_frame()
    column = pl.col(series.name)
    is_text = column.is_not_null() & column.cast(pl.Float64, strict=False).is_null()
    for found in (is_word(column), is_text):
        rows = texts.select(found.arg_true()).to_series()
        if len(rows):
            break
    row = int(rows[0]) if len(rows) else 0
    return row, series[row]


def values_of(series: Any, is_classes: bool, like: Array | None) -> Array:
    """Return a target as an array: numbers, or labels of the type that others have.

    Parameters
    ----------
    series : polars.Series
        Cells that are all known.
    is_classes : bool
        Whether they are labels.
    like : array, optional
        Labels that these are to be compared with.
    """
    import polars as pl

    if not is_classes:
        return np.asarray(series.cast(pl.Float64).to_numpy())
    is_text = series.dtype in (pl.Categorical, pl.Enum) or not (
        series.dtype.is_numeric() or series.dtype == pl.Boolean
    )
    labels = np.asarray((series.cast(pl.String) if is_text else series).to_numpy())
    labels = labels.astype(str) if labels.dtype == object else labels
    if labels.dtype.kind == "f" and bool((labels == np.round(labels)).all()):
        labels = labels.astype(np.int64)
    if like is not None and labels.dtype.kind != like.dtype.kind:
        labels = labels.astype(like.dtype.kind if like.dtype.kind == "U" else like.dtype)
    return labels
