"""How much faster errors grow than variances where whole slices of a column are left out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.categories import is_missing
from mercer.data.columns import column_values, is_table, n_rows, take_rows
from mercer.data.distinct import as_list
from mercer.data.stream import Stream
from mercer.errors import MemoryLimitError, SingularSystemError
from mercer.gram import unheld_gram_of
from mercer.kernels import Kernel
from mercer.solvers.ridge.bordered import Bordered, RidgeProblem
from mercer.solvers.ridge.cholesky import TwoTriangles, factored
from mercer.solvers.ridge.held_out import held_out

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Rows of which slices are left out: a seeded sample of more.
ROWS = 500
# Slices of a column of numbers, by its quantiles; of no more values every one is a slice.
SLICES = 8
# The least rows of a slice, and the largest share of all.
LEAST_ROWS, LARGEST_SHARE = 3, 0.5
# Columns that are looked at, those between whose slices targets differ most: the largest factor of
# very many would be that of chance, and take longer than the fit.
MOST_COLUMNS = 50
# Columns along which variances grow by a smaller share of the most count nothing: errors that stay
# as they are, by chance a little larger, would be much for such a growth.
LEAST_GROWTH = 0.05


def growth(kernel: Kernel, X: Any, problem: RidgeProblem, memory: Any) -> Array:
    """Return the factor of posterior variances at rows unlike the training rows, (targets,).

    Rows left out one by one have neighbours that stay, and tell nothing of how wrong f is beyond
    them: scales that are learned, or chosen by such errors, fit what lies between neighbours. So
    a whole slice I of a column is left out, a category, a value or an eighth of the rows by its
    quantiles. Errors and variances without it are e_I = B_II^-1 a_I and the diagonal of B_II^-1,
    and no fit is repeated. In units in which squared errors of single rows are their variances in
    the mean, the factor of a column is the sum over its slices by which squared errors grow, over
    the sum by which variances grow. That of the column with the largest is returned, and at least
    one; it is one for rows without columns, such as texts.

    Parameters
    ----------
    kernel : Kernel
        k.
    X : rows
        The training rows.
    problem : RidgeProblem
        Their targets and weights, and the ridges.
    memory : int or str, optional
        The limit of memory.

    References
    ----------
    D. Roberts and others (2017), Cross-validation strategies for data with temporal, spatial,
    hierarchical, or phylogenetic structure. Ecography 40.
    """
    found = np.ones(problem.y.shape[1])
    n, (problem, _) = n_rows(X), problem.in_units()
    if n > ROWS:
        some = np.sort(np.random.default_rng(0).permutation(n)[:ROWS])
        X, problem = take_rows(X, some), problem.on(some)
    elif isinstance(X, Stream):
        X = X.collected()
    columns = slices_of(X, problem.y)
    if not columns:
        return found
    try:
        gram = unheld_gram_of(kernel, X, memory)
        matrix = TwoTriangles(gram.fresh())
        for alpha, targets in problem.by_alpha():
            factored(gram, matrix, alpha, problem.weights)
            B = Bordered.solve(matrix, problem.unpenalised, np.eye(len(problem.y))).a
            found[targets] = _largest(B, problem.y[:, targets], columns)
    except (MemoryLimitError, SingularSystemError):
        # Nothing follows, as of least squares on more rows than features.
        return found
    return found


def slices_of(X: Any, y: Array) -> list[list[Index]]:
    """Return for some columns of rows the places of the rows of each of its slices.

    These are at most `MOST_COLUMNS`, between whose slices the means of the targets y, of shape
    (n, targets), differ most.
    """
    columns = [(codes, kept) for codes, kept in map(_kept_slices, _columns(X)) if len(kept)]
    if len(columns) > MOST_COLUMNS:
        told = y - y.mean(axis=0)
        told /= np.sqrt(np.maximum((told**2).sum(axis=0), np.finfo(np.float64).tiny))
        between = [_between(codes, kept, told) for codes, kept in columns]
        some = np.sort(np.argsort(between, kind="stable")[-MOST_COLUMNS:])
        columns = [columns[c] for c in some]
    return [[np.flatnonzero(codes == code) for code in kept] for codes, kept in columns]


def _columns(X: Any) -> list[NDArray[Any]]:
    """Return the columns of rows; of sparse ones those that are filled most; none of others."""
    if is_table(X):
        return [np.asarray(values) for _, values in column_values(X)]
    if sp.issparse(X):
        X = sp.csr_array(X)
        filled = np.bincount(X.indices, minlength=X.shape[1])
        most = np.sort(np.argsort(-filled, kind="stable")[:MOST_COLUMNS])
        return list(X[:, most].toarray().T)
    return list(X.T) if isinstance(X, np.ndarray) and X.ndim == 2 else []


def _kept_slices(values: NDArray[Any]) -> tuple[Index, Index]:
    """Return the number of the slice of every cell, and the slices that are left out."""
    codes = _codes(values)
    count = np.bincount(codes[codes >= 0])
    return codes, np.flatnonzero((count >= LEAST_ROWS) & (count <= LARGEST_SHARE * len(codes)))


def _between(codes: Index, kept: Index, told: Array) -> float:
    """Return the sum of squares between slices of centred targets."""
    rows = np.flatnonzero(codes >= 0)
    sums = np.stack([np.bincount(codes[rows], column[rows]) for column in told.T], axis=1)
    return float((sums[kept] ** 2 / np.bincount(codes[rows])[kept, None]).sum())


def _codes(values: NDArray[Any]) -> Index:
    """Return the number of the slice of every cell of a column, -1 where it is missing."""
    if values.dtype.kind in "mM":
        values = np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))
    if values.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        keys = (v if isinstance(v, Hashable) else repr(as_list(v)) for v in values)
        found = [-1 if is_missing(v) else numbers.setdefault(v, len(numbers)) for v in keys]
        return np.array(found, np.intp)
    is_known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), np.bool_)
    codes = np.full(len(values), -1, np.intp)
    levels, places = np.unique(values[is_known], return_inverse=True)
    if len(levels) > SLICES and values.dtype.kind in "fiu":
        ends = np.quantile(values[is_known], np.arange(1, SLICES) / SLICES)
        places = np.searchsorted(ends, values[is_known], side="right")
    codes[is_known] = places
    return codes


def _largest(B: Array, y: Array, columns: list[list[Index]]) -> Array:
    """Return the largest factor of all columns, for targets that share B."""
    diagonal = np.diagonal(B)
    a = B @ y
    e, known = held_out(a, diagonal), held_out(np.ones((len(a), 1)), diagonal)[:, 0]
    finite = np.isfinite(known)
    squares = np.where(finite[:, None], e**2, 0.0).sum(axis=0)
    units = squares / (known + np.mean(known[finite]))[finite].sum()
    errors, variances = np.zeros((2, len(columns), y.shape[1]))
    for c, slices in enumerate(columns):
        for rows in slices:
            inverse = _inverse(B[np.ix_(rows, rows)])
            if inverse is None or not finite[rows].all():
                continue
            missed = inverse @ a[rows]
            errors[c] += (missed**2 - e[rows] ** 2).sum(axis=0)
            variances[c] += units * (np.diagonal(inverse) - known[rows]).sum()
    told = (variances > 0.0) & (variances >= LEAST_GROWTH * variances.max(axis=0))
    ratios = np.divide(errors, variances, out=np.ones_like(errors), where=told)
    return np.maximum(ratios.max(axis=0), 1.0)


def _inverse(block: Array) -> Array | None:
    """Return the inverse of a block of B, or None where the other rows do not tell its targets."""
    try:
        found = np.asarray(np.linalg.inv(block), np.float64)
    except np.linalg.LinAlgError:
        return None
    is_sound = np.isfinite(found).all() and (np.diagonal(found) > 0.0).all()
    return found if is_sound else None
