"""From a table to what a model is fitted to: the target, its task, weights, groups and a split."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import DataFileError

Array = NDArray[Any]

# Distinct whole numbers up to which they are taken for classes.
MOST_CLASSES = 10
# Rows below which nothing is left to test on.
LEAST_ROWS = 10


@dataclass(frozen=True, eq=False)
class Job:
    """What is to be learnt.

    Parameters
    ----------
    X : table
        The columns to learn from.
    y : array of shape (n,)
        Numbers, or labels of classes.
    weights : array of shape (n,), optional
        The weights of the rows.
    groups : array of shape (n,), optional
        Rows of a group are held out together.
    is_classes : bool
        Whether the target is a class.
    notes : tuple of str
        What was decided about the data, for the user to read.
    """

    X: Any
    y: Array
    weights: Array | None
    groups: Array | None
    is_classes: bool
    notes: tuple[str, ...]

    def part(self, index: Array) -> Job:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[index]
        groups = None if self.groups is None else self.groups[index]
        rows = self.X[index.tolist()]
        return Job(rows, self.y[index], weights, groups, self.is_classes, self.notes)


def job_of(
    frame: Any,
    path: str,
    target: str,
    task: str,
    weights: str | None,
    groups: str | None,
    drop: tuple[str, ...],
    missing: str,
) -> Job:
    """Return what is to be learnt from a table of polars.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    path : str
        The file it comes from, for errors.
    target, weights, groups : str
        The names of the columns.
    task : {"auto", "regression", "classification"}
        What the target is.
    drop : tuple of str
        Columns that are left out.
    missing : {"auto", "refuse", "drop"}
        What to do about missing cells.
    """
    for name in (target, *(n for n in (weights, groups) if n), *drop):
        _check_column(frame, path, name)
    if target in drop:
        raise DataFileError(f"the target {target!r} is also to be dropped; leave one of them out")
    notes: list[str] = []
    frame = frame.drop(list(drop))
    frame = _with_target(frame, target, notes)
    others = [name for name in frame.columns if name not in (target, weights, groups)]
    if not others:
        raise DataFileError(f"{path} has no column beside the target to learn from")
    frame = _without_gaps(frame, path, others, missing, notes)
    if frame.height == 0:
        raise DataFileError(f"{path} has no row with a target {target!r}")
    series = frame.get_column(target)
    is_classes = _is_classes(series, path, task, notes)
    y = series.to_numpy() if not is_classes else _labels(series)
    if len(np.unique(y)) < 2:
        raise DataFileError(f"{path}: the target {target!r} is {y[0]} in all {len(y)} rows")
    if frame.height < LEAST_ROWS:
        raise DataFileError(
            f"{path} has {frame.height} rows with a target; at least {LEAST_ROWS} are needed to "
            "fit and test a model"
        )
    w = None if weights is None else _numbers(frame.get_column(weights), path)
    g = None if groups is None else frame.get_column(groups).cast(str).fill_null("").to_numpy()
    return Job(frame.select(others), y, w, g, is_classes, tuple(notes))


def split(job: Job, share: float, seed: int) -> tuple[Array, Array]:
    """Return the rows to learn from and those held out, as a share of all.

    Classes keep their shares, and rows of a group stay together.
    """
    from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit, train_test_split

    n = len(job.y)
    index = np.arange(n)
    if job.groups is not None:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
        return next(splitter.split(index, groups=job.groups))
    if job.is_classes:
        counts = np.unique(job.y, return_counts=True)[1]
        if counts.min() >= 2 and round(share * n) >= len(counts):
            splitter = StratifiedShuffleSplit(1, test_size=share, random_state=seed)
            return next(splitter.split(index, job.y))
    train, test = train_test_split(index, test_size=share, random_state=seed)
    return np.sort(train), np.sort(test)


def _check_column(frame: Any, path: str, name: str) -> None:
    if name in frame.columns:
        return
    close = get_close_matches(name, frame.columns, 1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(frame.columns[:20])}"
    raise DataFileError(f"{path} has no column {name!r}{hint}")


def _with_target(frame: Any, target: str, notes: list[str]) -> Any:
    known = frame.get_column(target).is_not_null()
    if frame.get_column(target).dtype.is_float():
        known = known & frame.get_column(target).is_not_nan()
    left = int((~known).sum())
    if left:
        notes.append(f"{left} rows without a target are left out")
    return frame.filter(known)


def _without_gaps(frame: Any, path: str, columns: list[str], missing: str, notes: list[str]) -> Any:
    """Return a table whose missing cells are refused, left out or kept for the kernel."""
    import polars as pl

    nan = pl.col(pl.Float64, pl.Float32).is_nan()
    frame = frame.with_columns(
        pl.when(nan).then(None).otherwise(pl.col(pl.Float64, pl.Float32)).name.keep()
    )
    counts = {name: frame.get_column(name).null_count() for name in columns}
    gaps = {name: count for name, count in counts.items() if count}
    if not gaps or missing == "auto":
        return frame
    if missing == "refuse":
        name, count = next(iter(gaps.items()))
        raise DataFileError(
            f"{path}: the column {name!r} has {count} missing cells; use --missing auto or drop"
        )
    kept = frame.drop_nulls(subset=columns)
    notes.append(f"{frame.height - kept.height} rows with missing cells are left out")
    return kept


def _is_classes(series: Any, path: str, task: str, notes: list[str]) -> bool:
    """Whether the target is a class, by what was asked for or by its values."""
    import polars as pl

    name, dtype, distinct = series.name, series.dtype, series.n_unique()
    if task == "classification":
        return True
    is_number = dtype.is_numeric()
    if task == "regression":
        if not is_number and dtype != pl.Boolean:
            row, value = _first_text(series)
            raise DataFileError(
                f"{path}: the target {name!r} has {value!r} in row {row + 1}, which is no number; "
                "mend it, or use --task classification"
            )
        return False
    if not is_number:
        row, value = _first_text(series)
        if row >= 0 and distinct > max(MOST_CLASSES, series.len() // 2):
            raise DataFileError(
                f"{path}: the target {name!r} has {value!r} in row {row + 1} and {distinct} "
                "distinct values; mend it if it should be a number, or use --task classification"
            )
        notes.append(f"the target {name!r} has {distinct} distinct labels: classification")
        return True
    if dtype.is_integer() and distinct <= MOST_CLASSES:
        notes.append(
            f"the target {name!r} has {distinct} distinct whole numbers: classification "
            "(--task regression for numbers)"
        )
        return True
    notes.append(f"the target {name!r} is a number: regression")
    return False


def _first_text(series: Any) -> tuple[int, Any]:
    """Return the first row of a target that is no number, and what it holds."""
    for row, value in enumerate(series.to_list()):
        try:
            float(value)
        except (TypeError, ValueError):
            return row, value
    return -1, None


def _labels(series: Any) -> Array:
    import polars as pl

    is_text = series.dtype in (pl.Categorical, pl.Enum)
    values = series.cast(pl.String) if is_text else series
    array = values.to_numpy()
    return array.astype(str) if array.dtype == object else array


def _numbers(series: Any, path: str) -> Array:
    if not series.dtype.is_numeric() or series.null_count():
        raise DataFileError(f"{path}: the column {series.name!r} of weights must hold numbers")
    return np.asarray(series.to_numpy(), np.float64)
