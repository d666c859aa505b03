"""Binding: a program met with rows gives the matrices and vectors that its inputs name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.categories import joint_codes
from mercer.data.columns import column_names, is_table, select_columns
from mercer.data.layout import narrowed, used_columns
from mercer.tiles.counts import are_wide, as_counts, brought_together
from mercer.tiles.program import Input, Program
from mercer.tiles.rows import Comparison, Rows, comparable_leaf
from mercer.tiles.tile import Leaf, Normalize


@dataclass(frozen=True)
class Operand:
    """One input of a program on actual rows: left and right matrices, or raw rows if opaque.

    ``weights`` has one number for each column, which for a sine is its period; ``given`` holds the
    values of the whole block where they are known already. With a ``comparison`` both sides are
    rows in its form.
    """

    source: Input
    left: Any
    right: Any
    weights: NDArray[Any] | None = None
    sensitivity: float = 0.0
    given: NDArray[Any] | None = None
    comparison: Comparison | None = None

    @property
    def is_ready(self) -> bool:
        """Whether any tile loop can use it: its values are given, or both sides are dense."""
        if self.given is not None:
            return True
        if self.comparison is not None:
            return False
        is_sparse = sp.issparse(self.left) or sp.issparse(self.right)
        return isinstance(self.source, Leaf) and not is_sparse and not self.is_counted

    @property
    def is_sparse_product(self) -> bool:
        """Whether it is the inner product of sparse rows on both sides."""
        both = sp.issparse(self.left) and sp.issparse(self.right)
        return isinstance(self.source, Leaf) and self.source.kind == "dot" and both

    @property
    def is_counted(self) -> bool:
        """Whether both sides are dense rows of 16-bit counts."""
        return isinstance(self.source, Leaf) and _dtype_of(self.left) == np.int16


@dataclass(frozen=True)
class Bound:
    """A program with its data: everything a tile loop needs.

    ``symmetric`` says that both sides are the same rows, so half of the entries suffice.
    """

    program: Program
    operands: tuple[Operand, ...]
    factors: tuple[tuple[NDArray[Any], NDArray[Any]], ...]
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    symmetric: bool

    @cached_property
    def is_ready(self) -> bool:
        """Whether the tile loop of either engine can use all inputs as they are."""
        return all(o.is_ready for o in self.operands)

    def with_values(self, known: Mapping[Input, NDArray[Any]]) -> Bound:
        """Return it with the values of some inputs, of the shape of the result, given.

        Of the same rows on both sides their symmetric part counts.
        """
        operands = tuple(replace(o, given=known.get(o.source, o.given)) for o in self.operands)
        return replace(self, operands=operands)

    def values(self, o: Operand, rows: slice, columns: slice) -> NDArray[Any]:
        """Return the values of an input that are given, for some rows and columns."""
        assert o.given is not None
        some = o.given[rows, columns]
        return 0.5 * (some + o.given[columns, rows].T) if self.symmetric else some

    def block(self, rows: slice, columns: slice, given: dict[int, NDArray[Any]]) -> Bound:
        """Return the part of it for some rows and columns, with these inputs' values given."""
        operands = tuple(
            replace(o, given=given[i])
            if i in given
            else replace(o, given=self.values(o, rows, columns))
            if o.given is not None
            else replace(o, left=o.left[rows], right=o.right[columns])
            for i, o in enumerate(self.operands)
        )
        factors = tuple((left[rows], right[columns]) for left, right in self.factors)
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return Bound(self.program, operands, factors, shape, self.dtype, symmetric=False)


def bind(program: Program, X: Any, Z: Any = None) -> Bound:
    """Return the program bound to the rows of `X` and of `Z` (None: the same rows).

    Either may be `Rows`, whose views are then worked out once for many programs or products.
    """
    left = X if isinstance(X, Rows) else Rows(X, "X")
    if Z is None:
        right = left
        if program in left.bound:
            return left.bound[program]
    elif isinstance(Z, Rows):
        right = Z
    else:
        right = Rows(Z if isinstance(Z, np.ndarray) else _in_order(program, left.X, Z), "Z")
    kept = X if isinstance(X, Rows) else Z if isinstance(Z, Rows) else None
    operands = tuple(
        _compared(source, left, right, kept) or _operand(program, i, left, right)
        for i, source in enumerate(program.inputs)
    )
    factors = tuple(
        (v := left.factor(f), v if right is left else right.factor(f)) for f in program.factors
    )
    sides = [side for o in operands for side in (o.left, o.right) if not _fits_any(o)]
    sides = sides or [left.X, right.X]
    single = all(_dtype_of(side) == np.float32 for side in sides)
    dtype = np.dtype(np.float32 if single else np.float64)
    if single:
        for f, pair in zip(program.factors, factors, strict=True):
            if isinstance(f, Normalize):
                _check_single(*pair)
    bound = Bound(program, operands, factors, (left.n, right.n), dtype, right is left)
    if right is left:
        # The last one alone: a search tries programs by the dozen on the same rows.
        left.bound = {program: bound}
    return bound


def _in_order(program: Program, X: Any, Z: Any) -> Any:
    """Return `Z` as it is, or if both are tables with its columns in the order of `X`."""
    if not (is_table(X) and is_table(Z)):
        return Z
    names, others = column_names(X), column_names(Z)
    if names == others:
        return Z
    if set(names) == set(others):
        return select_columns(Z, names)
    if any(isinstance(source, Leaf) and not source.left for source in program.inputs):
        alone = [n for n in names if n not in others] or [n for n in others if n not in names]
        side = "X" if alone[0] in names else "Z"
        raise ValueError(
            f"the column {alone[0]!r} is in {side} alone; give both tables the same columns, or "
            "name those to compare with .on(...)"
        )
    return Z


def _check_single(left: NDArray[Any], right: NDArray[Any]) -> None:
    """Refuse factors 1/sqrt(k(x, x)) where single precision cannot hold k(x, x)."""
    single = np.finfo(np.float32)
    for factor in (left, right):
        used = factor[factor > 0.0]
        outside = (used < 1.0 / np.sqrt(single.max)) | (used > 1.0 / np.sqrt(single.tiny))
        if outside.any():
            raise ValueError(
                f"k(x, x) = {used[outside][0] ** -2.0:.3g} does not fit into float32, in which the "
                "rows are; scale the columns, or give float64"
            )


def _fits_any(o: Operand) -> bool:
    """Whether an input is exact in either precision, as the numbers of categories are."""
    is_match = isinstance(o.source, Leaf) and o.source.kind == "match"
    return is_match and o.left.dtype == np.float32


def _compared(source: Input, left: Rows, right: Rows, kept: Rows | None) -> Operand | None:
    """Return an inner product of features that is quicker to be had without them, or None.

    Rows that are `kept` for many products have their features worked out once, which pays if it
    does for all pairs of them.
    """
    if not isinstance(source, Leaf) or not source.left:
        return None
    g, view = comparable_leaf(source), source.left
    if g is None:
        return None
    rows = [(side if kept is None else kept.whole).compared(view) for side in (left, right)]
    comparison = g.comparison(*rows)
    if comparison is None:
        return None
    return Operand(source, left.compared(view), right.compared(view), comparison=comparison)


def _operand(program: Program, i: int, left: Rows, right: Rows) -> Operand:
    source = program.inputs[i]
    if not isinstance(source, Leaf):
        rows = left.raw(source.view)
        return Operand(source, rows, rows if right is left else right.raw(source.view))
    A, B = _sides(source, left, right)
    weights = None if source.weights is None else np.array(source.weights)
    if sp.issparse(A) and sp.issparse(B):
        A, B, weights = _sparse_sides(source, A, B, weights)
    if source.kind == "sine":
        weights = np.full(A.shape[1], source.period)
    # Weighted differences of dense rows have but one form, whatever the result makes of them.
    has_forms = weights is None or sp.issparse(A) or sp.issparse(B)
    return Operand(source, A, B, weights, program.sensitivity[i] if has_forms else 0.0)


def _sides(leaf: Leaf, left: Rows, right: Rows) -> tuple[Any, Any]:
    """Return both sides of a leaf as numbers, checked against each other."""
    is_same = right is left and leaf.right == leaf.left
    if leaf.kind == "match":
        codes = left.categories(leaf.left)
        return joint_codes(codes, codes if is_same else right.categories(leaf.right))
    if is_same:
        A = left.matrix(leaf.left, leaf)
        return A, A
    A, B = left.matrix(leaf.left), right.matrix(leaf.right)
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"X has {A.shape[1]} columns and Z has {B.shape[1]}; both must have the same columns"
        )
    return left.matrix(leaf.left, leaf), right.matrix(leaf.right, leaf)


def _sparse_sides(
    source: Leaf, A: Any, B: Any, weights: NDArray[Any] | None
) -> tuple[Any, Any, NDArray[Any] | None]:
    """Return sparse sides in the columns that they use, and small counts as dense rows."""
    if weights is None:
        A, B = brought_together(A, B)
    elif are_wide(A, B):
        columns = used_columns(A, B)
        is_same, weights = B is A, weights[columns]
        A = narrowed(A, columns)
        B = A if is_same else narrowed(B, columns)
    if source.kind == "dot":
        A, B = as_counts(A, B) or (A, B)
    return A, B, weights


def _dtype_of(side: Any) -> Any:
    # A table may have a column of that name.
    return side.dtype if isinstance(side, np.ndarray) or sp.issparse(side) else None
