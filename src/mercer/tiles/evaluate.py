"""Gram blocks and products with them: bind the program to rows, then run the tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from math import inf
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import CACHE, MEMORY, half_blocks, narrow_blocks, row_blocks
from mercer.data.columns import is_table, take_rows
from mercer.data.limits.deadline import seconds_left
from mercer.data.stream import Stream
from mercer.native.core import core, empty
from mercer.native.strings import count_products, sparse_products
from mercer.tiles import loop_twin
from mercer.tiles.operands import Bound, Operand, bind
from mercer.tiles.program import Input, Program
from mercer.tiles.rows import Rows, comparable_leaf
from mercer.tiles.sparse import sparse_block
from mercer.tiles.tile import Leaf, Opaque

Array = NDArray[Any]

# Difference of f(x, z) and f(z, x), relative to the largest value, that counts as rounding.
ASYMMETRY = 1e-8


@cache
def engine() -> ModuleType:
    """Return the loop that runs the tiles: fill, multiply, residuals, and which rows it takes.

    It is the native one, or its NumPy twin.
    """
    if core() is None:
        return loop_twin
    from mercer.tiles import loop

    return loop


def evaluate(
    program: Program,
    X: Any,
    Z: Any = None,
    out: Array | None = None,
    known: Mapping[Input, Array] | None = None,
) -> Array:
    """Return the (n, m) matrix of a program on the rows of `X` and `Z` (None: the same rows).

    The values of inputs that are `known` are not computed again; of the same rows their symmetric
    part counts.
    """
    bound = bind(program, X, Z)
    if known:
        bound = bound.with_values(known)
    is_tiled = bound.is_ready or all(engine().takes(o) for o in bound.operands)
    if out is None:
        out = empty(bound.shape, bound.dtype)
    elif out.shape != bound.shape or out.dtype != bound.dtype:
        raise ValueError(
            f"out must have shape {bound.shape} and dtype {bound.dtype}, "
            f"got {out.shape} and {out.dtype}"
        )
    if out.size == 0:
        return out
    is_one = len(program.instructions) == len(bound.operands) == 1
    if is_one and out.dtype == np.float64 and bound.operands[0].given is None:
        o = bound.operands[0]
        if o.comparison is not None:
            out[...] = o.comparison(o.left, o.right)
            return out
        if o.is_counted:
            return count_products(o.left, o.right, out)
        if o.is_sparse_product and not is_tiled:
            return sparse_products(o.left, o.right, out)
    if is_tiled:
        engine().fill(bound, out)
        return out
    for rows, columns, mirrored, block in _blocks(bound):
        engine().fill(block, out[rows, columns])
        if mirrored:
            out[columns, rows] = out[rows, columns].T
    return out


def apply(
    program: Program, X: Any, Z: Any, V: Any, known: Mapping[Input, Array] | None = None
) -> Array:
    """Return K(X, Z) @ V without storing the matrix; `Z` None means the same rows as `X`.

    The values of inputs that are `known` are not computed; of the same rows their symmetric part
    counts.
    """
    bound = bind(program, X, Z)
    if known:
        bound = bound.with_values(known)
    vectors = np.asarray(V)
    if vectors.dtype.kind not in "fiub":
        raise ValueError(f"V must hold real numbers, got dtype {vectors.dtype}")
    if vectors.ndim not in (1, 2) or vectors.shape[0] != bound.shape[1]:
        raise ValueError(
            f"V must have {bound.shape[1]} rows to be multiplied by K, got shape {vectors.shape}"
        )
    columns = vectors[:, None] if vectors.ndim == 1 else vectors
    columns = np.require(columns, np.float64, ["ALIGNED"])
    out = np.zeros((bound.shape[0], columns.shape[1]))
    if out.size and bound.shape[1]:
        _multiply(bound, columns, out)
    dtype = np.result_type(bound.dtype, vectors.dtype) if vectors.dtype.kind == "f" else bound.dtype
    return out.reshape(bound.shape[0], *vectors.shape[1:]).astype(dtype, copy=False)


def difference_forms(
    program: Program, X: Any, V: Array, known: Mapping[Input, Array] | None = None
) -> Array:
    """Return sum_ij K_ij (v_i - v_j)^2 = 2 (sum_i v_i^2 (K 1)_i - v'K v) for all columns v of `V`.

    Parameters
    ----------
    program : Program
        k, symmetric.
    X : rows
        n of them, the x_i of K_ij = k(x_i, x_j).
    V : array of shape (n, p)
        The columns, about their means: less cancels.
    known : mapping, optional
        The values of inputs, as for `apply`.
    """
    bound = bind(program, X)
    if known:
        bound = bound.with_values(known)
    beside = np.ones((bound.shape[0], 1 + V.shape[1]))
    beside[:, 1:] = V
    out = np.zeros(beside.shape)
    if bound.is_ready or all(engine().takes(o) for o in bound.operands):
        engine().multiply_half(bound, beside, out)
    else:
        _multiply(bound, beside, out)
    return np.asarray(2.0 * np.einsum("ik,ik->k", V, V * out[:, :1] - out[:, 1:]))


def residuals(
    program: Program, X: Any, Z: Any, V: Array, targets: Array, weights: Array
) -> tuple[Array, Array]:
    """Return R = targets - K(X, Z) V, and K(X, Z)' W R, every entry of K computed once.

    Parameters
    ----------
    program : Program
        k.
    X, Z : rows
        n rows and m others.
    V : array of shape (m, p)
        Coefficients of the others.
    targets : array of shape (n, p)
        What is to be had of them.
    weights : array of shape (n,)
        W, by its diagonal.
    """
    bound = bind(program, X, Z)
    back = np.zeros((bound.shape[1], V.shape[1]))
    out = np.empty((bound.shape[0], V.shape[1]))
    if bound.is_ready or all(engine().takes(o) for o in bound.operands):
        engine().residuals(bound, V, targets, weights, out, back)
        return out, back
    out[:] = targets - apply(program, X, Z, V)
    return out, apply(program, Z, X, weights[:, None] * out)


def diagonal(program: Program, X: Any) -> Array:
    """Return k(x_i, x_i) for every row, in the precision of `evaluate`, without a matrix.

    Those of a stream are read in one pass.
    """
    rows = Rows.of(X)
    if isinstance(rows.X, Stream):
        return np.concatenate([diagonal(program, some) for _, some in narrow_blocks(rows.X)])
    values = rows.diagonal(program)
    if not _may_be_single(rows.X) or any(_is_compared(source) for source in program.inputs):
        return values
    with np.errstate(over="ignore"):
        return values.astype(bind(program, rows).dtype, copy=False)


def _may_be_single(X: Any) -> bool:
    """Whether rows are in float32, or have columns that may be."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return bool(X.dtype == np.float32)
    return is_table(X)


def _is_compared(source: Input) -> bool:
    return isinstance(source, Leaf) and comparable_leaf(source) is not None


def _multiply(bound: Bound, V: Array, out: Array) -> None:
    if bound.is_ready or all(engine().takes(o) for o in bound.operands):
        engine().multiply(bound, V, out)
        return
    for rows, columns, mirrored, block in _blocks(bound):
        K = np.empty(block.shape, block.dtype)
        engine().fill(block, K)
        out[rows] += K @ V[columns]
        if mirrored:
            out[columns] += K.T @ V[rows]


def _blocks(bound: Bound) -> Iterator[tuple[slice, slice, bool, Bound]]:
    """Yield blocks whose opaque and sparse inputs are computed, and whether each serves twice."""
    n, m = bound.shape
    whole = any(isinstance(o.source, Opaque) and o.source.whole for o in bound.operands)
    halved = bound.symmetric and not whole
    # Python functions look at no clock: where there is one, they have less to do in between.
    entries = MEMORY if seconds_left() == inf else CACHE
    rows_only = ((rows, slice(0, m)) for rows in row_blocks(bound.shape, entries))
    for rows, columns in half_blocks(n, entries) if halved else rows_only:
        given = {
            i: _given(o, rows, columns)
            for i, o in enumerate(bound.operands)
            if not engine().takes(o)
        }
        if halved and rows == columns:
            for i, values in given.items():
                _check_symmetric(values, bound.operands[i])
        yield rows, columns, halved and rows != columns, bound.block(rows, columns, given)


def _given(o: Operand, rows: slice, columns: slice) -> Array:
    # The same rows on both sides stay one object: a routine may then do half of the work.
    is_same = o.left is o.right and rows == columns
    if o.comparison is not None:
        left = o.left[rows]
        return o.comparison(left, left if is_same else o.right[columns])
    if isinstance(o.source, Leaf):
        left = o.left[rows]
        right = left if is_same else o.right[columns]
        return sparse_block(o.source.kind, left, right, o.weights, o.sensitivity)
    left = take_rows(o.left, rows)
    right = o.right if o.source.whole else left if is_same else take_rows(o.right, columns)
    block = o.source.fill(left, right)
    return np.ascontiguousarray(block, dtype=np.float64)


def _check_symmetric(block: Array, o: Operand) -> None:
    """Refuse a user's function with f(x, z) != f(z, x), of which half the values are mirrored."""
    if not isinstance(o.source, Opaque):
        return
    # Distances may be infinite, and differ by no number then.
    with np.errstate(invalid="ignore"):
        gap = np.abs(block - block.T)
    if gap.max() > ASYMMETRY * np.abs(block).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(
            f"the kernel function is not symmetric: f(x, z) = {block[i, j]:.6g} but "
            f"f(z, x) = {block[j, i]:.6g}; use (f(x, z) + f(z, x)) / 2"
        )
