"""The automatic machine for classification."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer.data.columns import n_rows
from mercer.data.stream import some_rows
from mercer.estimators import KernelLogisticRegression
from mercer.estimators.classes import Labelled, one_against_rest
from mercer.estimators.score import Classification
from mercer.estimators.validation import checked_seed, training_subset
from mercer.kernels import Kernel
from mercer.native.lapack import one_blas_thread
from mercer.planning import Plan
from mercer.selection.automatic.board import NESTED, Candidate, Leaderboard
from mercer.selection.automatic.cross_fit import Compared, stratified_folds
from mercer.selection.automatic.kernels import reader_of_rows, unit_of
from mercer.selection.automatic.labelled import LabelledRows, labels_by_number
from mercer.selection.automatic.last import affords, fitted_last
from mercer.selection.automatic.machine import AutomaticMachine
from mercer.selection.automatic.nested import nested
from mercer.selection.automatic.plans import (
    LIKELY_PARTS,
    automatic_plan,
    comparison_work,
    cross_fit_work,
    likely_kernel,
    likely_recipes,
)
from mercer.selection.automatic.ranges import training_levels, training_ranges
from mercer.selection.automatic.search import KernelSearch
from mercer.selection.classifiers.logistic import KernelLogisticRegressionCV
from mercer.selection.classifiers.mean import KernelRidgeMeanClassifier
from mercer.selection.classifiers.ridge import KernelRidgeClassifier
from mercer.solvers import Run

Array = NDArray[np.float64]


class KernelClassifier(Classification, AutomaticMachine):
    """Classification of a table without a choice to make, with calibrated probabilities.

    Kernels are found as `KernelRegressor` finds them, for classes as 1 and -1, with one likelihood
    for all. With the best of them, least squares with probabilities calibrated on rows left out,
    the same with a weighted mean of the best, and multinomial logistic regression are compared by
    the log loss of rows left out, and the best one is fitted to all rows. Of up to 1000 rows this
    is nested cross-validation: scales are learned again without each of five folds, or three of
    more than 500 rows, and the log loss and the calibration are those of rows that no scale was
    learned from. Of more than 30 classes it is least squares, which takes about as long for many
    as for one.

    Parameters
    ----------
    class_weight : None, dict or "balanced"
        Factors of the weights of the rows of a class; ``"balanced"`` makes the classes weigh alike,
        so that more of a rare one is found, and probabilities are those of such rows.
    time_limit : float, optional
        Seconds in which to choose and fit.
    memory : int or str, optional
        The limit of memory, in bytes or as ``"4GB"``; a share of the free memory by default.
    random_state : int, RandomState or None
        Seed of the samples of rows; None is always the same one.
    keep : sequence of str or int
        As of `KernelRegressor`.

    Attributes
    ----------
    candidates_ : Leaderboard
        All kernels that were tried, best first, with their errors on rows left out. Print it.
    kernel_ : Kernel
        The winner, an expression that can be edited; of a mean the sum of its kernels with their
        weights.
    losses_ : dict
        The log loss on rows left out of ``"logistic"``, ``"ridge"`` and ``"mean"``, those that
        were compared; none where it is least squares with one kernel without a comparison. Of up
        to 1000 rows these are folds of which no scale was learned, if time and memory allow. Else
        they are less than at new rows where scales were learned from some of the rows left out.
    estimator_ : KernelRidgeClassifier, KernelRidgeMeanClassifier or KernelLogisticRegression
        The model, fitted to all rows.
    classes_ : array
        The classes in order.
    ranges_ : Ranges or None
        The least and largest number of every column of the training rows that `kernel_` reads;
        None of a stream.
    levels_ : Levels or None
        The categories of every column that `kernel_` compares by them; None of a stream.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    Phases of the fit are lines of the logger ``mercer``:
    ``logging.basicConfig(level=logging.INFO)`` shows them.
    """

    # The share of a time limit that is for finding kernels, and of what is left then, for comparing
    # the two models with the best of them.
    share_of_kernels: ClassVar[float] = 0.6
    share_of_comparison: ClassVar[float] = 0.5
    # Rows on which logistic regression and calibrated least squares are compared, and the numbers
    # in all classes that logistic regression has there at most: it takes longer with every class.
    compared_rows: ClassVar[int] = 1000
    compared_numbers: ClassVar[int] = 3000
    # Classes up to which logistic regression is tried at all: its offsets alone take the cube of
    # their number in every Newton step.
    most_classes: ClassVar[int] = 30
    # Folds in which scales are learned again, and those of few rows, of which a smaller share can
    # be spared.
    folds: ClassVar[int] = 3
    folds_of_few: ClassVar[int] = 5
    few_rows: ClassVar[int] = 500
    # Cs that logistic regression tries, over the mean of k(x, x).
    cs: ClassVar[tuple[float, ...]] = (0.3, 3.0, 30.0, 300.0)

    def __init__(
        self,
        *,
        class_weight: Any = None,
        time_limit: float | None = None,
        memory: Any = None,
        random_state: Any = None,
        keep: Any = (),
    ) -> None:
        super().__init__(time_limit=time_limit, memory=memory, random_state=random_state, keep=keep)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose a kernel for the rows `X` and their classes `y`, and fit it.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table, or a list of texts; or rows on a disk, as `KernelRidge`
            takes them: the kernel is then chosen on some of them, and the last fit reads all block
            by block.
        y : array of shape (n,) or str
            The classes, as numbers or strings, or the name of their column.
        sample_weight : float, array of shape (n,) or str, optional
            w; a whole weight counts as that many equal rows, zero as none. Text names a column.
        groups : array of shape (n,), optional
            The groups of rows that belong together, such as those of a patient: kernels are judged
            by groups left out.
        """
        self._tell_of_memory()
        run = Run(self.time_limit)
        X, y, sample_weight = self._opened(X, y, sample_weight)
        reader = reader_of_rows(some_rows(X), self.keep)
        limit = run.share(self.share_of_kernels)
        search = self._search(limit, reader, X, y, sample_weight, groups)
        board = self._noted(search)
        means = [c for c in board if c.parts]
        if means and not affords(self._ridge(means[0], search.unit), run, search, X):
            # One kernel on all rows is worth more than several on some.
            means, board = [], board.without_means()
        limit = run.share(self.share_of_comparison)
        board, found = self._cross_fitted(search, board, limit)
        one = board.without_means()[0]
        if not found:
            found = self._compared(search, reader, one, means, limit)
        self.losses_: dict[str, float] = {name: model.loss for name, model in found.items()}
        best = min(found.values(), key=attrgetter("loss"), default=Compared(np.nan, one))
        self.candidates_: Leaderboard = board.led_by(best.candidate).settled
        model: KernelRidgeClassifier | KernelLogisticRegression
        if best.C is None:
            model = self._ridge(best.candidate, search.unit)
        else:
            C = best.C / search.unit
            model = KernelLogisticRegression(best.candidate.kernel, C, memory=self.memory)
        model.class_weight, model.memory = self.class_weight, self.memory
        self.estimator_ = fitted_last(model, run, search, X, y, sample_weight)
        if best.temperature is not None:
            self.estimator_.set_temperature(best.temperature)
        self.kernel_ = self.estimator_.kernel_
        self.classes_ = self.estimator_.classes_
        self.ranges_ = training_ranges(X, self.kernel_)
        self.levels_ = training_levels(X, self.kernel_)
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: its last solver, memory, time, and why.

        The time is that of the search, of the comparison of the models and of the fit of the
        slower one, with kernels like those that are tried.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array of shape (n,) or str, optional
            Their classes; without them there are two.
        """
        X, y, _ = self._opened(X, y)
        y = np.arange(n_rows(X)) % 2 if y is None else y
        reader = reader_of_rows(some_rows(X), self.keep)
        search = clone(self)._search(Run(), reader, X, y, None, None)
        kernel = likely_kernel(search)
        last = KernelRidgeMeanClassifier([kernel] * LIKELY_PARTS, memory=self.memory).plan(X, y)
        sample, labels = self._labelled(search)
        compared = comparison_work(search, len(sample)).seconds
        if search.y.shape[1] <= self.most_classes:
            logistic = KernelLogisticRegression(kernel, memory=self.memory).plan(X, y)
            last = max(last, logistic, key=lambda plan: plan.seconds)
            both = KernelLogisticRegressionCV([kernel], self.cs, memory=self.memory)
            rows = training_subset(kernel, search.X, sample)
            # With one kernel, and with a sum.
            compared += 2 * both.plan(rows, labels).seconds
        recipes, folds = likely_recipes(search), self._n_folds(search)
        if recipes and folds:
            again = cross_fit_work(search, recipes, folds).seconds
            compared += min(again, self.share_of_comparison * (self.time_limit or np.inf))
        found = automatic_plan(search, replace(last, time_limit=self.time_limit))
        return replace(found, seconds=found.seconds + compared)

    def _ridge(self, best: Candidate, unit: float = 1.0) -> KernelRidgeClassifier:
        """Return the least squares of a candidate, whose ridges are in units of a mean weight."""
        if not best.parts:
            return KernelRidgeClassifier(best.kernel, best.alpha * unit, memory=self._room)
        kernels, alphas = zip(*((c.kernel, c.alpha * unit) for c in best.parts), strict=True)
        return KernelRidgeMeanClassifier(kernels, alphas, best.shares, memory=self._room)

    def _search(
        self, run: Run, reader: Kernel, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> KernelSearch:
        """Return the search on checked rows, of which nothing stays in memory but its samples."""
        data = Labelled.of(self, reader, X, y, sample_weight, self.class_weight)
        targets = one_against_rest(data.codes, len(data.classes))
        seed = checked_seed(self.random_state) or 0
        given = (reader, data.rows.X, targets, data.weights, self._room, seed, run, groups)
        return KernelSearch.of(*given, is_classes=True, keep=self.keep)

    def _noted(self, search: KernelSearch) -> Leaderboard:
        """Return the candidates, with a note where classes are too many to compare models."""
        board, classes = search.winners(), search.y.shape[1]
        if classes <= self.most_classes:
            return board
        note = (
            f"{classes} classes are fitted by least squares, one against the rest, with calibrated "
            f"probabilities; logistic regression is tried for up to {self.most_classes}"
        )
        return replace(board, note=note)

    def _labelled(self, search: KernelSearch) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows that models are compared on, and the numbers of their classes."""
        targets, most = search.y.shape[1], self.compared_rows
        if targets <= self.most_classes:
            most = min(most, max(self.compared_numbers // targets, 250))
        sample = search.sample(most)
        return sample, labels_by_number(search.y[sample])

    def _n_folds(self, search: KernelSearch) -> int:
        """Return in how many folds scales are learned again, none of more rows than are judged."""
        n = len(search.y)
        if len(search.sample(search.judged_rows)) < n:
            return 0
        return self.folds_of_few if n <= self.few_rows else self.folds

    def _cross_fitted(
        self, search: KernelSearch, board: Leaderboard, run: Run
    ) -> tuple[Leaderboard, dict[str, Compared]]:
        """Return the best judged in folds in which scales are learned again, and all models.

        It is for tables of which all rows were learned from: of larger ones most rows that are
        compared were not. The best kernel that is not learned takes part beside the best one and
        those of a mean. There are no models where nothing is learned, a fold lacks a class, or it
        is counted to take longer than its share of the time.
        """
        one, labels = board.without_means()[0], labels_by_number(search.y)
        count = self._n_folds(search)
        if not count:
            return board, {}
        folds = search.folds(np.arange(len(labels)), labels) or stratified_folds(
            labels, count, search.seed
        )
        some = LabelledRows(one.kernel, search.X, labels, search.weights, folds)
        # The rest is for logistic regression, or for a comparison without folds should the clock be
        # faster than the count.
        share_of_kernels = 0.6
        again = None
        if some.has_every_class:
            again = nested(search, board, folds, run.share(share_of_kernels))
        if again is None:
            return board, {}
        crossed, board = again
        models = [crossed.calibrated(c, labels) for c in board if c.scored_by == NESTED]
        ridges = [model for model in models if not model.candidate.parts]
        found = {"ridge": min(ridges, key=attrgetter("loss"))}
        for model in models:
            if model.candidate.parts:
                found["mean"] = model
        if len(labels) * search.y.shape[1] <= self.compared_numbers and not run.is_over():
            logistic = crossed.logistic(
                found["ridge"].candidate, labels, self.cs, self._logistic, run
            )
            found |= {} if logistic is None else {"logistic": logistic}
        told = ", ".join(f"{name} {model.loss:.3f}" for name, model in found.items())
        note = f"log loss in these folds: {told}"
        return replace(board, note=f"{note}\n{board.note}"), found

    def _logistic(
        self, kernel: Kernel, rows: Any, cv: Any, time_limit: float | None
    ) -> KernelLogisticRegressionCV:
        """Return logistic regression that chooses among the Cs, in units of the kernel."""
        unit = unit_of(kernel, rows)
        return KernelLogisticRegressionCV(
            [kernel],
            [c / unit for c in self.cs],
            cv=cv,
            memory=self._room,
            time_limit=time_limit,
            random_state=self.random_state,
        )

    def _compared(
        self, search: KernelSearch, reader: Kernel, one: Candidate, means: list[Candidate], run: Run
    ) -> dict[str, Compared]:
        """Return all models by their log loss on rows left out one by one, or in groups.

        There is nothing to return where there is one model alone, or no time, and no logistic
        regression without the time to try every C. It has the kernel of the best candidate, or the
        sum of those of the mean, whichever has the less loss.
        """
        has_logistic = search.y.shape[1] <= self.most_classes
        if not (has_logistic or means):
            return {}
        sample, labels = self._labelled(search)
        rows = training_subset(reader, search.X, sample)
        weights = search.weights[sample]
        folds = search.folds(sample, labels)
        some = LabelledRows(reader, rows, labels, weights, folds)
        if not some.has_every_class or run.is_over():
            return {}
        # Threads of the BLAS gain little on these rows, and lose much where others use the machine.
        with one_blas_thread():
            found = {"ridge": Compared(some.log_loss(self._ridge(one)), one)}
            if means and not run.is_over():
                found["mean"] = Compared(some.log_loss(self._ridge(means[0])), means[0])
        # Kernels of a mean miss different rows: their sum often tells classes better than one.
        for candidate in (one, *means[:1]) if has_logistic else ():
            if run.is_over():
                break
            cv = "loo" if folds is None else folds
            logistic = some.logistic(
                candidate, self._logistic(candidate.kernel, rows, cv, run.rest)
            )
            if logistic is not None:
                rivals = (found.get("logistic", logistic), logistic)
                found["logistic"] = min(rivals, key=attrgetter("loss"))
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, with a warning of numbers far outside."""
        return np.asarray(self._fitted(X).predict(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, classes)."""
        return np.asarray(self._fitted(X).predict_proba(X))

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes at the rows `X`."""
        return np.asarray(self._fitted(X).decision_function(X))
