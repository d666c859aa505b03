"""The search for a kernel: learned on some of the rows, judged on rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from mercer.data.columns import take_rows
from mercer.data.limits.memory import lacking, steady_limit
from mercer.errors import KernelOverflowError, MemoryLimitError, SingularSystemError
from mercer.estimators.validation import training_subset
from mercer.gram import gram_of
from mercer.kernels import Kernel
from mercer.kernels.params import rounded
from mercer.kernels.tables.roles import kept_among
from mercer.learning import learn, rows_to_give
from mercer.learning.weights import learned_weights
from mercer.native.core import thread_count
from mercer.native.lapack import one_blas_thread
from mercer.native.threads import in_pool
from mercer.selection.automatic.board import Candidate, Judged, Leaderboard, Recipe, simplest_first
from mercer.selection.automatic.kernels import Start, at_widths, in_family, starts, unit_of
from mercer.selection.automatic.left_out import group_numbers, left_out, vary_alike, wrong_share
from mercer.selection.automatic.mean import with_mean
from mercer.selection.automatic.pool import distinct_of, pool_of
from mercer.selection.automatic.sums import DIGITS, recipes, to_learn_on, together, weighted_sum
from mercer.selection.grid import reader_of
from mercer.solvers import Run
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.rounding import usual_unit
from mercer.tiles import Rows

Array = NDArray[np.float64]
Sample = NDArray[np.intp]
Job = Callable[[], Candidate]
# Why one kernel cannot be fitted where another can.
REFUSALS = (KernelOverflowError, MemoryLimitError, SingularSystemError)


@dataclass(frozen=True, eq=False)
class KernelSearch:
    """Rows and targets, and how kernels are compared on them.

    Parameters
    ----------
    X : rows
        Checked rows.
    y : array of shape (n, targets)
        Numbers; classes as 1 and -1.
    weights : array of shape (n,)
        Positive weights, of mean 1.
    unit : float
        The mean weight before: ridges are in units of it.
    index : array of shape (n,)
        Which of the rows that were given they are.
    memory : int
        The limit of memory in bytes.
    seed : int
        Seed of the samples.
    run : Run
        When to end.
    groups : array of shape (n,), optional
        The numbers of groups of rows, which are left out together.
    is_classes : bool
        Whether targets are those of classes: of two one column, of more a column each.
    keep : sequence of str or int
        Columns that are no identifiers, see `starts`.
    y_unit : float
        What all targets are counted in, so that the sums of their squared errors are numbers.
    """

    # Rows of the first round, in which every kernel is tried; of the second, in which the best
    # learn on; and rows that are left out one by one to judge these.
    first_rows: ClassVar[int] = 400
    second_rows: ClassVar[int] = 800
    judged_rows: ClassVar[int] = 1000
    # Iterations of the first kernel, of those that start from its scales, and of the second round.
    first_steps: ClassVar[int] = 20
    warm_steps: ClassVar[int] = 8
    second_steps: ClassVar[int] = 12
    # How many of the first round are judged again, of learned ones and of others, and how many make
    # a sum of which nothing but the weights are learned.
    finalists: ClassVar[int] = 2
    mixed: ClassVar[int] = 6
    # Rows below which scales are not learned: there would be as many as rows.
    least_rows: ClassVar[int] = 30
    # The share of a time limit that the first round may take, and both.
    first_share: ClassVar[float] = 0.4
    both_shares: ClassVar[float] = 0.7
    # Ridges around the learned one that are tried, as factors, and those of a kernel as it is,
    # beside the mean of k(x, x).
    ridges: ClassVar[tuple[float, ...]] = (0.3, 1.0, 3.0)
    plain_ridges: ClassVar[tuple[float, ...]] = (1e-4, 1e-2, 0.3)
    # The least ridge beside the mean of k(x, x): with less, rounding is what is fitted.
    least_ridge: ClassVar[float] = 1e-7
    # Folds of rows on which models are compared that are fitted again in each.
    n_folds: ClassVar[int] = 5
    # Bytes for every pair of rows that are learned from or judged: K, and what either engine makes
    # of it; and for the matrix of each term whose weight is learned.
    pair_bytes: ClassVar[int] = 56
    term_bytes: ClassVar[int] = 8

    X: Any
    y: Array
    weights: Array
    unit: float
    index: Sample
    memory: int
    seed: int
    run: Run
    groups: Sample | None = None
    is_classes: bool = False
    keep: Any = ()
    y_unit: float = 1.0

    @classmethod
    def of(
        cls,
        reader: Kernel,
        X: Any,
        y: Array,
        weights: Array,
        memory: Any,
        seed: int,
        run: Run,
        groups: Any = None,
        is_classes: bool = False,
        keep: Any = (),
    ) -> KernelSearch:
        """Return the search on the distinct ones of weighted rows.

        Equal rows with equal targets are one row of the weight of all: copies of a row would give
        it away when it is left out. Of very many rows some are drawn first, and those of a stream
        are read into memory. The `reader` is a kernel that reads the rows.
        """
        numbers = None if groups is None else group_numbers(groups, len(y))
        # What is free differs from call to call, and samples must not.
        limit = steady_limit(memory)
        pool = pool_of(X, limit, seed, 2 * cls.judged_rows)
        if pool is not None:
            X, y, weights = take_rows(X, pool), y[pool], weights[pool]
            numbers = None if numbers is None else numbers[pool]
        # Of the codes of classes one column tells all.
        told = y.argmax(axis=1) if is_classes and y.shape[1] > 1 else y
        index, w = distinct_of(X, weights, told, *([] if numbers is None else [numbers]))
        rows = X if len(index) == len(y) else training_subset(reader, X, index)
        y, unit = y[index], float(w.mean())
        numbers = None if numbers is None else numbers[index]
        if numbers is not None and len(np.unique(numbers)) < 2:
            raise ValueError("groups must hold two groups of positive weight at least, got one")
        y_unit = usual_unit(float(np.abs(y).max(initial=0.0)))
        index = index if pool is None else pool[index]
        of_rows = (rows, y / y_unit, w / unit, unit, index, limit)
        # What the reader does not read, as a column of one value, is no part of the rows.
        return cls(*of_rows, seed, run, numbers, is_classes, kept_among(keep, rows), y_unit)

    def winners(self) -> Leaderboard:
        """Return all candidates, the chosen one first."""
        with one_blas_thread():
            tried = self._first_round()
            finalists = self._second_round(tried)
        # Without the time for a second round, or where it cannot be fitted, the first decides.
        return self.ranked(finalists, tried)

    def ranked(self, finalists: list[Candidate], others: Iterable[Candidate]) -> Leaderboard:
        """Return candidates judged on the same rows, best first, their mean, and the others."""
        rest = [c for c in others if c.name not in {f.name for f in finalists}]
        rows = self.sample(self.judged_rows)
        groups = rows if self.groups is None else self.groups[rows]
        given = (partial(self._scored, rows), self.weights[rows], groups)
        ranked = (*with_mean(simplest_first(finalists), *given), *rest)
        return Leaderboard.of(ranked[0], ranked[1:], self.is_classes)

    def _first_round(self) -> list[Candidate]:
        """Return all candidates by their errors on a few rows, best first.

        Learned kernels start from the scales of one that leads, if that is better than all that
        are not learned: where it took the targets for noise, the others would find nothing else.
        """
        sample, limit = self.sample(self.first_rows), self.run.share(self.first_share)
        every = starts(self.X, len(sample) >= self.least_rows, self.keep)
        self.run.enter(f"trying {len(every)} kernels on {len(sample)} rows")
        ahead = [start for start in every if start.leads or not start.is_learned]
        found = self._tried_side_by_side(ahead, None, sample, limit)
        # Without the time for any the first is tried all the same.
        found = found or [_or_refusal(lambda: self._tried(ahead[0], None, sample, limit))]
        best = min(
            (c for c in found if isinstance(c, Candidate)), key=attrgetter("error"), default=None
        )
        leader = best if best is not None and best.is_learned else None
        rest = [start for start in every if start not in ahead]
        # A sum of many terms takes longest: no thread is to wait for it at the end.
        rest.sort(key=lambda start: len(start.terms), reverse=True)
        found += self._tried_side_by_side(rest, leader, sample, limit)
        tried = [c for c in found if isinstance(c, Candidate)]
        if not tried:
            raise next(c for c in found if isinstance(c, ValueError))
        return sorted(tried, key=attrgetter("error"))

    def _tried_side_by_side(
        self, each: Sequence[Start], leader: Candidate | None, sample: Sample, limit: Run
    ) -> list[Candidate | ValueError]:
        jobs = [partial(self._tried, start, leader, sample, limit) for start in each]
        return self._side_by_side(jobs, [_bytes(sample, len(s.terms)) for s in each], limit)

    def _side_by_side(
        self, jobs: Sequence[Job], needed: Sequence[int], limit: Run
    ) -> list[Candidate | ValueError]:
        """Return what came of each job that there was time for, on as many threads as fit.

        Of the bytes that jobs need, those beyond the limit are of jobs that are refused.
        """
        largest = max((n for n in needed if n <= self.memory), default=self.memory)
        found = in_pool(
            lambda job: None if limit.is_over() else _or_refusal(job),
            jobs,
            min(thread_count(), self.memory // largest),
        )
        return [c for c in found if c is not None]

    def _second_round(self, tried: list[Candidate]) -> list[Candidate]:
        """Return the best as they are, and learned on more rows alone and as a sum, best first.

        What is likeliest need not predict rows left out better than where it started.
        """
        learned = [c for c in tried if c.is_learned]
        plain = [c for c in tried if not c.is_learned]
        limit = self.run.share(self.both_shares)
        entering = [(c, self.second_steps) for c in to_learn_on(self.X, learned)]
        entering += [(c, 0) for c in (*learned[: self.finalists], *plain[: self.finalists])]
        jobs: list[Job] = [partial(self._refined, c, steps, limit) for c, steps in entering]
        needed = [_bytes(self.sample(self.judged_rows))] * len(jobs)
        if len(learned) > 1:
            mixed = learned[: self.mixed]
            jobs.insert(0, partial(self._mixed, mixed, limit))
            needed.insert(0, _bytes(self.sample(self.second_rows), len(mixed)))
        self.run.enter(f"learning the best on, on up to {self.second_rows} rows")
        found = self._side_by_side(jobs, needed, limit)
        # Of those that were refused the candidates of the first round stay.
        return sorted((c for c in found if isinstance(c, Candidate)), key=attrgetter("error"))

    @property
    def scored_by(self) -> str:
        """How rows are left out."""
        return "leave-one-out" if self.groups is None else "leave-one-group-out"

    @property
    def judged(self) -> Sample:
        """Which of the rows that were given the last round judges kernels on."""
        return self.index[self.sample(self.judged_rows)]

    def sample(self, most: int) -> Sample:
        """Return at most so many of the rows, as memory allows, at random and in order."""
        n, most = len(self.y), min(most, max(2, int((self.memory / self.pair_bytes) ** 0.5)))
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(self.seed).choice(n, most, replace=False))

    def folds(self, sample: Sample, labels: Sample) -> list[tuple[Sample, Sample]] | None:
        """Return folds of whole groups of some rows, with their classes; None without groups."""
        if self.groups is None:
            return None
        groups = self.groups[sample]
        splitter = StratifiedGroupKFold(min(self.n_folds, len(np.unique(groups))))
        return list(splitter.split(labels, labels, groups))

    def _rows(self, kernel: Kernel, sample: Sample) -> Any:
        return self.X if len(sample) == len(self.y) else training_subset(kernel, self.X, sample)

    def _tried(
        self, start: Start, learned: Candidate | None, sample: Sample, limit: Run
    ) -> Candidate:
        """Return a candidate of the first round."""
        began, recipe = perf_counter(), Recipe(start)
        if not start.is_learned:
            rows = Rows.of(self._rows(start.kernel, sample))
            kernels = at_widths(start.kernel.resolved(rows, self.weights[sample]))
            found = min(
                (self._judged(k, self.plain_ridges, unit_of(k, rows), sample) for k in kernels),
                key=lambda judged: float(judged.squares.sum()),
            )
        elif start.terms:
            kernel, alpha = self._weighted(start.terms, sample, self.first_steps, limit)
            found = self._judged(kernel, self.ridges, alpha, sample)
        elif learned is None or start.family is None:
            kernel, alpha = self._learned(start.kernel, None, sample, self.first_steps, limit)
            found = self._judged(kernel, self.ridges, alpha, sample)
        else:
            kernel = in_family(learned.kernel, start)
            kernel, alpha = self._learned(kernel, learned.alpha, sample, self.warm_steps, limit)
            found = self._judged(kernel, self.ridges, alpha, sample)
            recipe = Recipe(start, recipes([learned]))
        told = (*found[:4], self.scored_by, len(sample), start.is_learned, perf_counter() - began)
        return Candidate(start.name, *told, missed=found.missed, recipe=recipe)

    def _refined(self, candidate: Candidate, steps: int, limit: Run) -> Candidate:
        """Return a candidate judged on more rows, after some steps of learning on more, or none."""
        began = perf_counter()
        kernel, alpha = candidate.kernel, candidate.alpha
        if steps:
            sample = self.sample(self.second_rows)
            kernel, alpha = self._learned(kernel, alpha, sample, steps, limit)
        judged = self.sample(self.judged_rows)
        if not steps and candidate.rows == len(judged):
            # The first round had all these rows.
            return candidate
        found = self._judged(kernel, self.ridges, alpha, judged)
        seconds = candidate.seconds + perf_counter() - began
        return replace(candidate, **found._asdict(), rows=len(judged), seconds=seconds)

    def _learned(
        self, kernel: Kernel, alpha: float | None, sample: Sample, steps: int, limit: Run
    ) -> tuple[Kernel, float]:
        more = rows_to_give(self.X, len(sample))
        given = self.sample(more) if more > len(sample) else sample
        found = learn(
            kernel,
            self._rows(kernel, given),
            self.y[given],
            alpha=alpha,
            rows=len(sample),
            max_iter=steps,
            sample_weight=self.weights[given],
            time_limit=limit.rest,
            memory=self.memory,
        )
        # What is printed is what runs, and more digits than these the data cannot tell.
        return rounded(found.kernel, DIGITS), float(f"{found.alpha:.{DIGITS}g}")

    def _weighted(
        self, terms: Sequence[Kernel], sample: Sample, steps: int, limit: Run
    ) -> tuple[Kernel, float]:
        """Return the sum of some kernels with learned weights, and the ridge."""
        rows, weights = self._rows(reader_of(list(terms)), sample), self.weights[sample]
        needed = _bytes(sample, len(terms))
        if needed > self.memory:
            raise MemoryLimitError(
                f"{len(terms)} matrices of {len(sample)} rows need {lacking(needed, self.memory)}"
            )
        terms = [term.resolved(rows, weights) for term in terms]
        problem = RidgeProblem(self.y[sample], np.ones(1), weights, True)
        c, alpha = learned_weights(terms, rows, problem, steps, limit)
        return weighted_sum(terms, c), float(f"{alpha:.{DIGITS}g}")

    def _mixed(self, candidates: Sequence[Candidate], limit: Run) -> Candidate:
        """Return the sum of kernels of which nothing but weights are learned on more rows."""
        mean, began = together(candidates), perf_counter()
        terms = [(1.0 / c.alpha) * c.kernel for c in candidates]
        kernel, alpha = self._weighted(terms, self.sample(self.second_rows), self.warm_steps, limit)
        seconds = perf_counter() - began
        name = mean.name.replace("sum of", "weighted sum of").removesuffix(", learned")
        recipe = Recipe(terms=recipes(candidates), is_mixed=True)
        made = replace(mean, name=name, kernel=kernel, alpha=alpha, recipe=recipe)
        return self._refined(replace(made, rows=0, seconds=seconds), 0, limit)

    def _judged(
        self, kernel: Kernel, factors: Sequence[float], alpha: float, sample: Sample
    ) -> Judged:
        """Return a kernel with the best of some ridges, and its errors on rows left out."""
        rows, y, w = Rows.of(self._rows(kernel, sample)), self.y[sample], self.weights[sample]
        least = self.least_ridge * unit_of(kernel, rows)
        alphas = np.unique([max(alpha * factor, least) for factor in factors])
        few = self.sample(self.first_rows)
        if len(alphas) > 1 and len(sample) > len(few) and vary_alike(self.y, few, sample):
            # Which ridge is the best a few rows tell as well, in a tenth of the time.
            alphas = np.array([self._judged(kernel, factors, alpha, few).alpha])
        groups = None if self.groups is None else self.groups[sample]
        missed = left_out(gram_of(kernel, rows, self.memory), y, alphas, w, groups)
        best = int(np.argmin((w[:, None, None] * missed**2).sum(axis=(0, 2))))
        squares, score = self._scored(sample, missed[:, best])
        return Judged(kernel, float(alphas[best]), squares, score, missed[:, best])

    def _scored(self, sample: Sample, missed: Array) -> tuple[Array, float]:
        """Return the squared error of every row of a sample, and the score of a leaderboard."""
        w, y = self.weights[sample], self.y[sample]
        squares = w * (missed**2).mean(axis=1)
        if self.is_classes:
            return squares, wrong_share(y, y - missed, w)
        return squares, self.y_unit * float(np.sqrt(squares.mean()))


def _bytes(sample: Sample, terms: int = 0) -> int:
    """Return what a kernel takes on some rows, with the matrices of terms beside its own."""
    return (KernelSearch.pair_bytes + KernelSearch.term_bytes * terms) * len(sample) ** 2


def _or_refusal(run: Callable[[], Candidate]) -> Candidate | ValueError:
    """Return a candidate, or why there is none."""
    try:
        return run()
    except REFUSALS as error:
        return error
