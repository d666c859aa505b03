"""The automatic machine for regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, clone

from mercer.data.columns import n_rows
from mercer.data.stream import some_rows
from mercer.errors import TwoValuesWarning, warn_caller
from mercer.estimators import KernelRidge, KernelRidgeMean
from mercer.estimators.score import Regression
from mercer.estimators.validation import (
    checked_seed,
    checked_training,
    checked_weights,
)
from mercer.planning import Plan
from mercer.selection.automatic.board import Candidate, Leaderboard
from mercer.selection.automatic.cross_fit import stratified_folds
from mercer.selection.automatic.kernels import reader_of_rows
from mercer.selection.automatic.last import affords, fitted_last
from mercer.selection.automatic.machine import AutomaticMachine
from mercer.selection.automatic.nested import nested
from mercer.selection.automatic.plans import (
    LIKELY_PARTS,
    automatic_plan,
    cross_fit_work,
    likely_kernel,
    likely_recipes,
)
from mercer.selection.automatic.ranges import training_levels, training_ranges
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run

Array = NDArray[np.float64]


class KernelRegressor(MultiOutputMixin, Regression, AutomaticMachine):
    """Regression of a table without a choice to make: the best kernel ridge that we know to find.

    Columns become what they hold: numbers, standardised or by their ranks, categories, dates,
    text, with a place for what is missing. Several families of kernels, from smooth to rough, are
    tried with one width for all columns and with a scale for each that is learned from the data
    (`mercer.learn`) on some of the rows. The best are tried again on more rows (successive
    halving), and the one that predicts rows left out best wins; a kernel that is not learned does
    where it is as good within one standard deviation. Else it is the weighted mean of up to three
    fits, unless the best one is better by more than that.

    Parameters
    ----------
    time_limit : float, optional
        Seconds in which to choose and fit.
    memory : int or str, optional
        The limit of memory, in bytes or as ``"4GB"``; a share of the free memory by default.
    random_state : int, RandomState or None
        Seed of the samples of rows; None is always the same one.
    keep : sequence of str or int
        Columns to learn from though they look like identifiers, which are left out.

    Attributes
    ----------
    candidates_ : Leaderboard
        All kernels that were tried, best first, with their errors on rows left out. Print it.
    kernel_ : Kernel
        The winner, an expression that can be edited; of a mean the sum of its kernels with their
        weights.
    alpha_ : float or tuple of float
        Its ridge, or that of every kernel of a mean.
    estimator_ : KernelRidge or KernelRidgeMean
        The model, fitted to all rows.
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

    # Rows up to which the best kernels are learned again in folds. Scales of a few columns of a few
    # kernels are a tenth as many as these, by which errors of rows that they were learned from are
    # about two tenths of the noise too small: as much as kernels differ by. Of more rows this is
    # less, and folds take longer.
    nested_rows: ClassVar[int] = 200
    # The share of a time limit, of what the search leaves, that is for these folds.
    share_of_folds: ClassVar[float] = 0.5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose a kernel for the rows `X` and their targets `y`, and fit it.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table, or a list of texts; or rows on a disk, as `KernelRidge`
            takes them: the kernel is then chosen on some of them, and the last fit reads all block
            by block.
        y : array of shape (n,) or (n, targets), or str
            The targets, or the name of their column.
        sample_weight : float, array of shape (n,) or str, optional
            w; a whole weight counts as that many equal rows, zero as none. Text names a column.
        groups : array of shape (n,), optional
            The groups of rows that belong together, such as those of a patient: kernels are judged
            by groups left out.
        """
        self._tell_of_memory()
        run = Run(self.time_limit)
        X, y, sample_weight = self._opened(X, y, sample_weight)
        search = self._search(run, X, y, sample_weight, groups)
        _tell_of_two_values(search.y_unit * search.y)
        self.candidates_: Leaderboard = self._cross_fitted(search, search.winners(), run).settled
        model = self._machine(self.candidates_[0], search.unit)
        if self.candidates_[0].parts and not affords(model, run, search, X):
            # One kernel on all rows is worth more than several on some.
            self.candidates_ = self.candidates_.without_means()
            model = self._machine(self.candidates_[0], search.unit)
        self.estimator_ = fitted_last(model, run, search, X, y, sample_weight)
        self.kernel_ = self.estimator_.kernel_
        self.alpha_ = model.alphas if isinstance(model, KernelRidgeMean) else model.alpha
        self.ranges_ = training_ranges(X, self.kernel_)
        self.levels_ = training_levels(X, self.kernel_)
        return self

    def _cross_fitted(self, search: KernelSearch, board: Leaderboard, run: Run) -> Leaderboard:
        """Return the best of few rows judged in folds in which scales are learned again."""
        count, labels = self._n_folds(search), np.zeros(len(search.y), np.intp)
        if not count:
            return board
        folds = search.folds(np.arange(len(labels)), labels) or stratified_folds(
            labels, count, search.seed
        )
        again = nested(search, board, folds, run.share(self.share_of_folds))
        return board if again is None else again[1]

    def _n_folds(self, search: KernelSearch) -> int:
        """Return in how many folds scales are learned again, none of many rows."""
        n = len(search.y)
        is_few = n <= self.nested_rows and len(search.sample(n)) == n
        return search.n_folds if is_few else 0

    def _machine(self, best: Candidate, unit: float) -> KernelRidge | KernelRidgeMean:
        """Return the model of a candidate, whose ridges are in units of a mean weight."""
        if not best.parts:
            return KernelRidge(best.kernel, best.alpha * unit, memory=self.memory)
        kernels, alphas = zip(*((c.kernel, c.alpha * unit) for c in best.parts), strict=True)
        return KernelRidgeMean(kernels, alphas, best.shares, memory=self.memory)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: its last solver, memory, time, and why.

        The time is that of the search and of a mean of two kernels like those that it tries.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array of shape (n,) or (n, targets), or str, optional
            Their targets; without them there is one.
        """
        X, y, _ = self._opened(X, y)
        y = np.zeros(n_rows(X)) if y is None else y
        search = clone(self)._search(Run(), X, y, None, None)
        kernels = [likely_kernel(search)] * LIKELY_PARTS
        last = KernelRidgeMean(kernels, memory=self.memory, time_limit=self.time_limit)
        found, recipes = automatic_plan(search, last.plan(X, y)), likely_recipes(search)
        if not (recipes and self._n_folds(search)):
            return found
        again = cross_fit_work(search, recipes, self._n_folds(search)).seconds
        left = np.inf if self.time_limit is None else max(self.time_limit - found.seconds, 0.0)
        return replace(found, seconds=found.seconds + min(again, self.share_of_folds * left))

    def _search(self, run: Run, X: Any, y: Any, sample_weight: Any, groups: Any) -> KernelSearch:
        """Return the search on checked rows, of which nothing stays in memory but its samples."""
        reader = reader_of_rows(some_rows(X), self.keep)
        rows, targets = checked_training(self, reader, X, y)
        weights = checked_weights(sample_weight, len(targets))
        columns = targets.reshape(len(targets), -1)
        seed = checked_seed(self.random_state) or 0
        given = (reader, rows.X, columns, weights, self._room, seed, run, groups)
        return KernelSearch.of(*given, keep=self.keep)

    def predict(self, X: Any) -> Array:
        """Return predictions at the rows `X`, of shape (n,) or (n, targets).

        Numbers far outside of the range of the training rows are warned of.
        """
        return np.asarray(self._fitted(X).predict(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the lower and upper ends of jackknife+ intervals at the rows `X`.

        They are wider where training rows tell little, see `KernelRidge.predict_interval`.

        Parameters
        ----------
        X : rows
            Where to predict.
        coverage : float
            The share of new targets to cover, between 0 and 1.
        """
        return self._fitted(X).predict_interval(X, coverage)


def _tell_of_two_values(y: Array) -> None:
    """Warn of a target that looks like two classes."""
    values = np.unique(y[:, 0]) if y.shape[1] == 1 else y[:0, 0]
    # Of so few rows two values are no sign of classes.
    least = 10
    if len(values) == 2 and len(y) >= least:
        warn_caller(
            f"y has two values, {values[0]:g} and {values[1]:g}: predictions are numbers between "
            "and beyond them; use KernelClassifier for the probability of each",
            TwoValuesWarning,
        )
