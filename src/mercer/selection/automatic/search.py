"""The tournament of kernels: learned on a few rows, judged on rows left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.distinct import row_numbers
from mercer.data.listing import as_frame, as_html, as_text
from mercer.errors import ConvergenceWarning
from mercer.estimators.validation import training_subset
from mercer.kernels import Kernel
from mercer.kernels.tangents import real_parameters
from mercer.learning import learn
from mercer.selection.automatic.kernels import Start, starts
from mercer.selection.ridge import KernelRidgeCV
from mercer.solvers import Run

Array = NDArray[np.float64]

# Rows and iterations of the first round, in which every kernel is tried, and of the second, which
# the best enter; and the rows on which these are judged.
FIRST_ROWS, FIRST_STEPS = 500, 20
SECOND_ROWS, SECOND_STEPS = 1200, 30
JUDGED_ROWS = 3000
# How many enter the second round.
FINALISTS = 3
# Rows below which scales are not learned: there would be as many as rows.
LEAST_ROWS = 30
# The share of a time limit that the first round may take, and both.
FIRST_SHARE, BOTH_SHARES = 0.4, 0.7
# Ridges around the learned one that are tried, as factors.
RIDGES = tuple(np.logspace(-1.5, 1.5, 7))
# The least ridge beside the mean of k(x, x): with less, rounding is what is fitted.
LEAST_RIDGE = 1e-7
# Significant digits of what is learned.
DIGITS = 4
# Widths of a kernel that is not learned, in units of the median distance.
WIDTHS = (0.35, 1.0, 3.0)

HEADER = ("rank", "kernel", "round", "rows", "error", "seconds")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel of the tournament.

    Parameters
    ----------
    name : str
        What it is called.
    kernel : Kernel
        With numbers for parameters.
    alpha : float
        The ridge.
    errors : array of shape (n, targets)
        What predictions of rows left out miss.
    rounds, rows : int
        The round it came to, and the rows it was judged on there.
    is_learned : bool
        Whether its scales are.
    seconds : float
        What it took.
    """

    name: str
    kernel: Kernel
    alpha: float
    errors: Array
    rounds: int
    rows: int
    is_learned: bool
    seconds: float

    @property
    def squares(self) -> Array:
        """The squared error of every row, over all targets."""
        return np.asarray((self.errors**2).mean(axis=1))

    @property
    def error(self) -> float:
        """The root of the mean squared error on rows left out."""
        return float(np.sqrt(self.squares.mean()))


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The candidates, best first: prints as a table, and is iterated.

    Parameters
    ----------
    entries : tuple of Candidate
        The candidates.
    """

    entries: tuple[Candidate, ...]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: int) -> Candidate:
        return self.entries[place]

    def __str__(self) -> str:
        return as_text(HEADER, self._rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(f"{len(self)} candidates", HEADER, self._rows())

    def to_pandas(self) -> Any:
        """Return the candidates as a data frame of pandas."""
        return as_frame(HEADER, self._rows())

    def _rows(self) -> list[tuple[Any, ...]]:
        return [
            (i + 1, c.name, c.rounds, c.rows, f"{c.error:.4g}", f"{c.seconds:.1f}")
            for i, c in enumerate(self)
        ]


@dataclass(frozen=True, eq=False)
class Tournament:
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
    memory : int or str, optional
        The limit of memory.
    seed : int
        Seed of the samples.
    run : Run
        When to end.
    """

    X: Any
    y: Array
    weights: Array
    unit: float
    memory: Any
    seed: int
    run: Run

    @classmethod
    def of(
        cls, reader: Kernel, X: Any, y: Array, weights: Array, memory: Any, seed: int, run: Run
    ) -> Tournament:
        """Return the tournament on the distinct ones of weighted rows.

        Equal rows with equal targets are one row of the weight of all: copies of a row would give
        it away when it is left out. The `reader` is a kernel that reads the rows; the other
        parameters are those of the class.
        """
        keys = np.column_stack([row_numbers(X), y, weights > 0.0])
        _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        total = np.bincount(places.reshape(-1), weights)
        kept = np.flatnonzero(total > 0.0)
        kept = kept[np.argsort(first[kept])]
        index, w = first[kept], total[kept]
        rows = X if len(index) == len(y) else training_subset(reader, X, index)
        unit = float(w.mean())
        return cls(rows, y[index], w / unit, unit, memory, seed, run)

    def winners(self) -> Leaderboard:
        """Return all candidates, those of the last round first."""
        began = starts(self.X)
        first = self.sample(FIRST_ROWS)
        limit = self.run.share(FIRST_SHARE)
        tried: list[Candidate] = []
        refusals: list[ValueError] = []
        for start in began:
            if tried and limit.is_over():
                break
            if start.is_learned and len(first) < LEAST_ROWS:
                continue
            try:
                tried.append(self._tried(start, first))
            except ValueError as error:
                # Such as a system that is singular to working precision: the others go on.
                refusals.append(error)
        if not tried:
            raise refusals[0]
        tried.sort(key=lambda c: c.error)
        limit = self.run.share(BOTH_SHARES)
        judged = self.sample(JUDGED_ROWS)
        finalists: list[Candidate] = []
        for candidate in tried[:FINALISTS]:
            if limit.is_over():
                break
            try:
                finalists.append(self._refined(candidate, judged))
            except ValueError as error:
                refusals.append(error)
        finalists.sort(key=lambda c: c.error)
        rest = [c for c in tried if c.name not in {f.name for f in finalists}]
        # Without the time for a second round, or where it cannot be fitted, the first decides.
        return Leaderboard((*_simplest_first(finalists), *rest))

    def sample(self, most: int) -> NDArray[np.intp]:
        """Return at most so many of the rows, at random and in order."""
        n = len(self.y)
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(self.seed).choice(n, most, replace=False))

    def _rows(self, kernel: Kernel, sample: NDArray[np.intp]) -> Any:
        return self.X if len(sample) == len(self.y) else training_subset(kernel, self.X, sample)

    def _tried(self, start: Start, sample: NDArray[np.intp]) -> Candidate:
        """Return a candidate of the first round."""
        began = perf_counter()
        if start.is_learned:
            kernel, alpha = self._learned(start.kernel, sample, FIRST_STEPS)
            errors, alpha = self._left_out([kernel], alpha, sample)
        else:
            rows = self._rows(start.kernel, sample)
            kernels = _widths(start.kernel.resolved(rows, self.weights[sample]))
            kernel, errors, alpha = self._best(kernels, None, sample)
        seconds = perf_counter() - began
        return Candidate(
            start.name, kernel, alpha, errors, 1, len(sample), start.is_learned, seconds
        )

    def _refined(self, candidate: Candidate, judged: NDArray[np.intp]) -> Candidate:
        """Return a candidate learned on more rows, and judged on as many as there are."""
        began = perf_counter()
        kernel, alpha = candidate.kernel, candidate.alpha
        if candidate.is_learned and len(self.y) > FIRST_ROWS:
            kernel, alpha = self._learned(kernel, self.sample(SECOND_ROWS), SECOND_STEPS)
        errors, alpha = self._left_out([kernel], alpha, judged)
        seconds = candidate.seconds + perf_counter() - began
        return replace(
            candidate,
            kernel=kernel,
            alpha=alpha,
            errors=errors,
            rounds=2,
            rows=len(judged),
            seconds=seconds,
        )

    def _learned(
        self, kernel: Kernel, sample: NDArray[np.intp], steps: int
    ) -> tuple[Kernel, float]:
        rows = self._rows(kernel, sample)
        found = learn(
            kernel,
            rows,
            self.y[sample],
            rows=len(sample),
            max_iter=steps,
            sample_weight=self.weights[sample],
            time_limit=self.run.rest,
        )
        # To the digits that the data can tell: what is printed is what runs, and rounding in the
        # course of the search tells nothing.
        return _rounded(found.kernel), float(f"{found.alpha:.{DIGITS}g}")

    def _left_out(
        self, kernels: list[Kernel], alpha: float, sample: NDArray[np.intp]
    ) -> tuple[Array, float]:
        rows = self._rows(kernels[0], sample)
        least = LEAST_RIDGE * float(np.mean(kernels[0].diagonal(rows)))
        ridges = sorted({max(alpha * r, least) for r in RIDGES})
        _, errors, best = self._best(kernels, ridges, sample)
        return errors, best

    def _best(
        self, kernels: list[Kernel], alphas: list[float] | None, sample: NDArray[np.intp]
    ) -> tuple[Kernel, Array, float]:
        """Return the best of some kernels and ridges, and its errors on rows left out."""
        rows, y, w = self._rows(kernels[0], sample), self.y[sample], self.weights[sample]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search = KernelRidgeCV(kernels, alphas, memory=self.memory, time_limit=self.run.rest)
            model = search.fit(rows, y, w)
            left_out = model.leave_one_out_predictions_
        errors = y - np.reshape(left_out, y.shape)
        return model.kernel_, errors, float(np.max(model.alpha_))


def _rounded(kernel: Kernel) -> Kernel:
    """Return a kernel with the numbers that were learned in few digits."""
    changes: dict[str, Any] = {}
    for name, value in real_parameters(kernel).items():
        numbers = [float(f"{v:.{DIGITS}g}") for v in np.ravel(value)]
        changes[name] = numbers[0] if np.ndim(value) == 0 else tuple(numbers)
    return kernel.with_params(**changes)


def _widths(kernel: Kernel) -> list[Kernel]:
    """Return a kernel with its first length scale at several widths."""
    name = next((k for k in kernel.get_params() if k.endswith("length_scale")), None)
    scale = None if name is None else kernel.get_params()[name]
    if name is None or not isinstance(scale, float):
        return [kernel]
    return [kernel.with_params(**{name: factor * scale}) for factor in WIDTHS]


def _simplest_first(finalists: list[Candidate]) -> list[Candidate]:
    """Return finalists with one that is not learned first, if it is as good within one deviation.

    The deviation is that of the mean difference of the squared errors on the same rows.
    """
    if not finalists or not finalists[0].is_learned:
        return finalists
    best = finalists[0]
    for other in finalists[1:]:
        if other.is_learned:
            continue
        lost = other.squares - best.squares
        if lost.mean() <= lost.std() / np.sqrt(len(lost)):
            return [other, *(c for c in finalists if c is not other)]
    return finalists
