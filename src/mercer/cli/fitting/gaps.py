"""Which rows have missing cells, in the columns that a kernel reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import DataFileError
from mercer.files.tables import Table
from mercer.kernels import Kernel, describe_columns
from mercer.kernels.columns import named_columns
from mercer.kernels.language.names import is_auto


def read_by(kernels: Sequence[Kernel | str], rows: Any, keep: Sequence[str]) -> list[str]:
    """Return the columns of a table that some kernels read; without one, that which they suggest.

    Parameters
    ----------
    kernels : sequence of Kernel or "auto"
        Those that are given.
    rows : table
        The columns to learn from.
    keep : sequence of str
        Columns that are no identifiers, whatever they look like.
    """
    given = [None if is_auto(k) else k for k in kernels] or [None]
    reports = [describe_columns(rows, k, keep) for k in given]
    used = {use.column for report in reports for use in report if use.is_used}
    return [name for name in rows.columns if name in used]


def check_read(kernels: Sequence[Kernel | str], path: str, left: Sequence[str]) -> None:
    """Refuse a kernel that reads one of the columns that are no part of the rows.

    Parameters
    ----------
    kernels : sequence of Kernel or "auto"
        Those that are given.
    path : str
        The file.
    left : sequence of str
        The target, columns of weights and groups, and those that are dropped.
    """
    for kernel in kernels:
        read = [] if isinstance(kernel, str) else [n for n in left if n in named_columns(kernel)]
        if read:
            raise DataFileError(
                f"{path}: the kernel reads the column {read[0]!r}, which --target, --weights, "
                "--groups or --drop takes out of the rows to learn from; leave one of them out"
            )


def rows_without_gaps(
    table: Table, columns: Sequence[str], are_refused: bool
) -> NDArray[np.bool_] | None:
    """Return which rows have no missing cell, None if all; empty columns count for none.

    Parameters
    ----------
    table : Table
        The file.
    columns : sequence of str
        The columns that are looked at.
    are_refused : bool
        Whether a missing cell is an error.
    """
    import polars as pl

    if not columns:
        return None

    schema = table.scan.collect_schema()
    gaps = {
        name: pl.col(name).is_null() | pl.col(name).is_nan().fill_null(True)
        if schema[name].is_float()
        else pl.col(name).is_null()
        for name in columns
    }
    counts = table.scan.select(gap.sum().alias(name) for name, gap in gaps.items())
    found = {n: c for n, c in counts.collect(engine="streaming").row(0, named=True).items() if c}
    if found and are_refused:
        listed = ", ".join(f"{name!r} has {count}" for name, count in list(found.items())[:5])
        raise DataFileError(
            f"{table.path} has missing cells: column {listed}; use --missing auto or drop"
        )
    partial = [gaps[name] for name, count in found.items() if count < table.height]
    if not partial:
        return None
    full = table.scan.select((~pl.any_horizontal(*partial)).alias("full"))
    return np.asarray(full.collect(engine="streaming").to_series().to_numpy(), bool)
