"""Warnings of columns of a training table: those that a kernel ignores, and text that is none."""

from __future__ import annotations

from typing import Any

from mercer.errors import IgnoredColumnsWarning, TextColumnsWarning, warn_caller
from mercer.kernels import ColumnReport, Kernel


def warn_of_ignored(kernel: Kernel, ignored: list[tuple[Any, str]]) -> None:
    """Name the columns that a kernel leaves out because of what they hold."""
    # Columns that a warning names.
    most_named = 10
    held = ", ".join(f"{column!r} ({what})" for column, what in ignored[:most_named])
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
        f"column {first.column!r} {first.remark}{code}; mercer.read_table(X) reads such columns as "
        f"mercer fit does; or declare it a category to keep it{more}",
        TextColumnsWarning,
    )
