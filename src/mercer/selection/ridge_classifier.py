"""Classification by kernel ridge regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.errors import IndefiniteKernelError
from mercer.estimators import KernelRidge
from mercer.estimators.arguments import beside
from mercer.estimators.classes import class_weighted, decided, one_against_rest, present_classes
from mercer.estimators.estimator import KernelMachine
from mercer.estimators.validation import (
    checked_classification,
    checked_rows,
    checked_weights,
    copies_of,
)
from mercer.kernels import Kernel
from mercer.selection.calibration import Calibration
from mercer.selection.grid import candidates, reader_of, tag_rows
from mercer.selection.ridge import KernelRidgeCV

Array = NDArray[np.float64]


class KernelRidgeClassifier(ClassifierMixin, KernelMachine):
    """Least squares on targets of 1 for a class and -1 for the rest, with a kernel.

    For every class f minimises sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, and the class of the
    largest f + b is predicted; two classes need one f, of which the sign decides. All classes
    share one factorisation, so that many take about as long as one.

    Parameters
    ----------
    kernel : Kernel, str, callable, list, dict or None
        k: a kernel, an expression, a name of scikit-learn, ``"auto"`` for the
        `mercer.default_kernel` of the training rows, or a function k(X, Z) -> (n, m). Of a
        list of them, or a grid such as ``{"length_scale": [0.5, 1.0, 2.0]}``, the one that
        predicts left-out targets best is chosen, as by `KernelRidgeCV`; None is its default grid
        of Gaussians.
    alpha : float, list of float or None
        The ridge. Of a list the one that predicts left-out targets best is chosen, in closed form;
        None is the default list of `KernelRidgeCV`.
    fit_intercept : bool
        Whether there is an offset b.
    class_weight : None, dict or "balanced"
        Factors of the weights of each class.
    solver, tol, memory, max_iter, time_limit, random_state, repair
        As of `KernelRidge`. A kernel that needs the repair is fitted with a given alpha only: there
        is nothing to choose by.
    gamma, degree, coef0 : optional
        Parameters of a kernel given by a name of scikit-learn, with the meaning and the defaults
        that they have there.

    Attributes
    ----------
    classes_ : array
        The classes of the rows of positive weight, in order.
    kernel_ : Kernel
        k with numbers for parameters.
    alpha_ : float
        The ridge.
    function_ : Function
        f + b as a value, of which `dual_coef_`, `coef_` and `intercept_` are parts.
    dual_coef_ : array of shape (1, n) or (classes, n)
        a in f(x) = sum_i a_i k(x_i, x).
    intercept_ : array of shape (1,) or (classes,)
        b.
    certificate_ : Certificate
        The relative residual, and a bound on the distance from the exact f.
    estimator_ : KernelRidge
        The regression on the targets.
    selection_ : KernelRidgeCV or None
        What was tried, if there was something to choose; `SelectionDisplay` draws it.
    n_iter_ : int
        Steps of the solver, 1 if it does not iterate.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    Probabilities are softmax(T f), for two classes 1 / (1 + exp(-2 T f)). The temperature T has the
    largest likelihood for the scores of rows that were left out, in closed form, so that no fit is
    repeated. It is positive, hence the most probable class is always the predicted one. It is
    worked out by the first `predict_proba` and takes the memory of the Gram matrix.
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: Any = "auto",
        tol: float | None = None,
        memory: Any = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        repair: str | None = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.memory = memory
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.repair = repair
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit f and b of every class to the rows `X` with labels `y`.

        Parameters
        ----------
        X : rows
            An array, CSR matrix, table or list; for a precomputed kernel the Gram matrix.
        y : array of shape (n,)
            The labels.
        sample_weight : float or array of shape (n,), optional
            w; a whole weight counts as that many equal rows, one of which is left out where
            something is chosen, zero as none. With weights that are not all whole numbers a row
            is left out with all its weight.
        """
        kernels = candidates(self.kernel, X, beside(self))
        rows, codes, classes = checked_classification(self, reader_of(kernels), X, y)
        own = checked_weights(sample_weight, len(codes))
        weights, copies = class_weighted(own, self.class_weight, codes, classes), copies_of(own)
        used, numbers, classes = present_classes(self, weights, codes, classes)
        # Rows without weight have no target, but a place in the order of the rows.
        codes = np.zeros(len(used), np.intp)
        codes[used] = numbers
        targets = one_against_rest(codes, len(classes))
        targets = targets[:, 0] if len(classes) == 2 else targets

        selection = self._selection(kernels, rows, targets, weights, copies)
        kernel, alpha = kernels[0], self.alpha
        if selection is not None:
            kernel, alpha = selection.kernel_, selection.alpha_
        model = KernelRidge(
            kernel,
            alpha,
            fit_intercept=self.fit_intercept,
            solver=self.solver,
            tol=self.tol,
            memory=self.memory,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            random_state=self.random_state,
            repair=self.repair,
        )
        model.fit(rows, targets, weights)

        self.classes_, self.estimator_, self.selection_ = classes, model, selection
        self.function_ = model.function_
        self.kernel_, self.alpha_ = model.kernel_, float(alpha)
        self.certificate_, self.n_iter_ = model.certificate_, model.n_iter_
        self._calibration_ = Calibration(model, targets, codes, weights, copies)
        return self

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tag_rows(tags, self.kernel)
        return tags

    def _selection(
        self, kernels: list[Kernel], X: Any, targets: Array, weights: Array, copies: Array
    ) -> KernelRidgeCV | None:
        """Return the choice among the kernels and the ridges given, or None if there is one."""
        is_one = not isinstance(self.kernel, Mapping | list | tuple | None)
        if is_one and self.alpha is not None and np.ndim(self.alpha) == 0:
            return None
        choice = KernelRidgeCV(
            None if self.kernel is None else kernels,
            self.alpha,
            fit_intercept=self.fit_intercept,
            memory=self.memory,
            random_state=self.random_state,
        )
        try:
            return choice.choose(X, targets, weights, copies=copies)
        except IndefiniteKernelError as error:
            if self.repair is None:
                raise
            # The repair of all rows knows those that are left out.
            raise IndefiniteKernelError(
                f"a kernel repaired with repair={self.repair!r} has no held-out predictions to "
                "choose by; give one kernel and a number for alpha, or choose with GridSearchCV "
                "of scikit-learn, which repairs every fit by itself (the rows and c that show "
                "that it is indefinite are in error.witness)",
                error.witness,
            ) from None
