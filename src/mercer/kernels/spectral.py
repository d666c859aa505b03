"""Stationary kernels as mixtures of waves, and what the algebra of kernels makes of these."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.kernels.kernel import (
    After,
    Columns,
    Constant,
    Kernel,
    Normalized,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Sum,
)
from mercer.kernels.monomials import (
    NotPolynomialError,
    Terms,
    add,
    constant,
    degree,
    multiply,
    power,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stationary(Kernel):
    """A kernel of the difference x - z whose spectral density can be drawn from."""

    @abstractmethod
    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        """Return random frequencies w with k(x, z) = k(x, x) E cos(w'(x - z)) (Bochner).

        Parameters
        ----------
        random : Generator
            Where random numbers come from.
        normal : array of shape (p, d)
            Standard normal vectors, of which the frequencies may be made: one row each.
        """


@dataclass(frozen=True)
class Atom:
    """A stationary kernel and what it sees of a row.

    Parameters
    ----------
    kernel : Stationary
        The kernel.
    views : tuple of Kernel
        The kernels around it of which the `inputs` are what it sees, the outermost first.
    columns : int
        The number of columns that are left for it.
    """

    kernel: Stationary
    views: tuple[Kernel, ...]
    columns: int


def spectral_terms(kernel: Kernel, rows: Any) -> tuple[list[Atom], Terms]:
    """Return a kernel as a polynomial in stationary ones that are 1 at x = z.

    Sums, products, powers and factors of stationary kernels are such polynomials, of any columns
    and after any maps. The terms are in the order of their degree, a constant first.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        At least one, which tells how many columns there are.
    """
    reader = _Reader(kernel)
    try:
        terms = reader.read(kernel, rows, ())
    except NotPolynomialError:
        raise ValueError(
            f"{kernel!r:.200} has too many terms for random frequencies; use Nystroem"
        ) from None
    if not all(0.0 < c < math.inf for c in terms.values()):
        raise ValueError(
            f"{kernel!r:.200} is no sum of stationary kernels with positive factors; use Nystroem"
        )
    ordered = sorted(terms.items(), key=lambda term: (degree(term[0]), term[0]))
    return list(reader.atoms), dict(ordered)


class _Reader:
    """Reads a kernel as a polynomial, and numbers the stationary kernels that it meets."""

    def __init__(self, whole: Kernel) -> None:
        self.whole = whole
        self.atoms: dict[Atom, int] = {}

    def read(self, k: Kernel, rows: Any, views: tuple[Kernel, ...]) -> Terms:
        match k:
            case Constant(value=c):
                return constant(c)
            case Sum(terms=parts):
                return reduce(add, (self.read(part, rows, views) for part in parts))
            case Product(terms=parts):
                return reduce(multiply, (self.read(part, rows, views) for part in parts))
            case Scaled(kernel=inner, factor=c):
                return multiply(constant(c), self.read(inner, rows, views))
            case Power(kernel=inner, exponent=p):
                return power(self.read(inner, rows, views), p)
            case PolynomialOf(kernel=inner, coefficients=coefficients):
                x, total = self.read(inner, rows, views), Terms()
                for c in reversed(coefficients):
                    total = add(multiply(total, x), constant(c))
                return total
            case Normalized(kernel=inner):
                terms = self.read(inner, rows, views)
                whole = sum(terms.values())
                return {monomial: c / whole for monomial, c in terms.items()}
            case After(kernel=inner) | Columns(kernel=inner):
                return self.read(inner, k.inputs(rows), (*views, k))
            case Stationary():
                return self._atom(k, as_matrix(rows).shape[1], views)
        named = "" if k is self.whole else f" in {self.whole!r:.100}"
        raise ValueError(
            f"{k!r:.100}{named} has no spectral density that is known, and so no random "
            "frequencies; use Nystroem, which takes any kernel"
        )

    def _atom(self, k: Stationary, columns: int, views: tuple[Kernel, ...]) -> Terms:
        variance = float(k.diagonal(np.zeros((1, columns)))[0])
        number = self.atoms.setdefault(Atom(k, views, columns), len(self.atoms))
        return {((number, 1),): variance}
