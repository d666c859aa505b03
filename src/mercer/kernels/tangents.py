"""The derivative of <G, K> by every real parameter of a kernel.

A kernel's author writes the formula with numbers in it and nothing else. How these numbers, the
constants of the formula, change with a parameter is found by differences of order four, over no
data; how the values of the formula change with its constants, by its derivative on tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.params import children, has_domain, is_formula, real_parameters
from mercer.tiles import Expression, Tile
from mercer.tiles.derivative import Contraction, Place, adjoints, nodes
from mercer.tiles.derivative.adjoints import Path
from mercer.tiles.tile import (
    Add,
    Leaf,
    Map,
    Multiply,
    Normalize,
    Number,
    Polynomial,
    Power,
    ScaleRows,
)

if TYPE_CHECKING:
    from mercer.kernels.formula import Formula

Array = NDArray[np.float64]
Nodes = dict[Path, Expression]

# Central differences of order four: relative to a step of 3e-4 they are off by 1e-13, and rounding
# by 1e-12. The shorter step serves where a formula changes its form within the longer one.
OFFSETS = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
STEPS = (3e-4, 3e-7)


@dataclass(frozen=True)
class Hole(Expression):
    """Where the formula of a part stands in that of a whole, and the tile that it is written on."""

    index: int
    tile: Tile


class Stand:
    """What stands for a part while the whole is written: itself, but for a hole as its formula."""

    def __init__(self, index: int, kernel: Formula) -> None:
        self.index = index
        self.kernel = kernel

    def lower(self, t: Tile) -> Expression:
        """Return a hole."""
        return Hole(self.index, t)

    def __call__(self, X: Any, Z: Any = None) -> Any:
        return self.kernel(X, Z)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)


@dataclass(frozen=True)
class Part:
    """A kernel within a kernel.

    Parameters
    ----------
    name : str
        Its name among the parameters of the whole, with ``__`` at the end, or nothing.
    kernel : Formula
        The part.
    tile : Tile
        What its formula is written on.
    path : tuple of int
        Where its formula stands in that of the whole.
    """

    name: str
    kernel: Formula
    tile: Tile
    path: Path

    def inner(self) -> Iterator[Part]:
        """Yield the parts of the part, and those of these."""
        children = self._parts
        if not children:
            return
        formula = self.formula
        # A map that holds a part is another one where something else stands for that part.
        if not _has_form(formula, replace(self).formula) and any(
            real_parameters(child) for _, child in children
        ):
            raise ValueError(
                f"the derivative of {self.kernel!r:.100} by the parameters of its parts is not "
                "known: a map in it depends on them; differentiate these parts by themselves"
            )
        for path, node in formula.items():
            if isinstance(node, Hole):
                name, child = children[node.index]
                part = Part(f"{self.name}{name}__", child, node.tile, (*self.path, *path))
                yield part
                yield from part.inner()

    @cached_property
    def formula(self) -> Nodes:
        """The formula, with holes for its parts."""
        return self.nodes({})

    def nodes(self, changed: Mapping[str, Any]) -> Nodes:
        """Return the formula, with holes for its parts, where some parameters are changed."""
        # The domain of a parameter may refuse a step out of it, so the copy is filled behind its
        # back.
        twin = object.__new__(type(self.kernel))
        vars(twin).update(vars(self.kernel), **self._stands)
        vars(twin).update(changed)
        return dict(nodes(twin.lower(self.tile)))

    @cached_property
    def _parts(self) -> list[tuple[str, Formula]]:
        return children(self.kernel)

    @cached_property
    def _stands(self) -> dict[str, Any]:
        """The fields that hold parts, with what stands for these."""
        numbers, found = count(), dict[str, Any]()
        for f in fields(self.kernel):
            value = getattr(self.kernel, f.name)
            if is_formula(value):
                found[f.name] = Stand(next(numbers), value)
            elif isinstance(value, tuple) and any(map(is_formula, value)):
                found[f.name] = tuple(Stand(next(numbers), part) for part in value)
        return found


def parameter_gradient(kernel: Formula, sums: Contraction) -> dict[str, float | Array]:
    """Return sum_ij G_ij d k(x_i, x_j) / d theta for every real parameter theta of a kernel.

    Parameters
    ----------
    kernel : Formula
        k, with numbers for parameters.
    sums : Contraction
        The x_i and G.
    """
    whole = Part("", kernel, Tile(), ())
    places: dict[Path, list[Place]] = {}
    for place in adjoints(kernel.lower(Tile())):
        places.setdefault(place.path, []).append(place)
    found: dict[str, float | Array] = {
        name: 0.0 * value for name, value in real_parameters(kernel).items()
    }
    for part in (whole, *whole.inner()):
        for name, value in part.kernel.get_params(deep=False).items():
            if part.name + name not in found or not has_domain(part.kernel, name):
                continue
            found[part.name + name] += _derivative(part, name, value, places, sums)
    return {name: value if np.ndim(value) else float(value) for name, value in found.items()}


def _derivative(
    part: Part, name: str, value: Any, places: dict[Path, list[Place]], sums: Contraction
) -> Any:
    if not isinstance(value, tuple):
        step, formulas = _stencil(part, name, value, float(_sizes(part.kernel, name, value)))
        return _along(part, step, formulas, places, sums)
    theta = np.array(value)
    sizes = _sizes(part.kernel, name, theta)
    weighted = _weighted_leaves(part, name, theta, sizes)
    if weighted is not None:
        return sum(
            slopes * _by_weights(leaf, _total(found), sums)
            for leaf, slopes, paths in weighted
            if (found := [p for path in paths for p in places[(*part.path, *path)]])
        )
    gradient = np.zeros(len(value))
    for k in range(len(value)):
        unit = np.eye(len(value))[k]
        step, formulas = _stencil(part, name, theta, sizes[k] * unit)
        gradient[k] = _along(part, step, formulas, places, sums)
    return gradient


def _stencil(
    part: Part, name: str, value: Any, size: Any
) -> tuple[float, list[tuple[float, Nodes]]]:
    """Return a step in units of `size`, and the formulas at its multiples with their factors."""
    found = []
    for step in STEPS:
        formulas = [
            (c, part.nodes({name: _plain(value + i * step * size)})) for i, c in OFFSETS.items()
        ]
        found.append((step * float(np.max(size)), formulas))
        first = formulas[0][1]
        if all(_has_form(nodes, first) for _, nodes in formulas):
            return found[-1]
    return found[0]


def _has_form(formula: Nodes, other: Nodes) -> bool:
    """Whether two formulas differ in nothing but constants."""
    return formula.keys() == other.keys() and not any(
        _is_replaced(node, other[path]) for path, node in formula.items()
    )


def _along(
    part: Part,
    step: float,
    formulas: list[tuple[float, Nodes]],
    places: dict[Path, list[Place]],
    sums: Contraction,
) -> float:
    """Return the sum for a scalar parameter, given the formula around its value."""
    changes: list[tuple[Place, Expression]] = []
    total = 0.0
    first = formulas[0][1]
    if any(nodes.keys() != first.keys() for nodes in (part.formula, *(n for _, n in formulas))):
        raise ValueError(
            f"the formula of {part.kernel!r:.100} changes its form with a parameter; its "
            "derivative there is not known"
        )
    for path, node in first.items():
        others = [(c / step, nodes[path]) for c, nodes in formulas]
        if all(_own(other) == _own(node) for _, other in others):
            continue
        for place in places.get((*part.path, *path), ()):
            if isinstance(node, Leaf) and not any(_is_replaced(node, o) for _, o in others):
                total += _by_leaf(place, others, sums)
            else:
                changes.append((place, _change(place.node, others)))
    return total + sums.total(changes)


def _change(node: Expression, others: list[tuple[float, Expression]]) -> Expression:
    """Return the derivative of the value of a node, given the node around it."""
    match node:
        case Number():
            return Number(sum(c * other.value for c, other in others))  # type: ignore[attr-defined]
        case Polynomial(argument, coefficients):
            slopes = [
                sum(c * other.coefficients[j] for c, other in others)  # type: ignore[attr-defined]
                for j in range(len(coefficients))
            ]
            return Polynomial(argument, tuple(slopes))
    return Add(tuple(c * other for c, other in others))


def _weighted_leaves(
    part: Part, name: str, theta: Array, sizes: Array
) -> list[tuple[Leaf, Array, list[Path]]] | None:
    """Return leaves of which column k has a weight of theta_k, its derivatives, and their places.

    None if anything else changes with theta.
    """
    count = len(theta)
    base = part.formula
    step, formulas = _stencil(part, name, theta, sizes)
    # Every other entry moved alone: what belongs to those that stay must stay.
    halves = [np.arange(count) % 2 == side for side in (0, 1)]
    moved = [part.nodes({name: _plain(theta + STEPS[0] * sizes * half)}) for half in halves]
    found: dict[tuple[Leaf, bytes], list[Path]] = {}
    if any(nodes.keys() != base.keys() for nodes in (*moved, *(n for _, n in formulas))):
        return None
    for path, node in base.items():
        around = [nodes[path] for _, nodes in formulas] + [nodes[path] for nodes in moved]
        if all(_own(other) == _own(node) for other in around):
            continue
        is_weighted = isinstance(node, Leaf) and node.weights and len(node.weights) == count
        if not is_weighted or any(_is_replaced(node, other) for other in around):
            return None
        assert isinstance(node, Leaf) and node.weights is not None
        weights = np.array([other.weights for other in around])  # type: ignore[attr-defined]
        for half, row in zip(halves, weights[len(formulas) :], strict=True):
            if (row[~half] != np.array(node.weights)[~half]).any():
                return None
        factors = np.array([c for c, _ in formulas])
        slopes = factors @ weights[: len(formulas)] / (step * sizes / sizes.max())
        found.setdefault((node, slopes.tobytes()), []).append(path)
    return [(leaf, np.frombuffer(b), paths) for (leaf, b), paths in found.items()] or None


def _by_leaf(place: Place, others: list[tuple[float, Any]], sums: Contraction) -> float:
    """Return the sum for changes of the weights, or of the period, of a leaf."""
    leaf = place.node
    assert isinstance(leaf, Leaf)
    if place.norm is not None:
        # The distance of a row from itself is zero in any units.
        return 0.0
    if leaf.weights is not None:
        slopes = sum(c * np.array(other.weights) for c, other in others)
        return float(slopes @ _by_weights(leaf, place.adjoint, sums))
    # Sines of differences over the period: a longer one is the same as shorter differences.
    slope = sum(c * other.period for c, other in others)
    return -slope / leaf.period * float(sums.by_columns(leaf, place.adjoint).sum())


def _total(places: list[Place]) -> Expression:
    """Return the derivative by a leaf that stands at several places."""
    # The distance of a row from itself is zero in any units.
    parts = tuple(place.adjoint for place in places if place.norm is None)
    return parts[0] if len(parts) == 1 else Add(parts)


def _by_weights(leaf: Leaf, adjoint: Expression, sums: Contraction) -> Array:
    """Return the sum by the weights of the columns of a leaf, whose share has weight times a power.

    The squared distance has w (x - z)^2, and |x - z| its w: both sides times 1 + t is the weight
    times 1 + 2 t, or 1 + t.
    """
    assert leaf.weights is not None
    power = 2.0 if leaf.kind == "squared_distance" else 1.0
    return sums.by_columns(leaf, adjoint) / (power * np.array(leaf.weights))


# What a node has beside its children; of others it is the node itself.
OWN: dict[type, Callable[[Any], Any]] = {
    Polynomial: attrgetter("coefficients"),
    Map: attrgetter("function"),
    Power: attrgetter("exponent"),
    ScaleRows: attrgetter("f", "view"),
    Add: type,
    Multiply: type,
    Normalize: type,
}


def _own(e: Expression) -> Any:
    own = OWN.get(type(e))
    return e if own is None else own(e)


def _is_replaced(node: Expression, other: Expression) -> bool:
    """Whether a node has become another one, with more than its constants changed."""
    if isinstance(node, Leaf) and isinstance(other, Leaf):
        return (node.kind, node.left, node.right) != (other.kind, other.left, other.right)
    is_constant = isinstance(node, Number | Polynomial) and type(node) is type(other)
    return not is_constant and _own(node) != _own(other)


def _sizes(kernel: Formula, name: str, values: Any) -> Array:
    """Return what the steps of a parameter are relative to: itself, if it must be positive."""
    sizes = np.abs(np.asarray(values, np.float64))
    check = next(f for f in fields(kernel) if f.name == name).metadata["domain"]
    try:
        check(-1.0)
    except ValueError:
        return np.where(sizes == 0.0, 1.0, sizes)
    return np.maximum(sizes, 1.0)


def _plain(value: Any) -> Any:
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else float(value)
