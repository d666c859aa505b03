"""Ridge problems by small random batches of rows, nothing of the size of K stored."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer.data.limits.deadline import shielded
from mercer.gram import Gram
from mercer.native.lapack import one_blas_thread
from mercer.solvers.contract import Solution
from mercer.solvers.logistic.curvature import single_serves
from mercer.solvers.online.batches import Batch, Iterate, batch_size, is_power_of_two
from mercer.solvers.refusals import indefinite_along, not_finite, singular
from mercer.solvers.ridge.bordered import (
    Answer,
    Measured,
    RidgeProblem,
    RidgeSolver,
    relative,
    with_best_offset,
)
from mercer.solvers.rounding import EPS, column_norms
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StochasticRidge(RidgeSolver):
    """Solve (K + alpha W^-1) a + b 1 = y, 1'a = 0 by batches of rows in random order.

    A step d of a batch B lowers the dual 1/2 a'A a - y'a, A = K + alpha W^-1, as far as the
    coefficients of the batch can: A_BB d = (y - A a - b 1)_B, 1'd = 0. In the space of functions
    it is a stochastic gradient, with the inverse of A_BB as preconditioner. EigenPro flattens the
    leading eigenvalues of a sample drawn once, which leaves a step size to be found from the first
    eigenvalue that it leaves; here the sample is the batch itself and all of its eigenvalues are
    flattened, so that every step has the length one, and none goes uphill. The noise of a gradient
    vanishes at the solution, where all rows agree: the error falls by a constant factor in every
    epoch, about alpha / (alpha + what a batch leaves of the mean k(x, x)).

    A step takes m rows of K, computed in float32 where rounding lets it. The residual that is
    returned is measured in float64.

    Parameters
    ----------
    tol : float
        Relative residual to reach.
    max_iter : int, optional
        Epochs allowed, 64 by default.
    batch : int, optional
        m; by default about 8 sqrt(n), as many as the memory holds rows of K.
    random_state : int, optional
        Where the orders come from.

    References
    ----------
    S. Ma and M. Belkin (2019), Kernel machines that adapt to GPUs for effective large batch
    training; S. Shalev-Shwartz and T. Zhang (2013), Stochastic dual coordinate ascent methods for
    regularized loss minimization; P. Rathore, Z. Frangella, J. Yang, M. Derezinski and M. Udell
    (2024), Have ASkotch: a neat solution for large-scale kernel ridge regression.
    """

    # What the kept residual has to fall to before it is measured, which may find a little more.
    margin: ClassVar[float] = 0.5
    iterates: ClassVar[bool] = True
    name: ClassVar[str] = "sgd"
    epochs: ClassVar[int] = 64

    tol: float = 1e-6
    max_iter: int | None = None
    batch: int | None = None
    random_state: Any = 0

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        # Threads of the BLAS spin for a while after every call, on cores that rows of K want.
        with one_blas_thread() if gram.has_own_threads else nullcontext():
            return self._iterated(gram, problem, run)

    def _iterated(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        state, epoch = self._begun(gram, problem), 0
        last = np.inf
        kept = run.restored()
        if kept is not None:
            epoch, last = int(kept["epoch"]), float(kept["last"])
            state.restore(kept)
        with run.guarded(lambda: epoch > 0):
            while epoch < self._epochs and not run.is_over():
                for batch in state.epoch(run):
                    state.move(batch, _steps(gram, problem, state, batch))
                epoch += 1
                value = _residual(problem, state)
                if value <= self.margin * self.tol or is_power_of_two(epoch):
                    state.refresh()
                    value = _residual(problem, state)
                    if value > 0.5 * last:
                        # Where float32 is not enough to go on, float64 may be.
                        state.sharpen()
                    last = value
                is_met = state.is_exact and value <= self.margin * self.tol
                if run.report(epoch, value) or is_met:
                    break
                run.keep(state.state() | {"epoch": np.array(epoch), "last": np.array(last)})
        return self._measured(gram, problem, state, epoch, run)

    @property
    def _epochs(self) -> int:
        return self.epochs if self.max_iter is None else self.max_iter

    def _begun(self, gram: Gram, problem: RidgeProblem) -> Iterate:
        with np.errstate(divide="ignore", over="ignore"):
            stiffest = float(np.divide(problem.weights.max(), problem.alpha.min()))
        m = batch_size(len(gram), gram.memory) if self.batch is None else self.batch
        zero = np.zeros_like(problem.y)
        return Iterate(gram, single_serves(gram, stiffest), zero, m, self.random_state)

    def _measured(
        self, gram: Gram, problem: RidgeProblem, state: Iterate, epoch: int, run: Run
    ) -> Solution:
        """Return what there is, with its residual in float64 or, without time for it, infinite."""
        run.measured(state.refresh)
        is_over = bool(run.ended_by)
        b, r = with_best_offset(problem, state.A, state.F)
        parts = (state.A, b, np.sqrt(problem.weights)[:, None] * r)
        answer = Answer.like(problem)
        # What is over has no time for one product more.
        with shielded() if is_over else nullcontext():
            tol = np.inf if is_over else self.tol
            found = Measured.of(problem, parts, gram.diagonal(), gram.__matmul__, tol)
        if not state.is_exact:
            unknown = np.full_like(found.residual, np.inf)
            found = found._replace(residual=unknown, radius=unknown)
        answer.keep(found, np.arange(problem.y.shape[1]))
        said = run.advice(f"{epoch} epochs", "the residual is still too large")
        said += f"; use solver='cg', raise max_iter (now {self._epochs}), alpha or tol"
        return replace(answer.solution(self.tol, epoch, "sgd"), advice=said)


def _residual(problem: RidgeProblem, state: Iterate) -> float:
    """Return the relative residual by the scores that are kept, the largest of all targets."""
    _, r = with_best_offset(problem, state.A, state.F)
    norms = column_norms(np.sqrt(problem.weights)[:, None] * r)
    if not np.isfinite(norms).all():
        raise not_finite()
    return float(relative(norms, problem.sizes).max())


def _steps(gram: Gram, problem: RidgeProblem, state: Iterate, batch: Batch) -> Array:
    """Return the step of a batch for every target."""
    part, a, core = problem.on(batch.which), state.A[batch.which], batch.core
    shifts = part.alpha / part.weights[:, None]
    r = part.y - state.F[batch.which] - shifts * a
    step = np.empty_like(r)
    for alpha, targets in problem.by_alpha():
        A = core.copy()
        A[np.diag_indices(len(A))] += shifts[:, targets[0]]
        factor = _factored(gram, batch.which, A, alpha)
        step[:, targets] = _minimised(factor, r[:, targets], problem.fit_intercept)
    return step


def _minimised(factor: Array, r: Array, fit_intercept: bool) -> Array:
    """Return the d of least 1/2 d'A d - r'd, of those of sum zero if there is an offset."""
    if not fit_intercept:
        return np.asarray(dpotrs(factor, r, lower=1)[0])
    # The offset that r has anyway is taken out first, see `Bordered.solve`.
    Z = dpotrs(factor, np.column_stack([r - r.mean(axis=0), np.ones(len(r))]), lower=1)[0]
    d, u = Z[:, :-1], Z[:, -1:]
    return np.asarray(d - u * (d.sum(axis=0) / u.sum()))


def _factored(gram: Gram, index: NDArray[np.intp], A: Array, alpha: float) -> Array:
    """Return the Cholesky factor of A_BB, or where rounding hides that of a little more."""
    if not np.isfinite(A).all():
        raise not_finite()
    factor, order = dpotrf(A, lower=1, clean=0)
    # Units of rounding that a batch which has no factor is shifted by, for every row.
    units = 10.0
    if order:
        values, vectors = np.linalg.eigh(A)
        largest = float(np.abs(values).max())
        c = np.zeros(len(gram))
        c[index] = vectors[:, 0]
        if (refusal := indefinite_along(gram, c)) is not None:
            raise refusal
        A = A + units * EPS * len(A) * largest * np.eye(len(A))
        factor, order = dpotrf(A, lower=1, clean=0)
        if order:
            raise singular(alpha, len(gram), largest, gram.dtype)
    return np.asarray(factor)
