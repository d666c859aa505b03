"""The weighted mean of several kernel ridges."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin

from mercer.errors import ApproximationWarning
from mercer.estimators.estimator import KernelEstimator, kernels_for, like
from mercer.estimators.fitted import warn_of_landmarks
from mercer.estimators.posterior import RidgePosterior
from mercer.estimators.ridge import KernelRidge, checked_ridges
from mercer.estimators.score import Regression
from mercer.estimators.validation import checked_rows, checked_training, checked_weights
from mercer.functions import MeanFunction
from mercer.functions.mean import weighted_kernel
from mercer.kernels import Kernel, Sum, as_kernel
from mercer.kernels.language.names import is_auto
from mercer.planning import Plan
from mercer.solvers import Certificate, Run
from mercer.solvers.contract import FEW_ROWS, STAND_INS
from mercer.solvers.ridge.held_out import copies_of
from mercer.solvers.rounding import column_norms
from mercer.solvers.stacking import mean_weights

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelRidgeMean(MultiOutputMixin, Regression, RidgePosterior):
    """The mean of kernel ridges, f = sum_c v_c f_c, each with a kernel and a ridge of its own.

    Where several kernels predict about as well and miss different rows, their mean misses less
    than each of them. Every f_c minimises sum_i w_i (y_i - f_c(x_i) - b_c)^2 + alpha_c ||f_c||^2;
    the weights v are at least zero, of sum one, and minimise the squared errors at rows left out,
    which are known in closed form.

    Parameters
    ----------
    kernels : sequence of kernels, expressions or names
        The k_c.
    alphas : float or sequence of float
        The ridge of all, or of each.
    weights : sequence of float, optional
        v, divided by their sum; by default they are found. A kernel of weight zero is left out.
    fit_intercept, solver, n_landmarks, landmarks, tol, memory, max_iter, random_state
        As of `KernelRidge`, for every kernel.
    time_limit : float, optional
        Seconds for all fits together. A kernel for which there was no time has no weight.

    Attributes
    ----------
    estimators_ : list of KernelRidge
        The fits of the kernels that have a weight.
    weights_ : array of shape (kernels,)
        v of all kernels.
    kernel_ : Kernel
        sum_c v_c k_c: its terms are the kernels with their weights, and f lies in its function
        space.
    function_ : MeanFunction
        f + b as a value.
    certificate_ : Certificate
        The largest relative residual of all fits, and the bound sqrt(sum_c v_c r_c^2) on the
        distance from the exact f that follows from those on each.
    approximation_ : Approximation or None
        What landmarks leave of a kernel, the most of all; None where the model is exact.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    References
    ----------
    D. Wolpert (1992), Stacked generalization. Neural Networks 5.
    L. Breiman (1996), Stacked regressions. Machine Learning 24.
    """

    kernels: Any = ("gaussian", "laplacian")
    alphas: Any = 1.0
    weights: Any = None
    _: KW_ONLY
    fit_intercept: bool = True
    solver: Any = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    tol: float | None = None
    memory: Any = None
    max_iter: int | None = None
    time_limit: float | None = None
    random_state: Any = None

    function_: MeanFunction = field(init=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit f_c and b_c of every kernel, and their weights, to the rows `X` and targets `y`.

        Parameters
        ----------
        X, y, sample_weight
            As of `KernelRidge`.
        """
        self._tell_of_memory()
        return self.fit_within(Run(self.time_limit), X, y, sample_weight)

    def fit_within(self, run: Run, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit as `fit` does, in the time that is left of a run, such as that of a search."""
        X, y, sample_weight = self._opened(X, y, sample_weight)
        models = self._models(self.placed(X))
        reader = Sum(tuple(model.kernel for model in models))
        rows, y = checked_training(self, reader, X, y)
        w = checked_weights(sample_weight, len(y))
        given = self._given_weights(len(models))
        with warnings.catch_warnings():
            # Landmarks are told of once, not for every kernel.
            warnings.simplefilter("ignore", ApproximationWarning)
            tried = [
                model.fit_checked(run, model.kernel, rows, y, w)
                for model, v in zip(models, given, strict=True)
                if v > 0.0
            ]
        self._keep(tried, np.flatnonzero(given > 0.0), given)
        settings = models[0]._settings().for_rows(rows.X)
        if self.approximation_ is not None and settings.is_open:
            exact = f"an exact fit of every kernel to {len(y)} rows"
            warn_of_landmarks(exact, settings, self.approximation_, "cg")
        return self

    def _keep(self, tried: Sequence[KernelRidge], places: NDArray[np.intp], given: Array) -> None:
        """Store the mean of fits of kernels in some places, but for those that came to nothing."""
        methods = [m.certificate_.method for m in tried]
        kept = [i for i, method in enumerate(methods) if method not in STAND_INS]
        # Without any, one that knows some rows rather than none.
        kept = kept or [methods.index(FEW_ROWS) if FEW_ROWS in methods else 0]
        models = [tried[i] for i in kept]
        is_given = self.weights is not None
        v = given[places[kept]] if is_given else _best_weights(models)
        v = v / v.sum()
        # The found weight below which a kernel is left out: it predicts as slowly as any other.
        least = 0.0 if is_given else 1e-3
        large = np.flatnonzero(v >= least)
        v = v[large] / v[large].sum()
        self.estimators_ = [models[i] for i in large]
        self.weights_ = np.zeros(len(given))
        self.weights_[places[kept][large]] = v
        self.function_ = MeanFunction(tuple(m.function_ for m in self.estimators_), v)
        self.kernel_ = weighted_kernel([m.kernel_ for m in self.estimators_], v)
        first = self.estimators_[0]
        self._problem_, self._used_ = first._problem_, first._used_
        self._target_shape_, self._is_repaired_ = first._target_shape_, False
        self.certificate_ = self._certified(v)
        left_out = [m.approximation_ for m in self.estimators_ if m.approximation_ is not None]
        self.approximation_ = max(left_out, key=lambda a: a.value, default=None)
        self.n_iter_ = max(m.n_iter_ for m in self.estimators_)
        sampled = [m._sampled_residuals_ for m in self.estimators_]
        self._sampled_residuals_ = None
        if all(missed is not None for missed in sampled):
            self._sampled_residuals_ = np.tensordot(v, np.array(sampled), 1)

    def _certified(self, v: Array) -> Certificate:
        """Return what follows for the mean from what is proved of every fit."""
        each = [m.certificate_ for m in self.estimators_]
        worst = max(each, key=lambda c: c.value / c.tolerance if c.tolerance > 0.0 else c.value)
        radii = np.array([np.atleast_1d(c.radius) for c in each])
        radius = column_norms(np.sqrt(v)[:, None] * radii)
        return Certificate(
            worst.kind,
            worst.value,
            worst.tolerance,
            radius if np.ndim(worst.radius) else float(radius[0]),
            self.kernel_.diagonal,
            worst.method,
            all(c.is_proved for c in each),
        )

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X` for the kernel that takes longest.

        The time is that of all kernels together, the memory the most that one of them needs.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array of shape (n,) or (n, targets), or str, optional
            Their targets.
        """
        models = self._models(self.placed(X))
        given = self._given_weights(len(models))
        plans = [m.plan(X, y) for m, v in zip(models, given, strict=True) if v > 0.0]
        longest = max(plans, key=lambda plan: plan.seconds)
        return replace(
            longest,
            memory=max(plan.memory for plan in plans),
            seconds=sum(plan.seconds for plan in plans),
            alternatives=() if len(plans) > 1 else longest.alternatives,
        )

    def predict(self, X: Any) -> Array:
        """Return f(x) + b at the rows `X`: shape (n,), or (n, targets)."""
        X = checked_rows(self, X)
        return self._shaped(self.function_(X))

    def gradient(self, X: Any) -> Array:
        """Return the gradient of f by its input at the rows `X`, see `Function.gradient`.

        The columns are those that `fit` noted; its shape is (n, columns), or (n, columns,
        targets).
        """
        X = checked_rows(self, X)
        found = self.function_.gradient(X)
        return found.reshape(*found.shape[:2], *self._target_shape_)

    def residuals_less_one(self, copies: Array) -> Array:
        return self._mean([m.residuals_less_one(copies) for m in self.estimators_])

    @property
    def intercept_(self) -> float | Array:
        """b, a number or of shape (targets,)."""
        b = self.function_.intercept
        return b if self._target_shape_ else float(b[0])

    @property
    def X_fit_(self) -> Any:
        """The training rows; of landmark models the landmarks of the first."""
        return self.estimators_[0].X_fit_

    @property
    def dual_coef_(self) -> Array:
        """Refused: every fit of the mean has its own."""
        raise AttributeError("a mean of kernel ridges has no dual_coef_; those of estimators_ do")

    @property
    def _landmark_cache(self) -> Any:  # type: ignore[override]
        """The matrix of the first fit, which all have in memory or none."""
        return getattr(self.estimators_[0], "_landmark_cache", None)

    def _gram_by_landmarks(self) -> Any:
        return self.estimators_[0]._gram_by_landmarks()

    def _loo_residuals(self) -> Array:
        return self._mean([m._loo_residuals() for m in self.estimators_])

    def _row_variances(self) -> Array:
        return self._mean([m._row_variances() for m in self.estimators_])

    def _without(self, X: Any) -> Iterator[tuple[slice, int, Array, Array]]:
        for each in zip(*(m._without(X) for m in self.estimators_), strict=True):
            rows, t = each[0][:2]
            changes, variances = ([found[k] for found in each] for k in (2, 3))
            yield rows, t, self._mean(changes), self._mean(variances)

    def _mean(self, values: Sequence[Array]) -> Array:
        total = np.zeros_like(values[0])
        for v, value in zip(self.function_.weights, values, strict=True):
            total += v * value
        return total

    def placed(self, X: Any) -> list[Kernel]:
        """Return the kernels, put on the columns that they read."""
        if isinstance(self.kernels, str) or not isinstance(self.kernels, Sequence):
            raise ValueError(
                f"kernels must be a sequence of kernels, got {self.kernels!r:.100}; KernelRidge "
                "takes one"
            )
        if not self.kernels:
            raise ValueError("kernels is empty; give one kernel at least")
        return kernels_for(self.kernels, X)

    def _models(self, kernels: Sequence[Kernel]) -> list[KernelRidge]:
        """Return the ridges to fit."""
        alphas = checked_ridges(self.alphas, "alphas", "a number or one number per kernel")
        if alphas.shape not in ((), (1,), (len(kernels),)):
            raise ValueError(
                f"alphas must be a number or have one entry for each of {len(kernels)} kernels, "
                f"got shape {alphas.shape}"
            )
        each = np.broadcast_to(alphas, (len(kernels),)).tolist()
        pairs = zip(kernels, each, strict=True)
        return [like(self, KernelRidge, kernel=k, alpha=a) for k, a in pairs]

    def _given_weights(self, count: int) -> Array:
        """Return the weights that were given, or ones where they are to be found."""
        if self.weights is None:
            return np.ones(count)
        v = checked_ridges(self.weights, "weights", "one number per kernel")
        if v.shape != (count,) or not v.sum() > 0.0:
            raise ValueError(
                f"weights must have a number for each of {count} kernels, not all zero, got "
                f"{self.weights!r:.100}"
            )
        return v

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; kernels are values, and are replaced as a whole."""
        return super(KernelEstimator, self).set_params(**params)

    def _tagged_kernels(self) -> list[Kernel]:
        return [as_kernel(kernel) for kernel in self.kernels if not is_auto(kernel)]


def _best_weights(models: Sequence[KernelRidge]) -> Array:
    """Return the weights with the least squared error at rows of which one copy was left out."""
    if len(models) == 1:
        return np.ones(1)
    w = models[0]._problem_.weights
    copies = copies_of(w)
    errors = np.stack([m.residuals_less_one(copies) for m in models], axis=-1)
    errors *= np.sqrt(w)[:, None, None]
    return mean_weights(errors.reshape(-1, len(models)))
