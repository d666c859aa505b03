"""The support vector classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import checked_positive
from mercer.data.columns import n_rows
from mercer.data.stream import Stream
from mercer.estimators.classes import Labelled, decided
from mercer.estimators.estimator import like
from mercer.estimators.fitted import gap_certificate
from mercer.estimators.score import Classification
from mercer.estimators.svm.hard_margin import Solved
from mercer.estimators.svm.one_vs_one import clear_winners, hardest, tally, votes_of
from mercer.estimators.svm.partial_fit import learn_classes
from mercer.estimators.svm.probabilities import CrossFits, CrossFittedProbabilities, score_columns
from mercer.estimators.svm.single_labels import settled_classes
from mercer.estimators.svm.supports import (
    SupportVectorMachine,
    check_schemes,
    checked_cost,
    class_tasks,
    coefficients_by_row,
    support_rows,
)
from mercer.estimators.training import checked_for_plan
from mercer.estimators.validation import checked_rows
from mercer.functions import DualFunction, PairFunction
from mercer.kernels import Kernel
from mercer.planning import Plan
from mercer.solvers import Run

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelSVC(CrossFittedProbabilities, Classification, SupportVectorMachine):
    """Soft margin: f, b minimise C sum_i w_i max(0, 1 - y_i (f(x_i) + b)) + 1/2 ||f||^2.

    The minimum is f(x) = sum_i a_i k(x_i, x), and a_i is zero but for the support vectors, which
    alone are needed for it. More than two classes meet two at a time, and vote.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel, an expression such as ``"gaussian(length_scale=2.0) + linear"``, a name of
        scikit-learn (``"rbf"``, ``"precomputed"``), or a function k(X, Z) -> (n, m).
        ``"auto"`` is the `mercer.default_kernel` of the training rows.
    C : float
        The inverse strength of the regularisation, positive; infinity is the hard margin, where
        classes must separate.
    class_weight : None, dict or "balanced"
        Factors of the weights by class.
    fit_intercept : bool
        Whether there is an offset b, which is not penalised.
    multiclass : {"ovo", "ovr"}
        Every two classes against each other, or each against all others.
    decision_function_shape : {"ovr", "ovo"}
        Whether `decision_function` has a column for every class, votes of the pairs with ties
        broken by the sums of their scores, or one for every pair, of which a positive score votes
        for the first class. Two classes have one score either way, positive for the second.
    break_ties : bool
        Whether `predict` takes the largest sum of scores among classes with as many votes, as in
        the columns of ``"ovr"``; else the first of them, as scikit-learn does by default.
    solver : {"auto", "smo", "primal", "sgd", "nystrom"} or solver
        ``"smo"`` is exact to the tolerance, and so is ``"primal"``, which finds the weights of
        explicit features; ``"sgd"`` goes by small random batches. ``"auto"`` takes the one of
        ``"primal"`` and ``"smo"`` that is counted to take less, by rows, features, classes and C.
        ``"nystrom"`` is exact for the kernel of landmarks; ``"auto"`` takes it where these are
        given, and warns where an exact fit is counted to take longer than half of `time_limit`, or
        a minute.
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
        Working sets allowed for every pair of classes; epochs for ``"primal"`` and ``"sgd"``.
    time_limit : float, optional
        Seconds after which what there is is kept, with a warning; also by the first Ctrl-C.
    checkpoint : str or Path, optional
        A file that keeps the state of the solver, as that of `KernelRidge` does.
    random_state : int, RandomState or None
        Where the random orders of ``"primal"`` and ``"sgd"`` come from; None is always the same
        seed.
    warm_start : bool
        Whether `fit` starts from the last solution, its coefficients scaled by the change of C.
    repair : {None, "clip", "flip", "shift"}
        What to make of negative eigenvalues of the Gram matrix of a problem; None refuses such a
        kernel with a witness, unless it is known to be positive semi-definite on coefficients that
        sum to zero, as `AdditiveChi2` is, and an offset makes them so.
    gamma, degree, coef0 : optional
        Parameters of a kernel given by a name of scikit-learn, with the meaning and the defaults
        that they have there.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels of rows with positive weight.
    function_ : Function
        The scores f + b of all problems as a value, of which `support_vectors_`, `dual_coef_`,
        `coef_` and `intercept_` are parts.
    support_ : array of shape (n_SV,)
        The rows of the support vectors, those of the first class first. By ``"nystrom"`` these are
        the landmarks, in any order; empty where they are no training rows.
    support_vectors_ : rows
        Themselves; empty for ``kernel="precomputed"``. Landmarks are rounded to float32 where the
        kernel does not tell the difference.
    n_support_ : array of shape (n_classes,)
        How many belong to each class.
    dual_coef_ : array of shape (n_classes - 1, n_SV)
        a. With more than two classes a vector has one for every other class, in their order; by
        ``multiclass="ovr"`` one for each of n_classes problems; a landmark one for each problem.
    intercept_ : array of shape (problems,)
        b.
    coef_ : array of shape (problems, p)
        The weights c of explicit features, f(x) = c'phi(x), where the kernel has some: of
        ``"linear"`` one for every column.
    certificate_ : Certificate
        The duality gap in float64 of the worst problem; by ``"nystrom"`` in the landmark model.
    approximation_ : Approximation or None
        What the landmarks leave of the kernel.
    n_iter_ : int
        Working sets, or epochs, of the problem that took most.
    kernel_ : Kernel
        k with numbers for parameters.
    solver_ : solver
        What ran.

    Notes
    -----
    Probabilities are softmax(T s), for two classes 1 / (1 + exp(-2 T f)), where s are the scores of
    the classes: in pairs, the least that a class has against another one. The temperature T has
    the largest likelihood for the scores of rows that were held out, in five parts, each scored by
    a machine fitted to the others. It is worked out by the first `predict_proba` after a `fit`, and
    takes as long as five fits to four fifths of the rows; until then the training rows are kept.
    The most probable class is always the predicted one.
    """

    _: KW_ONLY
    class_weight: Any = None
    multiclass: str = "ovo"
    decision_function_shape: str = "ovr"
    break_ties: bool = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit f and b to the rows `X` and their labels `y`.

        Parameters
        ----------
        X : rows
            As in `KernelRidge.fit`: in memory, a file, or a function of an iterator of blocks.
        y : array of shape (n,) or str
            The labels, or the name of their column.
        sample_weight : float, array of shape (n,) or str, optional
            w; a whole weight counts as that many equal rows, zero as none. Text names a column.
        """
        self._tell_of_memory()
        run, settings, C = Run(self.time_limit), self._settings(), self._checked_settings()
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernel = self._kernel_for(X)
        data = Labelled.of(self, kernel, X, y, sample_weight, self.class_weight)
        used = _by_class(kernel, data)
        tasks = partial(class_tasks, data.codes[used], self.multiclass, self.fit_intercept)
        given = (kernel, data.rows, y, used, data.weights, data.copies, tasks)
        found = self._solved_at(run, settings, C, *given)
        self._keep(data, found)
        self.certificate_ = gap_certificate(self.kernel_, found.solutions, settings)
        run.forget()
        return self

    def _planned(self, kernel: Kernel, X: Any, y: Any) -> Plan:
        self._checked_settings()
        data = checked_for_plan(self, kernel, X, y, self.class_weight)
        tasks = partial(class_tasks, data.codes, self.multiclass, self.fit_intercept)
        return self._plan_of(kernel, data.rows, data.weights, tasks)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, each seen once: the stochastic solver on a stream.

        Rows within the margin get the coefficient C w; the offset follows in steps that shrink
        like 1 / sqrt(rows). Only support vectors are kept. ``class_weight="balanced"`` balances
        all rows seen so far.

        Parameters
        ----------
        X, y : rows, array of shape (n,)
            More rows and their labels.
        classes : array, optional
            All labels there will be; needed at the first call.
        sample_weight : float or array of shape (n,), optional
            w.
        """
        self._checked_settings()
        learn_classes(self, checked_positive("C", self.C), X, y, classes, sample_weight)
        self._cross_fits_ = None
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f(x) + b: shape (n,) for two classes, else (n, n_classes) or (n, pairs).

        With a column for every class and pairs of classes below, it holds votes, ties broken by
        sums of scores; `predict` is its largest column, unless ``break_ties=False``.
        """
        X = checked_rows(self, X)
        if self._is_by_pairs and self.decision_function_shape == "ovr":
            return self._votes(X)
        scores = self.function_(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of every row.

        Of many rows of numbers float64 computes only those that float32 does not settle: whose
        scores could change sides within some times the largest rounding error of a sample.
        """
        X, f = checked_rows(self, X), self.function_
        if not isinstance(f, DualFunction):
            return np.asarray(self.classes_[self._decided(X)])
        return np.asarray(self.classes_[settled_classes(f, X, self._clear, self._decided)])

    def _checked_settings(self) -> float:
        check_schemes(self.multiclass, self.decision_function_shape)
        return checked_cost(self.C)

    def _keep(self, data: Labelled, found: Solved) -> None:
        """Store the function, and what probabilities and more rows are learned from."""
        used, codes, classes = found.used, data.codes[found.used], len(data.classes)
        self.classes_, self._seen_ = data.classes, len(data.codes)
        self._totals_ = np.bincount(codes, data.copies[used], classes)
        self._keep_start(found)
        machine = like(self, type(self), kernel=self.kernel_, class_weight=None, warm_start=False)
        if found.gram.landmarks is None:
            self._keep_supports(data.rows.X, codes, found)
        else:
            self._keep_landmarks(found.gram.landmarks, found, codes)
            # Landmarks that were found serve all fits that probabilities take.
            machine.landmarks, machine.n_landmarks = self.function_.dual.rows, None
        self._cross_fits_ = CrossFits(
            machine, machine.kernel, found.rows.X, codes, data.weights[used]
        )

    def _keep_supports(self, X: Any, codes: NDArray[np.intp], found: Solved) -> None:
        """Store the function by support vectors, class by class."""
        A = coefficients_by_row(found.tasks, found.solutions, codes, self._is_by_pairs)
        support = np.flatnonzero(A.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        self.n_support_ = np.bincount(codes[support], minlength=len(self.classes_)).astype(np.int32)
        self.support_ = found.used[support]
        rows, columns = support_rows(self.kernel_, X, self.support_)
        b = np.array([s.intercept[0] for s in found.solutions])
        dual = self._dual(rows, A[:, support].T, b, columns)
        self.function_ = self._function(dual, found.gram, found.solutions)

    def _dual(
        self, rows: Any, a: Array, b: Array, columns: NDArray[np.intp] | None = None
    ) -> DualFunction:
        """Return the scores by support vectors, those of the first class first."""
        if not self._is_by_pairs:
            return DualFunction(self.kernel_, rows, a, b, columns)
        return PairFunction(self.kernel_, rows, a, b, columns, counts=self.n_support_)

    def _votes(self, X: Any) -> Array:
        """Return what the pairs of classes say for every class at checked rows."""
        votes = np.empty((n_rows(X), len(self.classes_)))
        for rows, some in self.function_.blocks(X):
            votes[rows] = tally(some, len(self.classes_))
        return votes

    def _decided(self, X: Any) -> NDArray[np.intp]:
        """Return which class every checked row is of."""
        codes = np.empty(n_rows(X), np.intp)
        for rows, some in self.function_.blocks(X):
            codes[rows] = self._winners(some)
        return codes

    def _class_scores(self, X: Any) -> tuple[Array, NDArray[np.intp]]:
        classes = len(self.classes_)
        scores, codes = np.empty((n_rows(X), classes)), np.empty(n_rows(X), np.intp)
        for rows, some in self.function_.blocks(X):
            own = some[:, 0] if classes == 2 else some
            scores[rows] = hardest(some, classes) if self._is_by_pairs else score_columns(own)
            codes[rows] = self._winners(some)
        return scores, codes

    def _winners(self, scores: Array) -> NDArray[np.intp]:
        """Return the class that the scores of all problems decide for."""
        if not self._is_by_pairs:
            return decided(scores[:, 0] if len(self.classes_) == 2 else scores)
        return decided((tally if self.break_ties else votes_of)(scores, len(self.classes_)))

    def _clear(self, scores: Array, error: Array) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the class of every row, and whether no scores as near as `error` say another."""
        if self._is_by_pairs:
            return clear_winners(scores, error, len(self.classes_))
        if len(self.classes_) == 2:
            return decided(scores[:, 0]), np.abs(scores[:, 0]) > error[0]
        two = np.partition(scores, -2, axis=1)[:, -2:]
        return decided(scores), two[:, 1] - two[:, 0] > 2.0 * error.max()

    @property
    def _is_by_pairs(self) -> bool:
        return len(self.classes_) > 2 and self.multiclass == "ovo"


def _by_class(kernel: Kernel, data: Labelled) -> NDArray[np.intp]:
    """Return the rows that count, of more than two classes one class after the other.

    Problems of two classes are then about two blocks of neighbours.
    """
    used = np.flatnonzero(data.used)
    stays = len(data.classes) == 2 or kernel.is_precomputed or isinstance(data.rows.X, Stream)
    return used if stays else used[np.argsort(data.codes[used], kind="stable")]
