"""Kernel logistic regression that chooses its kernel and its C."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from mercer.data.columns import n_rows
from mercer.data.memory import memory_limit
from mercer.errors import ConvergenceWarning, warn_caller
from mercer.estimators import KernelLogisticRegression
from mercer.estimators.classes import checked_classification, class_weighted, present_classes
from mercer.estimators.estimator import beside, like
from mercer.estimators.validation import checked_weights, training_subset
from mercer.kernels import Kernel
from mercer.planning import Plan
from mercer.selection.classifiers.classes import ClassScores
from mercer.selection.classifiers.logistic_plan import logistic_search_plan
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.delegate import Chosen
from mercer.selection.grid import candidates, default_grid, penalties, reader_of
from mercer.selection.results import Round, table
from mercer.selection.samples import SEED
from mercer.selection.splits import Splits
from mercer.solvers import LogisticProblem, Run
from mercer.solvers.ridge.held_out import copies_of

Array = NDArray[np.float64]


class KernelLogisticRegressionCV(ClassifierMixin, Chosen):
    """Kernel logistic regression with the kernel and the C that predict left-out rows best.

    The scores of every row by the fit without it follow from each fit in closed form,
    approximately: they are one Newton step away from it. So a candidate costs one fit, started
    from the last C, and one matrix inverse.

    Parameters
    ----------
    kernels : list, dict, Kernel or str, optional
        The kernels to choose from: a list of kernels, expressions, names or functions; one of
        them; or a grid of parameters such as ``{"length_scale": [0.5, 1.0, 2.0]}`` of a Gaussian,
        or of the kernel under the key ``"kernel"``. By default 10 kernels: Gaussian, Matern32,
        Exponential and Laplacian, each of some length scales in units of the median distance.
    Cs : list of float, optional
        The Cs to choose from. By default 8, from 1e-2 to 1e4 over the weighted mean of k(x, x).
    cv : {"loo"}, int, splitter or list of (train, test)
        What is held out: every row by itself, approximately, as ``LeaveOneOut`` of scikit-learn
        means too; that many stratified folds, or what another splitter says, each fitted anew.
    scoring : str or callable, optional
        A scorer of scikit-learn, called once with the left-out predictions of all rows, and with
        their weights, those of their classes included, if it takes them; of folds each is scored,
        and the mean compared, as `GridSearchCV` does. By default minus the weighted mean of the
        log loss.
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
    memory : int or str, optional
        The limit for Gram matrices, in bytes or as ``"4GB"``; a share of the free memory by
        default.
    random_state : int, RandomState or None
        Seed of the random pivots, and of the sample of rows on which kernels are chosen where
        there are many rows. None is always the same seed, so that a fit can be repeated.
    gamma, degree, coef0 : optional
        Parameters of a kernel given by a name of scikit-learn, with the meaning and the defaults
        that they have there.

    Attributes
    ----------
    classes_ : array of shape (m,)
        The classes of the rows of positive weight, in order.
    kernel_ : Kernel
        The kernel chosen, with numbers for parameters.
    C_ : float
        The C chosen.
    best_score_ : float
        The score of the choice; higher is better.
    best_index_ : int
        The row of the choice in `cv_results_`.
    best_params_ : dict
        The choice as parameters of `KernelLogisticRegression`.
    cv_results_ : dict of columns
        What was tried: ``params``, ``kernel``, ``C``, ``mean_test_score`` and
        ``rank_test_score``; of folds also ``split0_test_score`` and so on, and their standard
        deviation ``std_test_score``. ``iter`` and ``n_resources`` number the round and the rows
        of it.
    candidates_ : Candidates
        Every kernel with its best penalty, best first. Print it.
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

    def __init__(
        self,
        kernels: Any = None,
        Cs: Any = None,
        *,
        cv: Any = "loo",
        scoring: Any = None,
        class_weight: Any = None,
        fit_intercept: bool = True,
        solver: Any = "auto",
        n_landmarks: int | None = None,
        landmarks: Any = "rpcholesky",
        time_limit: float | None = None,
        memory: Any = None,
        random_state: Any = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
    ) -> None:
        self.kernels = kernels
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.time_limit = time_limit
        self.memory = memory
        self.random_state = random_state
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose kernel and C on the rows `X` with classes `y`, and fit them to all rows.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table; for precomputed kernels the Gram matrix.
        y : array of shape (n,)
            The classes.
        sample_weight : float or array of shape (n,), optional
            w; rows of zero weight are neither trained on nor tested.
        groups : array of shape (n,), optional
            Groups of rows for a splitter that keeps them together.
        """
        run = Run(self.time_limit)
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

    def _planned(self, kernels: list[Kernel], X: Any, y: Any) -> Plan:
        classes = np.arange(n_rows(X)) % 2 if y is None else y
        kernels, search = self._search(kernels, X, classes, None, None)
        settings = self._settings(search.reader)
        search = search.by_plan(settings, kernels)
        return logistic_search_plan(search, settings, kernels, self._penalties(kernels, search))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class at the rows `X`."""
        X = self._expected(X)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, m)."""
        X = self._expected(X)
        return self.best_estimator_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, accurate however small those are."""
        X = self._expected(X)
        return self.best_estimator_.predict_log_proba(X)

    def decision_function(self, X: Any) -> Array:
        """Return the scores f(x) + b at the rows `X`: (n,) for two classes, else (n, m)."""
        X = self._expected(X)
        return self.best_estimator_.decision_function(X)

    @property
    def _seed(self) -> Any:
        """Where random numbers come from: the same rows are to have the same answer by default."""
        return SEED if self.random_state is None else self.random_state

    def _search(
        self, kernels: list[Kernel], X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[list[Kernel], LogisticSearch]:
        """Return the kernels with numbers for parameters, and the search among them."""
        reader = reader_of(kernels)
        rows, codes, classes = checked_classification(self, reader, X, y)
        copies = checked_weights(sample_weight, len(codes))
        weights = class_weighted(copies, self.class_weight, codes, classes)
        splits = self._splits(rows, codes, groups)
        used, numbers, classes = present_classes(self, weights, codes, classes)
        if not used.all():
            index = np.flatnonzero(used)
            rows, splits = training_subset(reader, rows, index), splits.on(index)
        is_weighted = sample_weight is not None or self.class_weight is not None
        scores = ClassScores.of(self.scoring, is_weighted, classes)
        problem = LogisticProblem(numbers, len(classes), 1.0, weights[used], self.fit_intercept)
        seed = int(check_random_state(self._seed).randint(2**31))
        limit = memory_limit(self.memory)
        kernels = [kernel.resolved(rows, copies[used]).remembered() for kernel in kernels]
        if self.kernels is None:
            kernels = default_grid(kernels, rows)
        return kernels, LogisticSearch(
            rows, problem, copies_of(copies)[used], reader, splits, scores, limit, seed, Run()
        ).merged()

    def _splits(self, X: Any, codes: NDArray[np.intp], groups: Any) -> Splits:
        if not isinstance(self.cv, str):
            return Splits.of(
                check_cv(self.cv, codes, classifier=True), X, codes, groups, len(codes)
            )
        if self.cv != "loo":
            raise ValueError(
                f"cv must be 'loo', a number of folds, a splitter or a list of (train, test), "
                f"got {self.cv!r}"
            )
        return Splits(len(codes))

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
