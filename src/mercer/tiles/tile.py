"""The symbolic tile: what a kernel author writes formulas on.

A kernel's ``lower(t)`` receives a :class:`Tile`, which stands for every pair of rows (x, z), and
returns an :class:`Expression`: leaves that compare the two rows (an inner product, a squared
distance, ...) under elementwise arithmetic. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

Weights = tuple[float, ...] | None


class Expression:
    """A formula in the two rows x and z; ``+``, ``*``, ``**`` and unary minus build larger ones."""

    __slots__ = ()

    def __add__(self, other: Expression | float) -> Expression:
        return Add((self, as_expression(other)))

    def __radd__(self, other: float) -> Expression:
        return Add((as_expression(other), self))

    def __sub__(self, other: Expression | float) -> Expression:
        return self + (-1.0) * as_expression(other)

    def __rsub__(self, other: float) -> Expression:
        return as_expression(other) + (-1.0) * self

    def __mul__(self, other: Expression | float) -> Expression:
        return Multiply((self, as_expression(other)))

    def __rmul__(self, other: float) -> Expression:
        return Multiply((as_expression(other), self))

    def __neg__(self) -> Expression:
        return -1.0 * self

    def __pow__(self, exponent: int) -> Expression:
        return Power(self, exponent)


@dataclass(frozen=True, slots=True)
class Number(Expression):
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Select:
    """A step of a view: keep these columns."""

    columns: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """A step of a view: replace the rows by g(rows)."""

    # Functions are compared but not hashed: an object that is called need not have a hash.
    g: Callable[[Any], Any] = field(hash=False)


View = tuple[Select | Transform, ...]


@dataclass(frozen=True, slots=True)
class Leaf(Expression):
    """A comparison of two rows of numbers or categories, summed (or multiplied) over columns.

    ``kind`` is one of ``dot``, ``squared_distance``, ``manhattan``, ``minimum``, ``chi2``, ``sine``
    and ``match``; the weights multiply the columns, and the period is that of the sine.
    """

    kind: str
    left: View
    right: View
    weights: Weights = None
    period: float = 0.0


@dataclass(frozen=True, slots=True)
class Opaque(Expression):
    """A leaf that fills its own tile: ``fill(X, Z)`` returns the (n, m) block.

    ``whole`` says that it needs all of Z at a time, so that it cannot be asked for half.
    """

    fill: Callable[[Any, Any], Any] = field(hash=False)
    view: View
    diagonal: Callable[[Any], Any] | None = field(default=None, hash=False)
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Add(Expression):
    """A sum of expressions."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Multiply(Expression):
    """A product of expressions."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Power(Expression):
    """An expression to a whole power of at least one."""

    base: Expression
    exponent: int


@dataclass(frozen=True, slots=True)
class Polynomial(Expression):
    """c0 + c1 e + c2 e^2 + ... of an expression e."""

    argument: Expression
    coefficients: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Map(Expression):
    """An elementwise function of an expression."""

    function: str
    argument: Expression


@dataclass(frozen=True, slots=True)
class ScaleRows(Expression):
    """f(x) e(x, z) f(z)."""

    argument: Expression
    f: Callable[[Any], Any] = field(hash=False)
    view: View


@dataclass(frozen=True, slots=True)
class Normalize(Expression):
    """e(x, z) / sqrt(e(x, x) e(z, z)), zero where a diagonal is zero."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Rescale(Expression):
    """An expression multiplied by the row factors of another: f(x) e(x, z) f(z)."""

    argument: Expression
    factor: ScaleRows | Normalize


def as_expression(value: Expression | float) -> Expression:
    """Return `value` itself, or the constant it is."""
    return value if isinstance(value, Expression) else Number(float(value))


def _per_length(length_scale: float | str) -> float:
    """Return 1 / length_scale, kept so small that its square is still a number."""
    if isinstance(length_scale, str):
        raise ValueError(
            f"length_scale is the rule {length_scale!r}; resolve it on rows first: k.resolved(X)"
        )
    return 1.0 / max(length_scale, 1e-154)


@dataclass(frozen=True, slots=True)
class Tile:
    """The pair of rows (x, z), seen through a view that selects columns or maps the rows."""

    view: View = ()

    def on(self, columns: Iterable[str | int]) -> Self:
        """Return the tile of these columns only."""
        return type(self)((*self.view, Select(tuple(columns))))

    def after(self, g: Callable[[Any], Any]) -> Self:
        """Return the tile of the mapped rows g(x), g(z)."""
        return type(self)((*self.view, Transform(g)))

    def behind(self, view: View) -> Self:
        """Return the tile of the rows as a further view shows them."""
        return type(self)((*self.view, *view))

    def dot(self, right: Callable[[Any], Any] | None = None) -> Expression:
        """Inner product x'z, or x'g(z) when the map ``right`` = g is given."""
        view = self.view if right is None else (*self.view, Transform(right))
        return Leaf("dot", self.view, view)

    def squared_distance(self, length_scale: float | tuple[float, ...] | str = 1.0) -> Expression:
        """Squared Euclidean distance in units of the length scale, one for all columns or each."""
        if isinstance(length_scale, tuple):
            weights = tuple(_per_length(s) ** 2 for s in length_scale)
            return Leaf("squared_distance", self.view, self.view, weights)
        leaf = Leaf("squared_distance", self.view, self.view)
        return _per_length(length_scale) ** 2 * leaf

    def manhattan(self, length_scale: float | tuple[float, ...] | str = 1.0) -> Expression:
        """Sum of absolute differences in units of the length scale."""
        if isinstance(length_scale, tuple):
            weights = tuple(_per_length(s) for s in length_scale)
            return Leaf("manhattan", self.view, self.view, weights)
        return _per_length(length_scale) * Leaf("manhattan", self.view, self.view)

    def minimum(self) -> Expression:
        """Product over the columns of min(x_j, z_j); rows must not be negative."""
        return Leaf("minimum", self.view, self.view)

    def chi2(self) -> Expression:
        """Sum over the columns of (x_j - z_j)^2 / (x_j + z_j); rows must not be negative."""
        return Leaf("chi2", self.view, self.view)

    def squared_sine(self, period: float, length_scale: float = 1.0) -> Expression:
        """Sum over the columns of sin^2(pi (x_j - z_j) / period) / length_scale^2."""
        leaf = Leaf("sine", self.view, self.view, period=period)
        return _per_length(length_scale) ** 2 * leaf

    def match(self) -> Expression:
        """Share of the columns in which x_j = z_j; the view must end in `AsCategories`."""
        return Leaf("match", self.view, self.view)

    def opaque(
        self,
        fill: Callable[[Any, Any], Any],
        diagonal: Callable[[Any], Any] | None = None,
        whole: bool = False,
    ) -> Expression:
        """Return the leaf that fills its own block: fill(X, Z) -> (n, m), diagonal(X) -> (n,)."""
        return Opaque(fill, self.view, diagonal, whole)

    def scale_rows(self, e: Expression, f: Callable[[Any], Any]) -> Expression:
        """Multiply: f(x) e(x, z) f(z), with f vectorised over rows."""
        return ScaleRows(e, f, self.view)

    @staticmethod
    def normalize(e: Expression) -> Expression:
        """Divide: e(x, z) / sqrt(e(x, x) e(z, z)), zero where a diagonal is zero."""
        return Normalize(e)

    @staticmethod
    def constant(value: float) -> Expression:
        """Return the same value for every pair of rows."""
        return Number(float(value))

    @staticmethod
    def sum(terms: Iterable[Expression]) -> Expression:
        """Sum of expressions, of any number."""
        return Add(tuple(terms))

    @staticmethod
    def product(terms: Iterable[Expression]) -> Expression:
        """Product of expressions, of any number."""
        return Multiply(tuple(terms))

    @staticmethod
    def polynomial(e: Expression, coefficients: Iterable[float]) -> Expression:
        """c0 + c1 e + c2 e^2 + ... of an expression."""
        return Polynomial(e, tuple(coefficients))

    @staticmethod
    def exp(e: Expression) -> Expression:
        """Exponential of an expression."""
        return Map("exp", e)

    @staticmethod
    def tanh(e: Expression) -> Expression:
        """Hyperbolic tangent of an expression."""
        return Map("tanh", e)

    @staticmethod
    def sqrt(e: Expression) -> Expression:
        """Square root of a non-negative expression."""
        return Map("sqrt", e)

    @staticmethod
    def log1p(e: Expression) -> Expression:
        """log(1 + e)."""
        return Map("log1p", e)

    @staticmethod
    def reciprocal(e: Expression) -> Expression:
        """1 / e."""
        return Map("reciprocal", e)
