"""Categories of new rows that no row had which a model was fitted to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer.cli.fitting.data import Job
from mercer.data.stream import Stream, some_rows
from mercer.kernels import Kernel, describe_columns

# Levels up to which those of a column are remembered, rows of a stream that are read at a time, and
# unseen values that are named.
MOST_LEVELS, ROWS, NAMED = 10_000, 1 << 16, 3
# How the expression of a kernel that compares categories begins.
MATCH = "match"

Levels = tuple[tuple[str, tuple[str, ...]], ...]


def categories_of(job: Job, kernel: Kernel) -> Levels:
    """Return the columns that a kernel compares as categories, and what they hold.

    Parameters
    ----------
    job : Job
        The rows that a model is fitted to.
    kernel : Kernel
        Its kernel.
    """
    X = some_rows(job.X)
    if not hasattr(X, "columns"):
        return ()
    uses = describe_columns(X, kernel)
    names = [str(u.column) for u in uses if u.is_used and MATCH in u.becomes]
    found: dict[str, set[str]] = {name: set() for name in names}
    if names:
        blocks = job.X.blocks(ROWS) if isinstance(job.X, Stream) else [(None, job.X)]
        for _, block in blocks:
            for name in names:
                found[name].update(_as_texts(block.get_column(name)).drop_nulls().unique())
    return tuple((n, tuple(sorted(v))) for n, v in found.items() if len(v) <= MOST_LEVELS)


def _as_texts(series: Any) -> Any:
    import polars as pl

    return series.cast(pl.String)


@dataclass(eq=False)
class Unseen:
    """The unseen categories of rows that come in blocks: a few by name, and the rows of all.

    It takes no more memory with more rows, even where every row has a category of its own.

    Parameters
    ----------
    known : tuple of (str, tuple of str)
        The categories of every column, as `categories_of` returns them.
    """

    known: Levels
    _rows: dict[str, int] = field(default_factory=dict, init=False)
    _named: dict[str, list[str]] = field(default_factory=dict, init=False)
    _others: dict[str, int] = field(default_factory=dict, init=False)

    def see(self, X: Any) -> None:
        """Count the unseen categories of a table of polars."""
        for name, levels in self.known:
            if name not in getattr(X, "columns", ()):
                continue
            texts = _as_texts(X.get_column(name)).drop_nulls()
            new = texts.filter(~texts.is_in(list(levels)))
            if len(new):
                self._rows[name] = self._rows.get(name, 0) + len(new)
                named = self._named.setdefault(name, [])
                others = new.filter(~new.is_in(named))
                named.extend(others.unique().sort().head(NAMED - len(named)))
                rows = int((~others.is_in(named)).sum())
                self._others[name] = self._others.get(name, 0) + rows

    @property
    def sentences(self) -> list[str]:
        """What was found, a line for every column."""
        return [self._sentence(name) for name in self._rows]

    def _sentence(self, name: str) -> str:
        rows, others = self._rows[name], self._others[name]
        said = ", ".join(map(repr, self._named[name]))
        more = f" and others in {others} of them" if others else ""
        counted = "1 row has a category" if rows == 1 else f"{rows} rows have categories"
        return (
            f"column {name!r}: {counted} that no training row has, {said}{more}; predictions "
            "there rest on the other columns"
        )
