"""Kernel ridge regression."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.errors import ConvergenceWarning, IndefiniteKernelError
from mercer.estimators.estimator import KernelEstimator, with_points
from mercer.estimators.rows import (
    checked_rows,
    checked_training,
    checked_weights,
    training_subset,
)
from mercer.gram import ChainGram, Gram, Interpolant, cross_gram, unheld_gram_of
from mercer.kernels import as_kernel
from mercer.solvers import Certificate, ChainSolution, RidgeProblem, Solution, as_solver

Array = NDArray[np.float64]


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Least squares with a kernel: f minimises sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2.

    The minimum is f(x) = sum_i a_i k(x_i, x) with (K + alpha W^-1) a + b 1 = y and 1'a = 0; the
    offset b is not penalised.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel, an expression such as ``"gaussian(length_scale=2.0) + linear"``, a name of
        scikit-learn (``"rbf"``, ``"precomputed"``), or a function k(X, Z) -> (n, m).
        ``"gaussian"`` takes the median distance of the training rows as length scale.
    alpha : float or array of shape (targets,)
        The ridge, at least zero; zero needs an invertible Gram matrix.
    fit_intercept : bool
        Whether there is an offset b.
    solver : {"auto", "cholesky", "banded"} or solver
        How to solve; ``"auto"`` is the Cholesky factorisation, or ``"banded"`` in O(n log n) for
        the Sobolev, exponential and Laplacian kernel of one column.
    tol : float, optional
        The relative residual that `certificate_` has to reach, 1e-6 by default.
    memory : int or str, optional
        The limit for the Gram matrix, in bytes or as ``"512MB"``, ``"4GB"``; a share of the free
        memory by default. A larger matrix is refused with `mercer.errors.MemoryLimitError`.

    Attributes
    ----------
    kernel_ : Kernel
        k with numbers for parameters.
    X_fit_ : rows
        The training rows, or the training Gram matrix of ``kernel="precomputed"``.
    dual_coef_ : array of shape (n,) or (n, targets)
        a; zero for rows of zero weight.
    intercept_ : float or array of shape (targets,)
        b; zero without an offset.
    certificate_ : Certificate
        The relative residual, and a bound on the distance from the exact f.
    solution_ : Solution
        What the solver returned, with its time.
    solver_ : solver
        What ran.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.
    """

    # f on a line, where the solver knows it by its values at knots.
    _interpolant: Interpolant | None = None

    def __init__(
        self,
        kernel: Any = "gaussian",
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        solver: Any = "auto",
        tol: float | None = None,
        memory: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.memory = memory

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit f and b to the rows `X` and their targets `y`.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table; for a precomputed kernel the Gram matrix.
        y : array of shape (n,) or (n, targets)
            The targets.
        sample_weight : float or array of shape (n,), optional
            w; a whole weight counts as that many equal rows, zero as none.
        """
        kernel = as_kernel(self.kernel)
        X, y = checked_training(self, kernel, X, y)
        problem = self._problem(y, sample_weight)
        used, rows = problem.used, X
        if not used.all():
            index = np.flatnonzero(used)
            rows, problem = training_subset(kernel, X, index), problem.on(index)

        kernel = kernel.resolved(rows)
        gram = unheld_gram_of(kernel, rows, self.memory)
        solver = as_solver(self.solver, self.tol, gram)

        try:
            solution = solver.solve(gram, problem)
        except IndefiniteKernelError as error:
            raise with_points(error, kernel, rows) from None

        self.kernel_, self.X_fit_ = kernel, X
        self.solver_, self.solution_ = solver, solution
        self._interpolant = interpolant_of(gram, solution)
        self._keep(solution, used, y.shape)
        return self

    def predict(self, X: Any) -> Array:
        """Return f(x) + b at the rows `X`: shape (n,), or (n, targets)."""
        check_is_fitted(self)
        X = checked_rows(self, self.kernel_, X)
        if self._interpolant is None:
            return cross_gram(self.kernel_, X, self.X_fit_) @ self.dual_coef_ + self.intercept_
        f = self._interpolant(X)
        f += self.intercept_
        return f.reshape(len(f), *self.dual_coef_.shape[1:])

    def _problem(self, y: Array, sample_weight: Any) -> RidgeProblem:
        targets = y.reshape(len(y), -1)
        alpha = checked_alpha(self.alpha, targets.shape[1])
        weights = checked_weights(sample_weight, len(y))
        problem = RidgeProblem(targets, alpha, weights, self.fit_intercept)
        if not problem.used.any():
            raise ValueError(
                f"sample_weight is at most {weights.max():g}, which is zero beside "
                f"alpha = {alpha.max():g}; scale the weights up"
            )
        return problem

    def _keep(self, solution: Solution, used: NDArray[np.bool_], shape: tuple[int, ...]) -> None:
        """Store coefficients and certificate in the shape of `y`."""
        coefficients = solution.coefficients
        if not used.all():
            coefficients = np.zeros((shape[0], solution.coefficients.shape[1]))
            coefficients[used] = solution.coefficients
        single = len(shape) == 1
        self.dual_coef_ = coefficients.reshape(shape)
        self.intercept_ = float(solution.intercept[0]) if single else solution.intercept
        self.certificate_ = Certificate(
            "relative residual",
            float(solution.residual.max()),
            solution.tolerance,
            float(solution.radius[0]) if single else solution.radius,
            self.kernel_.diagonal,
        )
        if not self.certificate_.satisfied:
            warnings.warn(
                f"{self.certificate_}: the system is too ill-conditioned for float64; raise alpha, "
                "or raise tol if that is enough",
                ConvergenceWarning,
                stacklevel=3,
            )


def interpolant_of(gram: Gram, solution: Solution) -> Interpolant | None:
    """Return f by its values at the knots of a line, which is quicker than the sum over rows."""
    if isinstance(gram, ChainGram) and isinstance(solution, ChainSolution):
        return gram.interpolant(solution.values, solution.level)
    return None


def checked_alpha(alpha: Any, targets: int) -> Array:
    """Return the ridge of every target, of shape (targets,)."""
    ridges = np.asarray(alpha)
    if ridges.dtype.kind not in "fiu":
        raise ValueError(f"alpha must be a number or one number per target, got {alpha!r}")
    if ridges.shape not in ((), (1,), (targets,)):
        raise ValueError(
            f"alpha must be a number or have one entry for each of {targets} targets, "
            f"got shape {ridges.shape}"
        )
    bad = ~np.isfinite(ridges) | (ridges < 0)
    if bad.any():
        raise ValueError(
            f"alpha must be finite and not negative, got {ridges[bad].flat[0]:g}; "
            "alpha = 0 is the least there is"
        )
    return np.broadcast_to(ridges.astype(np.float64), (targets,))
