"""Distinct rows, in an order that depends neither on that of the rows nor on how many are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import CACHE, blocks_of, row_blocks
from mercer.data.checks import Matrix
from mercer.data.columns import column_values, is_table, stack_rows, take_rows
from mercer.data.stream.stream import Stream

Hashes = NDArray[np.uint64]


def distinct_sample(X: Any, most: int) -> NDArray[np.intp]:
    """Return where at most this many distinct rows are, those of the smallest keys.

    A row with a whole weight and the same row written that many times give the same sample, and so
    do the same rows in another order.
    """
    return np.unique(_keys(X), return_index=True)[1][:most]


def distinct_rows(X: Any, most: int) -> Any:
    """Return the rows of a matrix, or of a stream of matrices, at `distinct_sample`.

    Of a stream those of the smallest keys so far are kept from block to block, so that the sample
    is the same however the rows are cut.
    """
    kept, keys = None, np.empty(0, np.uint64)
    for _, block in blocks_of(X, X.shape[1]):
        some = distinct_sample(block, most)
        keys = np.concatenate([keys, _keys(take_rows(block, some))])
        rows = take_rows(block, some)
        rows = rows if kept is None else stack_rows(kept, rows)
        keys, first = np.unique(keys, return_index=True)
        keys, kept = keys[:most], take_rows(rows, first[:most])
    return kept


def row_numbers(X: Any) -> NDArray[np.intp]:
    """Return which of the distinct rows every row is; the order follows from what they hold."""
    keys = [_keys(some) for _, some in blocks_of(X, X.shape[1])] if isinstance(X, Stream) else None
    return np.unique(np.concatenate(keys) if keys else _keys(X), return_inverse=True)[1]


def _keys(X: Any) -> NDArray[Any]:
    """Return one key per row, the same for equal rows: a hash of numbers, the text of all else."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return _row_hashes(X)
    if isinstance(X, list):
        return _comparable([repr(as_list(row)) for row in X])
    if is_table(X):
        columns = [_texts(np.asarray(values)) for _, values in column_values(X)]
        codes = [np.unique(values, return_inverse=True)[1] for values in columns]
        X = np.column_stack(codes).astype(np.float64)
    return _row_hashes(X)


def _texts(values: NDArray[Any]) -> NDArray[Any]:
    """Return the cells of a column as text; some may be lists, which NumPy takes for rows."""
    if values.dtype == object and values.ndim == 1:
        return _comparable([str(as_list(value)) for value in values.tolist()])
    return values.astype(str)


def _comparable(texts: list[str]) -> NDArray[Any]:
    """Return texts as an array to sort.

    One of NumPy's own is sorted sooner, and a long text there makes all others as long.
    """
    short = 64
    is_short = max(map(len, texts), default=0) <= short
    return np.array(texts, np.str_ if is_short else object)


def as_list(value: Any) -> Any:
    """Return an array as a list, whose text leaves nothing out, and other values as they are."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _row_hashes(X: Matrix) -> Hashes:
    """Return one hash per row, the sum over its entries that are not zero."""
    if not sp.issparse(X):
        salts = _salts(np.arange(X.shape[1]))
        hashes = np.empty(X.shape[0], np.uint64)
        for rows in row_blocks(X.shape, CACHE):
            hashes[rows] = _entry_hashes(X[rows], salts).sum(axis=1, dtype=np.uint64)
        return mixed(hashes)
    # Sums modulo 2^64 may be taken as differences of running sums.
    running = np.zeros(X.nnz + 1, np.uint64)
    np.cumsum(_entry_hashes(X.data, _salts(X.indices)), out=running[1:])
    return mixed(running[X.indptr[1:]] - running[X.indptr[:-1]])


def _salts(columns: NDArray[Any]) -> Hashes:
    """Return the random number of every column, by SplitMix64: no table of all columns is needed.

    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators.
    """
    # The step of SplitMix64, 2^64 over the golden ratio.
    golden = np.uint64(0x9E3779B97F4A7C15)
    return mixed((columns.astype(np.uint64) + np.uint64(1)) * golden)


def _entry_hashes(values: NDArray[Any], salts: Hashes) -> Hashes:
    # Adding zero turns -0.0 into 0.0.
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    return np.where(bits == 0, np.uint64(0), mixed(bits + salts))


def mixed(z: Hashes) -> Hashes:
    """Return the bits stirred by the finaliser of SplitMix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
