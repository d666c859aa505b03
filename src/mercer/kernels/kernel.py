"""The contract of a kernel, and the kernels that its operators return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from mercer.kernels import domains
from mercer.kernels.formula import Formula, Rule
from mercer.kernels.language import printing
from mercer.kernels.language.latex import latex, symbolic
from mercer.kernels.maps import InputMap, Received
from mercer.kernels.operators import NoDifferences, is_number, may_answer, refuse
from mercer.kernels.validity.proof import Proof, Validity
from mercer.kernels.validity.search import check_validity
from mercer.tiles import Expression, Rows, Tile
from mercer.tiles.tile import Select, Transform, View


@dataclass(frozen=True)
class Kernel(NoDifferences, Formula):
    """A symmetric similarity of two rows, with the rules that build kernels from kernels.

    A subclass is a frozen dataclass with ``lower``, which states the formula, and ``rule``,
    which names the theorem that makes it positive semi-definite (or returns None).
    """

    precedence: ClassVar[int] = printing.CALL
    # Whether coefficients of this kernel that sum to zero meet the parts with the same sum.
    keeps_sums: ClassVar[bool] = False

    def proof(self) -> Proof | None:
        """Return the proof tree that this kernel is positive semi-definite, or None."""
        premises = [part.proof() for part in self.parts]
        rule = self.rule()
        if rule is None or any(p is None for p in premises):
            return None
        return Proof(self, rule, tuple(p for p in premises if p is not None))

    @cached_property
    def is_proved(self) -> bool:
        """Whether there is a proof that it is positive semi-definite."""
        return self.proof() is not None

    @cached_property
    def is_conditional(self) -> bool:
        """Whether it is positive semi-definite on coefficients of sum zero, though not on all."""
        is_open = self.keeps_sums and any(k.is_conditional for k in self.parts)
        return is_open and all(k.is_conditional or k.is_proved for k in self.parts)

    def check(self, X: Any = None, *, trials: int = 200, random_state: int = 0) -> Validity:
        """Return whether the kernel is PROVED, CONSISTENT or REFUTED, with the evidence.

        Parameters
        ----------
        X : rows, optional
            Rows among which to look for a witness first, and which the made-up points resemble. A
            precomputed kernel is judged by its matrix, given here.
        trials : int
            Number of designs of points to try when there is no proof.
        random_state : int
            Seed of the random designs.
        """
        return check_validity(self, X, trials, random_state)

    def suspects(self) -> list[dict[str | int, float]]:
        """Return points, as values by column, at which the search for a witness should look."""
        return [point for part in self.parts for point in part.suspects()]

    def __str__(self) -> str:
        return printing.call(self)

    def latex(self) -> str:
        """Return the formula in LaTeX, derived from ``lower``."""
        return latex(symbolic(self))

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def _repr_html_(self) -> str:
        return printing.html(self)

    # An array on the left leaves the answer to the kernel, instead of taking it for a number.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Sum((self, other))
        if is_number(other):
            return Sum((self, Constant(other)))
        return NotImplemented if may_answer(other, "__radd__") else refuse(self, "+", other)

    def __radd__(self, other: Any) -> Kernel:
        return Sum((Constant(other), self)) if is_number(other) else refuse(other, "+", self)

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product((self, other))
        if is_number(other):
            return Scaled(self, other)
        return NotImplemented if may_answer(other, "__rmul__") else refuse(self, "*", other)

    def __rmul__(self, other: Any) -> Kernel:
        return Scaled(self, other) if is_number(other) else refuse(other, "*", self)

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)

    def exp(self) -> Kernel:
        """Return exp(k)."""
        return Exp(self)

    def polynomial(self, coefficients: tuple[float, ...] | list[float]) -> Kernel:
        """Return c0 + c1 k + c2 k^2 + ... with coefficients of at least zero."""
        return PolynomialOf(self, coefficients)  # type: ignore[arg-type]

    def normalized(self) -> Kernel:
        """Return k(x, z) / sqrt(k(x, x) k(z, z)), which is 0 where a diagonal is 0."""
        return Normalized(self)

    def seen_from(self, origin: Any, level: float = 0.0) -> Kernel:
        """Return k(x, z) - k(x, x0) - k(x0, z) + k(x0, x0) + level for a row x0, the origin."""
        # Imported here because it is made of kernels.
        from mercer.kernels.recentred import Recentred

        return Recentred(self, origin, level)

    def scaled_by(self, f: Callable[[Any], Any]) -> Kernel:
        """Return f(x) k(x, z) f(z) for a function f(X) -> (n,), given rows as in `FromFeatures`."""
        return ScaledBy(self, f)

    def after(self, g: Callable[[Any], Any]) -> Kernel:
        """Return k(g(x), g(z)) for a function g(X) -> rows, or a map such as `Standardize()`."""
        return After(self, g)

    def on(self, *columns: str | int) -> Kernel:
        """Return the kernel on these columns of a table (by name) or matrix (by position)."""
        return Columns(self, columns)


@dataclass(frozen=True)
class Compound(Kernel):
    """A kernel of several terms; terms of its own kind are taken apart, no others."""

    operator: ClassVar[str]
    terms: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        flat: list[Kernel] = []
        for term in self.terms:
            if not isinstance(term, Kernel):
                raise ValueError(f"{type(self).__name__}: a term must be a kernel, got {term!r}")
            flat.extend(term.terms if type(term) is type(self) else (term,))
        if not flat:
            raise ValueError(f"{type(self).__name__} needs at least one term, got none")
        object.__setattr__(self, "terms", tuple(flat))

    def __str__(self) -> str:
        return printing.infix(self.operator, self.terms, self.precedence)


@dataclass(frozen=True)
class Sum(Compound):
    """k1 + k2 + ...: feature vectors side by side."""

    precedence: ClassVar[int] = printing.SUM
    keeps_sums: ClassVar[bool] = True
    operator: ClassVar[str] = "+"

    def lower(self, t: Tile) -> Expression:
        return t.sum(k.lower(t) for k in self.terms)

    def rule(self) -> Rule:
        return "sum of kernels"


@dataclass(frozen=True)
class Product(Compound):
    """k1 k2 ...: products of every pair of features (Schur)."""

    precedence: ClassVar[int] = printing.PRODUCT
    operator: ClassVar[str] = "*"

    def lower(self, t: Tile) -> Expression:
        return t.product(k.lower(t) for k in self.terms)

    def rule(self) -> Rule:
        return "product of kernels (Schur)"


@dataclass(frozen=True)
class Scaled(Kernel):
    """c k with c >= 0."""

    precedence: ClassVar[int] = printing.PRODUCT
    keeps_sums: ClassVar[bool] = True
    kernel: Kernel
    factor: float = domains.non_negative()

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.kernel) is Scaled:
            object.__setattr__(self, "factor", self.factor * self.kernel.factor)
            object.__setattr__(self, "kernel", self.kernel.kernel)
            # The product of two finite factors may still overflow.
            super().__post_init__()

    def lower(self, t: Tile) -> Expression:
        return self.factor * self.kernel.lower(t)

    def rule(self) -> Rule:
        return "non-negative multiple of a kernel"

    def __str__(self) -> str:
        return f"{self.factor!r} * {printing.inside(self.kernel, printing.POWER)}"


@dataclass(frozen=True)
class Power(Kernel):
    """k^p with a whole p >= 1."""

    precedence: ClassVar[int] = printing.POWER
    kernel: Kernel
    exponent: int = domains.whole()

    def lower(self, t: Tile) -> Expression:
        return self.kernel.lower(t) ** self.exponent

    def rule(self) -> Rule:
        return "whole power of a kernel (products)"

    def __str__(self) -> str:
        return f"{printing.inside(self.kernel, printing.CALL)} ** {self.exponent}"


@dataclass(frozen=True)
class Applied(Kernel):
    """What a method of a kernel returns, and is written as: ``kernel.method(field, ...)``."""

    method: ClassVar[str]
    kernel: Kernel

    def __str__(self) -> str:
        _, *arguments = (getattr(self, field.name) for field in fields(self))
        return printing.method(self.kernel, self.method, *arguments)


@dataclass(frozen=True)
class Exp(Applied):
    """exp(k), the limit of polynomials in k with non-negative coefficients."""

    method: ClassVar[str] = "exp"

    def lower(self, t: Tile) -> Expression:
        return t.exp(self.kernel.lower(t))

    def rule(self) -> Rule:
        return "exponential of a kernel (limit of polynomials)"

    def proof(self) -> Proof | None:
        if self.kernel.is_conditional:
            return Proof(self, "exp(k) of a conditionally positive definite k (Schoenberg)")
        return super().proof()


@dataclass(frozen=True)
class PolynomialOf(Applied):
    """c0 + c1 k + c2 k^2 + ... with c_j >= 0."""

    method: ClassVar[str] = "polynomial"
    coefficients: tuple[float, ...] = domains.coefficients()

    def lower(self, t: Tile) -> Expression:
        return t.polynomial(self.kernel.lower(t), self.coefficients)

    def rule(self) -> Rule:
        return "polynomial of a kernel with non-negative coefficients"


@dataclass(frozen=True)
class Normalized(Applied):
    """k(x, z) / sqrt(k(x, x) k(z, z)), zero where a diagonal is zero."""

    method: ClassVar[str] = "normalized"

    def lower(self, t: Tile) -> Expression:
        return t.normalize(self.kernel.lower(t))

    def rule(self) -> Rule:
        return "normalisation: f(x) k(x, z) f(z) with f = 1/sqrt(k(x, x))"


@dataclass(frozen=True)
class ScaledBy(Applied):
    """f(x) k(x, z) f(z)."""

    method: ClassVar[str] = "scaled_by"
    f: Callable[[Any], Any] = domains.function()

    def lower(self, t: Tile) -> Expression:
        return t.after(Received()).scale_rows(self.kernel.lower(t), self.f)

    def factors(self, X: Any) -> Any:
        """Return f of the rows `X`, in the form in which `lower` hands them to it."""
        return self.f(Received()(X))

    def rule(self) -> Rule:
        return "f(x) k(x, z) f(z)"


@dataclass(frozen=True)
class After(Applied):
    """k(g(x), g(z))."""

    method: ClassVar[str] = "after"
    keeps_sums: ClassVar[bool] = True
    g: Callable[[Any], Any] = domains.function()

    def lower(self, t: Tile) -> Expression:
        return self.kernel.lower(t.behind(self.view))

    @property
    def view(self) -> View:
        # A map of ours reads rows of any form, and its own fit needs them as they are.
        received = () if isinstance(self.g, InputMap) else (Transform(Received()),)
        return (*received, Transform(self.g))

    # No cached_property: Python 3.11 has a lock for each, which threads take in either order here.
    @property
    def row_domains(self) -> frozenset[str]:
        return frozenset({self.g.domain} if isinstance(self.g, InputMap) else ())

    @property
    def is_resolved(self) -> bool:
        is_known = not isinstance(self.g, InputMap) or self.g.is_resolved
        return is_known and not self._ruled and self.kernel.is_resolved

    def resolved(self, X: Any, weights: NDArray[Any] | None = None) -> Self:
        if isinstance(self.g, InputMap) and not self.g.is_resolved:
            rows = Rows.of(X)
            return replace(self, g=self.g.resolved(rows, weights)).resolved(rows, weights)
        return super().resolved(X, weights)

    def suspects(self) -> list[dict[str | int, float]]:
        # They are points of the space that g maps to; nobody knows which rows g maps there.
        return []

    def rule(self) -> Rule:
        return "k(g(x), g(z))"


@dataclass(frozen=True)
class Columns(Kernel):
    """k on some columns of a table or matrix."""

    keeps_sums: ClassVar[bool] = True
    row_domains: ClassVar[frozenset[str]] = frozenset()
    kernel: Kernel
    columns: tuple[str | int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", domains.check_columns(self.columns))

    def lower(self, t: Tile) -> Expression:
        return self.kernel.lower(t.behind(self.view))

    @property
    def view(self) -> View:
        return (Select(self.columns),)

    def suspects(self) -> list[dict[str | int, float]]:
        outer: dict[str | int, str | int] = dict(enumerate(self.columns))
        inner = [point for point in self.kernel.suspects() if outer.keys() >= point.keys()]
        return [{outer[c]: value for c, value in point.items()} for point in inner]

    def rule(self) -> Rule:
        return "k(g(x), g(z)) with g the selection of columns"

    def __str__(self) -> str:
        return printing.on(self.kernel, self.columns)


@dataclass(frozen=True)
class Constant(Kernel):
    """The same value for every pair: k(x, z) = c, positive semi-definite for c >= 0."""

    domain: ClassVar[str] = "anything"
    value: float = domains.real(1.0)

    def lower(self, t: Tile) -> Expression:
        return t.constant(self.value)

    def rule(self) -> Rule:
        return "non-negative constant" if self.value >= 0 else None
