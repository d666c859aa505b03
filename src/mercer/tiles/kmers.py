"""Counts of the k-grams of sequences, as sparse rows of very many columns.

The column of a k-gram is a number that depends on the k-gram alone, so that rows counted apart
fit together: the characters themselves, seven bits each, where that is enough, else a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import LARGE, row_blocks
from mercer.data.distinct import mixed
from mercer.data.symbols import Sequences
from mercer.native.strings import numbered, run_lengths

Array = NDArray[Any]

# The number of columns: several such blocks side by side still have 64-bit numbers.
COLUMNS = 1 << 60
# The upper half is for hashes, the lower one for characters.
HASHED = COLUMNS // 2


def gram_counts(S: Sequences, width: int, masks: Sequence[tuple[int, ...]]) -> sp.csr_array:
    """Return how often each row has each k-gram, of shape (n, COLUMNS).

    Parameters
    ----------
    S : Sequences
        The rows.
    width : int
        The number of symbols in a window.
    masks : sequence of tuples
        The positions in a window that are read; every window gives one k-gram for each mask.
    """
    windows = np.maximum(S.lengths - width + 1, 0)
    per_row = int(windows.max(initial=1)) * len(masks)
    parts = [
        _counted(S[rows], windows[rows], width, masks)
        for rows in row_blocks((len(S), per_row), LARGE)
    ]
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts, "csr")) if parts else sp.csr_array((0, COLUMNS))


class GramSums(NamedTuple):
    """The k-grams that a mask reads in some rows, numbered in some order.

    `numbers` are those of the windows, row by row; `first` is the first window with each number,
    `places` where that begins in the symbols, and `sums`, of shape (k-grams, targets), the sum
    over the windows of each number.
    """

    numbers: NDArray[np.int64]
    first: NDArray[np.int64]
    places: NDArray[np.int64]
    sums: NDArray[np.float64]


def gram_sums(S: Sequences, width: int, mask: tuple[int, ...], a: Array) -> GramSums:
    """Return sum_i a_i count_u(x_i) for every k-gram u that a mask reads in the windows of rows.

    Parameters
    ----------
    S : Sequences
        The rows x_i, one of which has a window.
    width : int
        The number of symbols in a window.
    mask : tuple of int
        The positions in it that are read.
    a : array of shape (n, targets)
        The numbers a_i of every row.
    """
    windows = np.maximum(S.lengths - width + 1, 0)
    codes, places = _window_codes(S, windows, width, [mask])
    count, numbers = numbered(codes[:, 0])
    # Of several assignments to one place the last one stays.
    first = np.empty(count, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    owner = np.repeat(np.arange(len(S)), windows)
    sums = [np.bincount(numbers, weights=column[owner], minlength=count) for column in a.T]
    return GramSums(numbers, first, places[first], np.column_stack(sums))


def gram_places(
    S: Sequences, width: int, masks: Sequence[tuple[int, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return where a window of every k-gram begins, and the number of its mask, column by column.

    The parameters are those of `gram_counts`.
    """
    windows = np.maximum(S.lengths - width + 1, 0)
    codes, first = _window_codes(S, windows, width, masks)
    _, chosen = np.unique(codes, return_index=True)
    window, mask = np.divmod(chosen, len(masks))
    return first[window], mask


def _counted(
    S: Sequences, windows: NDArray[np.int64], width: int, masks: Sequence[tuple[int, ...]]
) -> sp.csr_array:
    codes, _ = _window_codes(S, windows, width, masks)
    starts = np.concatenate([[0], np.cumsum(windows)]) * len(masks)
    indptr, columns, counts = run_lengths(codes.reshape(-1), starts)
    return sp.csr_array((counts, columns, indptr), shape=(len(S), COLUMNS))


def _window_codes(
    S: Sequences, windows: NDArray[np.int64], width: int, masks: Sequence[tuple[int, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns, of shape (windows, masks), and where in the symbols windows begin."""
    ends = np.cumsum(windows)
    first = np.arange(ends[-1]) + np.repeat(S.starts[:-1] - ends + windows, windows)
    codes = np.empty((len(first), len(masks)), np.int64)
    for j, mask in enumerate(masks):
        # At every place, also across rows, which is quicker than to gather symbol by symbol.
        codes[:, j] = _codes(S.symbols, width, mask, j, len(masks))[first]
    return codes, first


def _codes(
    symbols: Array, width: int, mask: tuple[int, ...], number: int, masks: int
) -> NDArray[np.int64]:
    """Return the column of the k-gram at every place, as the mask of this number reads it."""
    places = max(len(symbols) - width + 1, 0)
    read = [symbols[position : position + places] for position in mask]
    # The bits of each character, in the lower half of all columns.
    character_bits = 7
    fits = (masks - 1).bit_length() + character_bits * len(mask) < HASHED.bit_length() - 1
    strange = np.full(places, not fits)
    if fits and symbols.dtype != np.uint8:
        for r in read:
            strange |= r >= 1 << character_bits
    code = np.full(places, number, np.int64)
    if fits:
        for r in read:
            code <<= character_bits
            code |= r.astype(np.int64)
    if strange.any():
        code[strange] = _hashes([r[strange] for r in read], number)
    return code


def _hashes(read: list[Array], number: int) -> NDArray[np.int64]:
    """Return hashes of k-grams, given symbol by symbol; two that share one are an error."""
    state = np.full(len(read[0]), number, np.uint64)
    for r in read:
        state = mixed(state + np.uint64(0x9E3779B97F4A7C15) * (r.astype(np.uint64) + np.uint64(1)))
    state >>= np.uint64(5)
    _, chosen, places = np.unique(state, return_index=True, return_inverse=True)
    if any((r[chosen][places] != r).any() for r in read):
        raise ValueError("two k-grams share a 59-bit hash; spell some symbols differently")
    return state.astype(np.int64) + HASHED
