"""The rows of a fit as Python code, for whoever makes its model again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from mercer.cli.fitting.data import Job
from mercer.cli.fitting.split import Split
from mercer.data.stream import Stream
from mercer.files.tables import format_of

Places = NDArray[np.intp]

# What makes an array of the cells of a target, by the kind of its numbers or labels.
CASTS = {"f": ".cast(float)", "i": ".cast(int)", "u": ".cast(int)", "U": ".cast(str)", "b": ""}


def script_of(
    found: Split,
    weights: str | None,
    groups: str | None,
    encoding: str | None,
    share: float,
    seed: int,
) -> str:
    """Return code that makes X, y, X_test and y_test of files, or nothing where that is not short.

    Of weighted rows it makes `weights` and `weights_test` as well.

    Parameters
    ----------
    found : Split
        The rows that a model was fitted to, and those held out.
    weights, groups, encoding : str, optional
        The columns of weights and groups, and how the bytes of the files are text.
    share : float
        The share of rows that was to be held out.
    seed : int
        Of the draw.
    """
    train, rest = found.train, found.test
    is_file, given = found.by == "file", (weights, groups, encoding)
    if any(_is_without_names(job) for job in (train, rest)):
        return ""
    if is_file:
        if not (train.is_whole and rest.is_whole):
            return ""
        like = f", like={train.path!r}"
        lines = [*_read(train, "", "", *given), *_read(rest, like, "_test", *given)]
        return "\n".join(["import mercer", "", *lines])
    n = len(train) + len(rest)
    if not np.array_equal(np.sort(np.concatenate([train.rows, rest.rows])), np.arange(n)):
        return ""
    needed, drawn = _drawn(found, groups, n, share, seed)
    if not drawn:
        return ""
    names = ("X", "y", *(["weights"] if weights else []))
    parts = ", ".join(f"{name}[{part}]" for name in names for part in ("train", "test"))
    made = ", ".join(f"{name}, {name}_test" for name in names)
    lines = [*_read(train, "", "", *given), *drawn, f"{made} = {parts}"]
    return "\n".join(["import numpy as np", *needed, "", "import mercer", "", *lines])


def _is_without_names(job: Job) -> bool:
    """Whether rows are of standard input, of a file without columns, or not in memory."""
    is_stream = isinstance(job.X, Stream)
    return is_stream or job.path == "-" or format_of(job.path) == "svmlight"


def _read(
    job: Job,
    like: str,
    end: str,
    weights: str | None,
    groups: str | None,
    encoding: str | None,
) -> list[str]:
    """Return the lines that read a file, to names with some end."""
    aside = dict.fromkeys(name for name in (job.target, weights, groups, *job.dropped) if name)
    how = like if encoding is None else f"{like}, encoding={encoding!r}"
    target = f"table[{job.target!r}]{CASTS[job.y.dtype.kind]}.to_numpy()"
    lines = [
        f"table = mercer.read_table({job.path!r}{how})",
        f"X{end}, y{end} = table.drop({', '.join(map(repr, aside))}), {target}",
    ]
    if weights:
        lines.append(f"weights{end} = table[{weights!r}].cast(float).to_numpy()")
    return lines


def _drawn(
    found: Split, groups: str | None, n: int, share: float, seed: int
) -> tuple[list[str], list[str]]:
    """Return imports and lines that make `train` and `test`, if these are the rows of the split."""
    sklearn = "from sklearn.model_selection import "
    held_out = np.sort(found.test.rows)
    first = n - len(held_out)
    if held_out[0] == first:
        return [], [f"train, test = np.arange({first}), np.arange({first}, {n})"]
    if found.by == "groups":
        grouped = GroupShuffleSplit(1, test_size=share, random_state=seed)
        test = next(grouped.split(np.zeros(n), groups=_whole(found, "groups")))[1]
        lines = [
            f"groups = table[{groups!r}].rank('dense').fill_null(0).to_numpy()",
            f"draw = GroupShuffleSplit(1, test_size={share!r}, random_state={seed})",
            "train, test = next(draw.split(y, groups=groups))",
        ]
        is_same = np.array_equal(np.sort(test), held_out)
        return [f"{sklearn}GroupShuffleSplit"], lines if is_same else []
    some: Any = share if round(share * n) == len(held_out) else len(held_out)
    for stratify in (None, "y") if found.train.is_classes else (None,):
        labels = None if stratify is None else _whole(found, "y")
        given = {"test_size": some, "random_state": seed}
        try:
            test = train_test_split(np.arange(n), stratify=labels, **given)[1]
        except ValueError:
            # Labels of one row cannot be on both sides.
            continue
        if np.array_equal(np.sort(test), held_out):
            told = f"test_size={some!r}, random_state={seed}, stratify={stratify}"
            return [f"{sklearn}train_test_split"], [
                f"rows = train_test_split(np.arange({n}), {told})",
                "train, test = map(np.sort, rows)",
            ]
    return [], []


def _whole(found: Split, name: str) -> NDArray[Any]:
    """Return targets or groups of all rows, in their order."""
    both = [np.asarray(getattr(job, name)) for job in (found.train, found.test)]
    order = np.argsort(np.concatenate([found.train.rows, found.test.rows]))
    return np.concatenate(both)[order]
