"""Explicit features: the finite map phi with phi(x)'phi(z) = k(x, z), read off the formula.

A formula made of inner products by sums, products and whole powers is a polynomial in them. If no
coefficient is negative, each of its monomials is a kernel with finitely many features, and they
stand side by side. So a kernel's author writes nothing for it, and neither does an operator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import LARGE, row_blocks
from mercer.data.checks import Matrix
from mercer.data.columns import n_rows, take_rows
from mercer.data.layout import used_columns
from mercer.kernels.monomials import (
    MOST_FEATURES,
    Monomial,
    NotPolynomialError,
    Terms,
    add,
    all_products,
    choose,
    constant,
    degree,
    multiply,
    power,
    powers,
)
from mercer.tiles.program import Factor
from mercer.tiles.rows import Rows, comparable, is_countable
from mercer.tiles.tile import (
    Add,
    Expression,
    Leaf,
    Multiply,
    Normalize,
    Number,
    Polynomial,
    Power,
    ScaleRows,
    Transform,
    View,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class Inner:
    """The inner product x'z of the rows behind a view: they are its features."""

    is_linear: ClassVar[bool] = True
    view: View

    def width(self, rows: Rows) -> int:
        """Return the number of features."""
        g = comparable(self.view)
        return g.columns if g is not None else int(rows.matrix(self.view).shape[1])

    def is_sparse(self, rows: Rows) -> bool:
        """Whether the features are a CSR matrix."""
        return comparable(self.view) is not None or sp.issparse(rows.matrix(self.view))

    def entries(self, rows: Rows) -> int:
        """Return about how many features there are that are not zero, if they need be counted."""
        g = comparable(self.view)
        return 0 if g is None else g.entries(rows.compared(self.view))

    def pays(self, rows: Rows) -> bool:
        """Whether the features of a new row are had in less time than it is compared with these."""
        g = comparable(self.view)
        return g is None or g.pays(rows.compared(self.view))

    def block(self, rows: Rows, part: slice) -> Matrix:
        """Return the features of some of the rows."""
        return rows.matrix(self.view)[part]


@dataclass(frozen=True)
class RowScaled:
    """f(x) k(x, z) f(z), or k normalised: the features of k, each row times its own factor."""

    factor: Factor
    phi: FormulaMap

    @property
    def is_linear(self) -> bool:
        """Whether the features are rows as given, but for factors."""
        return self.phi.is_linear

    def width(self, rows: Rows) -> int:
        """Return the number of features."""
        return self.phi.width(rows)

    def is_sparse(self, rows: Rows) -> bool:
        """Whether the features are a CSR matrix."""
        return self.phi.is_sparse(rows)

    def entries(self, rows: Rows) -> int:
        """Return about how many features there are that are not zero, if they need be counted."""
        return self.phi.entries(rows)

    def pays(self, rows: Rows) -> bool:
        """Whether the features of a new row are had in less time than it is compared with these."""
        return self.phi.pays(rows)

    def block(self, rows: Rows, part: slice) -> Matrix:
        """Return the features of some of the rows."""
        F, f = self.phi.block(rows, part), rows.factor(self.factor)[part]
        return F.multiply(f[:, None]).tocsr() if sp.issparse(F) else f[:, None] * F


@dataclass(frozen=True)
class FormulaMap:
    """phi with phi(x)'phi(z) = sum_j c_j prod_i k_i(x, z)^p_ij, all c_j >= 0.

    Parameters
    ----------
    atoms : tuple of Inner or RowScaled
        The k_i.
    terms : tuple of (monomial, coefficient)
        The monomials with their c_j.
    """

    atoms: tuple[Inner | RowScaled, ...]
    terms: tuple[tuple[Monomial, float], ...]

    def count(self, X: Any, most: int = MOST_FEATURES) -> int | None:
        """Return the number of features of rows such as `X`, or None for more than `most`.

        Only the first row is looked at, and no features are computed. Sparse features that have a
        column for everything there might be, such as k-grams, count where they are not zero.
        """
        first = Rows(take_rows(X, slice(0, 1)), "X")
        count = self.width(first)
        if count > MOST_FEATURES and self.is_sparse(first):
            return self._count_used(X, min(most, MOST_FEATURES))
        return count if count <= min(most, MOST_FEATURES) else None

    def _count_used(self, X: Any, most: int) -> int | None:
        """Return the number of columns in use, or None as soon as there are more than `most`."""
        n, start, columns = n_rows(X), 0, np.empty(0, np.int64)
        per_row = self.entries(Rows(X, "X")) / max(n, 1)
        at_a_time = int(LARGE / max(per_row, 1.0)) + 1
        while start < n:
            # Twice as many rows every time: a few that have too many features tell soon.
            stop = min(n, 2 * start + 1, start + at_a_time)
            part = self(take_rows(X, slice(start, stop)))
            columns = np.union1d(columns, used_columns(part))
            if len(columns) > most:
                return None
            start = stop
        return max(len(columns), 1)

    def is_open(self, X: Any) -> bool:
        """Whether there is a sparse column for all that might occur, such as every k-gram."""
        first = Rows(take_rows(X, slice(0, 1)), "X")
        return self.width(first) > MOST_FEATURES and self.is_sparse(first)

    def stays_sparse(self, X: Any) -> bool:
        """Whether the features of rows such as `X` are a CSR matrix."""
        return self.is_sparse(Rows(take_rows(X, slice(0, 1)), "X"))

    def is_sparse(self, rows: Rows) -> bool:
        """Whether the features of these rows are a CSR matrix."""
        return self.is_linear and any(atom.is_sparse(rows) for atom in self.atoms)

    def entries(self, rows: Rows) -> int:
        """Return about how many features there are that are not zero, if they need be counted."""
        return sum(atom.entries(rows) for atom in self.atoms)

    def pays(self, rows: Rows) -> bool:
        """Whether the features of a new row are had in less time than it is compared with these."""
        return all(atom.pays(rows) for atom in self.atoms)

    def __call__(self, X: Any) -> Matrix:
        """Return phi(X) of shape (n, p): the rows themselves for x'z, and CSR if they stay so."""
        rows = Rows(X, "X")
        blocks = self._blocks(rows)
        part, F = next(blocks)
        if F.shape[0] == rows.n:
            return F
        out = np.empty((rows.n, F.shape[1]), F.dtype)
        out[part] = F
        for part, F in blocks:
            out[part] = F
        return out

    def product(self, X: Any, theta: Array) -> Array:
        """Return phi(X) theta, with no more than a few rows of phi(X) at a time."""
        rows = Rows(X, "X")
        out = np.empty((rows.n, *theta.shape[1:]))
        for part, F in self._blocks(rows):
            out[part] = F @ theta
        return out

    def transposed(self, X: Any, a: Array) -> Array:
        """Return phi(X)'a, with no more than a few rows of phi(X) at a time."""
        rows = Rows(X, "X")
        out = np.zeros((self.width(rows), *a.shape[1:]))
        for part, F in self._blocks(rows):
            out += F.T @ a[part]
        return out

    def width(self, rows: Rows) -> int:
        """Return the number of features of these rows; counting stops beyond `MOST_FEATURES`."""
        widths = [atom.width(rows) for atom in self.atoms]
        return sum(
            math.prod(choose(widths[i] + p - 1, p) for i, p in monomial)
            for monomial, _ in self.terms
        )

    def block(self, rows: Rows, part: slice) -> Matrix:
        """Return the features of some of the rows."""
        blocks = [atom.block(rows, part) for atom in self.atoms]
        dtype = np.result_type(*(F.dtype for F in blocks)) if blocks else np.float64
        ones = np.ones((part.stop - part.start, 1), dtype)
        if not self.is_linear:
            dense = [F.toarray() if sp.issparse(F) else F for F in blocks]
            with np.errstate(over="ignore", invalid="ignore"):
                return self._monomials(dense, ones)
        # The root of 1 is left out, so that the inner product of rows needs no copy of them.
        columns = [
            F if c == 1.0 else math.sqrt(c) * F
            for monomial, c in self.terms
            for F in [blocks[monomial[0][0]] if monomial else ones]
        ]
        if len(columns) == 1:
            return columns[0]
        is_sparse = any(sp.issparse(F) for F in columns)
        return sp.csr_array(sp.hstack(columns, "csr")) if is_sparse else np.hstack(columns)

    @property
    def is_linear(self) -> bool:
        """Whether the features are rows as given, but for factors: sparse if these are."""
        degrees = [degree(monomial) for monomial, _ in self.terms]
        return max(degrees) <= 1 and all(atom.is_linear for atom in self.atoms)

    def _blocks(self, rows: Rows) -> Iterator[tuple[slice, Matrix]]:
        """Yield the features of a few rows at a time, of all at once where they are rows anyway."""
        everything = slice(0, rows.n)
        parts = row_blocks((rows.n, self.width(rows)))
        for part in [everything] if self.is_linear or rows.n == 0 else parts:
            yield part, self.block(rows, part)

    def _monomials(self, blocks: list[Array], ones: Array) -> Array:
        """Return the features of every term side by side, given those of the atoms."""
        degrees: list[set[int]] = [set() for _ in blocks]
        for monomial, _ in self.terms:
            for i, p in monomial:
                degrees[i].add(p)
        raised = [powers(F, wanted) for F, wanted in zip(blocks, degrees, strict=True)]
        products = [
            reduce(all_products, (raised[i][p] for i, p in monomial), ones)
            for monomial, _ in self.terms
        ]
        return np.hstack([math.sqrt(c) * F for F, (_, c) in zip(products, self.terms, strict=True)])


def feature_map_of(e: Expression) -> FormulaMap | None:
    """Return the finite feature map of a formula, or None if it has none that is known."""
    try:
        return _Reader().feature_map(e)
    except NotPolynomialError:
        return None


class _Reader:
    """Reads a formula as a polynomial, and numbers the inner products that it meets."""

    # Blocks of k-grams, 2^60 columns each, that stand side by side below 2^63.
    most_wide_blocks: ClassVar[int] = 7

    def __init__(self) -> None:
        self.atoms: dict[Inner | RowScaled, int] = {}

    def feature_map(self, e: Expression) -> FormulaMap:
        terms = self.read(e)
        if not all(0.0 < c < math.inf for c in terms.values()):
            raise NotPolynomialError
        # Columns for everything that might occur are numbered by 64 bits, if they are not many.
        if sum(_is_wide(atom) for atom in self.atoms) > self.most_wide_blocks:
            raise NotPolynomialError
        # The zero kernel has one feature, which is zero, since no matrix is without columns.
        ordered = sorted(terms.items(), key=lambda term: (degree(term[0]), term[0]))
        return FormulaMap(tuple(self.atoms), tuple(ordered) or (((), 0.0),))

    def read(self, e: Expression) -> Terms:
        match e:
            case Number(value=c):
                return constant(c)
            case Leaf(kind="dot", left=left, right=right) if is_countable(left):
                return self._atom(Inner(left if left == right else _rooted(left, right)))
            case Add(terms=parts):
                return reduce(add, map(self.read, parts))
            case Multiply(terms=parts):
                return reduce(multiply, map(self.read, parts))
            case Power(base=base, exponent=p):
                return power(self.read(base), p)
            case Polynomial(argument=argument, coefficients=coefficients):
                inner, total = self.read(argument), Terms()
                for c in reversed(coefficients):
                    total = add(multiply(total, inner), constant(c))
                return total
            case ScaleRows(argument=argument) | Normalize(argument=argument):
                return self._atom(RowScaled(e, _Reader().feature_map(argument)))
        raise NotPolynomialError

    def _atom(self, atom: Inner | RowScaled) -> Terms:
        return {((self.atoms.setdefault(atom, len(self.atoms)), 1),): 1.0}


def _is_wide(atom: Inner | RowScaled) -> bool:
    """Whether an atom has a column for all that might occur, which its map knows the number of."""
    if isinstance(atom, RowScaled):
        return any(_is_wide(a) for a in atom.phi.atoms)
    last = atom.view[-1] if atom.view else None
    return isinstance(last, Transform) and hasattr(last.g, "columns")


def _rooted(left: View, right: View) -> View:
    """Return the view R'x for x'Az, where A = R R' maps the right side and knows its root R."""
    last = right[-1] if right[:-1] == left else None
    root = last.g.root() if isinstance(last, Transform) and hasattr(last.g, "root") else None
    if root is None:
        raise NotPolynomialError
    return (*left, Transform(root))
