"""Conjugate gradients on the normal equations of landmarks, by a sketch of their features."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh_tridiagonal
from scipy.linalg.blas import dger, dsyrk, sger, ssyrk

from mercer.data.blocks import LARGE, row_blocks
from mercer.gram.represented import represented_rows
from mercer.solvers.checkpoint import State
from mercer.solvers.lowrank.counted import CountedInverse
from mercer.solvers.lowrank.equations import LandmarkEquations
from mercer.solvers.lowrank.normal import Inverse
from mercer.solvers.rounding import TINY
from mercer.solvers.run import Run

Array = NDArray[np.float64]

# How many sums there may be for every landmark, if there are any. A step of conjugate gradients
# leaves the root of the inverse of this number. It is told by what takes less: products of sums, or
# steps, in which an entry takes as much as so many multiplications.
SUMS = (2, 4, 8, 16)
ENTRY = 40.0


def sums_of(n: int, m: int, memory: float = np.inf) -> int:
    """Return how many sums there are for each of m landmarks on n rows, or none.

    Parameters
    ----------
    n, m : int
        Rows, and landmarks.
    memory : float
        The limit in bytes.
    """
    # The share of the memory that more sums than the fewest may take.
    share = 0.25
    fitting = [s for s in (0, *SUMS) if s <= SUMS[0] or 8.0 * s * m**2 <= share * memory]
    # Multiplications for every cubed landmark where landmarks stand for the rows.
    counted = 1 / 6
    return min(fitting, key=lambda s: (s or counted) * m**3.0 + steps_of(s) * ENTRY * n * float(m))


def steps_of(sums: int) -> float:
    """Return about how many steps of conjugate gradients so many sums for a landmark leave."""
    # As many powers of what a step leaves are good enough.
    good_enough = 14.0
    # About the steps that it takes where landmarks stand for the rows.
    counted = 35
    return good_enough / float(np.log(sums)) if sums else counted


@dataclass(eq=False)
class Steps:
    """Conjugate gradients for one right-hand side between two steps.

    Parameters
    ----------
    found, r, p : array of shape (m, targets)
        The iterate, what it leaves of the right-hand side, and the next direction.
    rz : array of shape (targets,)
        r'M r with the preconditioner M.
    sizes, ratios : list of array of shape (targets,)
        The lengths of the steps, and by how much r'M r fell, since M is what it is.
    done : int
        How many steps were taken.
    """

    found: Array
    r: Array
    p: Array
    rz: Array
    sizes: list[Array] = field(default_factory=list)
    ratios: list[Array] = field(default_factory=list)
    done: int = 0

    @classmethod
    def of(cls, state: State) -> Steps:
        """Return the steps that were kept."""
        lists = list(state["sizes"]), list(state["ratios"])
        vectors = state["found"], state["r"], state["p"], state["rz"]
        return cls(*vectors, *lists, int(state["done"]))

    def state(self) -> State:
        """Return what the next step begins from."""
        lists = {"sizes": np.array(self.sizes), "ratios": np.array(self.ratios)}
        vectors = {"found": self.found, "r": self.r, "p": self.p, "rz": self.rz}
        return vectors | lists | {"done": np.array(self.done)}


@dataclass(eq=False)
class SketchedInverse:
    """(F'WF + alpha I)^-1 by conjugate gradients, each step a pass over the rows.

    The preconditioner is the inverse of (S F)'(S F) + alpha I, where S adds up the weighted rows
    with random signs to a multiple of m sums. It is near to the matrix for any landmarks and any
    ridge, so that the number of steps depends on neither. Of many landmarks these sums are dear,
    and a preconditioner by the landmarks themselves, see `CountedInverse`, takes less in all.

    Parameters
    ----------
    equations : LandmarkEquations
        What is solved.
    goal : array of shape (targets,)
        The sqrt(g'N^-1 g) of every target that is good enough.
    max_iter : int
        Steps at most, for every right-hand side.
    run : Run
        When to end. It keeps every step, from which a fit that was killed goes on.

    References
    ----------
    M. Diaz, E. Epperly, Z. Frangella, J. Tropp and R. Webber (2023), Robust, randomized
    preconditioning for kernel ridge regression; A. Rudi, L. Carratino and L. Rosasco (2017),
    Falkon: an optimal large scale kernel method.
    """

    # Steps after which sums take over from landmarks that stand for the rows: landmarks that were
    # given may be far from where the rows are.
    patience: ClassVar[int] = 60
    seed: ClassVar[int] = 0
    # What entries in float32 let one solve gain.
    single: ClassVar[float] = 1e-5

    equations: LandmarkEquations
    goal: Array
    max_iter: int
    run: Run
    # The least eigenvalue of the preconditioned matrix that was seen, and the steps taken.
    least: float = 1.0
    steps: int = 0
    is_regular: bool = True

    def __post_init__(self) -> None:
        gram = self.equations.gram
        self._dtype = np.float32 if self.equations.is_even_in_single else np.float64
        count = sums_of(len(gram), gram.landmarks.n_features, gram.steady_memory)
        counted = self._by_landmarks() if count == 0 else None
        self._inverse = counted or self._by_sums(max(count, SUMS[0]))
        self._solves = 0
        self._kept: State = {}

    def _by_landmarks(self) -> CountedInverse | None:
        """Return the preconditioner by landmarks in the place of rows, where float32 serves."""
        problem, gram = self.equations.problem, self.equations.gram
        if self._dtype == np.float64 or not (problem.alpha == problem.alpha[0]).all():
            return None
        v = represented_rows(gram, problem.weights, self._dtype)
        L, alpha = gram.landmarks.factor, float(problem.alpha[0])
        return CountedInverse.of(L, v, alpha, problem.fit_intercept)

    def _by_sums(self, count: int) -> Inverse:
        """Return the preconditioner by so many sums of rows for every landmark."""
        problem, phi = self.equations.problem, self.equations.gram.landmarks
        size = count * phi.n_features
        S, ones = self.equations.gram.sketch(size, problem.weights, self.seed, self._dtype)
        for rows in row_blocks(S.shape, LARGE // 4):
            S[rows] = phi.whitened(S[rows])
        if problem.fit_intercept:
            # In place: BLAS counts along columns and finds the rows transposed.
            ger = sger if self._dtype == np.float32 else dger
            given = (self.mean.astype(self._dtype), ones.astype(self._dtype))
            S = ger(-1.0, *given, a=S.T, overwrite_a=1).T
        G = np.zeros((S.shape[1],) * 2, self._dtype, order="F")
        syrk = ssyrk if self._dtype == np.float32 else dsyrk
        for rows in row_blocks(S.shape, LARGE // 4):
            # BLAS finds the rows transposed here as well.
            G = syrk(1.0, S[rows].T, beta=1.0, c=G, overwrite_c=1)
        return Inverse(np.asarray(G, np.float64), problem.alpha)

    @cached_property
    def mean(self) -> Array:
        """The weighted mean of the features, or zero without an offset."""
        is_free = self.equations.problem.fit_intercept
        return self.equations.right[1] / self.equations.problem.weights.sum() * is_free

    def __call__(self, g: Array) -> Array:
        """Return N^-1 g for every target, or where that is as good as zero no less in g'N^-1 g."""
        z = self._inverse(g)
        rz = (g * z).sum(axis=0)
        begun = np.maximum(rz / self.least, 0.0)
        if (begun <= self.goal**2).all():
            # It is not worth a step, and N^-1 is at most so much more than the preconditioner.
            return np.asarray(z / self.least)
        # As much as a pass in float64 then finds to be within the goal, with room for rounding.
        enough = np.maximum(0.5 * self.goal**2, self.single**2 * begun)
        now = self._restored() or Steps(np.zeros_like(g), g.copy(), z, rz)
        while now.done < self.max_iter and not (now.rz / self.least <= enough).all():
            self._move(now)
            self._keep(now)
            relative = np.sqrt(now.rz / self.least) / np.maximum(self.goal, TINY)
            if self.run.report(self.steps, float(relative.max())):
                break
        self._solves += 1
        return now.found

    def _move(self, now: Steps) -> None:
        """Take one step."""
        if now.done == self.patience and isinstance(self._inverse, CountedInverse):
            self._inverse, self.least = self._by_sums(SUMS[0]), 1.0
            now.p = z = self._inverse(now.r)
            now.rz, now.sizes, now.ratios = (now.r * z).sum(axis=0), [], []
        # The first two steps are most of the way, and so are errors of their products.
        q = self._product(now.p, self._dtype if now.done > 1 else np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(now.rz > 0.0, now.rz / (now.p * q).sum(axis=0), 0.0)
        now.found += size * now.p
        now.r -= size * q
        z = self._inverse(now.r)
        last, now.rz = now.rz, np.maximum((now.r * z).sum(axis=0), 0.0)
        ratio = np.divide(now.rz, last, out=np.zeros_like(last), where=last > 0.0)
        now.p = z + ratio * now.p
        now.sizes.append(size)
        now.ratios.append(ratio)
        now.done += 1
        self.steps += 1
        self.least = min(self.least, _least_ritz(np.array(now.sizes), np.array(now.ratios)))

    def _keep(self, now: Steps) -> None:
        """Let the run keep the steps of all right-hand sides, the last as far as it has come.

        The preconditioner is not kept: the same rows and seed give it.
        """
        state = now.state() | {"least": np.array(self.least), "steps": np.array(self.steps)}
        self._kept |= {f"{self._solves}.{name}": array for name, array in state.items()}
        self.run.keep(self._kept)

    def _restored(self) -> Steps | None:
        """Return the steps for this right-hand side that a fit took that was killed, if any."""
        begins = f"{self._solves}."
        kept = {n: a for n, a in (self.run.restored() or {}).items() if n.startswith(begins)}
        if not kept:
            return None
        self._kept |= kept
        state = {name.removeprefix(begins): array for name, array in kept.items()}
        self.least, self.steps = float(state["least"]), int(state["steps"])
        now = Steps.of(state)
        if now.done > self.patience and isinstance(self._inverse, CountedInverse):
            self._inverse = self._by_sums(SUMS[0])
        return now

    def _product(self, V: Array, dtype: Any) -> Array:
        """Return (F'WF + alpha I) V for centred features, by entries in this precision."""
        problem, gram = self.equations.problem, self.equations.gram
        c, w = gram.landmarks.coefficients(V), problem.weights
        inner, total = gram.normal_product(c, w, dtype)
        # The mean of F V is taken out, and that of F where it meets the weights.
        FV = gram.landmarks.whitened(np.ascontiguousarray(inner.T)).T
        return np.asarray(FV - np.outer(self.mean, total) + problem.alpha * V)


def _least_ritz(sizes: Array, ratios: Array) -> float:
    """Return the least eigenvalue of the Lanczos matrices of conjugate gradients.

    Parameters
    ----------
    sizes, ratios : array of shape (steps, targets)
        The lengths of the steps, and by how much the squared residuals fell.
    """
    found = [1.0]
    for alpha, beta in zip(sizes.T, ratios.T, strict=True):
        done = int(np.argmin(alpha > 0.0)) if not (alpha > 0.0).all() else len(alpha)
        if done == 0:
            continue
        diagonal = 1.0 / alpha[:done]
        diagonal[1:] += beta[: done - 1] / alpha[: done - 1]
        beside = np.sqrt(beta[: done - 1]) / alpha[: done - 1]
        found.append(float(eigvalsh_tridiagonal(diagonal, beside)[0]))
    return max(min(found), TINY)
