"""Kernel ridge regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin

from mercer.data.columns import n_rows
from mercer.data.stream import Stream
from mercer.errors import ConditionalKernelWarning, warn_caller
from mercer.estimators.callbacks import CallbackSupportMixin
from mercer.estimators.fitted import approximation_of, carried, certificate_of, function_of
from mercer.estimators.online.partial_fit import TargetStream
from mercer.estimators.posterior import CACHES, RidgePosterior
from mercer.estimators.score import Regression
from mercer.estimators.streams import LEARNING
from mercer.estimators.training import Training
from mercer.estimators.validation import checked_rows, checked_training, checked_weights
from mercer.kernels import Kernel
from mercer.planning import Plan, planned_ridge, ridge_plan
from mercer.solvers import Cholesky, OffsetAlone, RidgeProblem, Run, Solution
from mercer.tiles import Rows

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelRidge(CallbackSupportMixin, MultiOutputMixin, Regression, TargetStream, RidgePosterior):
    """Least squares with a kernel: f minimises sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2.

    The minimum is f(x) = sum_i a_i k(x_i, x) with (K + alpha W^-1) a + b 1 = y and 1'a = 0; the
    offset b is not penalised.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel, an expression such as ``"gaussian(length_scale=2.0) + linear"``, a name of
        scikit-learn (``"rbf"``, ``"precomputed"``), or a function k(X, Z) -> (n, m).
        ``gaussian`` without brackets, alone or in an expression, takes the median distance of the
        training rows as length scale, and ``gaussian()`` has the length scale 1.
        ``"auto"`` is the `mercer.default_kernel` of the training rows.
    alpha : float or array of shape (targets,)
        The ridge, at least zero; zero needs an invertible Gram matrix, or by ``"primal"`` features
        of full rank.
    fit_intercept : bool
        Whether there is an offset b.
    solver : {"auto", "banded", "cg", "cholesky", "eigen", "nystrom", "primal", "sgd"} or solver
        How to solve. ``"auto"`` takes what `plan` says: ``"primal"``, least squares in the explicit
        features of a kernel that has few; ``"banded"``, O(n log n) for the Sobolev, exponential
        and Laplacian kernel of one column; ``"cholesky"``, the exact factor, where it fits; and
        else ``"cg"``, conjugate gradients with a Gram matrix that is never stored. ``"eigen"`` is
        one eigendecomposition for many different alphas. ``"nystrom"`` is approximate: f is a sum
        over `n_landmarks` landmarks, in time and memory that grow with n as n m^2 and m^2.
        ``"auto"`` takes it where landmarks are given, and with a warning where an exact fit is
        counted to take more than a minute, or `time_limit`.
        ``"sgd"`` goes by small random batches of rows, each solved exactly with all others fixed,
        and stores nothing of n^2.
    n_landmarks : int, optional
        How many landmarks m there are, at most as many as there are rows; 10 sqrt(n) by default,
        where ``"auto"`` takes them as many as time and memory allow, and 1000 in `partial_fit`.
        Those that others make superfluous, such as copies, are left out.
    landmarks : {"rpcholesky", "uniform", "kmeans"} or rows
        How they are chosen: rows at random by what earlier ones leave of k(x, x), all rows alike,
        or the centres of clusters of rows of numbers; or the landmarks themselves.
    tol : float, optional
        The relative residual that `certificate_` has to reach, 1e-6 by default and 1e-3 by
        ``"nystrom"``, where landmarks leave more.
    memory : int or str, optional
        The limit for the Gram matrix, in bytes or as ``"512MB"``, ``"4GB"``; a share of the free
        memory by default. A larger matrix is refused with `mercer.errors.MemoryLimitError`.
    max_iter : int, optional
        Steps allowed for every distinct alpha, 1000 by default, or by ``"sgd"`` epochs, 64 by
        default; for solvers that iterate.
    time_limit : float, optional
        Seconds after which a solver that iterates returns what it has, with a warning. So does
        the first Ctrl-C.
    checkpoint : str or Path, optional
        A file that keeps the state of the solver, written now and then, so that a fit that was
        killed goes on from there when it is called again, and ends with the same bits. The file
        is deleted when the fit is done, and stays where `time_limit` or Ctrl-C ended it early.
    random_state : int, RandomState or None
        Where the random pivots of ``"cg"`` and the orders of ``"sgd"`` come from; None is always
        the same seed.
    repair : {None, "clip", "flip", "shift"}
        What to make of negative eigenvalues of the training Gram matrix: zero, their absolute
        value, or as much more on the whole diagonal. New rows go through the same map. None
        refuses such a kernel, whatever alpha and solver, unless it is known to be positive
        semi-definite on coefficients that sum to zero, as `AdditiveChi2` is. An offset makes them
        so; without one the system is solved all the same, as scikit-learn does, with a
        `mercer.errors.ConditionalKernelWarning`.
    gamma, degree, coef0 : optional
        Parameters of a kernel given by a name of scikit-learn, with the meaning and the defaults
        that they have there.

    Attributes
    ----------
    kernel_ : Kernel
        k with numbers for parameters.
    function_ : Function
        f + b as a value, of which `X_fit_`, `dual_coef_`, `coef_` and `intercept_` are parts.
    X_fit_ : rows
        The training rows, or the training Gram matrix of ``kernel="precomputed"``; by
        ``"nystrom"`` the landmarks.
    dual_coef_ : array of shape (n,) or (n, targets)
        a; zero for rows of zero weight. By ``"nystrom"`` one for each landmark.
    coef_ : array of shape (p,) or (targets, p)
        The weights c of explicit features, f(x) = c'phi(x), where the kernel has some: of
        ``"linear"`` one for every column.
    intercept_ : float or array of shape (targets,)
        b; zero without an offset.
    certificate_ : Certificate
        The residual of (K + alpha W^-1) a + b 1 = y and 1'a = 0, relative to y, or with an offset
        to what y has beside its mean, and a bound on the distance from the exact f; by
        ``"primal"`` those of `coef_`, from its normal equations; by ``"nystrom"`` those of the
        landmark model, whose exact answer is then f*.
    approximation_ : Approximation or None
        What the landmarks leave of the kernel; None where the model is exact.
    solution_ : Solution
        What the solver returned, with its time.
    solver_ : solver
        What ran.
    n_iter_ : int
        Its steps, 1 for a solver that does not iterate.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.
    """

    takes_conditional: ClassVar[bool] = True

    kernel: Any = "gaussian"
    alpha: Any = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    solver: Any = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    tol: float | None = None
    memory: Any = None
    max_iter: int | None = None
    time_limit: float | None = None
    checkpoint: Any = None
    random_state: Any = None
    repair: str | None = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit f and b to the rows `X` and their targets `y`.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table, a list of texts or other sequences; for a precomputed
            kernel the Gram matrix. Rows that need not fit into memory are the path of a file
            (Parquet, CSV, Arrow, NDJSON, NPY) or a function that returns an iterator of blocks X
            or (X, y).
        y : array of shape (n,) or (n, targets), or str
            The targets, or the name of their column in the file or table `X`. None where they come
            with the blocks.
        sample_weight : float, array of shape (n,) or str, optional
            w; a whole weight counts as that many equal rows, zero as none. Text names a column.
        """
        self._tell_of_memory()
        return self.fit_within(Run(self.time_limit), X, y, sample_weight)

    def fit_within(self, run: Run, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit as `fit` does, in the time that is left of a run, such as that of a search."""
        X, y, sample_weight = self._opened(X, y, sample_weight)
        if isinstance(X, Stream) and self.solver == LEARNING:
            return self._fit_blocks(run, X, y, sample_weight)
        kernel = self._kernel_for(X)
        rows, y = checked_training(self, kernel, X, y)
        return self.fit_checked(run, kernel, rows, y, checked_weights(sample_weight, len(y)))

    def fit_checked(self, run: Run, kernel: Kernel, rows: Rows, y: Array, weights: Array) -> Self:
        """Fit to rows, targets and weights that were checked, as by a search on them.

        Parameters
        ----------
        run : Run
            The time that there is.
        kernel : Kernel
            k, on the columns of the rows.
        rows, y, weights
            What was checked; the columns are noted on the estimator.
        """
        problem = self._problem(y, weights)
        used = problem.used
        if not used.all():
            problem = problem.on(np.flatnonzero(used))
        fallback = OffsetAlone(Cholesky.tol if self.tol is None else self.tol)
        how = (problem, planned_ridge, fallback)
        training = self._training(run, kernel, rows, used, problem.weights, *how)
        solution = self._answer(run, training, y)
        self._keep(run, training, solution, y.shape[1:])
        run.forget()
        return self

    def _planned(self, kernel: Kernel, X: Any, y: Any) -> Plan:
        targets = np.zeros((n_rows(X), np.size(self.alpha))) if y is None else y
        rows, y = checked_training(self, kernel, X, targets)
        problem = self._problem(y, np.ones(len(y)))
        return ridge_plan(self._settings(), self._resolved(kernel, rows), rows.X, problem)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return f(x) + b at the rows `X`: shape (n,), or (n, targets).

        Parameters
        ----------
        X : rows
            Where to predict.
        return_std : bool
            Whether to return the standard deviation of f(x) + b as well, under the Gaussian
            process with covariance k, noise of variance alpha / w and free offset. It is that of
            the function alone, without the noise: targets at `X` vary by more, and between which
            numbers they lie `predict_interval` says.
        """
        X = checked_rows(self, X)
        values = self.function_(X)
        values = values.reshape(len(values), *self._target_shape_)
        return (values, self._shaped(self._deviation(X))) if return_std else values

    def gradient(self, X: Any) -> Array:
        """Return the gradient of f by its input at the rows `X`, see `Function.gradient`.

        The columns are those that `fit` noted; its shape is (n, columns), or (n, columns,
        targets).
        """
        found = self.function_.gradient(checked_rows(self, X))
        return found.reshape(*found.shape[:2], *self._target_shape_)

    @property
    def X_fit_(self) -> Any:
        """The training rows, or the training Gram matrix of a precomputed kernel."""
        return self.function_.dual.rows

    @property
    def dual_coef_(self) -> Array:
        """a, of shape (n,) or (n, targets)."""
        return self._shaped(self.function_.dual.coefficients)

    @property
    def coef_(self) -> Array:
        """The weights of explicit features, of shape (p,) or (targets, p)."""
        weights = super().coef_
        return weights if self._target_shape_ else weights[0]

    @property
    def intercept_(self) -> float | Array:
        """b, a number or of shape (targets,)."""
        b = self.function_.intercept
        return b if self._target_shape_ else float(b[0])

    def _problem(self, y: Array, weights: Array) -> RidgeProblem:
        targets = y.reshape(len(y), -1)
        alpha = self._alphas(targets.shape[1])
        problem = RidgeProblem(targets, alpha, weights, self.fit_intercept)
        if not problem.used.any():
            raise ValueError(
                f"sample_weight is at most {weights.max():g}, which is zero beside "
                f"alpha = {alpha.max():g}; scale the weights up"
            )
        return problem

    def _alphas(self, targets: int) -> Array:
        return checked_alpha(self.alpha, targets)

    def _keep(
        self, run: Run, training: Training[RidgeProblem], solution: Solution, shape: tuple[int, ...]
    ) -> None:
        """Store the function, the certificate, and what held-out errors are worked out from."""
        for cache in (*CACHES, "_stream_"):
            self.__dict__.pop(cache, None)
        solution = carried(solution, training.repair)
        kernel, X, used, gram = training.kernel, training.X, training.used, training.repair.gram
        self.kernel_, self.solver_, self.solution_ = kernel, training.solver, solution
        self.function_ = function_of(kernel, X, used, gram, solution, self._room)
        self.n_iter_ = max(solution.iterations, 1)
        self._problem_, self._used_, self._target_shape_ = training.problem, used, shape
        self._is_repaired_ = training.repair.is_changed
        self.approximation_ = approximation_of(gram, training.settings, X, "cg")
        self._landmark_cache = self._sampled_residuals_ = None
        if gram.landmarks is not None:
            self._keep_sampled(run, training, gram.landmarks)
        radius = solution.radius if shape else float(solution.radius[0])
        self.certificate_ = certificate_of(kernel, [solution], radius, training.settings)
        if kernel.is_conditional and not (self.fit_intercept or self._is_repaired_):
            warn_caller(
                f"{kernel!r} is positive semi-definite on coefficients of sum zero only, "
                "which nothing ensures without an offset: the answer is a stationary point of the "
                "objective, as scikit-learn's is, and need not be its minimum; use "
                "fit_intercept=True",
                ConditionalKernelWarning,
            )


def checked_alpha(alpha: Any, targets: int) -> Array:
    """Return the ridge of every target, of shape (targets,)."""
    ridges = checked_ridges(alpha, "alpha", "a number or one number per target")
    if ridges.shape not in ((), (1,), (targets,)):
        raise ValueError(
            f"alpha must be a number or have one entry for each of {targets} targets, "
            f"got shape {ridges.shape}"
        )
    return np.broadcast_to(ridges, (targets,))


def checked_ridges(alpha: Any, name: str, meaning: str) -> NDArray[np.float64]:
    """Return ridges as an array of their shape: numbers, finite and not negative."""
    ridges = np.asarray(alpha)
    if ridges.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be {meaning}, got {alpha!r}")
    bad = ~np.isfinite(ridges) | (ridges < 0)
    if bad.any():
        raise ValueError(
            f"{name} must be finite and not negative, got {ridges[bad].flat[0]:g}; "
            "0 is the least there is"
        )
    return ridges.astype(np.float64)
