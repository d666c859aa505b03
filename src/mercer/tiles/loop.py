"""The native core: a bound program handed to the C++ tile loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.native import _native
from mercer.native.core import cpu_level, thread_count
from mercer.tiles.entries import (
    PRODUCT_FORM_WIDTH,
    REACH,
    SEARCHED_ROWS,
    Entries,
    are_few,
    are_tiled,
    compressed,
    gathered,
)
from mercer.tiles.operands import Bound, Operand
from mercer.tiles.tile import Leaf

Array = NDArray[Any]

KINDS = ("dot", "squared_distance", "manhattan", "minimum", "chi2", "sine", "match", "given")


def takes(o: Operand) -> bool:
    """Whether the tiles can use an input as it is."""
    return o.is_ready or are_tiled(o)


def fill(bound: Bound, out: Array) -> None:
    """Write the Gram block of a bound program into `out`."""
    code, constants = bound.program.code
    _native.fill(
        _leaves(bound),
        code,
        constants,
        _factors(bound),
        bound.program.n_slots,
        out,
        bound.symmetric,
        thread_count(),
        cpu_level(),
    )


def multiply(bound: Bound, V: Array, out: Array) -> None:
    """Write K @ V into `out`, which holds zeros, without storing K."""
    code, constants = bound.program.code
    leaves = _leaves(bound)
    # Many vectors are multiplied in groups, to keep the working memory of a thread small.
    vectors_at_a_time = 512
    is_whole = V.shape[1] <= vectors_at_a_time and out.flags.c_contiguous
    for start in range(0, V.shape[1], vectors_at_a_time):
        group = np.ascontiguousarray(V[:, start : start + vectors_at_a_time])
        products = out if is_whole else np.zeros((out.shape[0], group.shape[1]))
        _native.multiply(
            leaves,
            code,
            constants,
            _factors(bound),
            bound.program.n_slots,
            group,
            products,
            bound.symmetric,
            bound.dtype == np.float32,
            thread_count(),
            cpu_level(),
        )
        if not is_whole:
            out[:, start : start + vectors_at_a_time] = products


def multiply_half(bound: Bound, V: Array, out: Array) -> None:
    """Add K v to `out` for the first column v of `V`, and H v for the others: v'H v = v'K v.

    K is symmetric; H has the tiles on its diagonal, twice those below and none above.
    """
    code, constants = bound.program.code
    _native.multiply_half(
        _leaves(bound),
        code,
        constants,
        _factors(bound),
        bound.program.n_slots,
        V,
        out,
        bound.dtype == np.float32,
        thread_count(),
        cpu_level(),
    )


def residuals(
    bound: Bound, V: Array, targets: Array, weights: Array, out: Array, back: Array
) -> None:
    """Write R = targets - K V into `out`, and add K' W R to `back`, every entry computed once."""
    code, constants = bound.program.code
    leaves = _leaves(bound)
    # In groups, as every part of the rows has sums of its own.
    vectors_at_a_time = 8
    for start in range(0, V.shape[1], vectors_at_a_time):
        group = slice(start, start + vectors_at_a_time)
        some, wanted = (np.ascontiguousarray(A[:, group]) for A in (V, targets))
        found, sums = np.empty_like(wanted), np.zeros_like(some)
        _native.residuals(
            leaves,
            code,
            constants,
            _factors(bound),
            bound.program.n_slots,
            some,
            wanted,
            np.ascontiguousarray(weights, np.float64),
            found,
            sums,
            bound.dtype == np.float32,
            thread_count(),
            cpu_level(),
        )
        out[:, group] = found
        back[:, group] += sums


def _factors(bound: Bound) -> list[tuple[Array, Array]]:
    return [
        (np.ascontiguousarray(left, np.float64), np.ascontiguousarray(right, np.float64))
        for left, right in bound.factors
    ]


class Forms:
    """The rows of one job in the form in which the native tiles take them, each made once.

    Inputs over the same rows so have the same sides, and share what is computed from them.

    Parameters
    ----------
    dtype : dtype
        The precision of the job.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._sides: dict[int, Array | Entries] = {}
        self._entries: dict[int, Entries | None] = {}

    def sides(self, o: Operand) -> tuple[Array | Entries, Array | Entries, Entries | None]:
        """Return both sides of a comparison, and the entries of the left one to walk along.

        There are none if walking is not faster, or would lose digits.
        """
        left, right, walked = self._side(o.left), self._side(o.right), self._walked(o)
        if walked is None or isinstance(right, tuple):
            return left, right, walked
        return (walked, walked, walked) if right is left else (left, right, walked)

    def _side(self, A: Matrix) -> Array | Entries:
        if id(A) not in self._sides:
            is_sparse = sp.issparse(A)
            side = compressed(A, self.dtype) if is_sparse else np.asarray(A, self.dtype)
            self._sides[id(A)] = side
        return self._sides[id(A)]

    def _few_entries(self, A: Matrix) -> Entries | None:
        """Return the entries of rows, if they are few."""
        if id(A) not in self._entries:
            side = self._side(A)
            if isinstance(side, tuple):
                self._entries[id(A)] = side if are_few(A) else None
            else:
                self._entries[id(A)] = gathered(side)
        return self._entries[id(A)]

    def _walked(self, o: Operand) -> Entries | None:
        assert isinstance(o.source, Leaf)
        is_product = o.source.kind in ("dot", "squared_distance") and o.weights is None
        is_repaid = sp.issparse(o.left) or o.right.shape[0] >= SEARCHED_ROWS
        if not is_product or not is_repaid or o.left.shape[1] < PRODUCT_FORM_WIDTH:
            return None
        entries = self._few_entries(o.left)
        if entries is None or o.source.kind == "dot":
            return entries
        # Strips of rows that are too long are compared by differences, which should be rare.
        typical = float(np.dot(entries[0], entries[0])) / o.left.shape[0]
        return entries if 4.0 * o.sensitivity * typical <= REACH[self.dtype] else None


def _leaves(bound: Bound) -> list[tuple[Any, ...]]:
    forms = Forms(bound.dtype)
    return [_leaf(o, forms) for o in bound.operands]


def _leaf(o: Operand, forms: Forms) -> tuple[Any, ...]:
    if o.given is not None:
        return (KINDS.index("given"), np.asarray(o.given, forms.dtype))
    assert isinstance(o.source, Leaf)
    left, right, walked = forms.sides(o)
    return (
        KINDS.index(o.source.kind),
        left,
        right,
        walked,
        o.left.shape[1],
        o.weights,
        o.sensitivity,
    )
