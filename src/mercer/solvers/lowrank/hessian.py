"""The second derivative of a logistic loss in features, and systems with it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import check
from mercer.gram import LandmarkGram
from mercer.solvers.checkpoint import State
from mercer.solvers.logistic.likelihood import Root
from mercer.solvers.lowrank.normal import Inverse, NormalSums, block_sums
from mercer.solvers.lowrank.products import FeatureProducts
from mercer.solvers.rounding import EPS, TINY
from mercer.solvers.run import Run

Array = NDArray[np.float64]

# Columns of scores up to which each has its own.
FEW_COLUMNS = 10


def sampled_rows(n: int, m: int) -> int:
    """Return how many of n rows the preconditioner of m features is made from.

    Sums over a sample of s m rows are off by a share of about 2 / sqrt(s). More pay where a step of
    conjugate gradients reads many times as many: they are a tenth of all within bounds.
    """
    least, most, share = 4, 8, 0.1
    return min(n, int(np.clip(share * n, least * m, most * m)))


class Hessian:
    """H = I + C F'(R - R 1 (1'R 1)^-1 1'R) F, where R has a block for every row.

    It is the second derivative of 1/2 ||theta||^2 + C sum_i w_i loss_i in theta with the offset at
    its best; without an offset the second term in brackets is missing.

    Parameters
    ----------
    products : FeatureProducts
        F.
    root : Root
        The root of the curvature.
    C : float
        C.
    fit_intercept : bool
        Whether there is an offset.
    """

    # Steps of conjugate gradients allowed.
    most: ClassVar[int] = 500

    def __init__(
        self, products: FeatureProducts, root: Root, C: float, fit_intercept: bool
    ) -> None:
        self.products, self.root, self.C = products, root, C
        self._inverse: Array | None = None
        if fit_intercept:
            total = root.total()
            # A number added to all offsets changes nothing, and rounding must not see more there.
            inverse = np.linalg.pinv(total, rcond=1e-13 * len(total), hermitian=True)
            self._inverse = np.asarray(inverse, np.float64)
            if len(total) == 1:
                self._border = products.back(_curved(root, np.ones_like(root.scale)))

    def product(self, V: Array) -> tuple[Array, Array]:
        """Return H V, and F V on the way there.

        The offset is taken from F V in float64: products in float32 with what nearly cancels would
        leave no digits of features that are nearly constant.
        """
        if self._inverse is None:
            FV, sums = self.products.both(V, lambda rows, S: _curved(self.root.at(rows), S))
        elif V.shape[1] == 1:
            FV, sums = self._of_one_column(V, self._inverse)
        else:
            # F'R 1 would have a column for every pair of classes: F is read twice sooner.
            FV = self.products.forward(V)
            U = _curved(self.root, FV)
            U -= _curved(self.root, np.broadcast_to(U.sum(axis=0) @ self._inverse, U.shape))
            sums = self.products.back(U)
        return V + self.C * sums, FV

    def _of_one_column(self, V: Array, inverse: Array) -> tuple[Array, Array]:
        """Return F V and F'(R - R 1 (1'R 1)^-1 1'R) F V by one reading of F.

        F'R 1 tells the offset beforehand but for rounding, and what it left after: so little that
        its product has digits enough.
        """
        offset = inverse @ (self._border.T @ V)
        U = np.empty((len(self.products.gram), 1))

        def curved(rows: slice, S: Array) -> Array:
            U[rows] = _curved(self.root.at(rows), S - offset)
            return U[rows]

        FV, sums = self.products.both(V, curved)
        return FV, sums - self._border @ (inverse @ U.sum(axis=0, keepdims=True))

    def solved(
        self, right: Array, preconditioner: Preconditioner, goal: float, run: Run
    ) -> tuple[Array, Array, int]:
        """Return V with H V about `right`, F V, and the steps of conjugate gradients.

        They end once 1/2 ||H V - right||^2 is at most `goal`, or when the run is over.
        """
        V, r = np.zeros_like(right), right.copy()
        FV = np.zeros((len(self.products.gram), right.shape[1]))
        z = preconditioner(r)
        p, size, step = z, float((r * z).sum()), 0
        while step < self.most:
            step += 1
            HP, FP = self.product(p)
            curvature = float((p * HP).sum())
            if not curvature > 0.0:
                break
            length = size / curvature
            V += length * p
            FV += length * FP
            r -= length * HP
            if 0.5 * float((r**2).sum()) <= goal or run.is_over():
                break
            z = preconditioner(r)
            last, size = size, float((r * z).sum())
            p = z + (size / last) * p
        return V, FV, step


def _curved(root: Root, U: Array) -> Array:
    return root.forward(root.back(U))


class Preconditioner:
    """(I + C s G)^-1 for every column of scores, by the second derivative G of a sample of rows.

    Few columns have a G each, with their own curvatures as weights. Many share one, with the mean
    of these, and each has its own factor s, its part of them. The sample stays the same.

    Parameters
    ----------
    gram : LandmarkGram
        F F'.
    is_centred : bool
        Whether there is an offset, which takes the mean out of the features.
    seed : int
        Where the sample comes from.

    References
    ----------
    F. Roosta-Khorasani, M. Mahoney (2019), Sub-sampled Newton methods.
    """

    # Steps of conjugate gradients after which the preconditioner is made anew.
    many: ClassVar[int] = 12
    # Curvatures of classes that differ by less share a factor.
    alike: ClassVar[float] = 4.0

    def __init__(self, gram: LandmarkGram, is_centred: bool, seed: Any) -> None:
        self.gram, self.is_centred = gram, is_centred
        n, m = len(gram), gram.landmarks.n_features
        self.rows = np.arange(n)
        some = sampled_rows(n, m)
        if some < n:
            random = np.random.default_rng(seed)
            self.rows = np.sort(random.choice(n, some, replace=False))
        self._sums: list[Array] | None = None
        self._inverses: list[Inverse] = []
        self._scales = np.zeros(0)
        self._C = 0.0

    def prepare(self, root: Root, C: float) -> None:
        """Make it for a curvature and a C, unless it serves as it is."""
        if self._sums is not None and self._C == C:
            return
        # The diagonal of the block of every row.
        curvature = root.scale**2 * (1.0 - root.unit**2)
        columns = curvature.shape[1]
        is_shared = columns > FEW_COLUMNS
        if self._sums is None:
            mean = curvature.mean(axis=1, keepdims=True)
            self._sums = self._summed(mean if is_shared else curvature)
        self._scales, self._C = np.full(columns, C), C
        if is_shared:
            shares = curvature.sum(axis=0) / max(float(curvature.sum()) / columns, TINY)
            self._scales *= self.alike ** np.round(
                np.log(np.maximum(shares, EPS)) / np.log(self.alike)
            )
        self._invert()

    def _invert(self) -> None:
        """Factor the sums, one for every column or one that all columns share."""
        assert self._sums is not None
        if len(self._sums) > 1 or len(self._scales) == 1:
            pairs = zip(self._sums, self._scales, strict=True)
            self._inverses = [_inverse(G, s) for G, s in pairs]
            return
        (G,) = self._sums
        made = {s: _inverse(G, s) for s in np.unique(self._scales)}
        self._inverses = [made[s] for s in self._scales]

    def state(self) -> State:
        """Return what it is made of."""
        if self._sums is None:
            return {"scales": self._scales, "sums": np.zeros(0)}
        return {"scales": self._scales, "sums": np.stack(self._sums)}

    def restore(self, state: State, C: float) -> None:
        """Have it as it was for a C."""
        self._scales, self._C = state["scales"], C
        self._sums = list(state["sums"]) or None
        if self._sums is not None:
            self._invert()

    def improve(self, steps: int) -> None:
        """Have it made anew where it took many steps."""
        if steps > self.many:
            self._sums = None

    def __call__(self, r: Array) -> Array:
        """Return its product with vectors of shape (m, columns)."""
        columns = zip(self._inverses, self._scales, r.T, strict=True)
        return np.stack([inverse(g[:, None])[:, 0] / s for inverse, s, g in columns], axis=1)

    def _summed(self, weights: Array) -> list[Array]:
        """Return F'WF of all rows for every column of weights, from the features of the sample."""
        some, part = weights[self.rows], self.gram.part(self.rows)
        dtype = np.float64 if part.stored_dtype is None else part.stored_dtype
        nothing = np.zeros((len(some), 0))
        totals: list[NormalSums] = []
        centre: Array | None = None
        for rows, F in part.feature_blocks(dtype):
            if self.is_centred and centre is None:
                # About the mean: the digits of features that are nearly constant stay.
                centre = F.mean(axis=0, dtype=np.float64)
            sums = []
            for w in some.T:
                check()
                sums.append(block_sums(F.copy(), nothing[rows], w[rows], centre))
            totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
        found = [sums.centred().G if self.is_centred else sums.G for sums in totals]
        scales = weights.sum(axis=0) / np.maximum(some.sum(axis=0), TINY)
        return [G * scale for G, scale in zip(found, scales, strict=True)]


def _inverse(G: Array, scale: float) -> Inverse:
    """Return (G + I / scale)^-1, after a look at the clock."""
    check()
    return Inverse(G.copy(), np.array([1.0 / scale]))
