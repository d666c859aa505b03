"""The search: the scores of all alphas for each of many kernels on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import MEMORY
from mercer.data.limits.deadline import TimeIsUpError
from mercer.data.limits.memory import memory_limit
from mercer.data.stream import Stream
from mercer.errors import IndefiniteKernelError
from mercer.estimators.validation import training_subset
from mercer.gram import unheld_gram_of
from mercer.kernels import Kernel, recentred
from mercer.native import NotPositiveError
from mercer.native.core import thread_count
from mercer.native.lapack import one_blas_thread
from mercer.native.threads import in_pool
from mercer.planning import Settings, ridge_work
from mercer.planning.entries import entry_work
from mercer.planning.held_out import LandmarkErrors, entries_held_out, share_of_search
from mercer.planning.landmarks import FEW, may_have_landmarks
from mercer.planning.plan import Least, check_choice
from mercer.planning.rates import Work
from mercer.selection.held_out import held_out_errors, held_out_losses
from mercer.selection.refusals import singular_reason
from mercer.selection.results import Round
from mercer.selection.scoring import Scores
from mercer.selection.sources import (
    Chain,
    EntrySource,
    FeatureSource,
    LandmarkSource,
    Source,
    entry_bytes,
    structured_source,
)
from mercer.selection.splits import Splits
from mercer.solvers import NystromRidge, RidgeProblem, Run
from mercer.tiles import Rows

Array = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Search:
    """Rows of positive weight with their targets, and how candidates are scored on them.

    Parameters
    ----------
    rows : Rows
        The rows, of an array, CSR matrix, table or finished Gram matrix, with the views that the
        candidates have of them.
    y : array of shape (n, targets)
        The targets, counted in their units.
    units : array of shape (targets,)
        The units, in which squares of errors are numbers.
    weights : array of shape (n,)
        Positive weights.
    copies : array of shape (n,)
        How many equal rows every row stands for, one of which leave-one-out leaves out.
    reader : Kernel
        A kernel that reads the rows as all candidates do.
    fit_intercept : bool
        Whether there is an offset.
    splits : Splits, optional
        The folds; None is generalised cross-validation.
    scores : Scores
        What is made of held-out errors.
    memory : int, optional
        What a limit leaves, in bytes, if one was given.
    run : Run
        When to end: candidates that are not scored by then have no scores.
    seconds : float
        What is meant to be scored here takes so long at most, counted and not timed.
    by_landmarks : Settings, optional
        How landmarks are chosen, where all fits are by landmarks.
    least : Least, optional
        The fewest landmarks that could be, where nothing else fits.
    unusable : dict
        Why candidates could not be fitted, by kernel and ridge.
    limits : list of int
        The limit in bytes once it was asked for, of the parts of a search as well: what is free
        changes, and rounds are not to differ by it.
    """

    # Rows below which one kernel is not worth the threads of the BLAS.
    rows_for_threads: ClassVar[int] = 1000

    rows: Rows
    y: Array
    units: Array
    weights: Array
    copies: Array
    reader: Kernel
    fit_intercept: bool
    splits: Splits | None
    scores: Scores
    memory: int | None
    run: Run
    seconds: float = np.inf
    by_landmarks: Settings | None = None
    least: Least | None = None
    unusable: dict[tuple[Kernel, float], str] = field(default_factory=dict)
    limits: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def X(self) -> Any:
        """The rows in the form in which they came."""
        return self.rows.X

    @property
    def limit(self) -> int:
        """The limit in bytes; if none was given a share of what was free when it was asked for."""
        if not self.limits:
            self.limits.append(memory_limit(self.memory))
        return self.limits[0]

    def on(self, index: Positions) -> Search:
        """Return the search on some of the rows."""
        return replace(
            self,
            rows=Rows(training_subset(self.reader, self.X, index), "X"),
            y=self.y[index],
            weights=self.weights[index],
            copies=self.copies[index],
            splits=None if self.splits is None else self.splits.on(index),
        )

    def by_plan(
        self, settings: Settings, kernels: Sequence[Kernel], alphas: Sequence[Array]
    ) -> Search:
        """Return the search by landmarks where these are asked for, or an exact one takes too long.

        An exact search ends with the held-out errors of one kernel on all rows.

        Parameters
        ----------
        settings : Settings
            What the estimator was told about how to solve.
        kernels, alphas
            The candidates.
        """
        # Of few rows nothing would be saved.
        is_asked = settings.is_open and (len(self) > FEW or settings.has_landmarks)
        may = is_asked and all(may_have_landmarks(settings, kernel) for kernel in kernels)
        if not (may or settings.names(NystromRidge) or isinstance(self.X, Stream)):
            return replace(self, by_landmarks=None, least=None)
        least, landmarks = None, self._errors(max(map(len, alphas))).by_landmarks(settings)
        if may:
            exact = max(map(self._exact_work, kernels, alphas), key=lambda work: work.cost)
            least = landmarks.least(settings, kernels[0])
            settings = landmarks.chosen(settings, kernels[0], exact)
        found = settings.for_rows(self.X) if isinstance(self.X, Stream) else settings
        by_landmarks = landmarks.within_memory(found) if found.names(NystromRidge) else None
        return replace(self, by_landmarks=by_landmarks, least=least)

    def _errors(self, alphas: int) -> LandmarkErrors:
        (n, targets), is_judged = self.y.shape, self.scores.scorer is not None
        return LandmarkErrors(n, targets, alphas, self.splits, is_judged)

    def _exact_work(self, kernel: Kernel, alphas: Array) -> Work:
        """Return what held-out errors of a kernel take without landmarks; infinite if no room."""
        source = self._without_entries(kernel, alphas)
        if source is not None:
            return Work(double=source.work)
        is_held = not isinstance(self.X, Stream)
        has_room = is_held and entry_bytes(len(self), self.splits) <= self.limit
        # Entries are few beside the work on them.
        steps = min(entries_held_out(len(self), self.splits, len(alphas)))
        return Work(double=steps if has_room else np.inf)

    def leaving_a_fit(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> Search:
        """Return the search in as much of the time as leaves enough for one fit to all rows."""
        limit = self.run.time_limit
        if limit is None:
            return self
        targets = np.ones(self.y.shape[1])
        fits = [
            ridge_work(
                k,
                self.X,
                RidgeProblem(self.y, np.median(a) * targets, self.weights, self.fit_intercept),
                self.by_landmarks or Settings(memory=self.memory),
            )
            for k, a in zip(kernels, alphas, strict=True)
        ]
        share = share_of_search(max(fits, key=lambda fit: fit.expected), limit)
        return replace(self, run=self.run.share(share), seconds=share * limit)

    def is_in_time(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> bool:
        """Whether all is expected to be scored in the time that there is."""
        return self.seconds == np.inf or self.expected(kernels, alphas) <= self.seconds

    def expected(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> float:
        """Return the seconds that scoring takes by its counts and the rates of a processor."""
        return self.work(kernels, alphas).expected

    def work(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> Work:
        """Return what scoring takes, counted."""
        whole = Work()
        for kernel, ridges in zip(kernels, alphas, strict=True):
            source = self._structured(kernel, ridges)
            if source is not None:
                whole += Work(double=source.work)
                continue
            steps = min(entries_held_out(len(self), self.splits, len(ridges)))
            whole += Work(double=steps) + 0.5 * len(self) ** 2 * entry_work(kernel, self.X)
        return whole

    def round_of(
        self, kernels: Sequence[Kernel], alphas: Sequence[Array], share: float = 1.0
    ) -> Round:
        """Return all kernels with their alphas, tried here with that share of each alpha."""
        scores = self.scored(kernels, [share * a for a in alphas])
        folds = None if self.splits is None else self.splits.scored_folds
        is_cut = bool(self.run.ended_by)
        return Round(
            kernels, alphas, scores, len(self), folds, is_cut, self._units_of_scores, self._shares
        )

    @property
    def _shares(self) -> Array | None:
        """What every fold counts: losses are of all held-out rows, and scores are averaged."""
        if self.splits is None or self.scores.scorer is not None:
            return None
        return self.splits.shares(self.weights)

    @property
    def _units_of_scores(self) -> Array | None:
        if self.scores.scorer is not None:
            # It judges errors in the unit of the data.
            return None
        return self.units if self.scores.per_target else self.units[:1]

    def scored(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> list[Array]:
        """Return the scores of every kernel, of shape (alphas, columns, folds) each.

        What is not made of folds, leave-one-out and generalised cross-validation, counts as one.
        Kernels that the time was too short for have scores that are not numbers.
        """
        try:
            # Nothing has to be measured afterwards, for which there would be time beyond the limit.
            with self.run.punctual():
                return self._all_scored(kernels, alphas)
        except TimeIsUpError:
            self.run.ended_by = "time"
            return [self._unscored(a) for a in alphas]

    def _all_scored(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> list[Array]:
        sources = self._sources(kernels, alphas)
        # Several kernels side by side keep the processors busy without waiting for each other, as
        # the threads of the BLAS do in every product, the longer the smaller it is.
        is_coarse = len(kernels) > 1 or len(self) < self.rows_for_threads
        jobs = list(zip(sources, kernels, alphas, strict=True))
        with one_blas_thread() if is_coarse else nullcontext():
            return in_pool(lambda job: self._scored_in_time(*job), jobs, self._at_once(sources))

    def _scored_in_time(self, source: Source, kernel: Kernel, alphas: Array) -> Array:
        try:
            if not self.run.is_over():
                return self._scored(source, kernel, alphas)
        except TimeIsUpError:
            self.run.ended_by = "time"
        return self._unscored(alphas)

    def _unscored(self, alphas: Array) -> Array:
        """Return the scores of a kernel that there was no time for."""
        folds = None if self.splits is None else self.splits.scored_folds
        columns = self.y.shape[1] if self.scores.per_target else 1
        return np.full((len(alphas), columns, 1 if folds is None else len(folds)), np.nan)

    def is_quick(self, kernels: Sequence[Kernel], alphas: Sequence[Array], work: float) -> bool:
        """Whether structure spares every kernel its matrix and more than so many steps."""
        return all(
            source is not None and source.work <= work
            for source in map(self._structured, kernels, alphas)
        )

    def _structured(
        self, kernel: Kernel, alphas: Array
    ) -> FeatureSource | Chain | LandmarkSource | None:
        if self.by_landmarks is not None:
            kernel = self._solved_with(kernel)
            errors = self._errors(len(alphas))
            return LandmarkSource.of(kernel, self.X, self.by_landmarks, errors)
        return self._without_entries(kernel, alphas)

    def _without_entries(self, kernel: Kernel, alphas: Array) -> FeatureSource | Chain | None:
        return structured_source(kernel, self.rows, self.y, self.splits, len(alphas), self.memory)

    def _solved_with(self, kernel: Kernel) -> Kernel:
        """Return the kernel that an offset makes of one that is valid on sums of zero alone."""
        is_recentred = self.fit_intercept and kernel.is_conditional
        return recentred(kernel, self.X) if is_recentred else kernel

    def _sources(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> list[Source]:
        """Return where the fits of every kernel come from, on rows whose views they share."""
        return [
            self._structured(kernel, ridges) or self._entries(kernel)
            for kernel, ridges in zip(kernels, alphas, strict=True)
        ]

    def _entries(self, kernel: Kernel) -> EntrySource:
        k, needed = self._solved_with(kernel), entry_bytes(len(self), self.splits)
        return EntrySource(k, self.X, unheld_gram_of(k, self.rows, self.memory), needed)

    def _scored(self, source: Source, kernel: Kernel, alphas: Array) -> Array:
        """Return the scores of a kernel; ridges with which it is singular have none."""
        scores, usable = self._unscored(alphas), np.arange(len(alphas))
        while len(usable):
            try:
                scores[usable] = self._scored_at(source, alphas[usable])
                break
            except NotPositiveError as failure:
                worst = usable[failure.position]
                alpha = float(alphas[worst])
                reason = self._reason(kernel, alpha)
                if isinstance(reason, IndefiniteKernelError) or kernel.is_conditional:
                    raise reason from None
                self.unusable[kernel, alpha] = str(reason)
                usable = usable[usable != worst]
        return scores

    def _scored_at(self, source: Source, alphas: Array) -> Array:
        held = source.held()
        if self.splits is None:
            fits = held.path(self.weights, self.fit_intercept).at(self.y, alphas)
            more = float((self.copies - 1.0).sum())
            return self.scores.of_losses(fits.generalised(more)[:, :, None])
        rows = (held, self.y, self.weights, self.copies)
        how = (alphas, self.fit_intercept, self.splits)
        if self.scores.scorer is None:
            return self.scores.of_losses(held_out_losses(*rows, *how))
        at_once = source.at_once if isinstance(source, LandmarkSource) else None
        scores, tests = self._unscored(alphas), self.splits.tests
        for ridges, fold, errors in held_out_errors(*rows, *how, at_once):
            scores[ridges, :, fold] = self._judged(errors, tests[fold])
        return scores

    def _judged(self, errors: Array, rows: Positions) -> Array:
        """Return the scores of errors at some rows, of shape (alphas, columns)."""
        X = training_subset(self.reader, self.X, rows)
        errors *= self.units
        return self.scores(errors, X, self.y[rows] * self.units, self.weights[rows])

    def _reason(self, kernel: Kernel, alpha: float) -> Exception:
        """Return why K + alpha W^-1 could not be inverted."""
        rows = (self.X, self.y, self.weights)
        return singular_reason(kernel, alpha, rows, self.fit_intercept, self.memory)

    def bytes(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> list[int]:
        """Return the memory that every kernel takes on all rows."""
        return [source.bytes for source in self._sources(kernels, alphas)]

    def check_room(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> None:
        """Refuse kernels of which none has the memory that it takes on all rows."""
        self._check(min(self.bytes(kernels, alphas)))

    def _at_once(self, sources: Sequence[Source]) -> int:
        """Return how many kernels are scored side by side: there is memory for so many."""
        count, needed = min(thread_count(), len(sources)), max(source.bytes for source in sources)
        # Blocks of rows are taken everywhere without asking how much is free.
        if self.memory is None and count * needed <= 8 * MEMORY:
            return count
        self._check(needed)
        return min(count, self.limit // needed)

    def _check(self, needed: int) -> None:
        """Refuse what takes more bytes than the limit."""
        hint = ""
        if self.by_landmarks is not None:
            hint = " or landmarks"
        elif self.splits is not None and needed <= 2 * self.limit:
            hint = ", or use cv='gcv', which needs half as much"
        check_choice(len(self), needed, self.limit, hint, self.least)
