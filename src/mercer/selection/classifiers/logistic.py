"""Kernel logistic regression that chooses its kernel and its C."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from mercer.data.columns import n_rows
from mercer.data.limits.memory import memory_limit
from mercer.errors import ConvergenceWarning, warn_caller
from mercer.estimators import KernelLogisticRegression
from mercer.estimators.classes import Labelled
from mercer.estimators.estimator import beside, like
from mercer.estimators.streams import read
from mercer.estimators.validation import training_subset
from mercer.kernels import Kernel
from mercer.planning import Plan
from mercer.selection.classifiers.classes import ClassScores
from mercer.selection.classifiers.logistic_plan import logistic_search_plan
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.delegate import ChosenClassifier
from mercer.selection.grid import candidates, default_grid, penalties, reader_of
from mercer.selection.results import Round, table
from mercer.selection.samples import SEED
from mercer.selection.splits import Splits
from mercer.solvers import LogisticProblem, Run
from mercer.solvers.ridge.held_out import copies_of

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelLogisticRegressionCV(ChosenClassifier):
    """Kernel logistic regression with the kernel and the C that predict left-out rows best.

    The scores of every row by the fit without it follow from each fit in closed form,
    approximately: they are one Newton step away from it. So a candidate costs one fit, started
    from the last C, and one matrix inverse.

    Parameters
    ----------
    kernels : list, dict, Kernel or str, optional
        The kernels to choose from, as of `KernelRidgeCV`.
    Cs : list of float, optional
        The Cs to choose from. By default 8, from 1e-2 to 1e4 over the weighted mean of k(x, x).
    cv : {"loo"}, int, splitter or list of (train, test)
        What is held out: every row by itself, approximately, as ``LeaveOneOut`` of scikit-learn
        means too; that many stratified folds, or what another splitter says, each fitted anew.
    scoring : str or callable, optional
        A scorer of scikit-learn, called once with the left-out predictions of all rows, and with
        their weights, those of their classes included, if it takes them; of folds each is scored,
        and the mean compared, as `GridSearchCV` does. By default minus the weighted mean of the
        log loss over all held-out rows, in whichever fold they are.
    class_weight : None, dict or "balanced"
        Factors of the weights of the classes, in fitting and in scoring.
    fit_intercept : bool
        Whether there is an offset b.
    solver, n_landmarks, landmarks
        As of `KernelLogisticRegression`, for the fit of what was chosen. With ``"nystrom"`` all
        candidates are scored by their landmarks, which are not chosen again for every fold.
        ``"auto"`` does so with a warning where exact fits to all rows are counted to take more than
        a minute, or half of `time_limit`, or do not fit into the memory.
    time_limit : float, optional
        Seconds to be done in. When they are up, the best candidate so far is fitted, with a
        warning.
    random_state : int, RandomState or None
        Seed of the random pivots, and of the sample of rows on which kernels are chosen where
        there are many rows. None is always the same seed, so that a fit can be repeated.
    memory, gamma, degree, coef0
        As of `KernelRidge`.

    Attributes
    ----------
    classes_ : array of shape (m,)
        The classes of the rows of positive weight, in order.
    C_ : float
        The C chosen.
    kernel_, best_score_, best_index_, best_params_, cv_results_, candidates_
        The choice, and what was tried, as of `KernelRidgeCV`, with ``C`` for ``alpha``.
    best_estimator_ : KernelLogisticRegression
        The model chosen, fitted to all rows. What it knows, such as ``dual_coef_``,
        ``intercept_`` and ``certificate_``, is known here too.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    A rule such as ``"median"`` is resolved once, on all training rows.

    Whole weights count equal rows, one of which is left out, so that weights choose as repeated
    rows do: the search is on the distinct rows, and its samples are taken by what these hold. With
    weights that are not all whole numbers, such as inverse variances, a row is left out with all
    its weight. A fold holds out rows with all their weight, so that folds of weighted rows are not
    those of repeated ones. Nor are samples where there are many rows of a precomputed matrix, of
    which nothing but the places is known, or a `scoring` that takes no weights.

    Up to 250 distinct rows of two classes, or 600 over the number of several, all candidates are
    tried on all rows. Beyond, it is successive halving: all are fitted to a random sample of so
    many, the best two kernels to one of up to 1000 rows, or 2400 over the number of classes, and
    the best kernel to all rows, each with the Cs from a tenth of the best before upwards and with
    C times the sum of the weights kept. Cs are tried upwards and stopped early once scores fall.
    There ``"loo"`` tests a sample on 1000 of the other rows and gives way to 3
    stratified folds on all rows, which are scored together, but for up to 1000 rows of two classes.

    References
    ----------
    K. Jamieson and A. Talwalkar (2016), Non-stochastic best arm identification and hyperparameter
    optimization.
    """

    exact: ClassVar[str] = "cg"

    Cs: Any = None
    _: KW_ONLY
    cv: Any = "loo"
    scoring: Any = None
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose kernel and C on the rows `X` with classes `y`, and fit them to all rows.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table; for precomputed kernels the Gram matrix. A file that
            takes little of the memory is read.
        y : array of shape (n,) or str
            The classes, or the name of their column.
        sample_weight : float, array of shape (n,) or str, optional
            w; rows of zero weight are neither trained on nor tested.
        groups : array of shape (n,), optional
            Groups of rows for a splitter that keeps them together.
        """
        self._tell_of_memory()
        run = Run(self.time_limit)
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernels = candidates(self.kernels, X, beside(self))
        kernels, search = self._search(kernels, X, y, sample_weight, groups)
        settings = self._settings(search.reader)
        search = search.by_plan(settings, kernels)
        how = search.by_landmarks or settings
        self._keep(self._rounds(kernels, search.leaving_a_fit(kernels, run)))
        model = like(
            self,
            KernelLogisticRegression,
            kernel=self.kernel_,
            C=self.C_,
            solver=how.solver,
            n_landmarks=how.n_landmarks,
            random_state=self._seed,
        )
        self.best_estimator_ = model.fit_within(run, X, y, sample_weight)
        self._warn_of_landmarks(len(search))
        self.classes_ = model.classes_
        return self

    def _opened(self, X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
        # Rows are sorted by what they hold, and equal ones are put together.
        return read(type(self).__name__, self._room, X, y, sample_weight)

    def _planned(self, kernels: list[Kernel], X: Any, y: Any) -> Plan:
        classes = np.arange(n_rows(X)) % 2 if y is None else y
        kernels, search = self._search(kernels, X, classes, None, None)
        settings = self._settings(search.reader)
        search = search.by_plan(settings, kernels)
        return logistic_search_plan(search, settings, kernels, self._penalties(kernels, search))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, accurate however small those are."""
        X = self._expected(X)
        return self.best_estimator_.predict_log_proba(X)

    @property
    def _seed(self) -> Any:
        """Where random numbers come from: the same rows are to have the same answer by default."""
        return SEED if self.random_state is None else self.random_state

    def _search(
        self, kernels: list[Kernel], X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[list[Kernel], LogisticSearch]:
        """Return the kernels with numbers for parameters, and the search among them."""
        reader = reader_of(kernels)
        data = Labelled.of(self, reader, X, y, sample_weight, self.class_weight)
        rows, used = data.rows.X, data.used
        # Folds are stratified by the labels of rows without weight, too.
        splits = self._splits(rows, np.asarray(y).ravel(), groups)
        if not used.all():
            index = np.flatnonzero(used)
            rows, splits = training_subset(reader, rows, index), splits.on(index)
        is_weighted = sample_weight is not None or self.class_weight is not None
        scores = ClassScores.of(self.scoring, is_weighted, data.classes)
        of_rows = (data.codes[used], len(data.classes), 1.0, data.weights[used])
        problem = LogisticProblem(*of_rows, self.fit_intercept)
        seed = int(check_random_state(self._seed).randint(2**31))
        limit = memory_limit(self._room)
        kernels = [kernel.resolved(rows, data.copies[used]).remembered() for kernel in kernels]
        if self.kernels is None:
            kernels = default_grid(kernels, rows)
        return kernels, LogisticSearch(
            rows, problem, copies_of(data.copies)[used], reader, splits, scores, limit, seed, Run()
        ).merged()

    def _splits(self, X: Any, labels: NDArray[Any], groups: Any) -> Splits:
        if not isinstance(self.cv, str):
            cv = check_cv(self.cv, labels, classifier=True)
            return Splits.of(cv, X, labels, groups, len(labels))
        if self.cv != "loo":
            raise ValueError(
                f"cv must be 'loo', a number of folds, a splitter or a list of (train, test), "
                f"got {self.cv!r}"
            )
        return Splits(len(labels))

    def _penalties(self, kernels: list[Kernel], search: LogisticSearch) -> list[Array]:
        weights = search.problem.weights
        return [penalties(self.Cs, k.diagonal(search.X), weights) for k in kernels]

    def _rounds(self, kernels: list[Kernel], search: LogisticSearch) -> list[Round]:
        rounds = search.rounds(kernels, self._penalties(kernels, search))
        if any(r.is_cut for r in rounds):
            tried = sum(len(r) for r in rounds)
            warn_caller(
                f"time_limit={self.time_limit:g} was up after {tried} candidates, on up to "
                f"{rounds[-1].n_rows} of {len(search)} rows; the best of them is fitted; raise "
                "time_limit, or give fewer kernels or Cs",
                ConvergenceWarning,
            )
        return rounds

    def _keep(self, rounds: list[Round]) -> None:
        last = rounds[-1]
        position, (best,) = last.best_kernel, last.best.tolist()
        before = sum(len(r) for r in rounds[:-1]) + sum(len(C) for C in last.alphas[:position])
        # Some scores are then those of fits that have not ended, or there are fewer.
        self._is_cut = any(r.is_cut for r in rounds)
        self.cv_results_ = table(rounds, "C")
        self.kernel_ = last.kernels[position]
        self.C_ = float(last.alphas[position][best])
        self.best_score_ = float(last.means[position][best, 0])
        self.best_index_ = before + best
        self.best_params_ = {"kernel": self.kernel_, "C": self.C_}
