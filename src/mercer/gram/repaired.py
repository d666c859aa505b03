"""An indefinite Gram matrix made positive semi-definite, and what new rows make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.blocks import row_blocks
from mercer.gram.gram import Array, Gram, Index, check_fits, positions
from mercer.gram.lowrank import LowRankGram
from mercer.gram.wrapped import WrappedGram
from mercer.native.lapack import eigh


class RepairedGram(WrappedGram):
    """K + F F', which has no negative eigenvalues left.

    Parameters
    ----------
    gram : Gram
        K.
    F : array of shape (n, m)
        Eigenvectors of the negative eigenvalues, scaled.
    """

    def __init__(self, gram: Gram, F: Array) -> None:
        super().__init__(gram)
        self.added = LowRankGram(F, gram.memory)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def held_bytes(self) -> int:
        return self.gram.held_bytes + int(self.added.F.nbytes)

    def product(self, V: Array) -> Array:
        return self.gram.product(V) + self.added.product(V)

    def diagonal(self) -> Array:
        return self.gram.diagonal() + self.added.diagonal()

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        return self.gram.rows(chosen) + self.added.rows(chosen)

    def dense(self) -> Array:
        K = self.gram.fresh()
        for rows in row_blocks(self.shape):
            K[rows] += self.added.rows(rows)
        return K


@dataclass(frozen=True, eq=False)
class Repair:
    """A positive semi-definite matrix in place of K = U diag(s) U', and its map of new rows.

    The eigenvalues become g(s) = max(s, 0) by ``"clip"``, |s| by ``"flip"`` and s - min(s) by
    ``"shift"``. Rows k_x of new points go through the same map, k_x' M with
    M = U diag(g(s) / s) U', so that f(x) = k_x' M a has the coefficients M a in the kernel as it
    is. A shift adds to the diagonal only, which leaves new rows alone: M = I.

    Parameters
    ----------
    gram : Gram
        The matrix after the repair; K itself where it has no negative eigenvalue.
    is_changed : bool
        Whether it is not K.
    negative : array of shape (n, m), optional
        The eigenvectors whose eigenvalues are negative, where it is not.
    factor : float
        M = I - factor negative negative'.
    """

    gram: Gram
    is_changed: bool = False
    negative: Array | None = None
    factor: float = 0.0

    def coefficients(self, a: Array) -> Array:
        """Return M a, the coefficients in the kernel as it is."""
        if self.negative is None:
            return a
        return np.asarray(a - self.factor * (self.negative @ (self.negative.T @ a)))


def repair_of(gram: Gram, how: str | None) -> Repair:
    """Return the repair of a Gram matrix: None, ``"clip"``, ``"flip"`` or ``"shift"``.

    It takes an eigendecomposition, unless the kernel is proved to be positive semi-definite.
    Negative eigenvalues that the rounding of K explains are left alone.

    References
    ----------
    Y. Chen, E. Garcia, M. Gupta, A. Rahimi, L. Cazzanti (2009), Similarity-based classification:
    concepts and algorithms.
    """
    # How many times the negative part of K is taken away: once leaves zero, twice its opposite.
    factors = {"clip": 1.0, "flip": 2.0, "shift": 0.0}
    if how is not None and how not in factors:
        names = ", ".join(repr(name) for name in factors)
        raise ValueError(f"repair must be None or one of {names}, got {how!r}")
    if how is None or gram.is_proved:
        return Repair(gram)
    # Beside the matrix LAPACK works in two more of its size.
    check_fits(gram.shape, np.float64, gram.memory, copies=3)
    s, U = eigh(gram.fresh().T)
    below = s < -10 * len(s) * np.finfo(gram.dtype).eps * np.abs(s).max()
    if not below.any():
        return Repair(gram)
    negative, factor = U[:, below], factors[how]
    if how == "shift":
        return Repair(gram.shifted(-s[0]), True, negative, factor)
    return Repair(
        RepairedGram(gram, negative * np.sqrt(-factor * s[below])), True, negative, factor
    )
