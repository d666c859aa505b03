"""One side's rows behind the views of a program, and the diagonal k(x, x) over them."""

from __future__ import annotations

from functools import cached_property, partial
from math import prod
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import MEMORY
from mercer.data.categories import Categories
from mercer.data.checks import (
    Matrix,
    Titles,
    as_floats,
    as_vector,
    check_finite,
    check_not_negative,
)
from mercer.data.columns import n_rows, select_columns, take_rows
from mercer.data.layout import check_entries
from mercer.data.stream import Stream
from mercer.tiles import twin
from mercer.tiles.program import Factor, Input, Program, compile_expression
from mercer.tiles.tile import Leaf, Normalize, Opaque, Select, Transform, View

NON_NEGATIVE = {"minimum": "min(x, z)", "chi2": "the chi-squared distance"}


class Comparison(Protocol):
    """What gives g(x)'g(z): a block of its values, and those of every row with itself."""

    def __call__(self, X: Any, Z: Any) -> NDArray[Any]: ...
    def diagonal(self, X: Any) -> NDArray[Any]: ...


@runtime_checkable
class Comparable(Protocol):
    """A map g to features whose inner products g(x)'g(z) can be had without the features.

    These are sparse, and `columns` is the number of all that might occur.
    """

    @property
    def columns(self) -> int: ...
    @property
    def is_comparable(self) -> bool: ...
    @property
    def is_countable(self) -> bool: ...

    def compared(self, X: Any) -> Any:
        """Return the rows `X` in the form that is compared."""

    def comparison(self, X: Any, Z: Any) -> Comparison | None:
        """Return what compares rows in that form, or None where the features are quicker."""

    def own_comparison(self, X: Any) -> Comparison | None:
        """Return what compares every row with itself, or None where the features are quicker."""

    def entries(self, X: Any) -> int:
        """Return about how many features of rows in that form are not zero, and no fewer."""

    def pays(self, X: Any) -> bool:
        """Whether the features of a new row take less time than to compare it with these."""


@runtime_checkable
class Bounded(Protocol):
    """A map g of which g(x)'g(z) is part of a kernel only among rows that it accepts together."""

    def check_together(self, X: Any) -> None:
        """Refuse rows `X` whose Gram matrix need not be positive semi-definite."""


@runtime_checkable
class OfNumbers(Protocol):
    """A map of rows of numbers, which are read once for all maps and leaves that ask for them."""

    def mapped(self, rows: Rows) -> Any:
        """Return the rows, mapped."""


class Rows:
    """One side's rows, with every view of them worked out at most once.

    Parameters
    ----------
    X : rows
        The rows.
    name : str
        What errors call them.
    matrix : array or CSR matrix, optional
        The rows themselves as numbers, where these were checked before.
    n : int, optional
        How many there are, where these are what a map has made of so many rows.
    """

    diagonal_block: ClassVar[int] = 32

    @classmethod
    def of(cls, X: Any) -> Rows:
        """Return rows that other kernels may have seen before, or new ones that errors call X."""
        return X if isinstance(X, Rows) else cls(X, "X")

    @classmethod
    def checked(cls, X: Any) -> Rows:
        """Return rows that an estimator has checked: an array of finite numbers is read as it is.

        One with missing cells passes the check of a kernel that fills them in. Where another part
        of that kernel reads them as they are, they are refused by their row and column.
        """
        is_matrix = type(X) is np.ndarray and X.dtype == np.float64 and X.flags.aligned
        if is_matrix:
            with np.errstate(over="ignore", invalid="ignore"):
                is_matrix = bool(np.isfinite(X.sum()))
        return cls(X, "X", X if is_matrix and X.ndim == 2 else None)

    def __init__(
        self, X: Any, name: str, matrix: Matrix | None = None, n: int | None = None
    ) -> None:
        self.X = X
        self.name = name
        if n is None:
            n = len(X) if type(X) is np.ndarray and X.ndim else n_rows(X)
        self.n = n
        if sp.issparse(X):
            # Before the first view, which may follow its indices.
            check_entries(X, name)
        # Programs on these rows alone, by `mercer.tiles.operands.bind`.
        self.bound: dict[Program, Any] = {}
        self._after: dict[Select | Transform, Rows] = {}
        self._floats: tuple[Matrix, Titles] | None = None
        self._matrices: dict[View, Matrix] = {} if matrix is None else {(): matrix}
        self._factors: dict[Factor, NDArray[Any]] = {}
        self._compared: dict[View, Any] = {}
        self._categories: dict[View, Categories] = {}

    def check_together(self, program: Program) -> None:
        """Refuse rows to be compared with each other that some map of a program does not accept.

        Rows that are compared with others alone, such as those of a prediction, need no such check.
        """
        for view in program.views:
            for i, step in enumerate(view):
                if isinstance(step, Transform) and isinstance(step.g, Bounded):
                    step.g.check_together(self.behind(view[:i]).X)

    @property
    def whole(self) -> Rows:
        """All rows that these are some of."""
        return self

    def part(self, index: Any) -> Rows:
        """Return some of the rows, whose views are those of all, worked out once for them."""
        return PartOfRows(self, index)

    def behind(self, view: View) -> Rows:
        """Return the rows as a view shows them."""
        rows = self
        for step in view:
            rows = rows.after(step)
        return rows

    def after(self, step: Select | Transform) -> Rows:
        """Return the rows behind one step of a view, which are kept unless they are many."""
        if step in self._after:
            return self._after[step]
        name = self.name
        g: Any
        if isinstance(step, Select):
            g, width = partial(select_columns, columns=step.columns), len(step.columns)
        else:
            # What is no array may be of any size, and is worked out again.
            g, width = step.g, None
            name = name if name.startswith("g(") else f"g({name})"
        if isinstance(self.X, Stream):
            return Rows(self.X.mapped(g), name)
        X = g.mapped(self) if isinstance(g, OfNumbers) else g(self.X)
        if isinstance(X, np.ndarray | Categories):
            width = prod(X.shape[1:])
        rows = Rows(X, name, n=self.n)
        if width is not None and self.n * width <= MEMORY:
            self._after[step] = rows
        return rows

    @property
    def floats(self) -> tuple[Matrix, Titles]:
        """The rows as a matrix that may have gaps, and what gives the names of its columns."""
        if () in self._matrices:
            return self._matrices[()], tuple
        if self._floats is not None:
            return self._floats
        matrix, titles = as_floats(self.X, self.name)
        if matrix.shape[0] * matrix.shape[1] <= MEMORY:
            self._floats = matrix, titles
        return matrix, titles

    def raw(self, view: View) -> Any:
        """Return the rows behind a view, unchecked, for a leaf that fills its own tile."""
        rows = self.behind(view).X
        if (n := n_rows(rows)) != self.n:
            raise self._lost_rows(n)
        return rows

    def matrix(self, view: View, leaf: Leaf | None = None) -> Matrix:
        """Return the rows behind a view as a matrix of floats, fit for a leaf that reads them."""
        if view not in self._matrices:
            rows = self.behind(view)
            matrix, titles = rows.floats
            check_finite(matrix, rows.name, titles)
            if matrix.shape[0] != self.n:
                raise self._lost_rows(matrix.shape[0])
            self._matrices[view] = matrix
        matrix = self._matrices[view]
        if leaf is not None and leaf.kind in NON_NEGATIVE:
            check_not_negative(matrix, NON_NEGATIVE[leaf.kind])
        if leaf is not None and leaf.weights is not None and len(leaf.weights) != matrix.shape[1]:
            raise ValueError(
                f"length_scale has {len(leaf.weights)} entries but the rows have "
                f"{matrix.shape[1]} columns; give one per column or a single number"
            )
        return matrix

    def compared(self, view: View) -> Any:
        """Return the rows before the last step of a view, in the form that it compares."""
        if view not in self._compared:
            g = comparable(view)
            assert g is not None
            self._compared[view] = g.compared(self.raw(view[:-1]))
        return self._compared[view]

    def categories(self, view: View) -> Categories:
        """Return the rows behind a view that ends in `AsCategories`."""
        if view not in self._categories:
            found: Categories = self.behind(view).X
            if found.shape[0] != self.n:
                raise self._lost_rows(found.shape[0])
            self._categories[view] = found
        return self._categories[view]

    def factor(self, f: Factor) -> NDArray[Any]:
        """Return the vector by which the rows of a tile are multiplied."""
        if f not in self._factors:
            self._factors[f] = self._factor(f)
        return self._factors[f]

    def _factor(self, f: Factor) -> NDArray[Any]:
        if isinstance(f, Normalize):
            d = self.diagonal(compile_expression(f.argument))
            if not np.isfinite(d).all():
                row = int(np.flatnonzero(~np.isfinite(d))[0])
                raise ValueError(
                    f"k(x, x) = {d[row]:g} at row {row} of {self.name} cannot be normalised; scale "
                    "the rows, or use a kernel that does not overflow on them"
                )
            # Smaller numbers have lost their digits, and the square of their factor overflows.
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(d >= np.finfo(d.dtype).tiny, 1.0 / np.sqrt(d), 0.0)
        return as_vector(f.f(self.behind(f.view).X), self.n, "f(X) in scaled_by")

    def diagonal(self, program: Program) -> NDArray[Any]:
        """Return k(x_i, x_i) for every row, without a matrix."""
        with np.errstate(over="ignore", invalid="ignore"):
            leaves = [self._paired(source) for source in program.inputs]
        factors = [(v := self.factor(f), v) for f in program.factors]
        return twin.run(program, leaves, factors, (self.n,), np.dtype(np.float64))

    def _paired(self, source: Input) -> NDArray[Any]:
        if isinstance(source, Opaque):
            return self._opaque_diagonal(source)
        if source.kind == "match":
            self.categories(source.left)
            return np.ones(self.n)
        comparison = self._own_comparison(source)
        if comparison is not None:
            return comparison.diagonal(self.compared(source.left))
        A, B = self.matrix(source.left, source), self.matrix(source.right, source)
        if source.kind == "dot":
            product = A.multiply(B) if sp.issparse(A) else np.multiply(A, B, dtype=np.float64)
            return np.asarray(product.sum(axis=1)).reshape(-1)
        if source.kind == "minimum":
            return _product_of_entries(A)
        return np.zeros(self.n)

    def _own_comparison(self, source: Leaf) -> Comparison | None:
        g = comparable_leaf(source)
        if g is None or source.left in self._matrices:
            return None
        return g.own_comparison(self.compared(source.left))

    def _opaque_diagonal(self, source: Opaque) -> NDArray[Any]:
        X = self.raw(source.view)
        if source.diagonal is not None:
            return np.asarray(source.diagonal(X))
        values = np.empty(self.n)
        for start in range(0, self.n, self.diagonal_block):
            rows = take_rows(X, slice(start, start + self.diagonal_block))
            block = np.asarray(source.fill(rows, rows))
            values[start : start + len(block)] = np.diagonal(block)
        return values

    def _lost_rows(self, n: int) -> ValueError:
        return ValueError(
            f"a map in the kernel turned {self.n} rows into {n}; it must keep the rows"
        )


class PartOfRows(Rows):
    """Some of the rows of one side: of a table nothing is read again.

    Parameters
    ----------
    rows : Rows
        The side.
    index : array of shape (m,) or slice
        Which.
    """

    def __init__(self, rows: Rows, index: Any) -> None:
        self._rows = rows
        self._index = index
        self.name = rows.name
        self.n = len(np.arange(rows.n)[index])
        self.bound: dict[Program, Any] = {}
        self._matrices: dict[View, Matrix] = {}

    @property
    def whole(self) -> Rows:
        return self._rows

    @cached_property
    def X(self) -> Any:
        return take_rows(self._rows.X, self._index)

    def after(self, step: Select | Transform) -> Rows:
        return PartOfRows(self._rows.after(step), self._index)

    @property
    def floats(self) -> tuple[Matrix, Titles]:
        matrix, titles = self._rows.floats
        return matrix[self._index], titles

    def raw(self, view: View) -> Any:
        return take_rows(self._rows.raw(view), self._index)

    def matrix(self, view: View, leaf: Leaf | None = None) -> Matrix:
        return self._rows.matrix(view, leaf)[self._index]

    def compared(self, view: View) -> Any:
        return self._rows.compared(view)[self._index]

    def categories(self, view: View) -> Categories:
        whole = self._rows.categories(view)
        return Categories(whole.codes[self._index], whole.levels)

    def factor(self, f: Factor) -> NDArray[Any]:
        return self._rows.factor(f)[self._index]


def comparable(view: View) -> Comparable | None:
    """Return the last map of a view if its inner products can be had without features."""
    last = view[-1] if view else None
    g = last.g if isinstance(last, Transform) else None
    return g if isinstance(g, Comparable) and g.is_comparable else None


def is_countable(view: View) -> bool:
    """Whether a view has features that can be listed, rather than too many kinds of them."""
    g = comparable(view)
    return g is None or g.is_countable


def comparable_leaf(leaf: Leaf) -> Comparable | None:
    """Return the map of an inner product that can be had without features."""
    is_inner = leaf.kind == "dot" and leaf.left == leaf.right
    return comparable(leaf.left) if is_inner else None


def _product_of_entries(A: Matrix) -> NDArray[Any]:
    """Return the product over all columns of every row."""
    if not sp.issparse(A):
        return twin.product(list(A.T.astype(np.float64)))
    # Only a row with an entry in every column has none that is zero.
    is_full = np.diff(A.indptr) == A.shape[1]
    products = np.zeros(A.shape[0])
    if is_full.any():
        products[is_full] = _product_of_entries(A[is_full].toarray())
    return products
