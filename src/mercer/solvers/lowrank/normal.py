"""The normal equations of features that are there a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, dtrsv, ssyrk
from scipy.linalg.lapack import dpotrs

from mercer.gram import LandmarkGram
from mercer.native.lapack import cholesky, eigh
from mercer.solvers.rounding import EPS
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NormalSums:
    """F'WF, F'Wy, F'W1, y'W1 and 1'W1 of some rows, sums of float64 whatever the features are in.

    Parameters
    ----------
    G : array of shape (m, m)
        F'WF, of which the upper triangle counts.
    Fy : array of shape (m, targets)
        F'Wy.
    F1 : array of shape (m,)
        F'W1.
    y1 : array of shape (targets,)
        y'W1.
    weight : float
        1'W1.
    """

    G: Array
    Fy: Array
    F1: Array
    y1: Array
    weight: float

    def __add__(self, other: NormalSums) -> NormalSums:
        return NormalSums(*(a + b for a, b in zip(self._parts, other._parts, strict=True)))

    def __sub__(self, other: NormalSums) -> NormalSums:
        return NormalSums(*(a - b for a, b in zip(self._parts, other._parts, strict=True)))

    @property
    def _parts(self) -> tuple[Any, ...]:
        return tuple(vars(self).values())

    @property
    def mean(self) -> Array:
        """The weighted mean of the features, of shape (m,)."""
        return self.F1 / self.weight

    def centred(self) -> NormalSums:
        """Return the sums with features and targets counted from their weighted means in F'W.

        The means remain known. Where features are counted from about their mean before they are
        summed, no digits are lost.
        """
        G = self.G - np.outer(self.F1, self.mean)
        Fy = self.Fy - np.outer(self.mean, self.y1)
        return NormalSums(G, Fy, self.F1, self.y1, self.weight)


def block_sums(F: NDArray[Any], y: Array, weights: Array, centre: Array | None) -> NormalSums:
    """Return the sums of a block of rows, a pure function of it.

    Parameters
    ----------
    F : array of shape (rows, m)
        The features in float32 or float64, overwritten.
    y : array of shape (rows, targets)
        The targets.
    weights : array of shape (rows,)
        w.
    centre : array of shape (m,), optional
        What the features are counted from.
    """
    if centre is not None:
        F -= centre.astype(F.dtype)
    F1 = np.asarray(F.T @ weights.astype(F.dtype), np.float64)
    Fy = np.asarray(F.T @ (weights[:, None] * y).astype(F.dtype), np.float64)
    if not (weights == 1.0).all():
        F *= np.sqrt(weights).astype(F.dtype)[:, None]
    # BLAS counts along columns: it finds the transpose, of which it takes the upper half.
    syrk = ssyrk if F.dtype == np.float32 else dsyrk
    G = np.asarray(syrk(1.0, F.T), np.float64)
    return NormalSums(G, Fy, F1, weights @ y, float(weights.sum()))


def normal_sums(
    gram: LandmarkGram,
    y: Array,
    weights: Array,
    centre: Array | None,
    dtype: Any = np.float64,
    run: Run | None = None,
) -> NormalSums:
    """Return the sums of all rows, block by block in their order, in one pass.

    A run keeps those of the rows so far, from which a pass that was killed goes on.
    """
    run = Run() if run is None else run
    first, total = _restored(run, np.dtype(dtype))
    for rows, F in gram.feature_blocks(dtype, first=first):
        some = block_sums(F, y[rows], weights[rows], centre)
        total = some if total is None else total + some
        done = np.array([rows.stop, F.itemsize])
        run.keep({"done": done} | {name: np.asarray(part) for name, part in vars(total).items()})
    assert total is not None
    return total


def _restored(run: Run, dtype: np.dtype[Any]) -> tuple[int, NormalSums | None]:
    """Return the row to go on from, and the sums of those before it."""
    kept = run.restored()
    # The sums of features in another precision belong to another pass of the same problem.
    if kept is None or kept["done"][1] != dtype.itemsize:
        return 0, None
    first, _ = kept.pop("done")
    weight = float(kept.pop("weight"))
    return int(first), NormalSums(**kept, weight=weight)


class Inverse:
    """(G + alpha I)^-1 for every target, whose ridges may differ.

    One ridge takes a Cholesky factor, several take one eigendecomposition.

    Parameters
    ----------
    G : array of shape (m, m)
        Symmetric, by its upper triangle; overwritten.
    alpha : array of shape (targets,)
        The ridges.
    """

    # A pivot of so much of the largest, for every row, is rounding.
    rounding: ClassVar[float] = 16.0 * EPS

    def __init__(self, G: Array, alpha: Array) -> None:
        self.alpha = alpha
        self._factor: Array | None = None
        A = np.asfortranarray(G)
        if (alpha == alpha[0]).all():
            kept = A.copy(order="F")
            A[np.diag_indices(len(A))] += alpha[0]
            if cholesky(A, lower=False) == 0 and _least_pivot(A) > self.rounding * len(A):
                self._factor = A
                return
            A = kept
        s, self._V = eigh(A, lower=False)
        # What is negative is rounding: G is a sum of squares.
        self._s = np.maximum(s, 0.0)

    @property
    def is_regular(self) -> bool:
        """Whether the matrix is invertible: by a ridge, or G is so to working precision."""
        if self._factor is not None or self.alpha.min() > 0.0:
            return True
        return bool(self._s[0] > self.rounding * len(self._s) * self._s[-1])

    def __call__(self, g: Array) -> Array:
        """Return the solution for right-hand sides of shape (m, targets)."""
        if self._factor is not None and g.shape[1] == 1:
            # LAPACK's two systems for one column take four times as long.
            half = dtrsv(self._factor, g[:, 0], trans=1)
            return np.asarray(dtrsv(self._factor, half))[:, None]
        if self._factor is not None:
            return np.asarray(dpotrs(self._factor, np.asfortranarray(g), lower=0)[0])
        return np.asarray(self._V @ ((self._V.T @ g) / (self._s[:, None] + self.alpha)))


def _least_pivot(R: Array) -> float:
    """Return the least squared diagonal entry of a Cholesky factor beside the largest."""
    squares = R.diagonal() ** 2
    return float(squares.min() / squares.max())
