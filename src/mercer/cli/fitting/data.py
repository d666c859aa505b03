"""From a file to what a model is fitted to: rows, the target, weights, groups and a split."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from mercer.cli.fitting.gaps import check_read, read_by, rows_without_gaps
from mercer.cli.fitting.known import Known
from mercer.cli.fitting.order import TimeOrder, likely_times, time_order
from mercer.cli.fitting.target import check_finite, counted, is_known, task_of, values_of
from mercer.data.columns import take_rows
from mercer.data.limits.memory import memory_limit
from mercer.data.stream import Stream, some_rows
from mercer.errors import DataFileError, TextColumnsWarning
from mercer.files.form import OPEN, Form
from mercer.files.lines import SVMLIGHT_TARGET, SparseRows, opened_rows
from mercer.files.tables import Table
from mercer.kernels import Kernel, describe_columns
from mercer.kernels.tables.roles import Role
from mercer.solvers.rounding import usual_unit

Array = NDArray[Any]

# Rows that are held out at most: more would take longer and tell little more.
MOST_TESTED = 100_000


@dataclass(frozen=True)
class Roles:
    """What columns are for, by name.

    Parameters
    ----------
    target : str or None
        What to predict; of a file of svmlight the number that lines begin with.
    weights, groups : str, optional
        The weights of the rows; rows of a group are held out together.
    drop : tuple of str
        Columns that are left out.
    keep : tuple of str
        Columns to learn from though they look like identifiers.
    missing : {"auto", "impute", "refuse", "drop"}
        What to do about missing cells of the columns to learn from.
    time : str, optional
        The column whose order is that of time.
    is_timed : bool
        Whether the last rows are asked for, whatever tells which ones they are.
    kernels : tuple of Kernel or "auto"
        Those that are given.
    """

    target: str | None
    weights: str | None = None
    groups: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: str = "auto"
    time: str | None = None
    is_timed: bool = False
    kernels: tuple[Kernel | str, ...] = ()


@dataclass(frozen=True, eq=False)
class Job:
    """What is to be learnt.

    Parameters
    ----------
    path, target : str
        The file, and the column to predict.
    X : table, CSR matrix or Stream
        The rows to learn from.
    y : array of shape (n,)
        Numbers, or labels of classes.
    weights, groups : array of shape (n,), optional
        The weights of the rows, and their groups.
    is_classes : bool
        Whether the target is a class.
    task : str
        What the target holds, and which task follows.
    notes : tuple of str
        What was decided about the data, for the user to read.
    form : Form
        How the columns of the file were read.
    rows : array of shape (n,)
        Which rows of the file these are, from 0 on.
    order : TimeOrder, optional
        Their order in time, where a column tells it.
    keep : tuple of str
        Columns that are no identifiers, whatever they look like.
    dropped : tuple of str
        Columns that are left out.
    is_whole : bool
        Whether all rows of the file are here.
    """

    path: str
    target: str
    X: Any
    y: Array
    weights: Array | None
    groups: Array | None
    is_classes: bool
    task: str
    notes: tuple[str, ...]
    form: Form
    rows: Array
    order: TimeOrder | None = None
    keep: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    is_whole: bool = True

    def __len__(self) -> int:
        return len(self.y)

    @property
    def known(self) -> Known:
        """What other rows have in common with these."""
        return Known(self.is_classes, self.y, self.form)

    @property
    def nbytes(self) -> int:
        """The bytes that it takes, of a stream without its rows."""
        times, X = None if self.order is None else self.order.ranks, self.X
        held: list[Any] = [self.y, self.weights, self.groups, self.rows, times]
        held += [X.data, X.indices, X.indptr] if hasattr(X, "indptr") else []
        size = X.estimated_size() if hasattr(X, "estimated_size") else 0
        return int(size) + sum(each.nbytes for each in held if each is not None)

    def part(self, index: Array) -> Job:
        """Return some of the rows, in ascending order."""
        weights = None if self.weights is None else self.weights[index]
        groups = None if self.groups is None else self.groups[index]
        y, rows = self.y[index], self.rows[index]
        # Which rows of the file count is said once for a stream, and in half the bytes.
        is_stream = isinstance(self.X, Stream)
        X = replace(self.X, index=rows) if is_stream else take_rows(self.X, index)
        order = None if self.order is None else self.order.part(index)
        parts = {"X": X, "y": y, "weights": weights, "groups": groups, "rows": rows}
        return replace(self, **parts, order=order, is_whole=False)

    def in_memory(self, most: int, seed: int = 0) -> Job:
        """Return rows of a stream in memory: at most so many of them, at random."""
        if not isinstance(self.X, Stream):
            return self
        n = len(self)
        index = np.arange(n)
        if n > most:
            index = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        part = self.part(index)
        return replace(part, X=part.X.collected())


def job_of(
    path: str,
    roles: Roles,
    task: str = "auto",
    memory: Any = None,
    like: Known | None = None,
    encoding: str | None = None,
) -> Job:
    """Return what is to be learnt from a file.

    Parameters
    ----------
    path : str
        The file, see `mercer.files.lines.opened_rows`.
    roles : Roles
        What its columns are for.
    task : {"auto", "regression", "classification"}
        What the target is.
    memory : int or str, optional
        The limit of memory, of which a table takes a quarter; a larger one is a stream.
    like : Known, optional
        What is known of rows that are to test a model: its columns and task are theirs.
    encoding : str, optional
        How the bytes of CSV and TSV are text.
    """
    rows = opened_rows(path, OPEN if like is None else like.form, encoding)
    if isinstance(rows, SparseRows):
        return _sparse_job(rows, roles, task, like)
    return _table_job(rows, roles, task, memory, like)


def _sparse_job(rows: SparseRows, roles: Roles, task: str, like: Known | None) -> Job:
    import polars as pl

    named = (roles.weights, roles.groups, roles.drop, roles.keep)
    if roles.target not in (None, SVMLIGHT_TARGET) or any(named):
        raise DataFileError(
            f"{rows.path} is svmlight and its columns have no names; leave --target, --weights, "
            "--groups, --drop and --keep out"
        )
    target = pl.Series(SVMLIGHT_TARGET, rows.y)
    is_classes, sentence = _task(target, rows.path, task, like)
    y = values_of(target, is_classes, None if like is None else like.labels)
    form = Form(rows.first_index, rows.X.shape[1])
    places = np.arange(len(y))
    job = Job(rows.path, target.name, rows.X, y, None, None, is_classes, sentence, (), form, places)
    return _checked(job, like)


def _table_job(table: Table, roles: Roles, task: str, memory: Any, like: Known | None) -> Job:
    path, target = table.path, roles.target
    if target is None:
        raise click.UsageError(f"say which column of {path} to predict: --target COLUMN")
    dropped, kept_columns = (_listed(names, table.names) for names in (roles.drop, roles.keep))
    # One column may be for several things.
    purposes = (target, roles.weights, roles.groups)
    aside = list(dict.fromkeys(n for n in purposes if n))
    if roles.time is not None:
        _check_column(table, roles.time)
    for name in (*aside, *dropped, *kept_columns):
        _check_column(table, name)
    if target in dropped:
        raise DataFileError(f"the target {target!r} is also to be dropped; leave one of them out")
    others = [name for name in table.names if name not in (*aside, *dropped)]
    for name in kept_columns:
        if name not in others:
            raise DataFileError(f"--keep {name!r} is not a column to learn from; leave it out")
    check_read(roles.kernels, path, (*aside, *dropped))
    if not others:
        raise DataFileError(f"{path} has no column beside the target to learn from; add some")
    # The share of the memory up to which a table is read at once.
    share = 0.25
    is_large = _bytes(table, others) > share * memory_limit(memory)
    whole = None if is_large else table.read()
    # Of a table that is not in memory the first rows say which columns to look at.
    told = [roles.time] if roles.time else []
    told = told or (likely_times(table.head()) if whole is None and like is None else [])
    columns = table.columns(list(dict.fromkeys([*aside, *told]))) if whole is None else whole
    series = columns.get_column(target)
    check_finite(columns if whole is None else whole.select([*aside, *others]), path)
    order = None
    if like is None:
        timed = columns.select(
            name for name in columns.columns if name not in aside or name in told
        )
        order = time_order(timed, len(series), path, roles.time, roles.is_timed)
    X = table.stream(others) if whole is None else whole.select(others)
    remarks = table.remarks if like is not None else (*table.remarks, *_spelled(X, table.remarks))
    kept, notes = is_known(series), list(remarks)
    if not kept.all():
        notes.append(f"{counted(int((~kept).sum()))} without a target left out")
    if not kept.any():
        raise DataFileError(f"{path} has no row with a target {target!r}; fill that column")
    is_classes, sentence = _task(series, path, task, like)
    if is_classes and like is None:
        notes += _in_two_cases(series)
    full = None
    if roles.missing in ("drop", "refuse"):
        learned = read_by(roles.kernels, some_rows(X), roles.keep)
        full = rows_without_gaps(table, learned, roles.missing == "refuse")
    if full is not None:
        notes.append(f"{counted(int((kept & ~full).sum()))} with missing cells left out")
        kept = kept & full
    y = values_of(
        series.filter(is_known(series)), is_classes, None if like is None else like.labels
    )
    if len(y) < len(kept):
        known, y = y, np.zeros(len(kept), y.dtype)
        y[is_known(series)] = known
    w = None if roles.weights is None else _weights(columns.get_column(roles.weights), path)
    g = None if roles.groups is None else _groups(columns.get_column(roles.groups))
    form = replace(table.form(others), remarks=remarks)
    # Of many rows their numbers take half as much in this form.
    rows = np.arange(len(y), dtype=np.uint32)
    about = (is_classes, sentence, tuple(notes), form, rows, order, kept_columns, dropped)
    job = Job(path, target, X, y, w, g, *about)
    return _checked(job if kept.all() else job.part(np.flatnonzero(kept)), like)


def _spelled(X: Any, told: tuple[str, ...]) -> list[str]:
    """Return what is to be said of columns of text, and was not told before."""
    rows = some_rows(X)
    uses = describe_columns(rows).columns
    remarks = {f"column {use.column!r}": use.remark for use in uses if use.remark}
    spelled = [
        f"{column} {remark}"
        for column, remark in remarks.items()
        if not any(text.startswith(column) for text in told)
    ]
    categories = [use.column for use in uses if use.role is Role.CATEGORY]
    return [*spelled, *(text for name in categories for text in _in_two_cases(rows[name]))]


def _in_two_cases(series: Any) -> list[str]:
    """Return what is to be said of words that differ by capital letters alone."""
    alike: dict[str, list[str]] = {}
    for word in sorted(map(str, series.drop_nulls().unique().to_list())):
        alike.setdefault(word.casefold(), []).append(word)
    pairs = [words for words in alike.values() if len(words) > 1]
    if not pairs:
        return []
    first, second = pairs[0][:2]
    more = f", as do {len(pairs) - 1} more" if pairs[1:] else ""
    return [
        f"column {series.name!r}: {first!r} and {second!r} differ by capital letters alone{more}; "
        "they are told apart, write them alike if they are one"
    ]


@contextmanager
def without_text_warnings() -> Iterator[None]:
    """Have models keep to themselves what the command has said of the columns of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextColumnsWarning)
        yield


def _task(series: Any, path: str, task: str, like: Known | None) -> tuple[bool, str]:
    if like is None:
        return task_of(series, path, task)
    # The task is that of the model.
    return task_of(series, path, "classification" if like.is_classes else "regression", "")


def _checked(job: Job, like: Known | None) -> Job:
    """Return a job that can be learnt; one that tests another may have a single row."""
    if like is not None:
        return job
    # Rows below which nothing is left to test on.
    least_rows = 10
    if len(job) < least_rows:
        raise DataFileError(
            f"{job.path} has {counted(len(job))} with a target {job.target!r}; at least "
            f"{least_rows} are needed to fit and test a model"
        )
    size = 0.0 if job.is_classes else float(np.abs(job.y).max())
    if usual_unit(size) != 1.0:
        raise DataFileError(
            f"{job.path}: the target {job.target!r} has numbers of up to {size:.3g}, whose squares "
            "are no numbers to score by; divide it by that"
        )
    if (job.y == job.y[0]).all():
        raise DataFileError(
            f"{job.path}: the target {job.target!r} is {job.y[0]} in all {len(job)} rows; there is "
            "nothing to predict, give another target"
        )
    return job


def _listed(texts: tuple[str, ...], known: list[str]) -> tuple[str, ...]:
    """Return the columns that texts name: each itself, or several with commas between them."""
    listed = ([text] if text in known else text.split(",") for text in texts)
    return tuple(name if name in known else name.strip() for names in listed for name in names)


def _check_column(table: Table, name: str) -> None:
    if name in table.names:
        return
    close = get_close_matches(name, table.names, 1)
    listed = ", ".join(table.names[:20]) + (", ..." if len(table.names) > 20 else "")
    hint = f"did you mean {close[0]!r}?" if close else f"it has {listed}"
    if all(re.fullmatch(r"[-+.\deE]+", other) for other in table.names):
        hint += "; a line that names the columns should be the first, put one there"
    raise DataFileError(f"{table.path} has no column {name!r}; {hint}")


def _bytes(table: Table, columns: list[str]) -> int:
    """Return about what columns take in memory: numbers in float64, or the text of the file."""
    size = Path(table.path).stat().st_size if Path(table.path).is_file() else 0
    return max(8 * table.height * len(columns), size)


def _weights(series: Any, path: str) -> Array:
    known = is_known(series)
    if series.dtype.is_numeric() and not known.all():
        raise DataFileError(
            f"{path}: the column {series.name!r} of weights has {int((~known).sum())} missing "
            f"cells, the first in row {int(np.argmin(known)) + 1}; fill them, 0 leaves a row out"
        )
    if not series.dtype.is_numeric():
        raise DataFileError(f"{path}: the column {series.name!r} of weights must hold numbers only")
    return np.asarray(series.to_numpy(), np.float64)


def _groups(series: Any) -> Array:
    """Return the groups of rows as numbers; rows without one are a group."""
    return np.asarray(series.rank("dense").fill_null(0).to_numpy(), np.int64)
