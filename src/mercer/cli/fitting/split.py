"""Which rows a model learns from, and which are held out to test it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.cli.fitting.data import MOST_TESTED, Job
from mercer.data.stream import Stream
from mercer.errors import DataFileError

Index = NDArray[np.intp]


def split(job: Job, share: float, seed: int) -> tuple[Job, Job]:
    """Return the rows to learn from and those held out, at random and in order.

    Classes keep their shares, a class of one row is learnt from, and rows of a group stay together.
    Of a table that is not in memory no more rows are held out than scores need.

    Parameters
    ----------
    job : Job
        All rows.
    share : float
        The share that is held out.
    seed : int
        Of the draw.
    """
    n = len(job)
    if isinstance(job.X, Stream) and job.groups is None:
        share = min(share, MOST_TESTED / n)
    test = _by_groups(job, share, seed) if job.groups is not None else _by_rows(job, share, seed)
    is_test = np.zeros(n, bool)
    is_test[test] = True
    train = job.part(np.flatnonzero(~is_test))
    if len(np.unique(train.y)) < 2:
        raise DataFileError(
            f"{job.path}: all rows to learn from have the same target {job.target!r}; "
            "hold out fewer by --test, or try another --seed"
        )
    return train, job.part(np.flatnonzero(is_test)).in_memory(MOST_TESTED, seed)


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
