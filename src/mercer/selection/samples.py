"""Samples of rows chosen by their content, so that neither order nor repetition matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.distinct import row_numbers
from mercer.kernels import Kernel

Rows = NDArray[np.intp]

# What random_state=None stands for: the same call chooses the same.
SEED = 0


def distinct_rows(reader: Kernel, X: Any, codes: Rows, *labels: NDArray[Any]) -> Rows:
    """Return which of the distinct rows every row is, equal ones having equal classes too.

    The order follows from what they hold. Rows of a finished Gram matrix hold nothing but their
    places, and of sequences only texts are told apart by how they are written: there all rows count
    as distinct.

    Parameters
    ----------
    reader : Kernel
        A kernel that reads the rows.
    X : rows
        An array, CSR matrix, table, list or finished Gram matrix.
    codes : array of shape (n,)
        The classes.
    *labels : arrays of shape (n,)
        What else must be equal.
    """
    n = len(codes)
    if reader.is_precomputed:
        return np.arange(n)
    if isinstance(X, list) and not all(isinstance(row, str) for row in X):
        return np.arange(n)
    keys = np.column_stack([row_numbers(X), codes, *labels])
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(n)


def shuffled(numbers: Rows, seed: int) -> Rows:
    """Return the rows in a random order that depends on the numbers of the distinct rows alone."""
    ranks = np.random.default_rng(seed).permutation(int(numbers.max()) + 1)
    return np.argsort(ranks[numbers], kind="stable")


def drawn(
    order: Rows, codes: Rows, size: int, of_a_class: int, pairs: Sequence[tuple[Rows, Rows]]
) -> tuple[Rows, Rows]:
    """Return about the first rows of an order, no class too rare in them, and the others.

    Of a class there are as many as chance gives it, but `of_a_class` if it has twice as many, else
    half of those it has, and every fold of `pairs` has one to train on.
    """
    counts = np.bincount(codes)
    kept = first_of_classes(order, codes, np.minimum(of_a_class, (counts + 1) // 2))
    if pairs:
        kept = np.union1d(kept, trained_classes(order, codes, pairs))
    rest = order[~np.isin(order, kept)]
    more = max(size - len(kept), 0)
    return np.concatenate([kept, rest[:more]]), rest[more:]


def first_of_classes(order: Rows, codes: Rows, counts: Rows) -> Rows:
    """Return the rows of every class that come first in the order, as many as it is to have."""
    ordered = codes[order]
    return np.concatenate([order[ordered == c][:k] for c, k in enumerate(counts)])


def trained_classes(order: Rows, codes: Rows, pairs: Sequence[tuple[Rows, Rows]]) -> Rows:
    """Return for every fold the first training row of each class in the order, none twice."""
    rank = np.argsort(order)
    kept = []
    for train, _ in pairs:
        ordered = train[np.argsort(rank[train])]
        kept.append(ordered[np.unique(codes[ordered], return_index=True)[1]])
    return np.unique(np.concatenate(kept))


def stratified_parts(order: Rows, codes: Rows, count: int) -> list[tuple[Rows, Rows]]:
    """Return the folds that deal the rows of every class out in turn, as (train, test)."""
    parts = np.empty(len(codes), np.intp)
    for c in np.unique(codes):
        members = order[codes[order] == c]
        parts[members] = np.arange(len(members)) % count
    return [(np.flatnonzero(parts != i), np.flatnonzero(parts == i)) for i in range(count)]
