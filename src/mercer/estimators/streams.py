"""Rows that come from a disk: who takes them, and their checks block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data.checks import as_floats, check_finite, check_not_infinite
from mercer.data.columns import select_columns
from mercer.data.limits.memory import lacking, memory_limit
from mercer.data.stream import Stream, opened, stream_of
from mercer.data.stream.sources import ArraySource
from mercer.errors import MemoryLimitError

# The solvers that read rows block by block, and the one that may learn from blocks.
STREAMING, LEARNING = ("nystrom",), "sgd"
# The share of the memory in which rows are read at once, for solvers that need all of them.
SHARE = 0.25


def opened_for(
    solver: Any,
    memory: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    learns_from_blocks: bool = False,
) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights of a fit, with rows on a disk as a stream.

    All solvers but that of landmarks, and ``"auto"``, read them into memory where they take little
    of it.

    Parameters
    ----------
    solver, memory
        What the estimator was told, and what its limit leaves beside the process, None without one.
    X, y, sample_weight
        As in `mercer.data.stream.opened`.
    learns_from_blocks : bool
        Whether ``solver="sgd"`` learns from rows that take more, block by block.
    """
    is_open = isinstance(solver, str) and solver == "auto"
    is_learnt = learns_from_blocks and isinstance(solver, str) and solver == LEARNING
    X, y, sample_weight = opened(X, y, sample_weight)
    is_map = isinstance(X, np.memmap) and X.ndim == 2
    if is_map and (is_learnt or solver in STREAMING):
        # Blocks become float64 one by one, and nothing as large as the map is in memory.
        X = Stream(ArraySource(X), len(X))
    if isinstance(X, Stream) and solver not in STREAMING:
        is_small = X.nbytes <= SHARE * memory_limit(memory)
        if is_small or not (is_open or is_learnt):
            instead = "use solver='nystrom', which reads them block by block, or "
            X = rows_in_memory(X, memory, f"solver={solver!r}", instead)
    return X, y, sample_weight


def read(
    who: str, memory: Any, X: Any, y: Any = None, sample_weight: Any = None
) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights of a fit that needs them all in memory, as `opened` does.

    Parameters
    ----------
    who : str
        What needs them there.
    memory : int, optional
        What the limit leaves.
    X, y, sample_weight
        As in `mercer.data.stream.opened`.
    """
    X, y, sample_weight = opened(X, y, sample_weight)
    instead = "use KernelRidge, KernelLogisticRegression or KernelRegressor, or "
    return rows_in_memory(X, memory, who, instead), y, sample_weight


def rows_in_memory(X: Any, memory: Any, who: str, instead: str = "") -> Any:
    """Return rows in memory, those of a stream only where they take little of it.

    Parameters
    ----------
    X : rows
        As an estimator is given them.
    memory : int, optional
        What the limit leaves.
    who, instead : str
        What needs them there, and what else to do.
    """
    X, limit = stream_of(X), memory_limit(memory)
    if not isinstance(X, Stream):
        return X
    if X.nbytes > SHARE * limit:
        raise MemoryLimitError(
            f"{who} needs all rows in memory, and those of {X.source.name} with room to work need "
            f"{lacking(X.nbytes / SHARE, limit)}; {instead}raise memory="
        )
    return X.collected()


@dataclass(frozen=True)
class BlockCheck:
    """The check of one block of rows: it becomes what rows in memory would be.

    Parameters
    ----------
    names : tuple of str, optional
        The columns of a table that the kernel reads.
    is_matrix : bool
        Whether rows are one matrix of numbers.
    has_gaps : bool
        Whether the kernel has a place for missing numbers.
    kept : callable
        What rows become that are no matrix.
    """

    names: tuple[Any, ...] | None
    is_matrix: bool
    has_gaps: bool
    kept: Callable[[Any], Any]

    def __call__(self, rows: Any, first: int) -> Any:
        """Return the rows of a block, of which `first` is the number of the first."""
        try:
            if self.names is not None:
                rows = select_columns(rows, self.names)
            if not self.is_matrix:
                return self.kept(rows)
            matrix, titles = as_floats(rows, "X")
        except ValueError as error:
            raise ValueError(f"in the block of X from row {first} on: {error}") from None
        check = check_not_infinite if self.has_gaps else check_finite
        check(matrix, "X", titles, first)
        return matrix if sp.issparse(matrix) else matrix.astype(np.float64, copy=False)
