"""A Cholesky factor in single precision that yields answers in double precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import spotrs

from mercer.gram import Gram
from mercer.native.lapack import cholesky
from mercer.solvers.ridge.block_cg import BlockCG
from mercer.solvers.rounding import EPS32

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]


def predicted_steps(n: int, largest: float, shift: float) -> float:
    """Return about how many steps the refinement takes.

    Sums of n products in float32 move A by about LOSS eps32 n max k, so that the preconditioned
    system has a condition number of about 1 + LOSS eps32 n max k / alpha.
    """
    if shift <= 0.0:
        return np.inf
    root = np.sqrt(1.0 + SingleFactor.loss * EPS32 * n * largest / shift)
    rate = np.log((root + 1.0) / max(root - 1.0, 1e-8))
    return 2.0 + float(np.log(2.0 / SingleFactor.exact) / rate)


class SingleFactor:
    """A = K + diag(d), solved in float64 by conjugate gradients on its factor in float32.

    K is held in float32 while it is factored, in half the memory of float64; products are taken
    with the Gram operator itself, in float64.

    Parameters
    ----------
    gram : Gram
        K.
    d : array of shape (n,)
        What is added to its diagonal.

    References
    ----------
    E. Carson and N. Higham (2018), Accelerating the solution of linear systems by iterative
    refinement in three precisions.
    """

    # Residual to which the answers are refined, little above what a factor in float64 leaves.
    exact: ClassVar[float] = 1e-10
    most_steps: ClassVar[int] = 40
    # Share of the worst case that rounding reached for Gaussian kernels of 6000 and 12000 rows.
    loss: ClassVar[float] = 0.3
    # Columns up to which vectors are substituted one by one, and rows of a block.
    few: ClassVar[int] = 4
    block: ClassVar[int] = 512

    def __init__(self, gram: Gram, d: Array) -> None:
        self._gram = gram
        self.shift = d
        lower = gram.lower(np.float32)
        A = gram.diagonal().astype(np.float64) + d
        self._scale = _scale(A)
        if not (self._scale == 1.0).all():
            _scale_lower(lower, self._scale)
        lower.reshape(-1)[:: len(lower) + 1] = A * self._scale**2
        # LAPACK counts along columns: the lower triangle of rows is its upper one.
        self.order = cholesky(lower.T, lower=False)
        self._factor = lower
        self.steps = 0

    def product(self, V: Array) -> Array:
        """Return A V, of shape (n, p)."""
        return np.asarray(self._gram @ V + self.shift[:, None] * V)

    def solve(self, V: Array) -> Array:
        """Return A^-1 V, of shape (n, p), or as near as the steps allowed come to it."""
        X = self._approximate(V)
        iteration = BlockCG(self.product, V, X, V - self.product(X))
        for _ in range(self.most_steps):
            if iteration.error <= self.exact or iteration.is_exhausted:
                break
            iteration.step(self._approximate)
            self.steps += 1
        return iteration.X

    def _approximate(self, V: Array) -> Array:
        size = np.linalg.norm(V, axis=0)
        size[size == 0.0] = 1.0
        scaled = (self._scale[:, None] * (V / size)).astype(np.float32)
        X = substituted(self._factor, scaled)
        return X.astype(np.float64) * self._scale[:, None] * size


def substituted(L: Array32, V: Array32) -> Array32:
    """Return (L L')^-1 V for the lower triangle of `L`.

    For few columns LAPACK's substitution runs at a fraction of the speed of memory; products of
    blocks with vectors run at all of it.
    """
    if V.shape[1] > SingleFactor.few:
        return np.asarray(spotrs(L.T, np.asfortranarray(V), lower=False)[0])
    n, block = len(L), SingleFactor.block
    blocks = [slice(i, min(i + block, n)) for i in range(0, n, block)]
    columns = [V[:, c].copy() for c in range(V.shape[1])]
    for x in columns:
        for J in blocks:
            x[J] = solve_triangular(L[J, J], x[J], lower=True, check_finite=False)
            x[J.stop :] -= L[J.stop :, J] @ x[J]
        for J in reversed(blocks):
            x[J] -= L[J.stop :, J].T @ x[J.stop :]
            x[J] = solve_triangular(L[J, J], x[J], lower=True, trans=1, check_finite=False)
    return np.column_stack(columns)


def _scale(A: Array) -> Array:
    """Return what brings the diagonal of A near one, where float32 would over- or underflow."""
    if A.min() > 1e-6 and A.max() < 1e6:
        return np.ones(len(A))
    return 1.0 / np.sqrt(A)


def _scale_lower(lower: NDArray[np.float32], scale: Array) -> None:
    weights = scale.astype(np.float32)
    for start in range(0, len(lower), 256):
        stop = min(start + 256, len(lower))
        lower[start:stop, :stop] *= weights[start:stop, None]
        lower[start:stop, :stop] *= weights[:stop]
