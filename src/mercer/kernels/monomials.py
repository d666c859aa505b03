"""Polynomials in several inner products, and the features that their monomials have."""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# Which inner product to which power, by the number of the inner product.
Monomial = tuple[tuple[int, int], ...]
Terms = dict[Monomial, float]

# More features than this are as good as infinitely many: no matrix of them fits anywhere.
MOST = 1 << 24
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
    """Return the binomial coefficient, or some number above `MOST` if it is larger than that."""
    count = 1
    for i in range(min(k, n - k)):
        count = count * (n - i) // (i + 1)
        if count > MOST:
            break
    return count


def all_products(F: Array, G: Array) -> Array:
    """Return the products of every column of F with every column of G."""
    return (F[:, :, None] * G[:, None, :]).reshape(len(F), F.shape[1] * G.shape[1])


def powers(F: Array, degrees: set[int]) -> dict[int, Array]:
    """Return for every degree p the features of (F F')^p: all monomials of degree p in F.

    The monomial of exponents e_1, e_2, ... has the factor sqrt(p! / (e_1! e_2! ...)).
    """
    if F.shape[1] == 1:
        return {p: F ** float(p) for p in degrees}
    m, block, powers = F.shape[1], F, {1: F}
    for p in range(2, max(degrees, default=1) + 1):
        shorter, longer = _layout(m, p - 1), _layout(m, p)
        higher = np.empty((len(F), longer.starts[m]), F.dtype)
        for j in range(m):
            out = higher[:, longer.starts[j] : longer.starts[j + 1]]
            np.multiply(F[:, [j]], block[:, shorter.starts[j] :], out=out)
        block = higher
        if p in degrees:
            powers[p] = block * np.sqrt(longer.counts).astype(F.dtype)
    return powers


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
