"""The matrix of a Newton step, R'K R + lam I, and what it is solved by approximately."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import ssymv

from mercer.gram import Gram
from mercer.gram.gram import check_fits
from mercer.gram.pivots import Pivots
from mercer.solvers.checkpoint import State
from mercer.solvers.logistic.likelihood import Root
from mercer.solvers.lowrank.preconditioner import LowRankInverse
from mercer.solvers.refusals import indefinite_along, not_finite
from mercer.solvers.ridge.cholesky import TwoTriangles
from mercer.solvers.rounding import EPS32

Array = NDArray[np.float64]


class Curvature(Protocol):
    """The products with K, and an approximate inverse of R'K R + lam I."""

    def product(self, V: Array) -> Array:
        """Return K V, of shape (n, p), as precisely as steps ask for."""

    def exact_product(self, V: Array) -> Array:
        """Return K V in float64."""

    def prepare(self, root: Root, ridge: float) -> None:
        """Take another R and lam."""

    def solve(self, U: Array) -> Array:
        """Return about (R'K R + lam I)^-1 U for U in the range of R', of any shape of `Root`."""

    def energy(self, U: Array) -> float:
        """Return about U'R'K R U."""

    def improve(self, steps: int) -> None:
        """Become better for the next R, if it pays after this many steps at the last one."""

    def sharpen(self) -> bool:
        """Take products as precisely as can be from here on; return whether that is a change."""

    def state(self) -> State:
        """Return what the next step begins from, beside K."""

    def restore(self, state: State) -> None:
        """Go on from a state."""


class LowRankCurvature:
    """R'K R + lam I by products with K, and its inverse with F'F in the place of K.

    F'F is the randomly pivoted Cholesky copy of K, one for every R and lam. Several classes are
    preconditioned one by one, as if the probability of the others did not move, by the first rank.

    Parameters
    ----------
    gram : Gram
        K.
    copy : SingleCopy, optional
        K in float32, by which steps are made.
    rank : int, optional
        A rank to keep to; by default it grows where steps are many and classes two.
    random_state : None, int or numpy.random.Generator
        Where the random pivots come from.
    """

    # The first rank is this times sqrt(n), and no rank is more than this share of n.
    first_rank: ClassVar[float] = 2.0
    largest_share: ClassVar[float] = 0.5
    # Steps of conjugate gradients beyond which a larger rank is tried.
    many_steps: ClassVar[int] = 20
    # A copy of K whose trace error is this share of the ridge leaves a condition number of 1.25.
    enough: ClassVar[float] = 1.0

    def __init__(
        self, gram: Gram, copy: SingleCopy | None, rank: int | None, random_state: Any
    ) -> None:
        self._gram = gram
        self._copy = copy
        self._pivots = Pivots(gram, random_state)
        self._is_fixed = rank is not None
        n = len(gram)
        held = gram.held_bytes + (0 if copy is None else copy.nbytes)
        # Beside F there are its product with R and, while it grows, the rows of before.
        room = max((gram.memory - held) // (24 * n), 1)
        self._most = min(room, max(int(self.largest_share * n), 1))
        self._wanted = min(rank or int(self.first_rank * n**0.5) + 1, self._most)
        self._uses_copy = copy is not None
        self._multiplied: Array | None = None
        self._kept: list[Array] = []
        # The rank and the trace that pivots were taken for, each time: they are the same again
        # where these are.
        self._grown: list[tuple[float, float]] = []

    def product(self, V: Array) -> Array:
        if self._copy is not None and self._uses_copy:
            return self._copy.product(V)
        return self.exact_product(V)

    def exact_product(self, V: Array) -> Array:
        return np.asarray(self._gram @ V, np.float64)

    @property
    def rank(self) -> int:
        """The rank of F."""
        return len(self._pivots.F)

    def prepare(self, root: Root, ridge: float) -> None:
        curvature = root.scale.max() ** 2
        self._grow(self._wanted, self.enough * ridge / max(curvature, np.finfo(float).tiny))
        self._uses_copy = self._copy is not None and single_serves(self._gram, curvature / ridge)
        self._root = root
        self._inverses = [LowRankInverse(self._pivots.F * scale) for scale in root.scale.T]
        for inverse in self._inverses:
            inverse.shift(ridge)
        self._multiplied = None

    def _grow(self, rank: int, trace: float) -> None:
        before = self.rank
        self._pivots.grow(rank, trace)
        if self.rank > before:
            self._grown.append((rank, trace))

    def state(self) -> State:
        flags = np.array([self._wanted, self._copy is not None])
        return {"grown": np.array(self._grown).reshape(-1, 2), "flags": flags}

    def restore(self, state: State) -> None:
        for rank, trace in state["grown"]:
            self._grow(int(rank), float(trace))
        self._wanted, has_copy = state["flags"].tolist()
        if not has_copy:
            self.sharpen()

    def solve(self, U: Array) -> Array:
        each = zip(self._inverses, _columns(U), self._images(U), strict=True)
        return self._root.project(_stacked([inv.solve(V, image) for inv, V, image in each], U))

    def energy(self, U: Array) -> float:
        return float(sum((image * image).sum() for image in self._images(U)))

    def _images(self, U: Array) -> list[Array]:
        """Return F R U for every column, kept since energy and solution are asked of one U."""
        if self._multiplied is not U:
            each = zip(self._inverses, _columns(U), strict=True)
            self._kept = [inverse.image(V) for inverse, V in each]
            self._multiplied = U
        return self._kept

    def improve(self, steps: int) -> None:
        # Classes are preconditioned one by one: no rank makes up for what they have in common.
        is_whole = len(self._inverses) == 1 and not self._is_fixed
        if steps > self.many_steps and is_whole and self.rank == self._wanted:
            self._wanted = min(2 * self._wanted, self._most)

    def sharpen(self) -> bool:
        had_copy, self._copy = self._copy is not None, None
        return had_copy


class FactoredCurvature:
    """R'K R + lam I with Cholesky factors of K + lam W^-1, one for every column of scores.

    It is solved exactly, up to curvatures that are next to nothing. K lies in one triangle of an
    n x n array and a factor in the other. For several classes R is S (I - u u') with S diagonal,
    and with B = S K S + lam I, class by class, the solution is B^-1 (V + u m), where m makes it
    orthogonal to u in every row: (u'B^-1 u) m = -u'B^-1 V, with one more factor.

    Parameters
    ----------
    gram : Gram
        K.
    columns : int
        The number of scores of a row.
    """

    # Curvatures beneath this share of the largest are taken for it by a factor of K + lam W^-1,
    # which is a preconditioner there: their rows have next to no say in the step.
    floor: ClassVar[float] = 1e-12

    def __init__(self, gram: Gram, columns: int) -> None:
        self._gram = gram
        # Several classes need an array for u'B^-1 u, and one to work in.
        copies = columns if columns == 1 else columns + 2
        check_fits(gram.shape, np.float64, gram.memory, copies)
        self._factors = [TwoTriangles(gram.fresh()) for _ in range(columns)]
        if not self._factors[0].is_finite():
            raise not_finite()

    def product(self, V: Array) -> Array:
        return self._factors[0].gram_product(V)

    exact_product = product

    def prepare(self, root: Root, ridge: float) -> None:
        self._root = root
        self._scales = []
        for matrix, scale in zip(self._factors, root.scale.T, strict=True):
            # Rows whose classes are certain to rounding have no curvature, and stay where they are;
            # the inverse square of the least scale is a number.
            scale = np.maximum(scale, max(np.sqrt(self.floor) * root.scale.max(), 1e-150))
            self._scales.append(scale)
            self._factor(matrix, ridge / scale**2)
        if root.unit.any():
            self._couple(root.unit)

    def _factor(self, matrix: TwoTriangles, shift: Array) -> None:
        order = matrix.factor(shift)
        if order == 0:
            return
        refusal = indefinite_along(self._gram, matrix.negative_direction(order))
        if refusal is not None:
            raise refusal
        # Rounding hides the ridge; with more of it the factor is still a preconditioner.
        matrix.factor_near(shift)

    def _couple(self, unit: Array) -> None:
        """Factor u'B^-1 u."""
        total = np.zeros((len(unit), len(unit)))
        for matrix, scale, u in zip(self._factors, self._scales, unit.T, strict=True):
            part = u / scale
            total += part[:, None] * matrix.solve(np.diag(part))
        self._coupling = TwoTriangles(total)
        self._coupling.factor_near(np.zeros(len(unit)))

    def solve(self, U: Array) -> Array:
        V = self._by_classes(U)
        if self._root.unit.any():
            unit = self._root.unit
            along = (unit * V).sum(axis=-1).reshape(-1, len(unit)).T
            shift = self._coupling.solve(along).T.reshape(*V.shape[:-1], 1)
            V = V - self._by_classes(unit * shift)
        return self._root.project(V)

    def _by_classes(self, U: Array) -> Array:
        """Return B^-1 U."""
        each = zip(self._factors, self._scales, _columns(U), strict=True)
        return _stacked([m.solve(V / s[:, None]) / s[:, None] for m, s, V in each], U)

    def energy(self, U: Array) -> float:
        V = self._root.forward(U)
        return float((V * self.product(V)).sum())

    def improve(self, steps: int) -> None:
        """Do nothing: there is nothing better than the factor."""

    def sharpen(self) -> bool:
        return False

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        """Do nothing: a step factors K anew."""


def _columns(U: Array) -> list[Array]:
    """Return U of shape (n, columns) or (p, n, columns) class by class, each of shape (n, p)."""
    return [U[..., c].reshape(-1, U.shape[-2]).T for c in range(U.shape[-1])]


def _stacked(columns: list[Array], U: Array) -> Array:
    """Return what `_columns` has made of an array like U in the shape of U."""
    return np.stack([V.T.reshape(U.shape[:-1]) for V in columns], axis=-1)


def single_serves(gram: Gram, curvature: float) -> bool:
    """Whether rounding to float32 changes K by little beside lam W^-1, given the largest W / lam.

    The entries are rounded by half a unit each, which changes K by about eps32 sqrt(n) max k.
    """
    error = EPS32 * len(gram) ** 0.5 * float(np.abs(gram.diagonal()).max())
    # Share of the ridge to which rounding to float32 may move the matrix of a step.
    rounding = 1e-2
    return error * curvature <= rounding


class SingleCopy:
    """K in float32, of which one triangle is read, for products in half the time and memory.

    Parameters
    ----------
    gram : Gram
        K.
    """

    def __init__(self, gram: Gram) -> None:
        # LAPACK counts along columns: the lower triangle of rows is its upper one.
        self._upper = gram.lower(np.float32).T

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return int(self._upper.nbytes)

    def product(self, V: Array) -> Array:
        """Return K V, of shape (n, p)."""
        return np.column_stack([self._column(v) for v in V.T])

    def _column(self, v: Array) -> Array:
        size = float(np.abs(v).max())
        if size == 0.0:
            return np.zeros_like(v)
        # Scaled, since coefficients may be beyond what float32 holds.
        return np.asarray(ssymv(1.0, self._upper, (v / size).astype(np.float32)), np.float64) * size
