"""Kernel ridge regression that chooses its kernel and its ridge."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin
from sklearn.utils import check_random_state

from mercer.data.columns import is_matrix, n_rows
from mercer.errors import ConvergenceWarning, warn_caller
from mercer.estimators import KernelRidge
from mercer.estimators.estimator import beside, like
from mercer.estimators.score import Regression
from mercer.estimators.validation import checked_training, checked_weights
from mercer.kernels import Kernel
from mercer.planning import Plan, Settings
from mercer.planning.held_out import entries_held_out
from mercer.selection.delegate import Chosen
from mercer.selection.grid import candidates, default_grid, reader_of, ridges
from mercer.selection.plan import ridge_search_plan
from mercer.selection.refusals import warn_of_unusable
from mercer.selection.results import Round, sentence, table
from mercer.selection.samples import SEED
from mercer.selection.scoring import Scores
from mercer.selection.search import Search
from mercer.selection.splits import Splits, splits_or_none
from mercer.solvers import Run
from mercer.solvers.ridge.held_out import copies_of
from mercer.tiles import Rows

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelRidgeCV(MultiOutputMixin, Regression, Chosen):
    """Kernel ridge regression with the kernel and the ridge that predict held-out rows best.

    With B = A^-1 - A^-1 1 1'A^-1 / 1'A^-1 1 and A = K + alpha W^-1 the fit is a = B y, and what the
    fit without the rows S misses there is e_S = B_SS^-1 a_S: a_i / B_ii for one row. One reduction
    of the Gram matrix gives B for every alpha, so that no fit is repeated for another alpha, and
    for many small folds none at all.

    Parameters
    ----------
    kernels : list, dict, Kernel or str, optional
        The kernels to choose from: a list of kernels, expressions, names or functions, and not a
        generator, which one fit would use up; one of them; or a grid of parameters such as
        ``{"length_scale": [0.5, 1.0, 2.0]}`` of a Gaussian, or of the kernel under the key
        ``"kernel"``. By default 10 kernels: Gaussian, Matern32,
        Exponential and Laplacian, each of some length scales in units of the median distance.
    alphas : list of float, optional
        The ridges to choose from. By default 30, from 1e-6 to 1e2 times the weighted mean of
        k(x, x) over the training rows, less that of k(x, z) if k is `AdditiveChi2` or made of it.
    cv : {"loo", "gcv"}, int, splitter or list of (train, test)
        What is held out: every row by itself, nothing (generalised cross-validation), that many
        folds, or what a splitter of scikit-learn says.
    scoring : str or callable, optional
        A scorer of scikit-learn, called with held-out predictions, and with their weights if it
        takes them: for every fold, the mean of which is the score, as `GridSearchCV` does; for
        ``"loo"`` once with those of all rows. By default minus the weighted mean of the squared
        errors over all held-out rows, in whichever fold they are, averaged over the targets; for
        ``"gcv"`` minus n ||a||^2 / (tr B)^2.
    fit_intercept : bool
        Whether there is an offset b. Without it `AdditiveChi2` and what is made of it are refused.
    alpha_per_target : bool
        Whether every target has a ridge of its own. The kernel is the same for all.
    solver, n_landmarks, landmarks
        As of `KernelRidge`, for the fit of what was chosen. With ``"nystrom"`` all candidates are
        scored by their landmarks, which are not chosen again when rows are held out: one pass over
        the rows and an eigendecomposition of as many rows as there are landmarks serve every alpha.
        ``"auto"`` does so with a warning where exact held-out errors of all rows are counted to
        take more than a minute, or half of `time_limit`, or do not fit into the memory.
    time_limit : float, optional
        Seconds in which to choose and fit. Where they are expected to be too few, candidates are
        scored on fewer rows, and what was scored in time is chosen from, with a warning.
    memory : int or str, optional
        The limit for Gram matrices and their reductions, in bytes or as ``"4GB"``; a share of the
        free memory by default.
    random_state : int, RandomState or None
        Seed of the sample of rows on which kernels are chosen where there are many rows; None is
        always the same one.
    gamma, degree, coef0 : optional
        As of `KernelRidge`.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel chosen, with numbers for parameters.
    alpha_ : float or array of shape (targets,)
        The ridge chosen.
    best_score_ : float or array of shape (targets,)
        The score of the choice; higher is better.
    best_index_ : int or array of shape (targets,)
        The row of the choice in `cv_results_`.
    best_params_ : dict
        The choice as parameters of `KernelRidge`.
    cv_results_ : dict of columns
        All candidates: ``params``, ``kernel``, ``alpha``, ``mean_test_score`` and
        ``rank_test_score``, and again under scikit-learn's names ``param_kernel`` and
        ``param_alpha`` the kernels and ridges; with a ridge per target also
        ``target0_test_score`` and so on; of folds also ``split0_test_score`` and so on, and their
        standard deviation ``std_test_score``. ``iter`` and ``n_resources`` number the round and
        the rows of it.
    search_ : str
        What was done, in a sentence.
    candidates_ : Candidates
        Every kernel with its best penalty, best first. Print it.
    best_estimator_ : KernelRidge
        The model chosen, fitted to all rows. What it knows, such as ``dual_coef_``,
        ``intercept_`` and ``certificate_``, is known here too.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    A rule such as ``"median"`` is resolved once, on all training rows.

    Whole weights count equal rows: ``"loo"`` leaves out one of the w that a row stands for, and
    ``"gcv"`` takes sum(w) for n, so that weights choose as repeated rows do. With weights that are
    not all whole numbers, such as inverse variances, a row is left out with all its weight. A fold
    holds out rows with all their weight.

    A kernel with few explicit features, such as `Linear`, takes memory for those alone, and one on
    points of a line, such as `Exponential` of one column, for a few numbers per row.

    With other kernels among them, beyond 4000 rows of positive weight several are tried on a random
    sample of 3000 of them, with alpha over the sum of the weights kept. The best kernel then has
    all its alphas tried on all rows: one reduction, which costs no more than three Cholesky
    inverses.
    """

    exact: ClassVar[str] = "eigen"
    # Rows up to which every kernel is tried on all of them, and the size of the sample beyond: a
    # processor takes two seconds for a kernel on 3000 rows, and eight times as long on 6000.
    rows_for_kernels: ClassVar[int] = 4000
    rows_of_sample: ClassVar[int] = 3000
    # With a short time limit the sample is smaller, but has at least so many rows.
    least_rows: ClassVar[int] = 200

    alphas: Any = None
    _: KW_ONLY
    cv: Any = "loo"
    scoring: Any = None
    alpha_per_target: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose kernel and ridge on the rows `X` with targets `y`, and fit them to all rows.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table, a list of texts or other sequences; for precomputed
            kernels the Gram matrix. Rows on a disk are taken by landmarks, as of `KernelRidge`.
        y : array of shape (n,) or (n, targets), or str
            The targets, or the name of their column.
        sample_weight : float, array of shape (n,) or str, optional
            w; rows of zero weight are neither trained on nor tested.
        groups : array of shape (n,), optional
            Groups of rows for a splitter that keeps them together.
        """
        self._tell_of_memory()
        run = Run(self.time_limit)
        X, y, sample_weight = self._opened(X, y, sample_weight)
        kernels = candidates(self.kernels, X, beside(self))
        rows, targets = checked_training(self, reader_of(kernels), X, y)
        weights = checked_weights(sample_weight, len(targets))
        is_weighted = sample_weight is not None
        how = self.choose(run, kernels, rows, targets, weights, is_weighted, groups)
        model = like(
            self,
            KernelRidge,
            kernel=self.kernel_,
            alpha=self.alpha_,
            solver=how.solver,
            n_landmarks=how.n_landmarks,
        )
        if len(kernels) == 1 or is_matrix(rows.X):
            self._show_columns(model)
            self.best_estimator_ = model.fit_checked(run, self.kernel_, rows, targets, weights)
        else:
            # The one that was chosen may read fewer columns.
            self.best_estimator_ = model.fit_within(run, rows.X, targets, weights)
        self._warn_of_landmarks(len(targets))
        return self

    def choose(
        self,
        run: Run,
        kernels: list[Kernel],
        rows: Rows,
        targets: Array,
        weights: Array,
        is_weighted: bool,
        groups: Any = None,
        copies: Array | None = None,
    ) -> Settings:
        """Choose kernel and ridge as `fit` does on rows that were checked, and fit nothing.

        It returns how they are to be fitted.

        Parameters
        ----------
        run : Run
            What this is a part of; a part of its time is left for a fit.
        kernels : list of Kernel
            What the parameter `kernels` means for the rows.
        rows, targets, weights
            What was checked; the candidates share their views of the rows.
        is_weighted : bool
            Whether the weights were given.
        groups
            As in `fit`.
        copies : array of shape (n,), optional
            How many equal rows every row stands for, if its weight has other factors too.
        """
        splits = splits_or_none(self.cv, self.scoring, rows.X, targets, groups)
        given = (rows, targets, weights, is_weighted)
        search = self._search(run, kernels, *given, splits, copies)
        settings = self._settings(search.reader)
        kernels, alphas, search = self._candidates(kernels, search, settings)
        search = search.leaving_a_fit(kernels, alphas)
        rounds = self._rounds(kernels, alphas, search)
        self._keep(rounds)
        if search.unusable:
            warn_of_unusable(search.unusable, sum(map(len, alphas)))
        if search.run.ended_by or rounds[-1].is_cut:
            all_scored = "" if search.run.ended_by else f" on more than {rounds[-1].n_rows} rows"
            warn_caller(
                f"time_limit={self.time_limit:g} is too short to score all candidates{all_scored}; "
                "the best of those that were is fitted; raise time_limit, or give fewer kernels",
                ConvergenceWarning,
            )
        return search.by_landmarks or settings

    def _planned(self, kernels: list[Kernel], X: Any, y: Any) -> Plan:
        y = np.zeros(n_rows(X)) if y is None else y
        rows, targets = checked_training(self, reader_of(kernels), X, y)
        splits = splits_or_none(self.cv, self.scoring, rows.X, targets, None)
        given = (rows, targets, np.ones(len(targets)), False)
        search = self._search(Run(), kernels, *given, splits)
        settings = self._settings(search.reader)
        kernels, alphas, search = self._candidates(kernels, search, settings)
        is_whole = self._is_whole(kernels, alphas, search)
        sample = None if is_whole else self._sample(kernels, alphas, search, np.inf)
        return ridge_search_plan(search, sample, settings, kernels, alphas)

    def _candidates(
        self, kernels: list[Kernel], search: Search, settings: Settings
    ) -> tuple[list[Kernel], list[Array], Search]:
        """Return kernels with numbers for parameters, their ridges, and the search by the plan."""
        rows = search.rows
        kernels = [kernel.resolved(rows, search.weights) for kernel in kernels]
        if self.kernels is None:
            kernels = default_grid(kernels, search.X)
        kernels = [kernel.remembered() for kernel in kernels]
        alphas = [ridges(self.alphas, k, rows, search.weights) for k in kernels]
        return kernels, alphas, search.by_plan(settings, kernels, alphas)

    def predict(self, X: Any, **options: Any) -> Any:
        """Return f(x) + b at the rows `X`; the options are those of `KernelRidge.predict`."""
        X = self._expected(X)
        return self.best_estimator_.predict(X, **options)

    def _search(
        self,
        run: Run,
        kernels: list[Kernel],
        rows: Rows,
        targets: Array,
        weights: Array,
        is_weighted: bool,
        splits: Splits | None,
        copies: Array | None = None,
    ) -> Search:
        """Return the search on all rows of positive weight."""
        scores = Scores.of(self.scoring, self.alpha_per_target, is_weighted, targets.ndim == 1)
        if copies is None:
            copies = copies_of(weights) if is_weighted else weights
        targets = targets.reshape(len(targets), -1)
        units = scores.units_of(targets)
        largest = float(np.abs(targets).max(initial=0.0))
        if scores.scorer is not None and not 1e-150 < (largest or 1.0) < 1e150:
            raise ValueError(
                f"scoring={self.scoring!r} may square errors, got y of up to {largest:.3g}; "
                "divide y by that, or use scoring=None"
            )
        search = Search(
            rows,
            targets / units,
            units,
            weights,
            copies,
            reader_of(kernels),
            self.fit_intercept,
            splits,
            scores,
            self._room,
            run,
        )
        used = np.flatnonzero(weights > 0.0)
        if len(used) < 2:
            raise ValueError(
                "rows cannot be held out from n_samples = 1 (rows of zero weight do not count); "
                "give at least 2, or fit KernelRidge with a kernel and alpha of your choice"
            )
        return search if len(used) == len(targets) else search.on(used)

    def _rounds(self, kernels: list[Kernel], alphas: list[Array], search: Search) -> list[Round]:
        """Return what was tried: all on all rows, or kernels on a sample first."""
        if self._is_whole(kernels, alphas, search) and search.is_in_time(kernels, alphas):
            return [search.round_of(kernels, alphas)]
        # What ends on all rows is refused before the sample is tried.
        search.check_room(kernels, alphas)
        lasts = [search.expected([k], [a]) for k, a in zip(kernels, alphas, strict=True)]
        # Kernels tried on all rows after it have half of the time, or there are none.
        is_last = max(lasts) <= search.seconds / 2.0
        seconds = search.seconds / (2.0 if is_last else 1.0)
        sample = self._sample(kernels, alphas, search, seconds)
        share = sample.weights.sum() / search.weights.sum()
        first = sample.round_of(kernels, alphas, share)
        if len(sample) == len(search):
            return [first]
        best = first.best_kernel
        kernels, alphas = kernels[best : best + 1], alphas[best : best + 1]
        if not is_last:
            return [replace(first, is_cut=True)]
        last = search.round_of(kernels, alphas)
        # Time may be up before anything is scored on all rows.
        return [first, last] if last.is_scored else [first]

    def _is_whole(self, kernels: list[Kernel], alphas: list[Array], search: Search) -> bool:
        """Whether all are tried on all rows, if there is time."""
        few = self.rows_for_kernels
        if len(search.y) <= few or len(kernels) == 1:
            return True
        # What is tried on all rows takes no longer than the largest matrix that is.
        work, _ = entries_held_out(few, Splits(few), 1)
        return search.is_quick(kernels, alphas, work)

    def _sample(
        self, kernels: list[Kernel], alphas: list[Array], search: Search, seconds: float
    ) -> Search:
        """Return the search on random rows, no more than are expected to be scored in time."""
        random = check_random_state(SEED if self.random_state is None else self.random_state)
        size = min(self.rows_of_sample, len(search))
        rows = random.choice(len(search), size, replace=False)
        sample = search.on(np.sort(rows))
        while len(sample) > self.least_rows and sample.expected(kernels, alphas) > seconds:
            fewer = max(len(sample) * 2 // 3, self.least_rows)
            sample = search.on(np.sort(rows[:fewer]))
        return sample

    def _keep(self, rounds: list[Round]) -> None:
        last = rounds[-1]
        position, best = last.best_kernel, last.best
        before = sum(len(r) for r in rounds[:-1]) + sum(len(a) for a in last.alphas[:position])
        choice = last.alphas[position][best]
        means = last.means[position]
        score = np.array([last.as_numbers(means[i, j], j) for j, i in enumerate(best)])
        several = len(best) > 1
        self.cv_results_ = table(rounds)
        self.kernel_ = last.kernels[position]
        self.alpha_ = choice if several else choice.item()
        self.best_score_ = score if several else score.item()
        self.best_index_ = before + best if several else (before + best).item()
        self.best_params_ = {"kernel": self.kernel_, "alpha": self.alpha_}
        self.search_ = sentence(rounds, self.cv)
