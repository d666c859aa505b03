"""A kernel with a place for cells that are missing, whatever it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.data.categories import OWN_CATEGORY
from mercer.data.checks import as_matrix_with_gaps
from mercer.data.columns import is_table, select_columns
from mercer.data.moments import moments_of
from mercer.kernels.columns import takes_missing, with_parts
from mercer.kernels.families.categories import Match
from mercer.kernels.kernel import After, Columns, Kernel
from mercer.kernels.maps import MEAN, FillMissing, InputMap, Standardize
from mercer.kernels.tables.calendar import Calendar
from mercer.kernels.tables.default import describe_columns


def imputed(kernel: Kernel, X: Any) -> Kernel:
    """Return a kernel whose parts take missing cells, and that is the same on rows without any.

    A number stands at the mean of its column, a date at the mean time, a category is one of its
    own, and a text is empty. Parts that have a place for missing cells keep theirs.

    Parameters
    ----------
    kernel : Kernel
        k.
    X : table or sparse matrix
        The rows whose means they are. Kernels of sparse rows stay as they are.
    """
    if not is_table(X):
        return kernel
    placed = describe_columns(X, kernel).kernel
    assert placed is not None  # it is the one that was given
    return _on_columns(placed, X)


def _on_columns(kernel: Kernel, X: Any) -> Kernel:
    """Return a kernel of a table with the parts that name columns taking missing cells."""
    if isinstance(kernel, After):
        return kernel
    if not isinstance(kernel, Columns):
        return with_parts(kernel, lambda part: _on_columns(part, X))
    return replace(kernel, kernel=_with_gaps(kernel.kernel, select_columns(X, kernel.columns)))


def _with_gaps(kernel: Kernel, rows: Any) -> Kernel:
    """Return a kernel of some columns of which all parts take missing cells."""
    if isinstance(kernel, Columns):
        return _on_columns(kernel, rows)
    if isinstance(kernel, After):
        return _after_map(kernel, rows)
    if kernel.row_domains == {"numbers"} and not takes_missing(kernel):
        return kernel.after(_at_means(rows))
    if kernel.parts:
        return with_parts(kernel, lambda part: _with_gaps(part, rows))
    if takes_missing(kernel):
        return kernel
    if kernel.domain == "sequences":
        return kernel.after(FillMissing())
    return replace(kernel, missing=OWN_CATEGORY) if isinstance(kernel, Match) else kernel


def _after_map(kernel: After, rows: Any) -> Kernel:
    """Return a kernel after a map that takes missing cells."""
    g = kernel.g
    # A place for gaps in the kernel is of no use behind a map that refuses them.
    if not isinstance(g, InputMap) or takes_missing(g):
        return kernel
    if g.domain == "numbers":
        return kernel.after(_at_means(rows))
    if g.domain == "sequences":
        return kernel.after(FillMissing())
    return replace(kernel, g=replace(g, missing=MEAN)) if isinstance(g, Calendar) else kernel


def _at_means(rows: Any) -> Standardize:
    """Return the map that puts missing numbers at the means of some columns, and no more.

    There are as many columns after it as before, as a length scale for each of them needs.
    """
    mean = moments_of(as_matrix_with_gaps(rows)).mean
    known: Sequence[float] = np.where(np.isfinite(mean), mean, 0.0).tolist()
    return Standardize(
        mean=tuple(known),
        scale=(1.0,) * len(known),
        missing=MEAN,
        indicators=(),
        with_mean=False,
    )
