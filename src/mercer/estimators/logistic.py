"""Kernel logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import checked_positive
from mercer.data.columns import take_rows
from mercer.data.stream import Stream
from mercer.errors import IndefiniteKernelError
from mercer.estimators.callbacks import CallbackSupportMixin
from mercer.estimators.classes import Labelled
from mercer.estimators.estimator import KernelMachine
from mercer.estimators.fitted import approximation_of, carried, function_of, gap_certificate
from mercer.estimators.online.partial_fit import ClassStream
from mercer.estimators.refusals import REPAIR, with_points
from mercer.estimators.score import Classification
from mercer.estimators.streams import LEARNING
from mercer.estimators.training import Training, checked_for_plan
from mercer.estimators.validation import checked_rows, used_rows
from mercer.gram import unheld_gram_of
from mercer.kernels import Kernel
from mercer.planning import Plan, logistic_plan, planned_logistic
from mercer.solvers import LogisticProblem, Run, Solution, as_logistic_solver
from mercer.solvers.logistic.leave_one_out import leave_one_out_scores
from mercer.solvers.logistic.likelihood import log_probabilities, probabilities

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelLogisticRegression(CallbackSupportMixin, Classification, ClassStream, KernelMachine):
    """Probabilities of classes: f minimises C sum_i w_i loss_i + 1/2 ||f||^2.

    Two classes have one function f and the loss log(1 + exp(-y_i (f(x_i) + b))), y_i = -1 or 1;
    the second class has the probability 1 / (1 + exp(-f(x) - b)). More classes have a function
    each, the loss is that of the softmax, -log p_y(x_i), and the penalty the sum of all
    ||f_c||^2. The offset b is not penalised.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k, as of `KernelRidge`.
    C : float
        What the losses count beside the penalty, positive.
    class_weight : None, dict or "balanced"
        Factors of the weights of the classes; ``"balanced"`` is sum(w) / (classes * w of the
        class).
    fit_intercept : bool
        Whether there is an offset b.
    solver : {"auto", "newton", "cg", "nystrom", "sgd"} or solver
        ``"newton"`` factors a matrix of n rows in every Newton step; ``"cg"`` solves it by
        conjugate gradients with a preconditioner, which stores no Gram matrix where that does not
        fit. ``"auto"`` factors up to a few hundred rows. ``"nystrom"`` is exact for the kernel of
        landmarks, in a time linear in the rows; ``"auto"`` takes it where landmarks are given, and
        with a warning where an exact fit is counted to take more than a minute, or `time_limit`.
        ``"sgd"`` goes by small random batches of rows, each with Newton steps of its own, and
        stores nothing of n^2.
    tol : float, optional
        The relative duality gap that `certificate_` has to reach, 1e-5 by default: one or two steps
        of Newton's beyond 1e-3, which bounds f too loosely to be of use.
    max_iter : int, optional
        Newton steps allowed, 100 by default, or by ``"sgd"`` epochs, 64 by default.
    time_limit : float, optional
        Seconds after which the best model so far is kept, with a warning. So does the first
        Ctrl-C.
    checkpoint : str or Path, optional
        A file that keeps the state of ``"nystrom"`` and ``"sgd"``, as that of `KernelRidge`
        does; other solvers, for fewer rows, begin anew.
    warm_start : bool
        Whether `fit` starts from the coefficients of the last fit, if that had as many rows of
        positive weight and the same classes.
    n_landmarks, landmarks, random_state, memory, repair, gamma, degree, coef0
        As of `KernelRidge`.

    Attributes
    ----------
    classes_ : array of shape (m,)
        The classes of the rows of positive weight, in order.
    kernel_, function_, X_fit_, approximation_, solution_, solver_
        As of `KernelRidge`.
    dual_coef_ : array of shape (1, n) or (m, n)
        a in f(x) = sum_i a_i k(x_i, x), for two classes or for each of more, which then sum to
        zero; zero for rows of zero weight.
    intercept_ : array of shape (1,) or (m,)
        b; several sum to zero, since a number added to all changes no probability.
    coef_ : array of shape (1, p) or (m, p)
        The weights of explicit features, as of `KernelRidge`.
    certificate_ : Certificate
        The relative duality gap in float64, and the bound sqrt(2 gap k(x, x)) on |f - f*|(x); by
        ``"nystrom"`` in the landmark model.
    n_iter_ : int
        Its Newton steps, or epochs.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.
    """

    kernel: Any = "gaussian"
    C: float = 1.0
    _: KW_ONLY
    class_weight: Any = None
    fit_intercept: bool = True
    solver: Any = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    tol: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None
    checkpoint: Any = None
    random_state: Any = None
    memory: Any = None
    warm_start: bool = False
    repair: str | None = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the probabilities of the classes `y` at the rows `X`.

        Parameters
        ----------
        X, y, sample_weight
            As in `KernelRidge.fit`, with classes for targets, which are numbers or strings.
        """
        self._tell_of_memory()
        return self.fit_within(Run(self.time_limit), X, y, sample_weight)

    def fit_within(self, run: Run, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit as `fit` does, in the time that is left of a run, such as that of a search."""
        X, y, sample_weight = self._opened(X, y, sample_weight)
        if isinstance(X, Stream) and self.solver == LEARNING:
            return self._fit_blocks(run, X, y, sample_weight)
        C = checked_positive("C", self.C)
        training, classes = self._classes_to_train(run, X, y, sample_weight, C)
        if self.warm_start:
            start = self._start(training.problem, classes)
            training = replace(training, problem=replace(training.problem, start=start))
        solution = self._answer(run, training, y)
        self._keep(training, classes, solution)
        run.forget()
        return self

    def _planned(self, kernel: Kernel, X: Any, y: Any) -> Plan:
        C = checked_positive("C", self.C)
        data = checked_for_plan(self, kernel, X, y, self.class_weight)
        given = (data.codes, len(data.classes), C, data.weights, self.fit_intercept)
        kernel = self._resolved(kernel, data.rows)
        return logistic_plan(self._settings(), kernel, data.rows.X, LogisticProblem(*given))

    def path(self, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any = None) -> list[Self]:
        """Return a fitted model for every C, in the order given.

        They share the Gram matrix and are solved from the smallest C to the largest, each from
        the solution before. Parameters other than `C` are those of this estimator, which itself
        stays as it is. Each C has an equal share of the time that is left when its turn comes.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        Cs : sequence of float
            The Cs.
        """
        values = [checked_positive("C", C) for C in Cs]
        if not values:
            raise ValueError(f"Cs must hold at least one C, got {Cs!r}")
        self._tell_of_memory()
        run, base = Run(self.time_limit), clone(self)
        training, classes = base._classes_to_train(run, X, y, sample_weight, max(values))
        ordered = sorted(set(values))
        models = {}
        try:
            path = training.solver.path(training.repair.gram, training.problem, ordered, run)
            for C, solution in zip(ordered, path, strict=True):
                models[C] = copy(base)
                models[C].C = C
                models[C]._keep(training, classes, solution)
        except IndefiniteKernelError as error:
            raise with_points(error, training.kernel, training.rows.X, REPAIR) from None
        return [models[C] for C in values]

    def decision_function(self, X: Any) -> Array:
        """Return the scores f(x) + b at the rows `X`: (n,) for two classes, else (n, m).

        The score of two classes is the log-odds of the second one.
        """
        X = checked_rows(self, X)
        return _in_shape(self.function_(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, m)."""
        X = checked_rows(self, X)
        return probabilities(self.function_(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, accurate however small those are."""
        X = checked_rows(self, X)
        return log_probabilities(self.function_(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class at the rows `X`, the first of equals."""
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @property
    def leave_one_out_decision_(self) -> Array:
        """About the scores at every training row of the fit without it, as `decision_function`.

        They are one Newton step away from the fit and cost about as much as a step with a factor;
        no fit is repeated. A row of zero weight was not used, so its scores are the plain ones.
        """
        check_is_fitted(self)
        return _in_shape(self._left_out())

    @property
    def leave_one_out_predictions_(self) -> NDArray[Any]:
        """About the class of every training row that the fit without it predicts."""
        return np.asarray(self.classes_[self.leave_one_out_proba_.argmax(axis=1)])

    @property
    def leave_one_out_proba_(self) -> Array:
        """About the probabilities at every training row of the fit without it, (n, m)."""
        check_is_fitted(self)
        return probabilities(self._left_out())

    def _classes_to_train(
        self, run: Run, X: Any, y: Any, sample_weight: Any, C: float
    ) -> tuple[Training[LogisticProblem], NDArray[Any]]:
        """Return what a fit works on, and the classes of the rows that count."""
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernel = self._kernel_for(X)
        data = Labelled.of(self, kernel, X, y, sample_weight, self.class_weight)
        used, classes = data.used, data.classes
        of_rows = (data.codes[used], len(classes), C, data.weights[used])
        problem = LogisticProblem(*of_rows, self.fit_intercept)
        how = (problem, planned_logistic, as_logistic_solver("cg", self.tol))
        return self._training(run, kernel, data.rows, used, data.copies[used], *how), classes

    def _start(self, problem: LogisticProblem, classes: NDArray[Any]) -> tuple[Array, Array] | None:
        """Return the last coefficients and offsets if they can be started from."""
        last: Solution | None = getattr(self, "solution_", None)
        if last is None or last.coefficients.shape != (len(problem.codes), problem.columns):
            return None
        is_same = np.array_equal(self.classes_, classes)
        return (last.coefficients, last.intercept) if is_same else None

    def _keep(
        self, training: Training[LogisticProblem], classes: NDArray[Any], solution: Solution
    ) -> None:
        """Store a solution, and its coefficients in terms of the kernel as it is."""
        for name in ("_left_out_cache", "_stream_"):
            self.__dict__.pop(name, None)
        expanded = carried(solution, training.repair)
        self.classes_ = classes
        self.kernel_, self.solver_, self.solution_ = training.kernel, training.solver, solution
        X, used, gram = training.X, training.used, training.repair.gram
        self.function_ = function_of(training.kernel, X, used, gram, expanded, self._room)
        self.n_iter_ = max(solution.iterations, 1)
        self._problem_ = replace(training.problem, C=self.C, start=None)
        self._used_ = used
        self._is_repaired_ = training.repair.is_changed
        self.approximation_ = approximation_of(gram, training.settings, X, "cg")
        self.certificate_ = gap_certificate(training.kernel, [expanded], training.settings)

    @property
    def X_fit_(self) -> Any:
        """The training rows, or the training Gram matrix of a precomputed kernel."""
        return self.function_.dual.rows

    def _left_out(self) -> Array:
        if "_left_out_cache" not in vars(self):
            self._left_out_cache = self._scores_left_out()
        return self._left_out_cache

    def _scores_left_out(self) -> Array:
        if self.approximation_ is not None:
            raise ValueError(
                "a landmark model has no held-out scores in closed form; use cross_val_predict of "
                "scikit-learn"
            )
        if self._is_repaired_:
            raise ValueError(
                f"{self.kernel_!r} was repaired with repair={self.repair!r}, and only a positive "
                "semi-definite kernel has held-out scores in closed form; use cross-validation"
            )
        used = np.flatnonzero(self._used_)
        rows = used_rows(self.kernel_, self.X_fit_, self._used_)
        gram = unheld_gram_of(self.kernel_, rows, self._room)
        scores = np.empty((len(self._used_), self._problem_.columns))
        last = self.solution_
        scores[used] = leave_one_out_scores(gram, self._problem_, last.coefficients, last.intercept)
        if len(used) < len(scores):
            unused = np.flatnonzero(~self._used_)
            scores[unused] = self.function_(take_rows(self.X_fit_, unused))
        return scores

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_left_out_cache"}


def _in_shape(scores: Array) -> Array:
    """Return the only column as a vector, or several as they are."""
    return scores[:, 0] if scores.shape[1] == 1 else scores
