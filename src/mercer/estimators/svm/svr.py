"""The support vector regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.utils import column_or_1d

from mercer.data.checks import checked_not_negative, checked_positive
from mercer.data.columns import n_rows
from mercer.estimators.fitted import gap_certificate
from mercer.estimators.svm.hard_margin import Priced, hard_margin, mean_diagonal
from mercer.estimators.svm.partial_fit import learn_targets
from mercer.estimators.svm.supports import (
    Start,
    SupportVectorMachine,
    Task,
    checked_price,
    support_rows,
    warm_starts,
)
from mercer.estimators.validation import (
    checked_rows,
    checked_training,
    checked_unlabelled,
    checked_weights,
    training_subset,
)
from mercer.functions import DualFunction
from mercer.planning import Plan
from mercer.solvers import MarginProblem, Run
from mercer.tiles import Rows

Array = NDArray[np.float64]


class KernelSVR(RegressorMixin, SupportVectorMachine):
    """A tube: f, b minimise C sum_i w_i max(0, |y_i - f(x_i) - b| - epsilon) + 1/2 ||f||^2.

    The minimum is f(x) = sum_i a_i k(x_i, x), and a_i is zero for rows within the tube, which are
    not kept.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel, an expression such as ``"gaussian(length_scale=2.0) + linear"``, a name of
        scikit-learn (``"rbf"``, ``"precomputed"``), or a function k(X, Z) -> (n, m).
        ``"auto"`` is the `mercer.default_kernel` of the training rows.
    C : float
        The price of the loss, positive; infinity allows none, and all rows must be in the tube.
    epsilon : float
        Half the width of the tube, at least zero.
    fit_intercept : bool
        Whether there is an offset b, which is not penalised.
    solver : {"auto", "smo", "primal", "sgd", "nystrom"} or solver
        ``"smo"`` is exact to the tolerance, and so is ``"primal"``, which finds the weights of
        explicit features; ``"sgd"`` goes by small random batches. ``"auto"`` takes ``"primal"``
        for many rows whose features are few, or sparse as k-grams are, else ``"smo"``.
        ``"nystrom"`` is exact for the kernel of landmarks; ``"auto"`` takes it where these are
        given, and warns where it does since an exact fit is counted to take more than a minute, or
        `time_limit`.
    n_landmarks : int, optional
        How many; by default ten times the root of the rows, or by ``"auto"`` as many as fit.
    landmarks : {"rpcholesky", "uniform", "kmeans"} or rows
        How they are chosen: rows at random by what earlier ones leave of k(x, x), rows at random,
        or centres of clusters; or the landmarks themselves.
    tol : float
        The relative duality gap that `certificate_` has to reach; that of a solver object, if it
        is tighter.
    memory : int or str, optional
        The limit for Gram matrices, in bytes or as ``"512MB"``, ``"4GB"``.
    max_iter : int, optional
        Working sets allowed; epochs for ``"primal"`` and ``"sgd"``.
    time_limit : float, optional
        Seconds after which the solver returns what it has, with a warning. So does the first
        Ctrl-C.
    checkpoint : str or Path, optional
        A file that keeps the state of the solver, as that of `KernelRidge` does.
    random_state : int, RandomState or None
        Where the random orders of ``"primal"`` and ``"sgd"`` come from; None is always the same
        seed.
    warm_start : bool
        Whether `fit` starts from the last solution, its coefficients scaled by the change of C.
    repair : {None, "clip", "flip", "shift"}
        What to make of negative eigenvalues of the Gram matrix; None refuses such a kernel with a
        witness, unless it is known to be positive semi-definite on coefficients that sum to zero,
        as `AdditiveChi2` is, and an offset makes them so.
    gamma, degree, coef0 : optional
        Parameters of a kernel given by a name of scikit-learn, with the meaning and the defaults
        that they have there.

    Attributes
    ----------
    function_ : Function
        f + b as a value, of which `support_vectors_`, `dual_coef_`, `coef_` and `intercept_` are
        parts.
    support_ : array of shape (n_SV,)
        The rows of the support vectors. By ``"nystrom"`` these are the landmarks; empty where they
        are no training rows.
    support_vectors_ : rows
        Themselves; empty for ``kernel="precomputed"``. Landmarks are rounded to float32 where the
        kernel does not tell the difference.
    n_support_ : array of shape (1,)
        How many there are.
    dual_coef_ : array of shape (1, n_SV)
        a.
    intercept_ : array of shape (1,)
        b.
    coef_ : array of shape (1, p)
        The weights c of explicit features, f(x) = c'phi(x), where the kernel has some: of
        ``"linear"`` one for every column.
    certificate_ : Certificate
        The duality gap in float64; by ``"nystrom"`` in the landmark model.
    approximation_ : Approximation or None
        What the landmarks leave of the kernel.
    n_iter_ : int
        Working sets, or epochs.
    kernel_ : Kernel
        k with numbers for parameters.
    solver_ : solver
        What ran.
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        solver: Any = "auto",
        n_landmarks: int | None = None,
        landmarks: Any = "rpcholesky",
        tol: float = 1e-3,
        memory: Any = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        repair: str | None = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.tol = tol
        self.memory = memory
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.warm_start = warm_start
        self.repair = repair
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

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
        run, settings = Run(self.time_limit), self._settings()
        C, epsilon = self._checked_settings()
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernel = self._kernel_for(X)
        X, y = checked_training(self, kernel, X, y)
        y = column_or_1d(y, warn=True)
        weights = checked_weights(sample_weight, len(y))
        used = np.flatnonzero(weights)
        rows = Rows.checked(X if len(used) == len(y) else training_subset(kernel, X, used))
        kernel = self._resolved(kernel, rows, weights[used])

        costs = weights[used] if np.inf != C else np.ones(len(used))

        def solved(C: float, start: Start | None) -> Priced:
            problem = MarginProblem.regression(y[used], C * costs, epsilon, self.fit_intercept)
            tasks = warm_starts([Task(np.arange(len(used)), problem)], used, start, C)
            return Priced(C, tasks, *self._solutions(run, settings, kernel, rows, tasks, X, y))

        if np.inf != C:
            found = solved(C, getattr(self, "_last_", None) if self.warm_start else None)
        else:
            size = float(np.ptp(y[used])) or 1.0
            found = hard_margin(solved, used, mean_diagonal(kernel, rows) / size, run)
        self._seen_ = len(y)
        self._keep(X, used, found)
        self.certificate_ = gap_certificate(kernel, found.solutions, settings)
        run.forget()
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: solver, memory, time, and why.

        How long working sets take depends on the targets as well; the time is that of problems of
        ordinary difficulty.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array of shape (n,) or str, optional
            Their targets, which are checked and change nothing.
        """
        self._checked_settings()
        X, y, _ = self._opened(X, y)
        kernel, model = self._kernel_for(X), clone(self)
        if y is None:
            X = checked_unlabelled(model, kernel, X)
        else:
            X, _ = checked_training(model, kernel, X, y)
        return self._planned(kernel, X, [n_rows(X)])

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

    def _keep(self, X: Any, used: NDArray[np.intp], found: Priced) -> None:
        """Store the function by support vectors, or by landmarks."""
        C, tasks, gram, (solution,) = found
        self._keep_start(C, tasks, used, [solution])
        if gram.landmarks is not None:
            none = np.zeros(len(used), np.intp)
            self._keep_landmarks(gram, gram.landmarks, used, none, [solution])
            return
        a = solution.coefficients
        support = np.flatnonzero(a[:, 0])
        self.support_, self.n_support_ = used[support], np.array([len(support)], np.int32)
        rows, columns = support_rows(self.kernel_, X, self.support_)
        dual = DualFunction(self.kernel_, rows, a[support], solution.intercept, columns)
        self.function_ = self._function(dual, gram, [solution])

    def _checked_settings(self) -> tuple[float, float]:
        return checked_price(self.C), checked_not_negative("epsilon", self.epsilon)
