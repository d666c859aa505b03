"""The tile loop in NumPy: the twin of the native one, and what runs when there is none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.data.blocks import CACHE, MEMORY, row_blocks
from mercer.tiles.operands import Bound, Operand
from mercer.tiles.tile import Leaf
from mercer.tiles.twin import LEAVES, Array, run


def takes(o: Operand) -> bool:
    """Whether the loop can use an input as it is."""
    return o.is_ready


def fill(bound: Bound, out: Array) -> None:
    """Write the Gram block of a bound program into `out`, some rows at a time."""
    for rows in _row_blocks(bound):
        out[rows] = _block(bound, rows)
        if bound.symmetric:
            # To the last bit, which depends on the side: the upper half counts.
            out[rows, : rows.start] = out[: rows.start, rows].T
            lower = np.tril_indices(rows.stop - rows.start, -1)
            out[rows, rows][lower] = out[rows, rows].T[lower]


def multiply(bound: Bound, V: Array, out: Array) -> None:
    """Write K @ V into `out`, some rows of K at a time."""
    for rows in _row_blocks(bound):
        out[rows] = _block(bound, rows) @ V


def multiply_half(bound: Bound, V: Array, out: Array) -> None:
    """Write K V, of which the native loop has v'K v for all columns but the first."""
    multiply(bound, V, out)


def residuals(
    bound: Bound, V: Array, targets: Array, weights: Array, out: Array, back: Array
) -> None:
    """Write R = targets - K V into `out`, and add K' W R to `back`, every entry computed once."""
    for rows in _row_blocks(bound):
        K = _block(bound, rows)
        out[rows] = targets[rows] - K @ V
        back += K.T @ (weights[rows, None] * out[rows])


def _row_blocks(bound: Bound) -> Iterator[slice]:
    # The several arrays of a block are to take little beside the matrix, and stay in the cache of a
    # core; but blocks are to be few, since threads of a BLAS wait for each other in every product.
    n, m = bound.shape
    return row_blocks(bound.shape, min(MEMORY, max(CACHE, n * m // 8)))


def _block(bound: Bound, rows: slice) -> Array:
    # An overflow gives infinity, as in the native tiles, and is no reason for a warning.
    with np.errstate(over="ignore", invalid="ignore"):
        leaves = [_leaf(bound, o, rows) for o in bound.operands]
    factors = [(left[rows], right) for left, right in bound.factors]
    shape = (rows.stop - rows.start, bound.shape[1])
    return run(bound.program, leaves, factors, shape, bound.dtype)


def _leaf(bound: Bound, o: Operand, rows: slice) -> Array:
    if o.given is not None:
        return bound.values(o, rows, slice(0, bound.shape[1]))
    assert isinstance(o.source, Leaf)
    # Single precision is widened: a rounded comparison may be magnified by what follows it.
    left, right = np.asarray(o.left[rows], np.float64), np.asarray(o.right, np.float64)
    return LEAVES[o.source.kind](left, right, o.weights)
