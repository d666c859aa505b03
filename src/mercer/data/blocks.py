"""Cutting a matrix into blocks of rows, or pairs of blocks, of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

from mercer.data.deadline import check


def row_blocks(shape: tuple[int, int], entries: int) -> Iterator[slice]:
    """Yield slices of rows that hold about this many entries each, at least one row.

    Before every block the clock is looked at, see `mercer.data.deadline`.
    """
    n, m = shape
    step = max(1, entries // max(m, 1))
    for start in range(0, n, step):
        check()
        yield slice(start, min(start + step, n))


def half_blocks(n: int, entries: int) -> Iterator[tuple[slice, slice]]:
    """Yield the pairs of row blocks on and above the diagonal of an (n, n) matrix.

    Before every pair the clock is looked at, see `mercer.data.deadline`.
    """
    step = max(1, int(entries**0.5))
    cuts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    for i, rows in enumerate(cuts):
        for columns in cuts[i:]:
            check()
            yield rows, columns
