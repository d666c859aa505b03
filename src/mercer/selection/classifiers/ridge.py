"""Classification by kernel ridge regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import KernelRidge, KernelRidgeMean
from mercer.estimators.classes import Labelled, decided
from mercer.estimators.estimator import KernelMachine, beside, like
from mercer.estimators.score import Classification
from mercer.estimators.validation import checked_rows
from mercer.kernels import Kernel
from mercer.planning import Plan
from mercer.selection.classifiers.calibration import Calibration
from mercer.selection.delegate import ChosenClassifier
from mercer.selection.grid import candidates, reader_of
from mercer.selection.ridge import KernelRidgeCV
from mercer.solvers import Run
from mercer.solvers.ridge.held_out import copies_of

Array = NDArray[np.float64]

# What a search says about its choice.
CHOSEN = (
    "kernel_",
    "alpha_",
    "best_score_",
    "best_index_",
    "best_params_",
    "cv_results_",
    "search_",
)


@dataclass(eq=False, repr=False)
class KernelRidgeClassifier(Classification, KernelMachine):
    """Least squares on targets of 1 for a class and -1 for the rest, with a kernel.

    For every class f minimises sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, and the class of the
    largest f + b is predicted; two classes need one f, of which the sign decides. All classes
    share one factorisation, so that many take about as long as one.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel, an expression, a name of scikit-learn, ``"auto"`` for the
        `mercer.default_kernel` of the training rows, or a function k(X, Z) -> (n, m).
        `KernelRidgeClassifierCV` chooses among several.
    alpha : float
        The ridge.
    fit_intercept : bool
        Whether there is an offset b.
    class_weight : None, dict or "balanced"
        Factors of the weights of each class.
    solver, n_landmarks, landmarks, tol, memory, max_iter, time_limit, random_state, repair
        As of `KernelRidge`.
    gamma, degree, coef0 : optional
        As of `KernelRidge`.

    Attributes
    ----------
    classes_ : array
        The classes of the rows of positive weight, in order.
    kernel_, function_, approximation_, n_iter_
        As of `KernelRidge`.
    dual_coef_ : array of shape (1, n) or (classes, n)
        a in f(x) = sum_i a_i k(x_i, x).
    intercept_ : array of shape (1,) or (classes,)
        b.
    certificate_ : Certificate
        The relative residual, and a bound on the distance from the exact f.
    estimator_ : KernelRidge
        The regression on the targets.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    Probabilities are softmax(T f), for two classes 1 / (1 + exp(-2 T f)). The temperature T has the
    largest likelihood for the scores of rows that were left out, in closed form, so that no fit is
    repeated. It is positive, hence the most probable class is always the predicted one. It is
    worked out by the first `predict_proba` and takes the memory of the Gram matrix.
    """

    kernel: Any = "gaussian"
    alpha: Any = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    class_weight: Any = None
    solver: Any = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    tol: float | None = None
    memory: Any = None
    max_iter: int | None = None
    time_limit: float | None = None
    random_state: Any = None
    repair: str | None = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit f and b of every class to the rows `X` with labels `y`.

        Parameters
        ----------
        X : rows
            An array, CSR matrix, table or list; for a precomputed kernel the Gram matrix. Rows on
            a disk are as of `KernelRidge`.
        y : array of shape (n,) or str
            The labels, or the name of their column.
        sample_weight : float or array of shape (n,), optional
            w; a whole weight counts as that many equal rows, zero as none.
        """
        self._tell_of_memory()
        return self.fit_within(Run(self.time_limit), X, y, sample_weight)

    def fit_within(self, run: Run, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit as `fit` does, in the time that is left of a run, such as that of a search."""
        self._refuse_several()
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernel = self._kernel_for(X)
        data = Labelled.of(self, kernel, X, y, sample_weight, self.class_weight)
        targets, weights = data.targets, data.weights
        model = self._regression(kernel)
        model.fit_within(run, data.rows.X, targets, weights)

        self.classes_, self.estimator_, self.kernel_ = data.classes, model, model.kernel_
        self.function_, self.certificate_ = model.function_, model.certificate_
        self.n_iter_, self.approximation_ = model.n_iter_, model.approximation_
        given = (targets, data.codes, weights, copies_of(data.copies))
        self._calibration_ = Calibration(model, *given, self.time_limit)
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: solver, memory, time, and why.

        Nothing of the size of the Gram matrix is allocated. Print it to read it.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array of shape (n,), optional
            Their labels; without them two classes.
        """
        self._refuse_several()
        X, y, _ = self._opened(X, y)
        kernel = self._kernel_for(X)
        if y is None:
            return self._regression(kernel).plan(X)
        data = Labelled.of(clone(self), kernel, X, y, None, self.class_weight)
        return self._regression(kernel).plan(data.rows.X, data.targets)

    def _regression(self, kernel: Kernel) -> KernelRidge | KernelRidgeMean:
        """Return the regression on the signs of the classes."""
        return like(self, KernelRidge, kernel=kernel)

    def decision_function(self, X: Any) -> Array:
        """Return f(x) + b at the rows `X`: shape (n,), or (n, classes) if there are more."""
        X = checked_rows(self, X)
        scores = self.function_(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes of the rows `X`: of two by the sign of f + b, else of the largest."""
        codes = decided(self.decision_function(X))
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, classes)."""
        scores = self.decision_function(X)
        return self._calibration_(scores)

    def set_temperature(self, T: float) -> Self:
        """Let probabilities be softmax(T f) for a T from elsewhere than rows left out one by one.

        Parameters
        ----------
        T : float
            The temperature, positive.
        """
        check_is_fitted(self)
        if not 0.0 < T < np.inf:
            raise ValueError(f"T must be a positive finite number, got {T!r}")
        self._calibration_.known = float(T)
        return self

    @property
    def leave_one_out_decision_(self) -> Array:
        """F + b at every training row by the fit without it; shape of `decision_function`."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.leave_one_out_predictions_)

    @property
    def leave_one_out_predictions_(self) -> NDArray[Any]:
        """The class of every training row that the fit without it predicts."""
        codes = decided(self.leave_one_out_decision_)
        return np.asarray(self.classes_[codes])

    @property
    def leave_one_out_proba_(self) -> Array:
        """The probabilities of the classes of every training row by the fit without it."""
        return self._calibration_(self.leave_one_out_decision_)

    def _refuse_several(self) -> None:
        """Refuse kernels and ridges to choose from."""
        for name, value in (("kernel", self.kernel), ("alpha", self.alpha)):
            if value is None or isinstance(value, Mapping | list | tuple | np.ndarray):
                raise ValueError(
                    f"{name} must be one, got {value!r:.100}; KernelRidgeClassifierCV chooses "
                    f"among {name}s=[...]"
                )


@dataclass(eq=False, repr=False)
class KernelRidgeClassifierCV(ChosenClassifier):
    """Kernel ridge classification with the kernel and the ridge that predict left-out rows best.

    They are chosen as `KernelRidgeCV` chooses, by the squared errors of the targets 1 and -1 of
    rows left out, in closed form.

    Parameters
    ----------
    kernels, alphas
        What to choose from, as of `KernelRidgeCV`.
    fit_intercept : bool
        Whether there is an offset b.
    class_weight : None, dict or "balanced"
        Factors of the weights of each class.
    solver, n_landmarks, landmarks, tol, memory, max_iter, time_limit, random_state
        As of `KernelRidge`, for the fit of what was chosen; the limit of memory and ``"nystrom"``
        hold for all.
    gamma, degree, coef0 : optional
        As of `KernelRidge`.

    Attributes
    ----------
    kernel_, alpha_, best_score_, best_index_, best_params_, cv_results_, search_
        The choice, and what was tried, as of `KernelRidgeCV`.
    best_estimator_ : KernelRidgeClassifier
        The model chosen, fitted to all rows. What it knows, such as ``classes_``, ``function_``
        and ``certificate_``, is known here too.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.
    """

    # How the targets of rows left out are told apart, for who draws the choice.
    exact: ClassVar[str] = "eigen"
    cv: ClassVar[str] = "loo"
    scoring: ClassVar[None] = None

    alphas: Any = None
    _: KW_ONLY
    class_weight: Any = None
    tol: float | None = None
    max_iter: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose kernel and ridge on the rows `X` with labels `y`, and fit them to all rows.

        Parameters
        ----------
        X : rows
            An array, CSR matrix, table or list; for precomputed kernels the Gram matrix. Rows on
            a disk are as of `KernelRidge`.
        y : array of shape (n,) or str
            The labels, or the name of their column.
        sample_weight : float or array of shape (n,), optional
            w; a whole weight counts as that many equal rows, one of which is left out, zero as
            none. With weights that are not all whole numbers a row is left out with all its
            weight.
        """
        self._tell_of_memory()
        run = Run(self.time_limit)
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernels = candidates(self.kernels, X, beside(self))
        data = Labelled.of(self, reader_of(kernels), X, y, sample_weight, self.class_weight)
        choice = self._regressions()
        given = (kernels, data.rows, data.targets, data.weights)
        how = choice.choose(run, *given, is_weighted=True, copies=copies_of(data.copies))
        model = like(
            self,
            KernelRidgeClassifier,
            kernel=choice.kernel_,
            alpha=choice.alpha_,
            solver=how.solver,
            n_landmarks=how.n_landmarks,
        )
        self.best_estimator_ = model.fit_within(run, X, y, sample_weight)
        self._warn_of_landmarks(len(data.codes))
        for name in CHOSEN:
            setattr(self, name, getattr(choice, name))
        return self

    def _planned(self, kernels: list[Kernel], X: Any, y: Any) -> Plan:
        if y is None:
            return self._regressions().plan(X)
        data = Labelled.of(self, reader_of(kernels), X, y, None, self.class_weight)
        return self._regressions().plan(data.rows.X, data.targets)

    def _regressions(self) -> KernelRidgeCV:
        """Return the search among regressions on the signs of the classes."""
        return like(self, KernelRidgeCV)
