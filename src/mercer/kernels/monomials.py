"""Polynomials in several inner products, and the features that their monomials have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import CACHE, row_blocks

Array = NDArray[Any]
# Which inner product to which power, by the number of the inner product.
Monomial = tuple[tuple[int, int], ...]
Terms = dict[Monomial, float]

# More features than this are as good as infinitely many: no matrix of them fits anywhere.
MOST_FEATURES = 1 << 24
# Monomials beyond which a formula is not expanded.
MOST_TERMS = 512


class NotPolynomialError(Exception):
    """A formula is no polynomial in inner products, or one of too many terms."""


def degree(monomial: Monomial) -> int:
    """Return the sum of the exponents."""
    return sum(p for _, p in monomial)


def constant(c: float) -> Terms:
    """Return the polynomial that is a number."""
    return {(): c} if c != 0.0 else {}


def add(a: Terms, b: Terms) -> Terms:
    """Return the sum of two polynomials."""
    total = a | {monomial: a.get(monomial, 0.0) + c for monomial, c in b.items()}
    return {monomial: c for monomial, c in total.items() if c != 0.0}


def multiply(a: Terms, b: Terms) -> Terms:
    """Return the product of two polynomials."""
    product: Terms = {}
    for left, c in a.items():
        for right, d in b.items():
            exponents = dict(left)
            for i, p in right:
                exponents[i] = exponents.get(i, 0) + p
            monomial = tuple(sorted(exponents.items()))
            product[monomial] = product.get(monomial, 0.0) + c * d
        if len(product) > MOST_TERMS:
            raise NotPolynomialError
    return {monomial: c for monomial, c in product.items() if c != 0.0}


def power(terms: Terms, exponent: int) -> Terms:
    """Return a polynomial to a whole power of at least one."""
    if len(terms) > 1 and exponent > MOST_TERMS:
        raise NotPolynomialError
    if not terms:
        return terms
    if len(terms) == 1:
        [(monomial, c)] = terms.items()
        with np.errstate(over="ignore"):
            coefficient = float(np.float64(c) ** float(exponent))
        return {tuple((i, p * exponent) for i, p in monomial): coefficient}
    return reduce(multiply, [terms] * exponent)


def choose(n: int, k: int) -> int:
    """Return the binomial coefficient, or some number above `MOST_FEATURES` if that is less."""
    count = 1
    for i in range(min(k, n - k)):
        count = count * (n - i) // (i + 1)
        if count > MOST_FEATURES:
            break
    return count


def all_products(F: Array, G: Array) -> Array:
    """Return the products of every column of F with every column of G."""
    return (F[:, :, None] * G[:, None, :]).reshape(len(F), F.shape[1] * G.shape[1])


def powers(F: Array, degrees: set[int]) -> dict[int, Array]:
    """Return for every degree p the features of (F F')^p: all monomials of degree p in F.

    The monomial of exponents e_1, e_2, ... has the factor sqrt(p! / (e_1! e_2! ...)).
    """
    plain = _products(F, degrees)
    return {p: _weighted(block, p, F.shape[1]) for p, block in plain.items()}


def _weighted(block: Any, p: int, m: int) -> Any:
    """Return plain monomials, dense or sparse, with the roots of their multinomial coefficients."""
    if p == 1 or m == 1:
        return block
    roots = np.sqrt(_layout(m, p).counts).astype(block.dtype)
    if not sp.issparse(block):
        return block * roots
    entries = (block.data * roots[block.indices], block.indices, block.indptr)
    return sp.csr_array(entries, shape=block.shape)


def _products(F: Array, degrees: set[int]) -> dict[int, Array]:
    """Return the plain monomials of every degree, x_i x_j ... with i <= j <= ... in order."""
    if F.shape[1] == 1:
        return {p: F ** float(p) for p in degrees}
    m, block, found = F.shape[1], F, {1: F}
    for p in range(2, max(degrees, default=1) + 1):
        shorter, longer = _layout(m, p - 1), _layout(m, p)
        higher = np.empty((len(F), longer.starts[m]), F.dtype)
        for j in range(m):
            out = higher[:, longer.starts[j] : longer.starts[j + 1]]
            np.multiply(F[:, [j]], block[:, shorter.starts[j] :], out=out)
        block = higher
        if p in degrees:
            found[p] = block
    return found


def _sparse_products(F: Any, degrees: set[int]) -> dict[int, Any]:
    """Return the plain monomials of sparse rows, of which only those that are not zero exist."""
    n, m = F.shape
    rows = np.repeat(np.arange(n), np.diff(F.indptr))
    columns, index, values, found = F.indices, F.indices.astype(np.int64), F.data, {1: F}
    # Where those that begin with each entry of F start, and where the last end.
    starts = np.arange(F.nnz + 1)
    for p in range(2, max(degrees, default=1) + 1):
        # One more x_j is written before those monomials of its row that begin with x_j or a later
        # column: they are the last ones of the row.
        lengths = starts[F.indptr[rows + 1]] - starts[:-1]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        before = np.repeat(np.arange(F.nnz), lengths)
        after = np.arange(ends[-1]) - np.repeat(ends[:-1] - starts[:-1], lengths)
        moved = (_layout(m, p).starts - _layout(m, p - 1).starts)[columns]
        values, index, starts = F.data[before] * values[after], index[after] + moved[before], ends
        if p in degrees:
            shape = (n, int(_layout(m, p).starts[m]))
            found[p] = sp.csr_array((values, index, starts[F.indptr]), shape=shape)
    return found


@dataclass(frozen=True)
class Expansion:
    """The monomials of rows by their degrees, each degree times a factor.

    Parameters
    ----------
    factors : tuple of (int, float)
        The degrees in ascending order, with their factors.
    is_weighted : bool
        Whether a monomial also has the root of its multinomial coefficient for a factor.
    """

    factors: tuple[tuple[int, float], ...]
    is_weighted: bool

    @classmethod
    def of(cls, p: int, c: float, scaled: bool) -> Expansion:
        """Return the features of (x'z + c)^p if they are scaled, and else its plain monomials."""
        terms = power(add(constant(c), {((0, 1),): 1.0}), p)
        degrees = sorted((degree(monomial), coefficient) for monomial, coefficient in terms.items())
        return cls(tuple((d, math.sqrt(b) if scaled else 1.0) for d, b in degrees), scaled)

    def count(self, m: int) -> int:
        """Return the number of monomials in m columns, or refuse what no matrix can hold."""
        total = sum(choose(m + d - 1, d) for d, _ in self.factors)
        if total > MOST_FEATURES:
            raise ValueError(
                f"{m} columns have more than {MOST_FEATURES} monomials of degree "
                f"{self.factors[-1][0]}; use the kernel Polynomial, which needs none of them, or "
                "fewer columns"
            )
        return total

    def __call__(self, X: Any) -> Any:
        """Return the monomials of the rows of a matrix, CSR if it is sparse."""
        degrees = {d for d, _ in self.factors if d > 0}
        if sp.issparse(X):
            X = sp.csr_array(X)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            return sp.csr_array(sp.hstack(self._side_by_side(X, _sparse_products(X, degrees))))
        out = np.empty((len(X), self.count(X.shape[1])), X.dtype)
        for rows in row_blocks(out.shape, CACHE):
            some = X[rows]
            np.concatenate(self._side_by_side(some, _products(some, degrees)), 1, out=out[rows])
        return out

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the monomials as text, given the names of the columns."""
        return [
            _written(monomial, columns)
            for d, _ in self.factors
            for monomial in combinations_with_replacement(range(len(columns)), d)
        ]

    def _side_by_side(self, X: Any, blocks: dict[int, Any]) -> list[Any]:
        m = X.shape[1]
        found = []
        for d, factor in self.factors:
            if d == 0:
                found.append(np.full((X.shape[0], 1), factor, X.dtype))
                continue
            block = _weighted(blocks[d], d, m) if self.is_weighted else blocks[d]
            found.append(block if factor == 1.0 else block * X.dtype.type(factor))
        return found


def _written(monomial: Sequence[int], columns: Sequence[str]) -> str:
    exponents = Counter(monomial)
    powers = [columns[j] if e == 1 else f"{columns[j]}^{e}" for j, e in exponents.items()]
    return " ".join(powers) or "1"


class _Layout(NamedTuple):
    """The monomials of one degree, each written as x_i x_j ... with i <= j <= ...

    ``starts`` says where those that begin with each column start, and where the last end;
    ``counts`` are their multinomial coefficients, ``runs`` how often the first column is repeated.
    """

    starts: NDArray[np.intp]
    counts: NDArray[np.float64]
    runs: NDArray[np.float64]


@lru_cache(maxsize=16)
def _layout(m: int, degree: int) -> _Layout:
    """Return the layout of the monomials in m columns."""
    if degree == 1:
        return _Layout(np.arange(m + 1), np.ones(m), np.ones(m))
    # One more x_j is written before each monomial that begins with x_j or a later column. Where
    # it begins with x_j, the run grows, and degree! / (run! ...) is divided by it.
    starts, counts, runs = _layout(m, degree - 1)
    lengths = starts[m] - starts[:m]
    longer = np.ones(lengths.sum())
    ends = np.concatenate([[0], np.cumsum(lengths)])
    for j in range(m):
        run = runs[starts[j] : starts[j + 1]]
        longer[ends[j] : ends[j] + len(run)] += run
    tails = np.concatenate([counts[starts[j] :] for j in range(m)])
    return _Layout(ends, tails * degree / longer, longer)
