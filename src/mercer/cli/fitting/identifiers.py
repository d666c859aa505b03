"""What is said of columns of identifiers, which tell rows apart and not how they are alike."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from mercer.data.columns import column_values
from mercer.data.stream import some_rows
from mercer.kernels import Kernel, describe_columns
from mercer.kernels.tables.default import ColumnUse
from mercer.kernels.tables.roles import Role, is_key_name, is_time_name


def remarks_on_identifiers(X: Any, kernel: Kernel, is_grouped: bool, is_given: bool) -> list[str]:
    """Return what a user should know of columns that are or may be identifiers of rows.

    Parameters
    ----------
    X : table or Stream
        The rows to learn from.
    kernel : Kernel
        The kernel of the model.
    is_grouped : bool
        Whether rows of a group are held out together.
    is_given : bool
        Whether the user has given the kernel, and with it which columns are left out.
    """
    rows = some_rows(X)
    if not hasattr(rows, "columns"):
        return []
    read = {use.column: use.is_used for use in describe_columns(rows, kernel)}
    values = dict(column_values(rows))
    found = []
    for use in describe_columns(rows):
        name = f"column {use.column!r}"
        if use.role is Role.IDENTIFIER and not read[use.column]:
            if is_given:
                continue
            keep = f"--keep {shlex.quote(str(use.column))}"
            found.append(
                f"{name} {use.reason} and is left out; {keep} keeps it, as a --kernel that names "
                "it does"
            )
        elif read[use.column] and use.is_used:
            told = _remark(use, values[str(use.column)], is_grouped)
            found += [f"{name} {told}"] if told else []
    return found


def _remark(use: ColumnUse, values: Any, is_grouped: bool) -> str:
    """Return what is said of a column that is read."""
    known = len(values) - use.missing
    comes_back = use.distinct is not None and use.distinct < known
    if is_key_name(use.column):
        if is_grouped or not comes_back or use.role is Role.DATE:
            return ""
        column = shlex.quote(str(use.column))
        return (
            f"has {use.distinct} identifiers in {known} rows and is read as {use.holds}; rows of "
            f"one are held out together by --groups {column}, and --drop leaves it out"
        )
    # Rows below which numbers may grow by chance.
    least = 20
    if use.role is not Role.NUMBER or comes_back or use.missing or len(values) < least:
        return ""
    numbers = np.asarray(values, float)
    steps = np.diff(numbers)
    grows = bool((steps > 0.0).all() or (steps < 0.0).all())
    if is_time_name(use.column) or not grows or (numbers != np.floor(numbers)).any():
        return ""
    return (
        "has whole numbers that grow from row to row, as numbers of orders or persons do, and is "
        "read as numbers; --drop leaves it out if it says nothing of new rows"
    )
