"""Sums <G, dE> over all pairs of rows, where dE is the change of a formula E on tiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.tiles.derivative.adjoints import Place, times
from mercer.tiles.derivative.slopes import leaf_slopes
from mercer.tiles.evaluate import apply, difference_forms, evaluate
from mercer.tiles.program import Input, Program, compile_expression
from mercer.tiles.rows import Rows
from mercer.tiles.tile import Add, Expression, Leaf, Number, Opaque

Array = NDArray[np.float64]


def _unknown(X: Any, Z: Any) -> Any:
    raise TypeError("the weights G of the pairs of rows are given, not computed")


# The weights G, as an input of formulas.
WEIGHTS = Opaque(_unknown, ())


class Contraction:
    """The rows X and a matrix G: sum_ij G_ij dE(x_i, x_j) for changes dE of symmetric formulas.

    Parameters
    ----------
    X : rows
        n of them; as `Rows` their views are worked out once for many matrices.
    G : array of shape (n, n)
        The weights, of which the symmetric part counts.
    known : mapping, optional
        The values of inputs of E that are known already.
    """

    def __init__(self, X: Any, G: Any, known: Mapping[Input, Array] | None = None) -> None:
        self.rows = Rows.of(X)
        self.known = dict(known or {})
        self.G = np.asarray(G, np.float64)
        n = self.rows.n
        if self.G.shape != (n, n):
            raise ValueError(f"G must have the shape ({n}, {n}) of k(X), got {self.G.shape}")

    def total(self, changes: list[tuple[Place, Expression]]) -> float:
        """Return the sum for nodes at some places that change by so much each."""
        pairs = [times(place.adjoint, change) for place, change in changes if place.norm is None]
        pairs = [e for e in pairs if e != Number(0.0)]
        found = 0.0
        if pairs:
            e = pairs[0] if len(pairs) == 1 else Add(tuple(pairs))
            found = float(self._products(e, np.ones(self.rows.n)).sum())
        for place, change in changes:
            if place.norm is not None:
                own = self.rows.diagonal(compile_expression(times(place.adjoint, change)))
                found += float(self._diagonal_weights(place) @ own)
        return found

    def by_columns(self, leaf: Leaf, adjoint: Expression) -> Array:
        """Return the sum for each column of a leaf times 1 + t on both sides, by t at zero.

        The leaf, by which E has the derivative `adjoint`, is one of differences x - z, which do
        not change if all rows move: they are taken about their mean, so that little cancels.
        """
        matrix: Any = self.rows.matrix(leaf.left, leaf)
        U = np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), np.float64)
        U = U - U.mean(axis=0)
        program, known = self._weighted(adjoint)
        if leaf.kind == "squared_distance":
            sums = 2.0 * difference_forms(program, self.rows, U, known)
            return sums if leaf.weights is None else np.array(leaf.weights) * sums
        M = evaluate(program, self.rows, known=known)
        slopes = leaf_slopes(leaf, U, U, np.asarray(M, np.float64))
        return 2.0 * np.einsum("ik,ik->k", U, slopes)

    def _products(self, e: Expression, V: Array) -> Array:
        """Return (G o E) V."""
        program, known = self._weighted(e)
        return np.asarray(apply(program, self.rows, None, V, known), np.float64)

    def _weighted(self, e: Expression) -> tuple[Program, dict[Input, Array]]:
        """Return the program of G o E, and the inputs that are known."""
        return compile_expression(times(e, WEIGHTS)), {**self.known, WEIGHTS: self.G}

    def _diagonal_weights(self, place: Place) -> Array:
        """Return what dk(x, x) is multiplied by for every row, see `Place`."""
        assert place.norm is not None and place.outer is not None
        sums = self._products(place.outer, np.ones(self.rows.n))
        diagonal = self.rows.diagonal(compile_expression(place.norm.argument))
        is_zero = diagonal < np.finfo(np.float64).tiny
        return np.where(is_zero, 0.0, -sums / np.where(is_zero, 1.0, diagonal))
