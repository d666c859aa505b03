"""Comparisons of sequences, natively or by the twins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.data.limits.deadline import check
from mercer.data.symbols import Sequences
from mercer.native.core import core, cpu_level, thread_count
from mercer.native.twins import strings as strings_twin

Array = NDArray[Any]


def subsequences(S: Sequences, T: Sequences, weights: Array, decay: float) -> Array:
    """Return sum_p weights[p - 1] K_p(s, t) for all pairs, half of them where `T` is `S`.

    K_p is the sum over common subsequences of length p of decay^(i_p - i_1) in both sequences.
    """
    out = np.empty((len(S), len(T)))
    native = core()
    if native is None:
        for i, s in enumerate(S.each()):
            check()
            for j, t in enumerate(T.each()):
                out[i, j] = strings_twin.subsequence(s, t, weights, decay)
        return out
    # The side with more rows fills the lanes.
    left, right, block = (S, T, out) if len(T) >= len(S) else (T, S, out.T)
    sides = (*_vectors(left), *_vectors(right))
    native.subsequences(*sides, weights, decay, block, T is S, thread_count(), cpu_level())
    return out


def subsequence_diagonal(S: Sequences, weights: Array, decay: float) -> Array:
    """Return sum_p weights[p - 1] K_p(s, s) for every row."""
    native = core()
    if native is None:
        return np.array([strings_twin.subsequence(s, s, weights, decay) for s in S.each()])
    out = np.empty(len(S))
    native.subsequence_diagonal(*_vectors(S), weights, decay, out, thread_count(), cpu_level())
    return out


def count_products(A: Array, B: Array, out: Array | None = None) -> Array:
    """Return a_i'b_j for int16 rows of counts, half of them where `B` is `A`."""
    if out is None:
        out = np.empty((len(A), len(B)))
    native = core()
    if native is None:
        out[...] = strings_twin.count_products(A, B)
        return out
    if out.strides[1] != out.itemsize:
        out[...] = count_products(A, B)
        return out
    native.count_products(A, B, out, B is A, thread_count(), cpu_level())
    return out


def sparse_products(A: Matrix, B: Matrix, out: Array | None = None) -> Array:
    """Return a_i'b_j for sparse rows, half of them where `B` is `A`."""
    if out is None:
        out = np.empty((A.shape[0], B.shape[0]))
    native = core()
    if native is None:
        out[...] = (A @ B.T).toarray()
        return out
    threads = thread_count()
    native.sparse_products(*_parts(A), *_parts(B.tocsc()), out, B is A, threads)
    return out


def run_lengths(codes: Array, starts: Array) -> tuple[Array, Array, Array]:
    """Return every row's distinct codes in order with their counts: indptr, codes, counts."""
    native = core()
    if native is None:
        return strings_twin.run_lengths(codes, starts)
    columns, counts = np.empty_like(codes), np.empty(len(codes))
    distinct = np.empty(len(starts) - 1, np.int64)
    native.run_lengths(codes, starts, columns, counts, distinct, thread_count())
    indptr = np.concatenate([[0], np.cumsum(distinct)])
    # Where the codes that are left stood: their place now, plus how far their row was moved.
    kept = np.arange(indptr[-1]) + np.repeat(starts[:-1] - indptr[:-1], distinct)
    return indptr, columns[kept], counts[kept]


def numbered(values: Array) -> tuple[int, Array]:
    """Return how many distinct whole numbers there are, and for each value which one it is."""
    native = core()
    if native is None:
        return strings_twin.numbered(values)
    values = values.astype(np.int64, copy=False)
    places = np.empty_like(values)
    return native.number_distinct(values, places), places


def _parts(M: Matrix) -> tuple[Array, Array, Array]:
    """Return the three vectors of a compressed matrix."""
    indptr, indices = (part.astype(np.int64, copy=False) for part in (M.indptr, M.indices))
    return indptr, indices, M.data.astype(np.float64, copy=False)


def _vectors(S: Sequences) -> tuple[Array, Array]:
    symbols = S.symbols.view(np.int64) if S.symbols.dtype == np.uint64 else S.symbols
    return symbols.astype(np.int64, copy=False), S.starts
