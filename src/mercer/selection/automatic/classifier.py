"""The automatic machine for classification."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone

from mercer.data.columns import n_rows
from mercer.data.stream import some_rows
from mercer.errors import ConvergenceWarning
from mercer.estimators import KernelLogisticRegression
from mercer.estimators.classes import one_against_rest
from mercer.estimators.streams import opened_for
from mercer.estimators.validation import (
    checked_classification,
    checked_seed,
    checked_weights,
    training_subset,
)
from mercer.kernels import Kernel
from mercer.native.threads import one_blas_thread
from mercer.planning import Plan
from mercer.selection.automatic.board import Candidate, Leaderboard
from mercer.selection.automatic.kernels import reader_of_rows
from mercer.selection.automatic.labelled import LabelledRows
from mercer.selection.automatic.last import affords, fitted_last
from mercer.selection.automatic.machine import AutomaticMachine
from mercer.selection.automatic.plans import (
    LIKELY_PARTS,
    automatic_plan,
    comparison_work,
    likely_kernel,
)
from mercer.selection.automatic.ranges import training_levels, training_ranges
from mercer.selection.automatic.search import KernelSearch
from mercer.selection.classifiers.logistic import KernelLogisticRegressionCV
from mercer.selection.classifiers.mean import KernelRidgeMeanClassifier
from mercer.selection.classifiers.ridge import KernelRidgeClassifier
from mercer.solvers import Run

Array = NDArray[np.float64]


class KernelClassifier(ClassifierMixin, AutomaticMachine):
    """Classification of a table without a choice to make, with calibrated probabilities.

    Kernels are found as `KernelRegressor` finds them, for classes as 1 and -1, with one likelihood
    for all. With the best of them, least squares with probabilities calibrated on rows left out,
    the same with a weighted mean of the best, and multinomial logistic regression are compared by
    the log loss of rows left out, and the best one is fitted to all rows. Of more
    than 30 classes it is least squares, which takes about as long for many as for one.

    Parameters
    ----------
    time_limit : float, optional
        Seconds in which to choose and fit.
    memory : int or str, optional
        The limit of memory, in bytes or as ``"4GB"``; a share of the free memory by default.
    random_state : int, RandomState or None
        Seed of the samples of rows; None is always the same one.

    Attributes
    ----------
    candidates_ : Leaderboard
        All kernels that were tried, best first, with their errors on rows left out. Print it.
    kernel_ : Kernel
        The winner, an expression that can be edited; of a mean the sum of its kernels with their
        weights.
    losses_ : dict
        The log loss on rows left out of ``"logistic"``, ``"ridge"`` and ``"mean"``, those that
        were compared; none where it is least squares with one kernel without a comparison. They
        are less than at new rows where scales were learned from the rows left out.
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
    # Cs that logistic regression tries, over the mean of k(x, x).
    cs: ClassVar[tuple[float, ...]] = (0.3, 3.0, 30.0, 300.0)

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
        run = Run(self.time_limit)
        X, y, sample_weight = opened_for("auto", self.memory, X, y, sample_weight)
        reader = reader_of_rows(some_rows(X))
        limit = run.share(self.share_of_kernels)
        search = self._search(limit, reader, X, y, sample_weight, groups)
        self.candidates_: Leaderboard = self._noted(search)
        one = self.candidates_.without_means()[0]
        means = [c for c in self.candidates_ if c.parts]
        if means and not affords(self._ridge(means[0], search.unit), run, search, X):
            # One kernel on all rows is worth more than several on some.
            means, self.candidates_ = [], self.candidates_.without_means()
        found = self._compared(search, reader, one, means, run.share(self.share_of_comparison))
        self.losses_: dict[str, float] = {name: loss for name, (loss, _) in found.items()}
        best = min(found, key=lambda name: found[name][0], default="ridge")
        chosen = means[0] if best == "mean" else one
        self.candidates_ = self.candidates_.led_by(chosen)
        model: KernelRidgeClassifier | KernelLogisticRegression
        if best == "logistic":
            C = found["logistic"][1] / search.unit
            model = KernelLogisticRegression(one.kernel, C, memory=self.memory)
        else:
            model = self._ridge(chosen, search.unit)
        self.estimator_ = fitted_last(model, run, search, X, y, sample_weight)
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
        X, y, _ = opened_for("auto", self.memory, X, y)
        y = np.arange(n_rows(X)) % 2 if y is None else y
        search = clone(self)._search(Run(), reader_of_rows(some_rows(X)), X, y, None, None)
        kernel = likely_kernel(search)
        last = KernelRidgeMeanClassifier([kernel] * LIKELY_PARTS, memory=self.memory).plan(X, y)
        sample, labels = self._labelled(search)
        compared = comparison_work(search, len(sample)).seconds
        if search.y.shape[1] <= self.most_classes:
            logistic = KernelLogisticRegression(kernel, memory=self.memory).plan(X, y)
            last = max(last, logistic, key=lambda plan: plan.seconds)
            both = KernelLogisticRegressionCV([kernel], self.cs, memory=self.memory)
            rows = training_subset(kernel, search.X, sample)
            compared += both.plan(rows, labels).seconds
        found = automatic_plan(search, replace(last, time_limit=self.time_limit))
        return replace(found, seconds=found.seconds + compared)

    def _ridge(self, best: Candidate, unit: float = 1.0) -> KernelRidgeClassifier:
        """Return the least squares of a candidate, whose ridges are in units of a mean weight."""
        if not best.parts:
            return KernelRidgeClassifier(best.kernel, best.alpha * unit, memory=self.memory)
        kernels, alphas = zip(*((c.kernel, c.alpha * unit) for c in best.parts), strict=True)
        return KernelRidgeMeanClassifier(kernels, alphas, best.shares, memory=self.memory)

    def _search(
        self, run: Run, reader: Kernel, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> KernelSearch:
        """Return the search on checked rows, of which nothing stays in memory but its samples."""
        rows, codes, classes = checked_classification(self, reader, X, y)
        weights = checked_weights(sample_weight, len(codes))
        targets = one_against_rest(codes, len(classes))
        seed = checked_seed(self.random_state) or 0
        return KernelSearch.of(reader, rows, targets, weights, self.memory, seed, run, groups, True)

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
        codes = search.y[sample]
        labels = (codes.ravel() > 0.0).astype(int) if targets == 1 else codes.argmax(axis=1)
        return sample, labels

    def _compared(
        self,
        search: KernelSearch,
        reader: Kernel,
        best: Candidate,
        means: list[Candidate],
        run: Run,
    ) -> dict[str, tuple[float, float]]:
        """Return the log loss on rows left out and the penalty of all models on some rows.

        There is nothing to return where there is one model alone, or no time.
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
            found = {"ridge": (some.log_loss(self._ridge(best)), best.alpha)}
            if means and not run.is_over():
                found["mean"] = (some.log_loss(self._ridge(means[0])), means[0].alpha)
        if run.is_over() or not has_logistic:
            return found
        unit = float(np.mean(best.kernel.diagonal(rows)))
        logistic = KernelLogisticRegressionCV(
            [best.kernel],
            [c / unit for c in self.cs],
            cv="loo" if folds is None else folds,
            memory=self.memory,
            time_limit=run.rest,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # What the comparison has no time for is no fault of the model that is fitted last.
            warnings.simplefilter("ignore", ConvergenceWarning)
            logistic.fit(rows, labels, weights)
        return {**found, "logistic": (-float(logistic.best_score_), float(logistic.C_))}

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each of the rows `X`.

        Numbers far outside of the range of the training rows are warned of.
        """
        return np.asarray(self._fitted(X).predict(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, classes)."""
        return np.asarray(self._fitted(X).predict_proba(X))

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes at the rows `X`."""
        return np.asarray(self._fitted(X).decision_function(X))
