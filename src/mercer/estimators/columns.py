"""Which columns of a training table a kernel reads, and a warning of those that it ignores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import scipy.sparse as sp

from mercer.data.columns import is_table
from mercer.data.kinds import READ, Kind, column_kinds
from mercer.errors import IgnoredColumnsWarning, TextColumnsWarning, warn_caller
from mercer.kernels import ColumnReport, Kernel
from mercer.kernels.columns import assigned, named_columns, names_columns, unread


def placed_on_columns(k: Kernel, X: Any) -> tuple[Kernel, list[tuple[Any, Kind]]]:
    """Return a kernel on the columns that it reads, and those it leaves without being asked to."""
    if not is_table(X) or k.is_precomputed:
        return k, []
    refuse_mapping(X)
    kinds: dict[Any, Kind] = {**column_kinds(X)}
    if not all(isinstance(name, str) for name in kinds):
        # Columns called by numbers are meant by their positions.
        kinds = dict(enumerate(kinds.values()))
    is_matrix = "numbers" in k.row_domains and all(
        kind in READ["numbers"] for kind in kinds.values()
    )
    if is_matrix and not named_columns(k):
        return k, []
    placed = assigned(k, kinds)
    ignored = [] if names_columns(k) else unread(placed, kinds)
    return placed, [(column, kinds[column]) for column in ignored]


def warn_of_ignored(kernel: Kernel, ignored: list[tuple[Any, Kind]]) -> None:
    """Name the columns that a kernel leaves out because of what they hold."""
    if not ignored:
        return
    # Columns that a warning names.
    most_named = 10
    held = ", ".join(f"{column!r} ({kind})" for column, kind in ignored[:most_named])
    more = f" and {len(ignored) - most_named} more" if len(ignored) > most_named else ""
    warn_caller(
        f"{kernel!s:.80} names no columns and ignores those of kinds that it does not read: {held}"
        f"{more}; the kernel 'auto' reads every column and scales the numbers, and .on(...) says "
        "which columns are meant",
        IgnoredColumnsWarning,
    )


def warn_of_text(report: ColumnReport) -> None:
    """Say of columns of text that they spell numbers or dates, and how to convert the first."""
    found = [use for use in report if use.remark and not use.is_code]
    if not found:
        return
    first = found[0]
    code = f": {first.conversion}" if first.conversion else ""
    more = f"; so do {len(found) - 1} more, see mercer.describe_columns(X)" if found[1:] else ""
    warn_caller(
        f"column {first.column!r} {first.remark}{code}; or declare it a category to keep it{more}",
        TextColumnsWarning,
    )


def refuse_mapping(X: Any) -> None:
    """Refuse a mapping of columns, which scikit-learn does not take for a table."""
    if isinstance(X, Mapping) and not sp.issparse(X):
        raise ValueError("X is a dict of columns; pass a pandas or polars table, or an array")
