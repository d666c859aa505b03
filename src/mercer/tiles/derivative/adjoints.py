"""The derivative of a formula by each of its leaves and constants, as formulas again.

Reverse mode on the expression: from the result, of which the derivative by itself is one, down to
every leaf, each step multiplying by its own derivative. What comes out is compiled and run like any
other formula, so that a kernel's author writes nothing for it.

The square root has no derivative at zero. There it counts as zero, as `reciprocal_root` does: a
distance of zero is that of a row from itself, and what the chain rule multiplies it by is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mercer.tiles.tile import (
    Add,
    Expression,
    Leaf,
    Map,
    Multiply,
    Normalize,
    Number,
    Opaque,
    Polynomial,
    Power,
    Rescale,
    ScaleRows,
)

Path = tuple[int, ...]
Node = Number | Leaf | Opaque | Polynomial

ONE = Number(1.0)


@dataclass(frozen=True)
class Place:
    """One node of a formula E, and how E changes with its value v.

    Without ``norm`` it is dE(x, z) = adjoint(x, z) dv(x, z). With it, the node stands in k of
    n = k(x, z) / sqrt(k(x, x) k(z, z)), and this is the part by the diagonals:
    dE(x, z) = -1/2 outer(x, z) (q(x) + q(z)), q(x) = adjoint(x, x) dv(x, x) / k(x, x).

    Parameters
    ----------
    path : tuple of int
        Where the node stands: which child of the formula, which of that one, and so on.
    node : Number, Leaf, Opaque or Polynomial
        The node; of a polynomial v is its value for given coefficients, which are its constants.
    adjoint : Expression
        The derivative.
    norm : Normalize, optional
        n.
    outer : Expression, optional
        The derivative of E by log n.
    """

    path: Path
    node: Node
    adjoint: Expression
    norm: Normalize | None = None
    outer: Expression | None = None


def nodes(e: Expression, path: Path = ()) -> Iterator[tuple[Path, Expression]]:
    """Yield all nodes of a formula with their paths, each before its children."""
    yield path, e
    for i, child in enumerate(_children(e)):
        yield from nodes(child, (*path, i))


def adjoints(e: Expression) -> list[Place]:
    """Return the derivative of a formula by each of its leaves, constants and polynomials."""
    return list(_places(e, ONE, (), is_diagonal=False))


def _children(e: Expression) -> tuple[Expression, ...]:
    match e:
        case Add(terms) | Multiply(terms):
            return terms
        case Power(base):
            return (base,)
        case Polynomial(inner) | Map(_, inner) | ScaleRows(inner) | Normalize(inner):
            return (inner,)
        case Rescale(inner):
            return (inner,)
    return ()


def _places(e: Expression, adjoint: Expression, path: Path, is_diagonal: bool) -> Iterator[Place]:
    match e:
        case Number() | Leaf() | Opaque():
            yield Place(path, e, adjoint)
            return
        case Polynomial():
            yield Place(path, e, adjoint)
        case Normalize(argument) if is_diagonal:
            # k(x, x) / k(x, x) is one whatever k is.
            return
        case Normalize(argument):
            outer = times(adjoint, e)
            for place in _places(argument, ONE, (*path, 0), is_diagonal=True):
                yield Place(place.path, place.node, place.adjoint, e, outer)
    for i, (child, slope) in enumerate(_slopes(e)):
        yield from _places(child, _passed(e, times(adjoint, slope)), (*path, i), is_diagonal)


def _passed(e: Expression, adjoint: Expression) -> Expression:
    """Return the derivative by an argument whose rows are multiplied by factors."""
    match e:
        case ScaleRows() | Normalize():
            return Rescale(adjoint, e)
        case Rescale(_, factor):
            return Rescale(adjoint, factor)
    return adjoint


def _slopes(e: Expression) -> list[tuple[Expression, Expression]]:
    """Return the children of a node, each with the derivative of the node by it."""
    match e:
        case Add(terms):
            return [(term, ONE) for term in terms]
        case Multiply(terms):
            return list(zip(terms, _products_of_others(terms), strict=True))
        case Power(base, p):
            return [(base, ONE if p == 1 else times(Number(float(p)), _power(base, p - 1)))]
        case Polynomial(argument, coefficients):
            slopes = tuple(j * c for j, c in enumerate(coefficients))[1:]
            return [(argument, Polynomial(argument, slopes) if any(slopes) else Number(0.0))]
        case Map(function, argument):
            return [(argument, _slope(function, argument, e))]
        case ScaleRows(argument) | Normalize(argument) | Rescale(argument):
            return [(argument, ONE)]
    raise TypeError(f"the derivative of {e!r:.200} is not known")


def _slope(function: str, v: Expression, value: Expression) -> Expression:
    match function:
        case "identity":
            return ONE
        case "exp":
            return value
        case "tanh":
            return 1.0 - Power(value, 2)
        case "sqrt":
            return 0.5 * Map("reciprocal_root", v)
        case "log1p":
            return Map("reciprocal", 1.0 + v)
        case "reciprocal":
            return -Power(value, 2)
        case "reciprocal_root":
            return -0.5 * Power(value, 3)
    raise TypeError(f"the derivative of the function {function!r} is not known")


def times(*factors: Expression) -> Expression:
    """Return a product without its ones, and zero where a factor is."""
    flat: list[Expression] = []
    for factor in factors:
        flat.extend(factor.terms if isinstance(factor, Multiply) else (factor,))
    if Number(0.0) in flat:
        return Number(0.0)
    kept = [factor for factor in flat if factor != ONE]
    if not kept:
        return ONE
    return kept[0] if len(kept) == 1 else Multiply(tuple(kept))


def _power(base: Expression, exponent: int) -> Expression:
    return base if exponent == 1 else Power(base, exponent)


def _products_of_others(terms: tuple[Expression, ...]) -> list[Expression]:
    """Return for every term the product of all others."""
    return [times(*terms[:i], *terms[i + 1 :]) for i in range(len(terms))]
