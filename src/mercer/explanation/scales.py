"""How a kernel reads columns: with which length scales, and which by their ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_places, n_columns, take_rows
from mercer.kernels import Calendar, Columns, Kernel, NormalScores, Standardize
from mercer.kernels.kernel import After

Array = NDArray[np.float64]


def learned_scales(kernel: Kernel, rows: Any, deviations: Array) -> Array:
    """Return the shortest length scale of every column in units of its deviation, NaN for none.

    Parameters
    ----------
    kernel : Kernel
        With numbers for parameters.
    rows : rows with columns
        Those of the model.
    deviations : array of shape (columns,)
        Theirs.
    """
    found, rows = np.full(n_columns(rows), np.inf), take_rows(rows, slice(0, 2))
    for place, scale, is_standard in _scales(kernel, rows, list(range(n_columns(rows))), False):
        unit = 1.0 if is_standard else deviations[place]
        if unit > 0.0:
            found[place] = min(found[place], scale / unit)
    return np.where(np.isfinite(found), found, np.nan)


def ranked_columns(kernel: Kernel, rows: Any) -> set[int]:
    """Return which columns a kernel reads by their ranks, by position.

    A score follows the ranks of a column wherever its values lie close together, so that
    derivatives by the column are as large as one likes and tell nothing.

    Parameters
    ----------
    kernel : Kernel
        With numbers for parameters.
    rows : rows with columns
        Those of the model.
    """
    return set(_ranked(kernel, take_rows(rows, slice(0, 2)), list(range(n_columns(rows)))))


def _ranked(kernel: Kernel, rows: Any, places: list[int]) -> Iterator[int]:
    if isinstance(kernel, Columns):
        chosen = [places[k] for k in column_places(rows, kernel.columns)]
        yield from _ranked(kernel.kernel, kernel.inputs(rows), chosen)
    elif isinstance(kernel, After):
        mapped = _behind(kernel.g, places)
        if isinstance(kernel.g, NormalScores):
            yield from (p for p in places if p >= 0)
        elif mapped is not None:
            yield from _ranked(kernel.kernel, kernel.inputs(rows), mapped)
    else:
        for part in kernel.parts:
            yield from _ranked(part, rows, places)


def _scales(
    kernel: Kernel, rows: Any, places: list[int], is_standard: bool
) -> Iterator[tuple[int, float, bool]]:
    """Yield columns with their scales, and whether these are in deviations.

    `places` says which column each number that the kernel reads comes from, -1 where it only tells
    that a cell is missing.
    """
    if isinstance(kernel, Columns):
        chosen = [places[k] for k in column_places(rows, kernel.columns)]
        yield from _scales(kernel.kernel, kernel.inputs(rows), chosen, is_standard)
        return
    if isinstance(kernel, After):
        mapped = _behind(kernel.g, places)
        standard = is_standard or isinstance(kernel.g, Standardize | Calendar)
        if mapped is not None:
            yield from _scales(kernel.kernel, kernel.inputs(rows), mapped, standard)
        return
    scale = getattr(kernel, "length_scale", None)
    own = {p for p in places if p >= 0}
    if isinstance(scale, tuple) and len(scale) == len(places):
        pairs = zip(places, scale, strict=True)
        yield from ((p, float(v), is_standard) for p, v in pairs if p >= 0)
    elif scale is not None and len(own) == 1:
        yield own.pop(), float(np.min(scale)), is_standard
    for part in kernel.parts:
        yield from _scales(part, rows, places, is_standard)


def _behind(g: Any, places: list[int]) -> list[int] | None:
    """Return which column each number behind a map comes from, None if it mixes columns.

    An indicator of missing cells comes from none: its scale is not that of the numbers.
    """
    if isinstance(g, Standardize):
        return places + [-1 for _ in g.indicators or ()]
    # Of one column every number behind any map comes from it.
    return places if isinstance(g, NormalScores) or len(places) == 1 else None
