"""Solvers for the leading eigenvectors of a Gram matrix: LAPACK, Lanczos, and landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from mercer.data.limits.memory import lacking
from mercer.errors import MemoryLimitError
from mercer.features import LandmarkMap
from mercer.gram import Gram, RecentredGram
from mercer.gram.gram import check_fits
from mercer.gram.pivots import Pivots
from mercer.native.lapack import eigh
from mercer.solvers.refusals import check_finite, indefinite_along, not_finite
from mercer.solvers.rounding import EPS
from mercer.solvers.run import Run
from mercer.solvers.spectral.problem import ComponentProblem, Components, ComponentSolver
from mercer.solvers.spectral.thin import thin_svd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DenseComponents(ComponentSolver):
    """All of K in memory, centred in place, and one eigendecomposition by LAPACK.

    References
    ----------
    B. Schoelkopf, A. Smola and K.-R. Mueller (1998), Nonlinear component analysis as a kernel
    eigenvalue problem.
    """

    iterates: ClassVar[bool] = False
    reads_all: ClassVar[bool] = True

    def _solved(self, gram: Gram, problem: ComponentProblem, run: Run) -> Components:
        """Return the components; a negative eigenvalue among those computed is refused."""
        most, centred = problem.most, problem.centred
        n, least = len(gram), _least(gram)
        # Beside the matrix LAPACK works in two more of its size.
        needed = 3 * 8 * n**2
        if needed > gram.memory:
            raise MemoryLimitError(
                f"all components of {n} rows need {lacking(needed, gram.memory)}; raise memory=, "
                "use fewer rows, or solver='iterative' with n_components"
            )
        K = gram.fresh()
        if not np.isfinite(K).all():
            raise not_finite()
        means = K.mean(axis=0) if centred else np.zeros(n)
        if centred:
            K -= means
            K -= means[:, None] - means.mean()
        s, V = eigh(K.T, most=most)
        return _finished(gram, s, V, means, least, most)


@dataclass(frozen=True)
class IterativeComponents(ComponentSolver):
    """A few components by the implicitly restarted Lanczos method, from products with K alone.

    Parameters
    ----------
    tol : float
        Relative accuracy of the eigenvalues; zero is that of float64.
    max_iter : int, optional
        Restarts allowed, 10 n by default.
    random_state : int
        Seed of the first vector.

    References
    ----------
    R. Lehoucq, D. Sorensen and C. Yang (1998), ARPACK users' guide.
    """

    iterates: ClassVar[bool] = True
    reads_all: ClassVar[bool] = True

    tol: float = 0.0
    max_iter: int | None = None
    random_state: int = 0

    @staticmethod
    def bytes(n: int, most: int) -> int:
        """Return the memory of the vectors that so many components of n rows are found from."""
        # Twice as many as components and at least 20, those found, and some to work in.
        return 8 * n * (max(2 * most + 1, 20) + most + 6)

    def _solved(self, gram: Gram, problem: ComponentProblem, run: Run) -> Components:
        """Return the components; there must be fewer than rows."""
        n, most, centred = len(gram), problem.most, problem.centred
        if most is None or most >= n:
            asked = "all" if most is None else str(most)
            raise ValueError(
                f"solver='iterative' finds fewer components than there are rows ({n}), but {asked} "
                "are asked for; give n_components or use solver='dense'"
            )
        needed = self.bytes(n, most)
        if needed > gram.memory:
            raise MemoryLimitError(
                f"{most} components of {n} rows need {lacking(needed, gram.memory)}; raise "
                "memory=, or use fewer rows"
            )
        diagonal = gram.diagonal().astype(np.float64)
        check_finite(diagonal)
        means = gram @ np.full(n, 1.0 / n) if centred else np.zeros(n)
        least = _least(gram)
        # No eigenvalue is larger than their sum. Of none but zeros every basis is one.
        if abs(diagonal.sum() - means.sum()) <= least:
            return _finished(gram, np.zeros(most), np.eye(n, most), means, least, most)

        products = 0

        def product(v: Array) -> Array:
            nonlocal products
            products += 1
            v = v.reshape(n)
            if not centred:
                return gram @ v
            Kv = gram @ (v - v.mean())
            return np.asarray(Kv - Kv.mean())

        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        start = np.random.default_rng(self.random_state).uniform(-1.0, 1.0, n)
        try:
            s, V = eigsh(operator, most, which="LA", v0=start, tol=self.tol, maxiter=self.max_iter)
        except ArpackNoConvergence as failure:
            found = len(failure.eigenvalues)
            raise ValueError(
                f"{found} of {most} components converged within max_iter={self.max_iter}; raise "
                "max_iter or tol, or use solver='dense'"
            ) from None
        return replace(_finished(gram, s, V, means, least, most), iterations=products)


@dataclass(frozen=True)
class NystromComponents(ComponentSolver):
    """The components of F'F, where F are the features of landmarks.

    The landmarks are those by which K is known, else rows of K by randomly pivoted Cholesky. It
    takes r n entries of K and O(r^2 n) multiplications, and new rows meet r rows only, and one more
    where K is centred and not proved to be positive semi-definite.

    Parameters
    ----------
    n_landmarks : int
        r, the rows that are chosen; of no account where K is known by landmarks.
    random_state : int
        Where the pivots come from.

    References
    ----------
    C. Williams and M. Seeger (2001), Using the Nystrom method to speed up kernel machines;
    Y. Chen, E. Epperly, J. Tropp and R. Webber (2022), Randomly pivoted Cholesky.
    """

    # The row that others are compared with where K is valid on coefficients of sum zero only.
    root: ClassVar[int] = 0
    iterates: ClassVar[bool] = False
    reads_all: ClassVar[bool] = False

    n_landmarks: int
    random_state: int = 0

    def _solved(self, gram: Gram, problem: ComponentProblem, run: Run) -> Components:
        """Return the components of the approximation."""
        if gram.landmarks is not None:
            return self._of_landmarks(gram, gram.landmarks, problem)
        centred = problem.centred
        check_fits((3 * self.n_landmarks, len(gram)), np.float64, gram.memory)
        # Centred, K need be positive semi-definite on coefficients of sum zero only.
        rooted = RecentredGram(gram, self.root) if centred and not gram.is_proved else None
        pivots = Pivots(gram if rooted is None else rooted, self.random_state)
        pivots.grow(self.n_landmarks, deadline=run.deadline)
        F = pivots.F
        s, V, U, offset = _of_features(F, problem, _least(gram))
        # F at its own pivots is the triangle L' of K = L L' there, and L^-1 k_x the features of x.
        A, index = scipy.linalg.solve_triangular(F[:, pivots.index], U), pivots.index
        if rooted is not None:
            # The root takes part in every entry: in sums with coefficients that then sum to zero.
            offset += (rooted.u[index] - rooted.u[self.root]) @ A
            A, index = np.vstack([A, -A.sum(axis=0)]), np.append(index, self.root)
        (_, whole), (_, left) = pivots.history[0], pivots.history[-1]
        found = _kept(problem, s, V, A, offset, index)
        return replace(found, residual=left / whole if whole > 0.0 else 0.0)

    def _of_landmarks(
        self, gram: Gram, landmarks: LandmarkMap, problem: ComponentProblem
    ) -> Components:
        check_fits((3 * landmarks.n_features, len(gram)), np.float64, gram.memory)
        F = gram.features()
        assert isinstance(F, np.ndarray)
        s, V, U, offset = _of_features(F.T, problem, _least(gram))
        return _kept(problem, s, V, landmarks.coefficients(U), offset, None)


def _of_features(
    F: Array, problem: ComponentProblem, least: float
) -> tuple[Array, Array, Array, Array]:
    """Return s, V, the axes U in the features F of shape (r, n), and the offset of the scores."""
    means = F.mean(axis=1) if problem.centred else np.zeros(len(F))
    U, roots, Vt = thin_svd(F - means[:, None])
    kept = len(roots) if problem.most is None else min(problem.most, len(roots))
    s, V = _cleaned(roots[:kept] ** 2, F.shape[1], least), Vt[:kept].T
    signs = _signs(V)
    U = U[:, :kept] * signs * (s > 0.0)
    return s, V * signs, U, means @ U


def _kept(
    problem: ComponentProblem,
    s: Array,
    V: Array,
    A: Array,
    offset: Array,
    index: NDArray[np.intp] | None,
) -> Components:
    """Return the components that are asked for, or all that are not zero."""
    used = _used(s, problem.most)
    found = Components(s[used], V[:, used], A[:, used], offset[used], index, iterations=1)
    return found if problem.most is None else found.padded(problem.most)


def wants_products(n: int, most: int | None) -> bool:
    """Whether so few components of n rows are wanted that products with K find them sooner."""
    # Rows from which on a few components are iterated for, and how many are few.
    many_rows = 200
    few_components = 10
    return most is not None and most < min(few_components, n) and n > many_rows


def component_solver(
    solver: Any,
    gram: Gram,
    most: int | None,
    n_landmarks: int | None,
    tol: float,
    max_iter: int | None,
    random_state: int,
) -> ComponentSolver:
    """Return the solver of components that a name means; ``"auto"`` looks at the sizes."""
    if not isinstance(solver, str):
        return solver
    n = len(gram)
    if solver == "auto":
        exact = "iterative" if wants_products(n, most) else "dense"
        solver = exact if n_landmarks is None else "nystrom"
    if solver == "dense":
        return DenseComponents()
    if solver == "iterative":
        return IterativeComponents(tol, max_iter, random_state)
    if solver == "nystrom":
        if n_landmarks is None:
            raise ValueError("solver='nystrom' needs n_landmarks, the rows to make features from")
        return NystromComponents(min(n_landmarks, n), random_state)
    raise ValueError(f"solver must be 'auto', 'dense', 'iterative' or 'nystrom', got {solver!r}")


def _finished(
    gram: Gram, s: Array, V: Array, means: Array, least: float, most: int | None
) -> Components:
    """Return the components of an ascending decomposition of K, or of CKC with these means of K.

    A negative eigenvalue that is larger than `least` and rounding is refused.
    """
    if s[0] < -max(least, len(V) * EPS * float(np.abs(s).max())):
        refusal = indefinite_along(gram, V[:, 0])
        if refusal is not None:
            raise refusal
    s, V = _cleaned(s[::-1], len(V), least), V[:, ::-1]
    used = _used(s, most)
    s, V = s[used], V[:, used]
    V = V * _signs(V)
    roots = np.sqrt(s)
    A = np.divide(V, roots, out=np.zeros_like(V), where=roots > 0.0)
    if means.any():
        # Exactly of sum zero, so that a constant in the kernel cannot shine through.
        A -= A.mean(axis=0)
    return Components(s, V, A, means @ A, iterations=1)


def _least(gram: Gram) -> float:
    """Return the size up to which the rounding of the entries of K explains an eigenvalue.

    Centred, K may have far smaller eigenvalues than its entries are.
    """
    largest = float(np.abs(gram.diagonal()).max())
    return 4.0 * len(gram) * float(np.finfo(gram.dtype).eps) * largest


def _cleaned(s: Array, n: int, least: float) -> Array:
    """Return eigenvalues in descending order with zero for what rounding explains."""
    return np.where(s > max(n * EPS * float(s[0]), least), s, 0.0) if len(s) else s


def _used(s: Array, most: int | None) -> slice:
    """Return which components to keep: as many as asked for, or all that are not zero."""
    return slice(0, int((s > 0.0).sum()) if most is None else most)


def _signs(V: Array) -> Array:
    """Return the signs by which the first of the largest entries of each column is positive."""
    sizes = np.abs(V)
    # Entries of a vector this close to the largest count as equal to it when its sign is chosen.
    tie = 1e-6
    first = (sizes >= (1.0 - tie) * sizes.max(axis=0)).argmax(axis=0)
    return np.where(V[first, np.arange(V.shape[1])] < 0.0, -1.0, 1.0)
