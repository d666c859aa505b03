"""The support vector regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from mercer.data.checks import checked_not_negative, checked_positive
from mercer.data.columns import n_rows
from mercer.estimators.fitted import gap_certificate
from mercer.estimators.score import Regression
from mercer.estimators.svm.hard_margin import Solved, Task
from mercer.estimators.svm.partial_fit import learn_targets
from mercer.estimators.svm.supports import SupportVectorMachine, checked_cost, support_rows
from mercer.estimators.validation import (
    checked_rows,
    checked_training,
    checked_weights,
)
from mercer.functions import DualFunction
from mercer.kernels import Kernel
from mercer.planning import Plan
from mercer.solvers import MarginProblem, Run

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelSVR(Regression, SupportVectorMachine):
    """A tube: f, b minimise C sum_i w_i max(0, |y_i - f(x_i) - b| - epsilon) + 1/2 ||f||^2.

    The minimum is f(x) = sum_i a_i k(x_i, x), and a_i is zero for rows within the tube, which are
    not kept.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k, as of `KernelSVC`.
    C : float
        The inverse strength of the regularisation, positive; infinity allows no loss, and all rows
        must be in the tube.
    epsilon : float
        Half the width of the tube, at least zero.
    fit_intercept : bool
        Whether there is an offset b, which is not penalised.
    solver, n_landmarks, landmarks, tol, memory, max_iter, time_limit, checkpoint
        As of `KernelSVC`.
    random_state, warm_start, repair, gamma, degree, coef0
        As of `KernelSVC`.

    Attributes
    ----------
    function_ : Function
        f + b as a value, of which `support_vectors_`, `dual_coef_`, `coef_` and `intercept_` are
        parts.
    support_, support_vectors_
        The support vectors, by their rows and themselves, as of `KernelSVC`.
    n_support_ : array of shape (1,)
        How many there are.
    dual_coef_ : array of shape (1, n_SV)
        a.
    intercept_ : array of shape (1,)
        b.
    coef_, certificate_, approximation_, n_iter_, kernel_, solver_
        As of `KernelSVC`, of one problem.
    """

    epsilon: float = 0.1

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit f and b to the rows `X` and their targets `y`.

        Parameters
        ----------
        X : rows
            As in `KernelRidge.fit`: in memory, a file, or a function of an iterator of blocks.
        y : array of shape (n,) or str
            The targets, or the name of their column.
        sample_weight : float, array of shape (n,) or str, optional
            w; a whole weight counts as that many equal rows, zero as none. Text names a column.
        """
        self._tell_of_memory()
        run, settings = Run(self.time_limit), self._settings()
        C, epsilon = self._checked_settings()
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernel = self._kernel_for(X)
        rows, y = checked_training(self, kernel, X, y)
        y = column_or_1d(y, warn=True)
        weights = checked_weights(sample_weight, len(y))
        used = np.flatnonzero(weights)
        size = _size(y[used])

        def tasks(costs: Array) -> list[Task]:
            problem = MarginProblem.regression(y[used], costs, epsilon, self.fit_intercept)
            return [Task(np.arange(len(used)), problem)]

        given = (kernel, rows, y, used, weights, weights, tasks, size)
        found = self._solved_at(run, settings, C, *given)
        self._keep(rows.X, found)
        self.certificate_ = gap_certificate(self.kernel_, found.solutions, settings)
        run.forget()
        return self

    def _planned(self, kernel: Kernel, X: Any, y: Any) -> Plan:
        epsilon = self._checked_settings()[1]
        targets = np.zeros(n_rows(X)) if y is None else y
        rows, y = checked_training(self, kernel, X, targets)

        def tasks(costs: Array) -> list[Task]:
            problem = MarginProblem.regression(y, costs, epsilon, self.fit_intercept)
            return [Task(np.arange(rows.n), problem)]

        return self._plan_of(kernel, rows, np.ones(rows.n), tasks, _size(y))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows, each seen once: the stochastic solver on a stream.

        A batch of rows outside of the tube is added as ``"sgd"`` would add it; the offset follows
        the best one of every batch in steps that shrink like 1 / sqrt(rows). Only support vectors
        are kept. A rule such as ``"median"`` is resolved on the rows of the first call.

        Parameters
        ----------
        X, y : rows, array of shape (n,)
            More rows and their targets.
        sample_weight : float or array of shape (n,), optional
            w.
        """
        C, epsilon = checked_positive("C", self.C), self._checked_settings()[1]
        learn_targets(self, C, epsilon, X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Array:
        """Return f(x) + b at the rows `X`."""
        X = checked_rows(self, X)
        return self.function_(X)[:, 0]

    def _keep(self, X: Any, found: Solved) -> None:
        """Store the function by support vectors, or by landmarks."""
        self._seen_ = n_rows(X)
        self._keep_start(found)
        if found.gram.landmarks is not None:
            none = np.zeros(len(found.used), np.intp)
            self._keep_landmarks(found.gram.landmarks, found, none)
            return
        (solution,) = found.solutions
        a = solution.coefficients
        support = np.flatnonzero(a[:, 0])
        self.support_, self.n_support_ = found.used[support], np.array([len(support)], np.int32)
        rows, columns = support_rows(self.kernel_, X, self.support_)
        dual = DualFunction(self.kernel_, rows, a[support], solution.intercept, columns)
        self.function_ = self._function(dual, found.gram, [solution])

    def _checked_settings(self) -> tuple[float, float]:
        return checked_cost(self.C), checked_not_negative("epsilon", self.epsilon)


def _size(y: Array) -> float:
    """Return the size of targets: how far apart they are, or 1 if they are not."""
    return float(np.ptp(y)) or 1.0
