"""Which rows a model learns from, and which are held out to test it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.cli.fitting.data import MOST_TESTED, Job
from mercer.cli.fitting.order import TimeOrder, remark_on_neighbours
from mercer.errors import DataFileError

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from, and rows that are held out to test what was learnt.

    Parameters
    ----------
    train, test : Job
        Both.
    by : {"random", "groups", "time", "file"}
        How they were told apart.
    words : str
        Which rows are held out.
    notes : tuple of str
        What was decided about it, for the user to read.
    cautions : tuple of str
        What to know before scores are believed.
    """

    train: Job
    test: Job
    by: str
    words: str
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


def split(job: Job, share: float, seed: int, by: str = "auto") -> Split:
    """Return the rows to learn from and those held out, in their order.

    Where rows are in an order of time the last ones are held out, as new rows come later. Else they
    are held out at random: classes keep their shares, a class of one row is learnt from, and rows
    of a group stay together. No more rows are held out than scores need, but of whole groups.

    Parameters
    ----------
    job : Job
        All rows.
    share : float
        The share that is held out.
    seed : int
        Of the draw.
    by : {"auto", "random", "time"}
        How.
    """
    if job.groups is None:
        share = min(share, MOST_TESTED / len(job))
    order = job.order if job.groups is None and by != "random" else None
    if order is not None and (by == "time" or order.is_that_of_the_rows):
        last = order.last(share)
        if by == "time" or _is_a_test(job, last):
            return _by_time(job, order, last, seed, by == "auto")
    if job.groups is not None:
        parts = _parts(job, _by_groups(job, share, seed), seed)
        return Split(*parts, "groups", "whole groups, drawn at random")
    parts = _parts(job, _by_rows(job, share, seed), seed)
    has_dates = order is not None and order.column is not None and len(order.times) > 1
    notes = (_of_dates(order),) if has_dates and order is not None else ()
    cautions = tuple(remark_on_neighbours(job.y, job.is_classes))
    return Split(*parts, "random", "drawn at random", notes, cautions)


def _of_dates(order: TimeOrder) -> str:
    why = "" if order.is_that_of_the_rows else ", for the rows are not in its order"
    column = shlex.quote(order.column or "")
    return (
        f"column {order.column!r} has dates or times, and rows are held out at random{why}; if "
        "new rows come later than these, test on the last ones by --test-split time "
        f"--time {column}"
    )


def _parts(job: Job, test: Index, seed: int) -> tuple[Job, Job]:
    """Return the rows that are not held out, and those that are."""
    is_test = np.zeros(len(job), bool)
    is_test[test] = True
    train = job.part(np.flatnonzero(~is_test))
    if len(np.unique(train.y)) < 2:
        raise DataFileError(
            f"{job.path}: all rows to learn from have the same target {job.target!r}; "
            "hold out fewer by --test, or try another --seed or --test-split"
        )
    return train, job.part(np.flatnonzero(is_test)).in_memory(MOST_TESTED, seed)


def _is_a_test(job: Job, last: Index) -> bool:
    """Whether the other rows can be learnt from, and have all classes of the last ones."""
    others = np.unique(np.delete(job.y, last))
    has_all = not job.is_classes or np.isin(job.y[last], others).all()
    return 0 < len(last) < len(job) and len(others) > 1 and bool(has_all)


def _by_time(job: Job, order: TimeOrder, last: Index, seed: int, is_chosen: bool) -> Split:
    """Return the split that holds out the last rows."""
    if len(last) == 0:
        raise DataFileError(
            f"{job.path}: all rows are at one time by {order.column!r}; use --test-split random"
        )
    words = order.since(last)
    note = (
        f"rows are in the order of {order.column!r}: held out are {words}, as new rows come later; "
        "--test-split random holds out rows at random"
    )
    return Split(*_parts(job, last, seed), "time", words, (note,) if is_chosen else ())


def _by_groups(job: Job, share: float, seed: int) -> Index:
    from sklearn.model_selection import GroupShuffleSplit

    groups = np.asarray(job.groups)
    if (groups == groups[0]).all():
        raise DataFileError(f"{job.path}: the groups are all the same; at least two are needed")
    splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
    return np.asarray(next(splitter.split(job.y, groups=groups))[1])


def _by_rows(job: Job, share: float, seed: int) -> Index:
    from sklearn.model_selection import train_test_split

    index = np.arange(len(job))
    classes: Any = None
    if job.is_classes:
        _, codes, counts = np.unique(job.y, return_inverse=True, return_counts=True)
        index = index[counts[codes] >= 2]
        held_out = round(share * len(index))
        is_enough = min(held_out, len(index) - held_out) >= int((counts >= 2).sum())
        classes = codes[index] if is_enough else None
    if len(index) < 2:
        raise DataFileError(
            f"{job.path}: every class of the target {job.target!r} has one row; more are needed to "
            "test a model, or use --task regression"
        )
    parts = train_test_split(index, test_size=share, random_state=seed, stratify=classes)
    return np.asarray(parts[1])
