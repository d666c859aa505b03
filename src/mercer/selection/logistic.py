"""Kernel logistic regression that chooses its kernel and its C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.data.memory import gigabytes, memory_limit
from mercer.engine.threads import one_blas_thread
from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.estimators import KernelLogisticRegression
from mercer.estimators.arguments import beside
from mercer.estimators.classes import class_weighted, present_classes
from mercer.estimators.refusals import refuse_indefinite_kernel, with_points
from mercer.estimators.routes import wants_factor
from mercer.estimators.rows import (
    checked_classification,
    checked_weights,
    training_subset,
)
from mercer.gram import Gram, HeldGram, centred, shared_grams
from mercer.kernels import Kernel
from mercer.selection.chosen import Chosen
from mercer.selection.classes import ClassScores
from mercer.selection.grid import around, candidates, penalties, reader_of
from mercer.selection.results import Round, table
from mercer.selection.splits import Splits
from mercer.solvers import LogisticProblem, NewtonCG, NewtonCholesky, Solution
from mercer.solvers.cavity import leave_one_out_scores
from mercer.solvers.descent import ROWS_FOR_THREADS

Array = NDArray[np.float64]

# Rows up to which every kernel is tried on all of them, and the size of the sample beyond.
ROWS_FOR_KERNELS = 2000
SAMPLE = 1500
# Rows of a class that the sample has at least, if there are so many.
OF_A_CLASS = 50
# The gap to which candidates are solved: what is left out moves scores by more.
GAP = 1e-4


@dataclass(frozen=True, eq=False)
class LogisticSearch:
    """Rows of positive weight with their classes, and how candidates are scored on them.

    Parameters
    ----------
    X : rows
        An array, CSR matrix, table or finished Gram matrix.
    problem : LogisticProblem
        The problem of these rows, for any C.
    reader : Kernel
        A kernel that reads the rows as all candidates do.
    splits : Splits
        What is held out.
    scores : ClassScores
        What is made of held-out scores.
    memory : int
        The limit in bytes.
    seed : int
        Where random pivots come from.
    """

    X: Any
    problem: LogisticProblem
    reader: Kernel
    splits: Splits
    scores: ClassScores
    memory: int
    seed: int

    def __len__(self) -> int:
        return len(self.problem.codes)

    def on(self, rows: NDArray[np.intp]) -> LogisticSearch:
        """Return the search on some of the rows."""
        return replace(
            self,
            X=training_subset(self.reader, self.X, rows),
            problem=_trained_on(self.problem, rows),
            splits=self.splits.on(rows),
        )

    def sample(self) -> LogisticSearch:
        """Return the search on a random sample of the rows, in which no class is too rare.

        Of a class there are as many rows as chance gives it, but 50 if it has them and the classes
        are not too many, so that folds do not miss it.
        """
        order = np.random.default_rng(self.seed).permutation(len(self))
        codes, classes = self.problem.codes[order], self.problem.classes
        most = min(OF_A_CLASS, max(SAMPLE // classes, 1))
        first = [np.flatnonzero(codes == c)[:most] for c in range(classes)]
        kept = np.concatenate(first)
        rest = np.delete(np.arange(len(order)), kept)[: max(SAMPLE - len(kept), 0)]
        return self.on(np.sort(order[np.concatenate([kept, rest])]))

    def scored(self, kernels: Sequence[Kernel], Cs: Sequence[Array]) -> list[Array]:
        """Return the scores of every kernel with its Cs, of shape (Cs, 1) each."""
        spare = self.memory - self._check_room()
        grams = shared_grams(kernels, self.X, self.memory, spare)
        # Threads of the BLAS wait for each other longer than small products take.
        is_small = len(self) < ROWS_FOR_THREADS
        with one_blas_thread() if is_small else nullcontext():
            return [self._scored(*each) for each in zip(grams, kernels, Cs, strict=True)]

    def _scored(self, gram: Gram, kernel: Kernel, Cs: Array) -> Array:
        K: Gram = HeldGram(gram.dense(), self.memory, gram)
        if self.problem.fit_intercept and K.is_conditional:
            K = centred(K)
        else:
            refuse_indefinite_kernel(kernel, self.X, K)
        try:
            F = self._left_out(K, Cs) if self.splits.pairs is None else self._by_folds(K, Cs)
        except IndefiniteKernelError as error:
            raise with_points(error, kernel, self.X) from None
        tested = self.splits.tested
        X = None if self.scores.scorer is None else training_subset(self.reader, self.X, tested)
        codes, weights = self.problem.codes[tested], self.problem.weights[tested]
        return np.array([[self.scores(scores, X, codes, weights)] for scores in F])

    def _left_out(self, K: Gram, Cs: Array) -> Array:
        """Return about the scores of every row by the fits without it, (Cs, n, columns)."""
        F = np.empty((len(Cs), len(self), self.problem.columns))
        for i, problem, s in self._fits(K, self.problem, Cs):
            F[i] = leave_one_out_scores(K, problem, s.coefficients, s.intercept)
        return F

    def _by_folds(self, K: Gram, Cs: Array) -> Array:
        """Return the scores of every test row by the fits to its training rows."""
        whole = K.dense()
        folds = []
        for train, test in self.splits.pairs or ():
            part = HeldGram(whole[np.ix_(train, train)], self.memory)
            across = whole[np.ix_(test, train)]
            F = np.empty((len(Cs), len(test), self.problem.columns))
            for i, _, s in self._fits(part, _trained_on(self.problem, train), Cs):
                F[i] = across @ s.coefficients + s.intercept
            folds.append(F)
        return np.concatenate(folds, axis=1)

    def _fits(
        self, gram: Gram, problem: LogisticProblem, Cs: Array
    ) -> Iterator[tuple[int, LogisticProblem, Solution]]:
        """Yield the position of every C, its problem and its solution, from small to large."""
        is_exact = wants_factor(gram, problem.at(float(Cs.max())))
        solver = NewtonCholesky(GAP) if is_exact else NewtonCG(GAP, random_state=self.seed)
        order = np.argsort(Cs)
        for i, solution in zip(order, solver.path(gram, problem, Cs[order].tolist()), strict=True):
            if solution.is_interrupted:
                # A model is there once all have been compared.
                raise KeyboardInterrupt
            yield int(i), problem.at(float(Cs[i])), solution

    def _check_room(self) -> int:
        """Return the bytes that one kernel takes, or refuse more than the limit."""
        m = self.problem.columns
        # The Gram matrix, and beside it what leaving out takes.
        arrays = 3 if m == 1 else 2 * m + 5
        needed = 8 * arrays * len(self) ** 2
        if needed > self.memory:
            raise MemoryLimitError(
                f"choosing on {len(self)} rows needs {gigabytes(needed)} but the limit is "
                f"{gigabytes(self.memory)}; raise memory= or use fewer rows"
            )
        return needed


def _trained_on(problem: LogisticProblem, rows: NDArray[np.intp]) -> LogisticProblem:
    """Return the problem of some rows, which must have all classes."""
    some = replace(problem, codes=problem.codes[rows], weights=problem.weights[rows])
    if len(np.unique(some.codes)) < problem.classes:
        raise ValueError(
            f"cv has a fold whose training rows lack one of the {problem.classes} classes; use "
            "stratified folds or fewer of them"
        )
    return some


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
        or of the kernel under the key ``"kernel"``. By default Gaussians of 8 length scales, from
        1/4 to 4 times the median distance.
    Cs : list of float, optional
        The Cs to choose from. By default 10, from 1e-2 to 1e4 over the weighted mean of k(x, x).
    cv : {"loo"}, int, splitter or list of (train, test)
        What is held out: every row by itself, approximately, as ``LeaveOneOut`` of scikit-learn
        means too; that many stratified folds, or what another splitter says, each fitted anew.
    scoring : str or callable, optional
        A scorer of scikit-learn, called once with the left-out predictions of all rows, and with
        their weights, those of their classes included, if it takes them. By default minus the
        weighted mean of the log loss.
    class_weight : None, dict or "balanced"
        Factors of the weights of the classes, in fitting and in scoring.
    fit_intercept : bool
        Whether there is an offset b.
    memory : int or str, optional
        The limit for Gram matrices, in bytes or as ``"4GB"``; a share of the free memory by
        default.
    random_state : int, RandomState or None
        Seed of the random pivots, and of the sample of rows on which kernels are chosen where
        there are many rows.
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
        All candidates: ``params``, ``kernel``, ``C``, ``mean_test_score`` and
        ``rank_test_score``. ``iter`` and ``n_resources`` number the round and the rows of it.
    estimator_ : KernelLogisticRegression
        The model chosen, fitted to all rows. What it knows, such as ``dual_coef_``,
        ``intercept_`` and ``certificate_``, is known here too.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    A rule such as ``"median"`` is resolved once, on all training rows.

    Beyond 2000 rows of positive weight several kernels are tried on a random sample of 1500 of
    them, with C times the sum of the weights kept. The best kernel then has all its Cs tried on
    all rows.
    """

    def __init__(
        self,
        kernels: Any = None,
        Cs: Any = None,
        *,
        cv: Any = "loo",
        scoring: Any = None,
        class_weight: Any = None,
        fit_intercept: bool = True,
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
        kernels = candidates(self.kernels, X, beside(self))
        self._keep(self._rounds(*self._search(kernels, X, y, sample_weight, groups)))
        model = KernelLogisticRegression(
            self.kernel_,
            self.C_,
            class_weight=self.class_weight,
            fit_intercept=self.fit_intercept,
            memory=self.memory,
            random_state=self.random_state,
        )
        self.estimator_ = model.fit(X, y, sample_weight)
        self.classes_ = model.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class at the rows `X`."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, m)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, accurate however small those are."""
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)

    def decision_function(self, X: Any) -> Array:
        """Return the scores f(x) + b at the rows `X`: (n,) for two classes, else (n, m)."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

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
        seed = int(check_random_state(self.random_state).randint(2**31))
        limit = memory_limit(self.memory)
        kernels = [kernel.resolved(rows, copies[used]) for kernel in kernels]
        if self.kernels is None:
            kernels = around(kernels[0])
        return kernels, LogisticSearch(rows, problem, reader, splits, scores, limit, seed)

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

    def _rounds(self, kernels: list[Kernel], search: LogisticSearch) -> list[Round]:
        """Return what was tried: all on all rows, or kernels on a sample first."""
        weights = search.problem.weights
        Cs = [penalties(self.Cs, k.diagonal(search.X), weights) for k in kernels]
        if len(search) <= ROWS_FOR_KERNELS or len(kernels) == 1:
            return [Round(kernels, Cs, search.scored(kernels, Cs), len(search))]
        sample = search.sample()
        share = sample.problem.weights.sum() / weights.sum()
        first = Round(kernels, Cs, sample.scored(kernels, [C / share for C in Cs]), len(sample))
        best = first.best_kernel
        kernels, Cs = kernels[best : best + 1], Cs[best : best + 1]
        return [first, Round(kernels, Cs, search.scored(kernels, Cs), len(search))]

    def _keep(self, rounds: list[Round]) -> None:
        last = rounds[-1]
        position, best = last.best_kernel, int(last.best[0])
        before = sum(len(r) for r in rounds[:-1]) + sum(len(C) for C in last.alphas[:position])
        self.cv_results_ = table(rounds, "C")
        self.kernel_ = last.kernels[position]
        self.C_ = float(last.alphas[position][best])
        self.best_score_ = float(last.scores[position][best, 0])
        self.best_index_ = before + best
        self.best_params_ = {"kernel": self.kernel_, "C": self.C_}
