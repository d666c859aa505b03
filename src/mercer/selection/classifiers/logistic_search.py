"""The search among kernels and Cs of logistic regression: all of them on few rows, few on all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError, until
from mercer.errors import IndefiniteKernelError
from mercer.estimators.refusals import refuse_by_landmarks, refuse_indefinite_kernel, with_points
from mercer.estimators.validation import training_subset
from mercer.gram import DenseGram, Gram, unheld_gram_of
from mercer.kernels import Kernel, recentred
from mercer.native.lapack import one_blas_thread
from mercer.planning import Settings, logistic_work
from mercer.planning.held_out import share_of_search
from mercer.planning.landmarks import landmarks_of_part
from mercer.planning.logistic import least_logistic, logistic_landmarks, planned_logistic_search
from mercer.planning.plan import Least, check_choice
from mercer.selection.classifiers.classes import ClassScores
from mercer.selection.classifiers.logistic_folds import fits, fold_of, is_unfinished, trained_on
from mercer.selection.classifiers.schedule import Schedule
from mercer.selection.results import Round
from mercer.selection.samples import distinct_rows, drawn, shuffled, stratified_parts
from mercer.selection.scoring import takes_weights
from mercer.selection.splits import Splits
from mercer.solvers import LogisticProblem, NystromNewton, Run, Solution
from mercer.solvers.logistic.leave_one_out import leave_one_out_scores
from mercer.solvers.logistic.newton import Descent
from mercer.tiles import Rows

Array = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LogisticSearch:
    """Rows of positive weight with their classes, and how candidates are scored on them.

    Parameters
    ----------
    X : rows
        An array, CSR matrix, table or finished Gram matrix.
    problem : LogisticProblem
        The problem of these rows, for any C.
    copies : array of shape (n,)
        How many equal rows every row stands for, one of which leave-one-out leaves out.
    reader : Kernel
        A kernel that reads the rows as all candidates do.
    splits : Splits
        What is held out.
    scores : ClassScores
        What is made of held-out scores.
    memory : int
        The limit in bytes.
    seed : int
        Where random pivots and samples come from.
    run : Run
        When to end: after that no candidate is begun but the first.
    schedule : Schedule
        How many rows and candidates every round has.
    by_landmarks : Settings, optional
        How landmarks stand for the rows, if they do.
    least : Least, optional
        The fewest that could, where nothing else fits.
    """

    X: Any
    problem: LogisticProblem
    copies: Array
    reader: Kernel
    splits: Splits
    scores: ClassScores
    memory: int
    seed: int
    run: Run
    schedule: Schedule = field(default_factory=Schedule)
    by_landmarks: Settings | None = None
    least: Least | None = None

    def __len__(self) -> int:
        return len(self.problem.codes)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.run.is_over()

    @property
    def settings(self) -> Settings:
        """How fits to these rows are solved, with no more landmarks than rows."""
        return landmarks_of_part(self.by_landmarks or Settings(memory=self.memory), len(self))

    def by_plan(self, settings: Settings, kernels: Sequence[Kernel]) -> LogisticSearch:
        """Return the search by landmarks where these are asked for, or an exact one takes too long.

        `settings` is what the estimator was told about how to solve.
        """
        fits = self.schedule.folds * self.schedule.tried_on_all
        least = least_logistic(settings, kernels[0], self.X, self.problem)
        for kernel in kernels:
            settings = planned_logistic_search(settings, kernel, self.X, self.problem, fits)
        found = settings.for_rows(self.X)
        return replace(
            self, by_landmarks=found if found.names(NystromNewton) else None, least=least
        )

    def leaving_a_fit(self, kernels: Sequence[Kernel], run: Run) -> LogisticSearch:
        """Return the search in as much of a run as leaves enough for one fit to all rows."""
        if run.time_limit is None:
            return replace(self, run=run)
        fits = [logistic_work(k, self.X, self.problem, self.settings) for k in kernels]
        longest = max(fits, key=lambda fit: fit.expected)
        return replace(self, run=run.share(share_of_search(longest, run.time_limit)))

    def on(self, rows: Positions) -> LogisticSearch:
        """Return the search on some of the rows."""
        return replace(
            self,
            X=training_subset(self.reader, self.X, rows),
            problem=trained_on(self.problem, rows),
            copies=self.copies[rows],
            splits=self.splits.on(rows),
        )

    def merged(self) -> LogisticSearch:
        """Return the same search on distinct rows, each with the weights and copies of its equals.

        So whole weights and repeated rows are one, in any order of the rows. Folds hold out rows by
        their places and a scorer without weights counts rows, for which equal rows stay apart.
        """
        scorer = self.scores.scorer
        if self.splits.pairs is not None or not (scorer is None or takes_weights(scorer)):
            return self
        weights, codes = self.problem.weights, self.problem.codes
        # In float32 one copy of a row that stands for three has the weight of one.
        single = (weights / self.copies).astype(np.float32)
        numbers = distinct_rows(self.reader, self.X, codes, single)
        _, first = np.unique(numbers, return_index=True)
        less, count = self.on(first), len(first)
        together, copies = np.zeros(count), np.zeros(count)
        np.add.at(together, numbers, weights)
        np.add.at(copies, numbers, self.copies)
        is_weighted = self.scores.is_weighted or count < len(self)
        return replace(
            less,
            problem=replace(less.problem, weights=together),
            copies=copies,
            scores=replace(self.scores, is_weighted=is_weighted),
        )

    @cached_property
    def _order(self) -> Positions:
        """The rows in a random order that follows from what they hold."""
        return shuffled(distinct_rows(self.reader, self.X, self.problem.codes), self.seed)

    def sample(self, size: int) -> tuple[LogisticSearch, float]:
        """Return the search on a random sample of the rows, and its share of their weight.

        Where rows are to be left out singly, the sample is trained on and some of the others are
        tested; folds are those of the sample. Which rows are taken follows from what they hold.
        """
        rough = replace(self, schedule=replace(self.schedule, gap=self.schedule.sample_gap))
        codes, weights, pairs = self.problem.codes, self.problem.weights, self.splits.pairs
        train, others = drawn(self._order, codes, size, self.schedule.of_a_class, pairs or ())
        share = float(weights[train].sum() / weights.sum())
        if pairs is not None or np.bincount(codes).min() < 2:
            return rough.on(np.sort(train)), share
        rows = np.sort(np.concatenate([train, others[: self.schedule.tested]]))
        is_trained = np.isin(rows, train)
        pair = (np.flatnonzero(is_trained), np.flatnonzero(~is_trained))
        return replace(rough.on(rows), splits=Splits(len(rows), [pair], is_pooled=True)), share

    def rounds(self, kernels: Sequence[Kernel], Cs: Sequence[Array]) -> list[Round]:
        """Return what is tried, the last of which decides: few rows first where there are many.

        By successive halving all candidates are scored on a small sample, the best kernels with
        the Cs from a tenth of their best upwards on a larger one, and the best kernel on all rows,
        with C times the sum of the weights kept. Where leaving out each row takes longer than a
        fit, it gives way to 3 folds.

        References
        ----------
        K. Jamieson and A. Talwalkar (2016), Non-stochastic best arm identification and
        hyperparameter optimization.
        """
        n, schedule = len(self), self.schedule
        few, more = schedule.sizes(self.problem.columns, self.problem.classes)
        if n <= few or sum(map(len, Cs)) <= schedule.few_candidates:
            whole = self if n <= few else self._on_all_rows()
            return [whole._round(kernels, Cs)]
        if self.run.time_limit is None:
            # Without a limit it ends on all rows, which is refused before a sample is tried.
            self._on_all_rows().check_room()
        sample, share = self.sample(few)
        tried = [sample._round(kernels, Cs, self._patience, share)]
        if n > more and not self.is_over:
            kernels, Cs = schedule.survivors(tried[-1], kernels, Cs, schedule.kernels)
            sample, share = self.sample(more)
            tried.append(sample._round(kernels, Cs, self._patience, share))
        if not self.is_over:
            kernels, Cs = schedule.survivors(tried[-1], kernels, Cs, 1)
            last = self._on_all_rows()._round(kernels, Cs, self._patience)
            if last.reaches(tried[-1]):
                return [*tried, last]
        return [*tried[:-1], replace(tried[-1], is_cut=True)]

    @property
    def _patience(self) -> int:
        """How many worse scores in a row end the Cs."""
        schedule = self.schedule
        return schedule.by_loss if self.scores.scorer is None else schedule.by_scorer

    def _on_all_rows(self) -> LogisticSearch:
        """Return the search on all rows, by folds if leaving out each takes too long."""
        is_quick = self.problem.columns == 1 and len(self) <= self.schedule.left_out
        if self.splits.pairs is not None or is_quick:
            return self
        counts = np.bincount(self.problem.codes)
        if counts.min() < self.schedule.folds:
            # A class of one or two rows is missed by some fold, and its rows are held out singly.
            return self
        pairs = stratified_parts(self._order, self.problem.codes, self.schedule.folds)
        return replace(self, splits=Splits(len(self), pairs, is_pooled=True))

    def _round(
        self,
        kernels: Sequence[Kernel],
        Cs: Sequence[Array],
        patience: int | None = None,
        share: float = 1.0,
    ) -> Round:
        """Return the scores of kernels with their Cs over a share of the weights.

        With `patience` the Cs end where `Schedule.is_past` says so.
        """
        grams = self._grams(kernels)
        tried: list[tuple[Kernel, Array, Array]] = []
        is_cut = False
        # Threads of the BLAS wait for each other longer than small products take.
        is_small = len(self) < Descent.rows_for_threads
        with one_blas_thread() if is_small else nullcontext():
            for gram, kernel, values in zip(grams, kernels, Cs, strict=True):
                if tried and self.is_over:
                    is_cut = True
                    break
                ascending = np.argsort(values, kind="stable")
                try:
                    with until(self.run.deadline):
                        given = (gram, kernel, values[ascending] / share, patience)
                        scores, is_short = self._scored(*given)
                except TimeIsUpError:
                    is_cut = True
                    if not tried:
                        tried.append(self._unscored(kernel, values))
                    break
                is_cut |= is_short
                # In the order given, without those that were not tried.
                back = np.argsort(ascending[: len(scores)])
                tried.append((kernel, values[ascending[back]], scores[back]))
        done, ended, found = zip(*tried, strict=True)
        return Round(
            done,
            ended,
            found,
            self._n_trained,
            self.splits.scored_folds,
            is_cut,
            # The log loss is that of all held-out rows; scores of a scorer are averaged over folds.
            shares=self.splits.shares(self.problem.weights) if self.scores.scorer is None else None,
        )

    def _grams(self, kernels: Sequence[Kernel]) -> Iterable[Gram]:
        """Return the Gram matrices of kernels, by landmarks or on rows whose views they share."""
        self.check_room()
        is_free = self.problem.fit_intercept
        solved = [recentred(k, self.X) if is_free else k for k in kernels]
        if self.by_landmarks is None:
            rows = Rows.of(self.X)
            return [unheld_gram_of(kernel, rows, self.memory) for kernel in solved]
        # One after the other: features are large.
        settings, columns = self.settings, self.problem.columns
        return (logistic_landmarks(settings, kernel, self.X, columns) for kernel in solved)

    def _unscored(self, kernel: Kernel, Cs: Array) -> tuple[Kernel, Array, Array]:
        """Return the C in the middle, without a score, where there was no time for any."""
        folds = self.splits.scored_folds
        scores = np.full((1, 1, 1 if folds is None else len(folds)), np.nan)
        return kernel, np.sort(Cs)[len(Cs) // 2 :][:1], scores

    @property
    def _n_trained(self) -> int:
        """The number of rows, without those that a sample is tested on."""
        match self.splits.pairs:
            case [(train, _)]:
                return len(train)
        return len(self)

    def _scored(
        self, gram: Gram, kernel: Kernel, Cs: Array, patience: int | None
    ) -> tuple[Array, bool]:
        """Return the scores of ascending Cs, (Cs, 1, folds), and whether time ended them."""
        is_single = self.splits.pairs is None
        if gram.landmarks is None:
            K: Gram = DenseGram(gram.dense(), self.memory, gram)
            refuse_indefinite_kernel(kernel, self.X, K)
        else:
            refuse_by_landmarks(kernel, self.X, self.memory)
            # Rows that are left out one by one are few.
            K = DenseGram(gram.dense(), self.memory) if is_single else gram
        try:
            if is_single:
                scores, is_cut = self._left_out(K, Cs, patience)
                return scores[:, None, None], is_cut
            scores, is_cut = self._by_folds(K, Cs, patience)
            return scores[:, None], is_cut
        except IndefiniteKernelError as error:
            raise with_points(error, kernel, self.X) from None

    def _left_out(self, K: Gram, Cs: Array, patience: int | None) -> tuple[Array, bool]:
        """Return about the scores of all rows by the fits without them, of shape (Cs,)."""

        def scored(problem: LogisticProblem, s: Solution) -> Array:
            return leave_one_out_scores(K, problem, s.coefficients, s.intercept, self.copies)

        every = np.arange(len(self))
        _, found, is_cut = self._path(K, self.problem, Cs, scored, every, patience)
        return np.array(found), is_cut

    def _by_folds(self, K: Gram, Cs: Array, patience: int | None) -> tuple[Array, bool]:
        """Return the scores of test rows by the fits to their training rows, (Cs, folds)."""
        is_cut = False
        folds: list[list[Array]] = []
        found: list[list[float]] = []
        for train, test in self.splits.pairs or ():
            part, scored = fold_of(K, train, test)
            fold, scores, is_short = self._path(
                part, trained_on(self.problem, train), Cs, scored, test, patience
            )
            # The first fold says for all where to end.
            Cs, patience = Cs[: len(scores)], None
            is_cut |= is_short
            folds.append(fold)
            found.append(scores)
        count = len(Cs)
        if not self.splits.is_pooled:
            return np.array([some[:count] for some in found]).T, is_cut
        tested = self.splits.tested
        together = [np.concatenate([F[i] for F in folds]) for i in range(count)]
        return np.array([[self._judged(F, tested)] for F in together]), is_cut

    def _path(
        self,
        gram: Gram,
        problem: LogisticProblem,
        Cs: Array,
        scored: Callable[[LogisticProblem, Solution], Array],
        rows: Positions,
        patience: int | None,
    ) -> tuple[list[Array], list[float], bool]:
        """Return what ascending Cs say of some rows, how good that is, and whether time ended them.

        What a fit says of these rows is `scored`.
        """
        said: list[Array] = []
        found: list[float] = []
        for each, s in fits(gram, problem, Cs, self.schedule.gap, self.seed, self.run.part()):
            said.append(scored(each, s))
            found.append(self._judged(said[-1], rows))
            if patience and self.schedule.is_past(found, patience):
                break
            if self.is_over:
                return said, found, len(found) < len(Cs) or is_unfinished(s)
        return said, found, False

    def _judged(self, F: Array, rows: Positions) -> float:
        """Return the score of held-out scores at some rows."""
        X = None if self.scores.scorer is None else training_subset(self.reader, self.X, rows)
        return self.scores(F, X, self.problem.codes[rows], self.problem.weights[rows])

    @property
    def bytes(self) -> int:
        """The bytes that one kernel takes."""
        if self.by_landmarks is not None:
            # They are counted where they are chosen.
            return 0
        m = self.problem.columns
        # The Gram matrix, and beside it what leaving out or a fold takes.
        arrays = 3 if m == 1 or self.splits.pairs is not None else 2 * m + 5
        return 8 * arrays * len(self) ** 2

    def check_room(self) -> None:
        """Refuse a kernel that takes more than the limit."""
        check_choice(len(self), self.bytes, self.memory, least=self.least)
