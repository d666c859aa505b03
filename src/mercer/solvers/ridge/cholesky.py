"""The exact solver: one Cholesky factorisation, with K and its factor in one square of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsymv
from scipy.linalg.lapack import dpocon, dpotrs

from mercer.data.blocks import half_blocks, row_blocks
from mercer.errors import IndefiniteKernelError
from mercer.gram import Gram
from mercer.native.lapack import cholesky, inverse_of_triangle
from mercer.solvers.contract import Solution
from mercer.solvers.refusals import (
    indefinite,
    not_finite,
    not_invertible,
    overflow,
    singular,
)
from mercer.solvers.ridge.block_cg import CurvatureError
from mercer.solvers.ridge.bordered import (
    Answer,
    Bordered,
    Measured,
    RidgeProblem,
    RidgeSolver,
    measured,
    relative,
)
from mercer.solvers.ridge.single import SingleFactor
from mercer.solvers.rounding import EPS, column_norms
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cholesky(RidgeSolver):
    """Solve (K + alpha W^-1) a + b 1 = y, 1'a = 0 by the factor of K + alpha W^-1.

    It takes n^3 / 3 multiplications for every distinct alpha and one n x n array; in float64 the
    factor grows beside K. The residual is measured with K itself, in float64.

    Parameters
    ----------
    tol : float
        Relative residual above which a step of iterative refinement is added.
    precision : {"double", "single"}
        ``"single"`` factors in float32, in half the time and memory, and refines the answer in
        float64 by conjugate gradients with the Gram operator; where that does not reach the
        tolerance, the factor is taken in float64 after all. An estimator that is told
        ``"cholesky"`` by name takes the faster.

    References
    ----------
    C. Saunders, A. Gammerman, V. Vovk (1998), Ridge regression learning algorithm in dual
    variables.
    """

    iterates: ClassVar[bool] = False
    name: ClassVar[str] = "cholesky"

    tol: float = 1e-6
    precision: str = "double"

    def __post_init__(self) -> None:
        if self.precision not in ("single", "double"):
            raise ValueError(f"precision must be 'single' or 'double', got {self.precision!r}")

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        if self.precision == "single":
            solution = self._in_single(gram, problem)
            if solution is not None:
                return solution
        return self._in_double(gram, problem)

    def _in_single(self, gram: Gram, problem: RidgeProblem) -> Solution | None:
        """Return the solution from factors in float32, or None where they do not serve."""
        answer, roots = Answer.like(problem), np.sqrt(problem.weights)[:, None]
        steps = 0
        for alpha, targets in problem.by_alpha():
            factor = SingleFactor(gram, alpha / problem.weights)
            if factor.order:
                return None
            try:
                system = Bordered.solve(factor, problem.unpenalised, problem.y[:, targets])
            except (CurvatureError, FloatingPointError):
                return None
            part = problem.of_targets(targets)
            solution = (system.a, system.b.sum(axis=0), roots * system.residual())
            answer.keep(
                Measured.of(part, solution, gram.diagonal(), gram.__matmul__, self.tol), targets
            )
            steps += factor.steps
            if not answer.residual[targets].max() <= self.tol:
                return None
        name = f"cholesky in float32, refined in {steps} steps"
        return answer.solution(self.tol, steps, name)

    def _in_double(self, gram: Gram, problem: RidgeProblem) -> Solution:
        matrix = TwoTriangles(gram.fresh())
        answer, roots = Answer.like(problem), np.sqrt(problem.weights)[:, None]
        steps = 0
        for alpha, targets in problem.by_alpha():
            factored(gram, matrix, alpha, problem.weights)
            part, K = problem.of_targets(targets), matrix.gram_product
            system = Bordered.solve(matrix, part.unpenalised, part.y)
            size = (matrix.diagonal + matrix.shift).max()
            residual = system.residual()
            if is_large(part, residual, system.a, size, self.tol):
                system = system.refined()
                residual = system.residual()
                steps += 1
            _check_finite(system.a, matrix, alpha)
            solution = (system.a, system.b.sum(axis=0), roots * residual)
            found = Measured.of(part, solution, matrix.diagonal, K, self.tol)
            if not (found.residual <= self.tol).all():
                # Entries far below the roots of the diagonal hide less than those would.
                absolute = [matrix.absolute_product(c) for c in np.abs(found.a.T)]
                residual, radius = measured(
                    part, found.a, found.weighted, matrix.diagonal, np.column_stack(absolute)
                )
                found = found._replace(residual=residual, radius=radius)
            answer.keep(found, targets)
        return answer.solution(self.tol, steps, matrix.name)


class TwoTriangles:
    """K above the diagonal and the factor L of A = K + diag(d) = L L' on and below it.

    Products with K, and so residuals, need no second matrix: the diagonal of K is kept apart.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, float64, C-contiguous. It is overwritten.
    """

    # What ran, for the solution.
    name: ClassVar[str] = "cholesky in float64"

    def __init__(self, K: Array) -> None:
        # LAPACK counts along columns: the transpose of a symmetric matrix is the same matrix.
        self._square = K.T
        self._on_diagonal = K.reshape(-1)[:: len(K) + 1]
        self._below_is_K = True
        self.diagonal = self._on_diagonal.copy()
        self.shift = np.zeros(len(K))

    def __len__(self) -> int:
        return len(self._square)

    @property
    def largest(self) -> float:
        """The largest entry of K, on the diagonal since K is positive semi-definite."""
        return float(self.diagonal.max())

    def factor(self, d: Array) -> int:
        """Factor A = K + diag(d); return 0, or the order of the first minor not positive."""
        if not self._below_is_K:
            self._restore()
        self.shift = d
        self._on_diagonal[:] = self.diagonal + d
        self._below_is_K = False
        return self._decomposed()

    def _decomposed(self) -> int:
        """Put the factor in the place of A; return what `factor` does."""
        # It leaves the upper triangle alone.
        return cholesky(self._square, lower=True)

    def factor_near(self, d: Array) -> None:
        """Factor K + diag(d), with as much more on the diagonal as rounding asks for.

        It is for a K that is positive semi-definite up to rounding.
        """
        more = len(self) * EPS * float(np.abs(self.diagonal).max())
        while self.factor(d):
            d, more = d + more, 10.0 * more

    def solve(self, V: Array) -> Array:
        """Return the solution of A X = V, of shape (n, p)."""
        return self._solved(V)

    def _solved(self, V: Array) -> Array:
        """Return the solution with the matrix that the factor is of."""
        X, _ = dpotrs(self._square, np.array(V, order="F"), lower=True, overwrite_b=True)
        return np.asarray(X)

    def product(self, V: Array) -> Array:
        """Return A V, of shape (n, p)."""
        return self.gram_product(V) + self.shift[:, None] * V

    def gram_product(self, V: Array) -> Array:
        """Return K V, of shape (n, p), from the triangle of K."""
        factor = self._on_diagonal.copy()
        self._on_diagonal[:] = self.diagonal
        if V.shape[1] == 1:
            KV = dsymv(1.0, self._square, V[:, 0])[:, None]
        else:
            KV = dsymm(1.0, self._square, np.asfortranarray(V))
        self._on_diagonal[:] = factor
        return np.asarray(KV)

    def absolute_product(self, v: Array) -> Array:
        """Return |K| v, of shape (n,), where |K| holds the absolute values of the entries."""
        out = np.abs(self.diagonal) * v
        for columns in row_blocks(self._square.shape):
            start, stop = columns.start, columns.stop
            above = np.abs(np.triu(self._square[:stop, columns], 1 - start))
            out[:stop] += above @ v[columns]
            out[columns] += v[:stop] @ above
        return out

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of A^-1, of shape (n,). It spends the factor."""
        inverse_of_triangle(self._square)
        # Of A^-1 = L^-T L^-1: the squares in every column of L^-1, some columns at a time.
        out, width = np.empty(len(self)), 64
        for start in range(0, len(self), width):
            columns = slice(start, start + width)
            square = np.tril(self._square[columns, columns])
            below = self._square[start + width :, columns]
            out[columns] = np.einsum("ij,ij->j", square, square)
            out[columns] += np.einsum("ij,ij->j", below, below)
        return out

    def reciprocal_condition(self) -> float:
        """Return an estimate of 1 / (||A|| ||A^-1||) in the 1-norm, from the factor."""
        norm = (self.absolute_product(np.ones(len(self))) + self.shift).max()
        rcond, _ = dpocon(self._square, norm, uplo="L")
        return float(rcond)

    def negative_direction(self, order: int) -> Array:
        """Return a unit vector v with v'Av <= 0, given the order of a minor that is not positive.

        With A_11 the leading block before that row and A_12 the part of the row beside it,
        v = (-A_11^-1 A_12, 1, 0, ...) gives v'Av the value of the pivot. It spends the factor.
        """
        p = order - 1
        # A factor padded by the identity solves with A_11 in place.
        self._square[p:, :p] = 0.0
        for column in range(p, len(self)):
            self._square[column + 1 :, column] = 0.0
        self._on_diagonal[p:] = 1.0
        beside = np.zeros((len(self), 1))
        beside[:p, 0] = self._beside(p)
        v = -self._solved(beside)[:, 0]
        v[p] = 1.0
        return v / np.linalg.norm(v)

    def _beside(self, p: int) -> Array:
        """Return the entries of column p above the diagonal."""
        return self._square[:p, p]

    def is_finite(self) -> bool:
        """Whether every entry of K is finite."""
        return bool(np.isfinite(self.absolute_product(np.ones(len(self)))).all())

    def _restore(self) -> None:
        for rows, columns in half_blocks(len(self)):
            block = self._square[rows, columns]
            if rows == columns:
                above = np.triu(block, 1)
                block[:] = above + above.T
            else:
                self._square[columns, rows] = block.T


def is_large(problem: RidgeProblem, r: Array, a: Array, size: Array | float, tol: float) -> bool:
    """Whether a residual y - A a - N b is above the tolerance, or above what rounding explains.

    `size` is the largest entry on the diagonal of A, for all targets or each. It is a lower bound
    on ||A||, so that this errs towards a step of refinement more.
    """
    rounding = len(r) * EPS * (size * column_norms(a) + column_norms(problem.y))
    if not (column_norms(r) <= rounding).all():
        return True
    weighted = column_norms(np.sqrt(problem.weights)[:, None] * r)
    return not (relative(weighted, problem.sizes) <= tol).all()


def factored(gram: Gram, matrix: TwoTriangles, alpha: float, weights: Array) -> None:
    """Factor K + alpha W^-1, or raise the error that a failure stands for."""
    order = matrix.factor(alpha / weights)
    if order > 0 or not np.isfinite(matrix.diagonal).all():
        _check_entries(matrix)
        raise _indefinite(gram, matrix, order) or singular(
            alpha, len(matrix), matrix.largest, gram.dtype
        )
    if alpha == 0.0 and (rcond := matrix.reciprocal_condition()) < EPS:
        raise not_invertible(rcond)


def _indefinite(gram: Gram, matrix: TwoTriangles, order: int) -> IndefiniteKernelError | None:
    """Return the refusal of K where the failed minor shows that it is indefinite."""
    c = matrix.negative_direction(order)
    value = float(c @ matrix.gram_product(c[:, None])[:, 0])
    magnitude = float(np.abs(c) @ matrix.absolute_product(np.abs(c)))
    return indefinite(c, value, magnitude, int(np.flatnonzero(c)[-1]) + 1, gram.entry_error)


def _check_entries(matrix: TwoTriangles) -> None:
    if not matrix.is_finite():
        raise not_finite()


def _check_finite(r: Array, matrix: TwoTriangles, alpha: float) -> None:
    """Refuse a solution that overflowed."""
    if not np.isfinite(r).all():
        _check_entries(matrix)
        raise overflow(alpha)
