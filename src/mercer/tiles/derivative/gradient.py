"""The gradient of f(x) = sum_j a_j E(x, z_j) by the columns of x, for a formula E on tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.data.columns import n_columns
from mercer.tiles.derivative.adjoints import Place, adjoints, nodes
from mercer.tiles.derivative.slopes import leaf_slopes
from mercer.tiles.derivative.views import is_discrete, pulled_back
from mercer.tiles.evaluate import apply, evaluate
from mercer.tiles.program import compile_expression
from mercer.tiles.rows import Rows
from mercer.tiles.tile import Add, Expression, Leaf, Normalize, Number, Opaque, ScaleRows, View

Array = NDArray[np.float64]


def input_gradient(e: Expression, X: Any, Z: Any, a: Array) -> Array:
    """Return the gradient of sum_j a_j E(x, z_j) at the rows `X`, of shape (n, columns, targets).

    Parameters
    ----------
    e : Expression
        E.
    X : rows of n_columns columns
        Where.
    Z : rows
        The z_j.
    a : array of shape (m, targets)
        The coefficients.

    References
    ----------
    A. Griewank, A. Walther (2008), Evaluating derivatives, of the reverse mode.
    """
    _refuse_unknown(e)
    sides = _Sides(Rows(X, "X"), Rows(Z, "Z"), a)
    total = np.zeros((sides.left.n, n_columns(X), a.shape[1]))
    places = [place for place in adjoints(e) if _changes(place)]
    for leaf, adjoint in _by_leaf([place for place in places if place.norm is None]).items():
        for view, V in sides.pair_part(leaf, adjoint):
            total += pulled_back(view, X, V)
    diagonal = [place for place in places if place.norm is not None]
    for norm, outer in dict.fromkeys((place.norm, place.outer) for place in diagonal):
        assert norm is not None and outer is not None
        inner = _by_leaf([p for p in diagonal if p.norm == norm and p.outer == outer])
        for view, V in sides.diagonal_part(norm, outer, inner):
            total += pulled_back(view, X, V)
    return total


def _refuse_unknown(e: Expression) -> None:
    for _, node in nodes(e):
        if isinstance(node, ScaleRows):
            raise ValueError(
                f"the derivative of f in scaled_by({node.f!r:.100}) is not known; multiply by a "
                "kernel instead, such as FromFeatures"
            )
        if isinstance(node, Opaque) and not is_discrete(node.view):
            raise ValueError(
                f"the derivative of the function {node.fill!r:.100} by its rows is not known; use "
                "a kernel with a formula, or differences of predict"
            )


def _changes(place: Place) -> bool:
    """Whether a node changes by little if the rows do."""
    node = place.node
    if not isinstance(node, Leaf) or node.kind == "match" or place.adjoint == Number(0.0):
        return False
    # Distances of rows from themselves stay zero.
    is_still = place.norm is not None and node.kind not in ("dot", "minimum")
    return not (is_still or is_discrete(node.left))


def _by_leaf(places: list[Place]) -> dict[Leaf, Expression]:
    """Return the derivative by every leaf, wherever it stands."""
    found: dict[Leaf, list[Expression]] = {}
    for place in places:
        assert isinstance(place.node, Leaf)
        found.setdefault(place.node, []).append(place.adjoint)
    return {
        leaf: parts[0] if len(parts) == 1 else Add(tuple(parts)) for leaf, parts in found.items()
    }


Part = tuple[View, Array]


@dataclass(frozen=True)
class _Sides:
    """The rows on both sides and the coefficients of the right ones."""

    left: Rows
    right: Rows
    a: Array

    def pair_part(self, leaf: Leaf, adjoint: Expression) -> list[Part]:
        """Return sum_j a_j P(x, z_j) d leaf(x, z_j) / dx by the columns that the leaf sees."""
        U, V = _dense(self.left, leaf.left, leaf), _dense(self.right, leaf.right, leaf)
        if leaf.kind == "dot":
            return [(leaf.left, self._products(adjoint, V))]
        if leaf.kind == "squared_distance":
            return [(leaf.left, self._differences(adjoint, U, V, leaf))]
        program, parts = compile_expression(adjoint), []
        for rows in row_blocks((self.left.n, self.right.n)):
            P = evaluate(program, self.left.part(rows), self.right)
            slopes = [leaf_slopes(leaf, U[rows], V, P * column) for column in self.a.T]
            parts.append(np.stack(slopes, axis=2))
        return [(leaf.left, np.concatenate(parts))]

    def _products(self, adjoint: Expression, V: Array) -> Array:
        """Return sum_j P(x, z_j) a_j v_j, of shape (n, columns, targets)."""
        each = V[:, :, None] * self.a[:, None, :]
        if isinstance(adjoint, Number):
            total = adjoint.value * each.sum(axis=0)
            return np.broadcast_to(total, (self.left.n, *total.shape))
        flat = each.reshape(len(V), -1)
        found = apply(compile_expression(adjoint), self.left, self.right, flat)
        return np.asarray(found, np.float64).reshape(self.left.n, *each.shape[1:])

    def _differences(self, adjoint: Expression, U: Array, V: Array, leaf: Leaf) -> Array:
        """Return 2 w sum_j P(x, z_j) a_j (u - v_j), from products with 1 and v_j.

        Both are taken about a point among the rows, so that little cancels.
        """
        centre = V.mean(axis=0)
        beside = np.column_stack([np.ones(len(V)), V - centre])
        sums = self._products(adjoint, beside)
        found = 2.0 * ((U - centre)[:, :, None] * sums[:, :1] - sums[:, 1:])
        return found if leaf.weights is None else np.array(leaf.weights)[:, None] * found

    def diagonal_part(
        self, norm: Normalize, outer: Expression, inner: dict[Leaf, Expression]
    ) -> list[Part]:
        """Return the part by k(x, x) of a normalised k, see `Place`."""
        sums = apply(compile_expression(outer), self.left, self.right, self.a)
        diagonal = self.left.diagonal(compile_expression(norm.argument))
        is_zero = diagonal < np.finfo(np.float64).tiny
        share = np.where(is_zero, 0.0, -0.5 / np.where(is_zero, 1.0, diagonal))
        parts: list[Part] = []
        for leaf, adjoint in inner.items():
            slope = share * self.left.diagonal(compile_expression(adjoint))
            factors = slope[:, None, None] * np.asarray(sums, np.float64)[:, None, :]
            U, V = _dense(self.left, leaf.left, leaf), _dense(self.left, leaf.right, leaf)
            if leaf.kind == "dot":
                parts += [
                    (leaf.left, V[:, :, None] * factors),
                    (leaf.right, U[:, :, None] * factors),
                ]
            else:
                parts.append((leaf.left, _others(U)[:, :, None] * factors))
        return parts


def _others(U: Array) -> Array:
    """Return for every entry the product of all others in its row."""
    columns = range(U.shape[1])
    return np.stack([np.delete(U, k, axis=1).prod(axis=1) for k in columns], axis=1)


def _dense(rows: Rows, view: View, leaf: Leaf) -> Array:
    matrix = rows.matrix(view, leaf)
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, np.float64)
