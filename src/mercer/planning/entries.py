"""What an entry of a Gram matrix takes, counted from the formula and a few rows."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.columns import n_rows, take_rows
from mercer.kernels import Kernel
from mercer.planning.costs import COSTS
from mercer.planning.rates import Work
from mercer.tiles import Rows
from mercer.tiles.counts import are_dense
from mercer.tiles.entries import WALK
from mercer.tiles.evaluate import engine
from mercer.tiles.operands import Operand, bind
from mercer.tiles.tile import Leaf

# Bytes for every row and feature: the features, and their singular values where need be.
FEATURE_BYTES = 24


@runtime_checkable
class Counted(Protocol):
    """What fills a block of entries and knows how many steps a pair of rows takes."""

    def pair_steps(self, rows: Any) -> float:
        """Return the mean number of pairs of symbols that two of these rows are compared by."""


def entry_work(kernel: Kernel, X: Any) -> Work:
    """Return the work for an entry k(x_i, x_j) in a product with K, of each pair one.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    X : rows
        An array, CSR matrix, table or sequences; some of them are looked at.
    """
    if kernel.is_precomputed:
        return Work(byte=8.0)
    # Rows that tell how many entries sparse rows have and how long sequences are.
    sample = 64
    some = np.linspace(0, n_rows(X) - 1, min(n_rows(X), sample)).astype(np.intp)
    bound = bind(kernel.program, Rows(take_rows(X, some), "X"))
    steps = [step for step in kernel.program.instructions if step.operation.startswith("map")]
    # What a function takes beside an exponential, measured on processors of the levels v3 and v4.
    beside = {"exp": 1.0, "sqrt": 0.8, "reciprocal": 0.8, "tanh": 2.0, "log1p": 3.0}
    work = Work(function=sum(beside.get(step.function, 0.0) for step in steps))
    for operand in bound.operands:
        work += _comparison(operand, n_rows(X))
    return work


def _comparison(o: Operand, rows: int) -> Work:
    """Return the work to compare two of so many rows, some of which are here, by one input."""
    if o.comparison is not None:
        return Work(column=COSTS.entry_term, symbol=0.5 * float(np.mean(o.left.lengths)) ** 2)
    if not isinstance(o.source, Leaf):
        fill = o.source.fill
        if isinstance(fill, Counted):
            return Work(column=COSTS.entry_term, symbol=fill.pair_steps(o.left))
        is_pairwise = getattr(fill, "pairwise", False)
        each = COSTS.entry_call if is_pairwise else COSTS.entry_filled
        return Work(column=COSTS.entry_term, symbol=each)
    # What a column takes in each comparison beside an inner product, measured at 2 to 256 columns
    # on processors of the levels v3 and v4.
    beside = {
        "dot": 1.0,
        "squared_distance": 1.1,
        "match": 1.2,
        "minimum": 1.4,
        "manhattan": 2.5,
        "chi2": 8.0,
        "sine": 33.0,
    }
    each = beside[o.source.kind]
    n, width = o.left.shape
    if o.is_counted:
        entries = np.count_nonzero(o.left, axis=0)
        columns = max(_columns_of_all(entries), width) if rows > n else width
        if are_dense(float(entries.sum()), n, columns):
            return Work(column=COSTS.entry_term + COSTS.entry_count * columns)
    elif not sp.issparse(o.left):
        return Work(column=COSTS.entry_term + each * width)
    elif engine().takes(o):
        return Work(column=COSTS.entry_term + each * min(WALK * o.left.nnz / n, width))
    else:
        entries = np.bincount(o.left.indices, minlength=1)
    # The mean number of columns in which two different rows both have an entry.
    counts = entries.astype(np.float64)
    meetings = float(counts @ (counts - 1.0)) / max(n * (n - 1.0), 1.0)
    return Work(column=COSTS.entry_term + COSTS.entry_block + each * COSTS.entry_meeting * meetings)


def few_features(kernel: Kernel, rows: Any, n: int, memory: int) -> int | None:
    """Return the number of a kernel's explicit features if `n` rows are better solved in them.

    Their products take n p^2 multiplications; a factor of n rows takes n^3 / 6, and its entries up
    to n^2 p / 2 more.
    """
    return kernel.n_features(rows, int(min(n / 2.0, memory / (FEATURE_BYTES * n))))


def _columns_of_all(entries: NDArray[np.intp]) -> float:
    """Return about how many columns very many rows have entries in, by those of a sample.

    Columns that one row alone has an entry in tell of those that none of these rows has one in.

    References
    ----------
    A. Chao (1984), Nonparametric estimation of the number of classes in a population.
    """
    met, once = int(np.count_nonzero(entries)), int(np.count_nonzero(entries == 1))
    return met + once**2 / (2.0 * max(int(np.count_nonzero(entries == 2)), 1))
