"""Nested cross-validation: fits without the rows of a fold, with kernels learned without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from mercer.data.columns import take_rows
from mercer.data.limits.deadline import TimeIsUpError, check
from mercer.errors import ConvergenceWarning
from mercer.estimators import KernelRidge
from mercer.estimators.svm.probabilities import score_columns
from mercer.estimators.validation import training_subset
from mercer.kernels import Kernel
from mercer.native.core import thread_count
from mercer.native.threads import in_pool
from mercer.selection.automatic.board import NESTED, Candidate, Leaderboard, Recipe
from mercer.selection.automatic.kernels import in_family, unit_of
from mercer.selection.automatic.search import REFUSALS, KernelSearch
from mercer.selection.automatic.sums import sum_of
from mercer.selection.classifiers.logistic import KernelLogisticRegressionCV
from mercer.solvers import Run
from mercer.solvers.logistic.temperature import smoothed_targets, temperature
from mercer.tiles import Rows

Array = NDArray[np.float64]
Sample = NDArray[np.intp]
Folds = Sequence[tuple[Sample, Sample]]
Learned = tuple[Kernel, float]


class Compared(NamedTuple):
    """A model of classes, and its log loss on rows left out.

    Parameters
    ----------
    loss : float
        The log loss.
    candidate : Candidate
        Its kernel, or the kernels of a mean.
    C : float, optional
        That of logistic regression; None is least squares.
    temperature : float, optional
        That of the probabilities of least squares, where it is known.
    """

    loss: float
    candidate: Candidate
    C: float | None = None
    temperature: float | None = None


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Candidates by the kernel and the ridge that the rows outside of each fold give.

    Scores of rows left out one by one are too good where the scales of a kernel were learned from
    these rows. Here every fold is scored by kernels that are learned again from the other rows,
    from where they started, so that its targets had no part in them. There is one exception: a
    kernel that is not learned keeps the width, one of a few, that the errors of all rows chose.

    Parameters
    ----------
    search : KernelSearch
        The search that the candidates are of.
    folds : sequence of (rows to fit to, rows to score)
        Folds of all its rows.
    found : list of dict
        For every fold the kernels and ridges of the candidates, by their names.
    run : Run
        When to end.

    References
    ----------
    S. Varma, R. Simon (2006), Bias in error estimation when using cross-validation for model
    selection.
    """

    search: KernelSearch
    folds: Folds
    found: list[dict[str, Learned]]
    run: Run

    @classmethod
    def of(
        cls, search: KernelSearch, candidates: Sequence[Candidate], folds: Folds, run: Run
    ) -> CrossFit | None:
        """Return candidates of one kernel each, learned again in every fold.

        There is None without the time, or where a kernel is refused, as it may be in one fold and
        in no other.
        """
        learn = partial(_learned_in_fold, search, candidates, run)
        fits = search.memory // (search.pair_bytes * len(search.y) ** 2)
        try:
            with run.punctual():
                found = in_pool(
                    lambda fold: None if run.is_over() else learn(fold[0]),
                    list(folds),
                    max(1, min(thread_count(), fits)),
                )
        except (*REFUSALS, TimeIsUpError):
            return None
        known = [each for each in found if each is not None]
        # Scales that the clock stopped are not those of so many steps.
        return None if len(known) < len(folds) or run.is_over() else cls(search, folds, known, run)

    def ranked(
        self, board: Leaderboard, candidates: Sequence[Candidate], has_mean: bool
    ) -> Leaderboard | None:
        """Return a leaderboard with the candidates by their errors in folds, and their mean.

        There is None without the time, or where a kernel is refused.
        """
        try:
            with self.run.punctual():
                judged = sorted(map(self.judged, candidates), key=attrgetter("error"))
        except (*REFUSALS, TimeIsUpError):
            return None
        found = self.search.ranked(judged, (c for c in board if not c.parts))
        found = replace(found, note=board.note)
        return found if has_mean else found.without_means()

    def judged(self, candidate: Candidate) -> Candidate:
        """Return a candidate of one kernel by its errors at the rows of all folds."""
        search, missed = self.search, self.search.y.copy()
        for (train, test), found in zip(self.folds, self.found, strict=True):
            missed[test] -= self._predicted(*found[candidate.name], train, test)
        squares, score = search._scored(np.arange(len(missed)), missed)
        told = replace(candidate, squares=squares, score=score, missed=missed)
        return replace(told, scored_by=NESTED, rows=len(missed))

    def scores(self, candidate: Candidate) -> Array:
        """Return the predictions at every row without its fold by what was judged, or a mean."""
        shares, missed = candidate.shares or (1.0,), np.zeros_like(self.search.y)
        for share, part in zip(shares, candidate.parts or (candidate,), strict=True):
            assert part.missed is not None
            missed += share * part.missed
        return self.search.y - missed

    def calibrated(self, candidate: Candidate, labels: Sample) -> Compared:
        """Return least squares with the temperature that the scores of all folds are worth."""
        scores, weights = self.scores(candidate), self.search.unit * self.search.weights
        columns = score_columns(scores[:, 0] if scores.shape[1] == 1 else scores)
        targets = smoothed_targets(labels, weights, columns.shape[1])
        T = temperature(columns, targets, weights)
        own = log_softmax(T * columns, axis=1)[np.arange(len(labels)), labels]
        return Compared(-float(np.average(own, weights=weights)), candidate, temperature=T)

    def logistic(
        self,
        candidate: Candidate,
        labels: Sample,
        cs: Sequence[float],
        searched: Callable[..., KernelLogisticRegressionCV],
        run: Run,
    ) -> Compared | None:
        """Return logistic regression with the C of the least log loss at rows of other folds.

        Parameters
        ----------
        candidate : Candidate
            One that is judged in the folds.
        labels : array of shape (n,)
            The classes of all rows by number.
        cs : sequence of float
            The Cs to try, in units of the kernel.
        searched : callable
            (kernel, rows, folds, seconds) -> what tries them.
        run : Run
            When to end: there is None without the time to try every C in every fold.
        """
        search, losses = self.search, np.zeros(len(cs))
        for number, (fold, found) in enumerate(zip(self.folds, self.found, strict=True)):
            kernel, part = found[candidate.name][0], run.share(1.0 / (len(self.folds) - number))
            model = searched(kernel, search.X, [fold], part.rest)
            with warnings.catch_warnings():
                # What the comparison has no time for is no fault of the model fitted last.
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(search.X, labels, search.weights)
            if part.is_over() or model._is_cut:
                return None
            share = search.weights[fold[1]].sum() / search.weights.sum()
            losses -= share * model.cv_results_["mean_test_score"]
        best = int(np.argmin(losses))
        unit = unit_of(candidate.kernel, search.X)
        return Compared(float(losses[best]), candidate, C=cs[best] / unit)

    def _predicted(self, kernel: Kernel, alpha: float, train: Sample, test: Sample) -> Array:
        search = self.search
        model = KernelRidge(kernel, alpha, memory=search.memory)
        # All rows were checked, which of a wide table takes longer than a fit.
        rows = Rows.checked(self.rows(kernel, train))
        given = (rows, search.y[train], search.weights[train])
        found = model.fit_checked(Run(None), kernel, *given).function_(self.rows(kernel, test))
        # What stands in for a fit that was broken off says nothing about the kernel.
        check()
        return found

    def rows(self, kernel: Kernel, sample: Sample) -> Any:
        """Return some of the rows as a kernel reads them."""
        return training_subset(kernel, self.search.X, sample)


def stratified_folds(labels: Sample, count: int, seed: int) -> list[tuple[Sample, Sample]]:
    """Return folds of rows at random, with as many rows of every class in each as can be."""
    mixed = np.random.default_rng(seed).permutation(len(labels))
    order = mixed[np.argsort(labels[mixed], kind="stable")]
    number = np.empty(len(labels), np.intp)
    number[order] = np.arange(len(labels)) % count
    return [
        (np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in range(count)
    ]


def steps_of(recipe: Recipe) -> int:
    """Return in how many steps a candidate is learned, after those of its terms."""
    if recipe.start is None:
        return KernelSearch.warm_steps if recipe.is_mixed else KernelSearch.second_steps
    return KernelSearch.warm_steps if recipe.terms else KernelSearch.first_steps


def _learned_in_fold(
    search: KernelSearch, candidates: Sequence[Candidate], run: Run, train: Sample
) -> dict[str, Learned]:
    """Return kernels learned from some of the rows alone, with the best ridge on them, by name."""
    # A search of these rows alone: no sample that it draws can hold others.
    inside = replace(
        search,
        X=take_rows(search.X, train),
        y=search.y[train],
        weights=search.weights[train],
        index=search.index[train],
        groups=None if search.groups is None else search.groups[train],
    )
    sample, every = inside.sample(search.first_rows), np.arange(len(train))
    known: dict[Recipe, Learned] = {}
    found = {}
    for c in candidates:
        kernel, alpha = (c.kernel, c.alpha)
        if c.recipe is not None and c.is_learned:
            kernel, alpha = _again(inside, c.recipe, sample, run, known)
        found[c.name] = (kernel, inside._judged(kernel, search.ridges, alpha, every).alpha)
    return found


def _again(
    search: KernelSearch, recipe: Recipe, sample: Sample, run: Run, known: dict[Recipe, Learned]
) -> Learned:
    """Return the kernel and the ridge of a recipe from some rows, unless they are known."""
    if recipe in known:
        return known[recipe]
    start, before = recipe.start, [_again(search, t, sample, run, known) for t in recipe.terms]
    steps = steps_of(recipe)
    if start is not None and start.terms:
        found = search._weighted(start.terms, sample, steps, run)
    elif start is not None and before:
        kernel, alpha = before[0]
        found = search._learned(in_family(kernel, start), alpha, sample, steps, run)
    elif start is not None:
        found = search._learned(start.kernel, None, sample, steps, run)
    elif recipe.is_mixed:
        terms = [(1.0 / alpha) * kernel for kernel, alpha in before]
        found = search._weighted(terms, sample, steps, run)
    else:
        kernel, alpha = before[0] if len(before) == 1 else sum_of(before)
        found = search._learned(kernel, alpha, sample, steps, run)
    known[recipe] = found
    return found
