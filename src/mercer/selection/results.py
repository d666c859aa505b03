"""What a search found, as a table like scikit-learn's and as the best of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer.data.listing import as_frame, as_html, as_text
from mercer.kernels import Kernel
from mercer.kernels.params import rounded

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Round:
    """The scores of some kernels with their alphas on the same rows.

    Parameters
    ----------
    kernels : sequence of Kernel
        The kernels.
    alphas : sequence of arrays of shape (alphas,)
        The ridges of each kernel, or what takes their place.
    scores : sequence of arrays of shape (alphas, columns, folds)
        The scores: one column, or one for every target; of every fold, or of all rows.
    n_rows : int
        The number of rows they were found on.
    folds : sequence of int, optional
        The numbers of the folds that are scored one by one; None is one score of all rows.
    is_cut : bool
        Whether the time was up before all that was to be tried here and afterwards.
    units : array of shape (columns,), optional
        What the scores of every column are counted in the squares of; one by default. Squares of
        errors of 1e-170 are no numbers, and are compared all the same.
    shares : array of shape (folds,), optional
        What every fold counts in the mean of its scores; by default all count the same.
    """

    kernels: Sequence[Kernel]
    alphas: Sequence[Array]
    scores: Sequence[Array]
    n_rows: int
    folds: Sequence[int] | None
    is_cut: bool = False
    units: Array | None = None
    shares: Array | None = None

    @property
    def means(self) -> list[Array]:
        """The means of the scores over the folds, of shape (alphas, columns), in their units."""
        return [np.average(scores, axis=2, weights=self.shares) for scores in self.scores]

    @property
    def best_kernel(self) -> int:
        """The position of the kernel that is best when every column has the best of its alphas."""
        if self.is_cut and not self.is_scored:
            # Of kernels in an order, such as that of their length scales, the one in the middle.
            return len(self.kernels) // 2
        best = [self.averaged(_comparable(means).max(axis=0)) for means in self.means]
        return int(np.argmax(best))

    @property
    def best(self) -> NDArray[np.intp]:
        """The positions of the best alpha of every column, for the best kernel."""
        means = self.means[self.best_kernel]
        # Of what was not scored, for want of time, the one in the middle; of scores that are no
        # numbers, such as r2 of single rows, the first.
        unscored = np.isnan(means).all(axis=0) & self.is_cut
        return np.where(unscored, len(means) // 2, np.argmax(_comparable(means), axis=0))

    def averaged(self, scores: Array) -> Array:
        """Return the mean of scores of shape (..., columns), in the largest of their units."""
        if self.units is None:
            return np.asarray(scores.mean(axis=-1))
        shares = (self.units / self.units.max()) ** 2
        # Beside a much larger target a column adds nothing, not even where it is infinite.
        counts = shares > 0.0
        return np.asarray((scores[..., counts] * shares[counts]).sum(axis=-1) / len(shares))

    def as_numbers(self, scores: Array, column: int | None = None) -> Array:
        """Return scores of a column, or of their mean, in the unit of the data.

        They are zero or infinite where float64 has no such number.
        """
        if self.units is None:
            return scores
        unit = float(self.units.max() if column is None else self.units[column])
        with np.errstate(over="ignore", under="ignore"):
            return scores * unit * unit

    @property
    def is_scored(self) -> bool:
        """Whether time allowed to score anything."""
        return not all(bool(np.isnan(means).all()) for means in self.means)

    def reaches(self, before: Round) -> bool:
        """Whether time allowed to try here, upwards, as much as was best in the round before."""
        best = float(before.alphas[before.best_kernel][before.best].max())
        goes_far = max(float(a.max(initial=0.0)) for a in self.alphas) >= best
        return self.is_scored and (goes_far or not self.is_cut)

    def __len__(self) -> int:
        return sum(len(alphas) for alphas in self.alphas)


def _comparable(scores: Array) -> Array:
    return np.nan_to_num(scores, nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def table(rounds: Sequence[Round], parameter: str = "alpha") -> dict[str, Any]:
    """Return the candidates of all rounds as columns, those of the last round ranked first.

    The alphas go by the name of the estimator's parameter that they are values of.
    """
    pairs = [pair for r in rounds for pair in zip(r.kernels, r.alphas, strict=True)]
    kernels = _objects([kernel for kernel, ridges in pairs for _ in ridges])
    alphas = np.concatenate([ridges for _, ridges in pairs])
    averages = [(r, r.averaged(means)) for r in rounds for means in r.means]
    order = np.concatenate([np.full(len(r), i) for i, r in enumerate(rounds)])
    columns = {
        "params": [
            {"kernel": k, parameter: float(a)} for k, a in zip(kernels, alphas, strict=True)
        ],
        "param_kernel": kernels,
        f"param_{parameter}": alphas,
        "kernel": kernels,
        parameter: alphas,
        "iter": order,
        "n_resources": np.concatenate([np.full(len(r), r.n_rows) for r in rounds]),
        "mean_test_score": np.concatenate([r.as_numbers(scores) for r, scores in averages]),
    }
    n_columns = rounds[-1].scores[0].shape[1]
    for j in range(n_columns if n_columns > 1 else 0):
        by_target = [r.as_numbers(means[:, j], j) for r in rounds for means in r.means]
        columns[f"target{j}_test_score"] = np.concatenate(by_target)
    if rounds[-1].folds is not None:
        columns |= _by_fold(rounds)
    columns["rank_test_score"] = _ranks(np.concatenate([a for _, a in averages]), order)
    return columns


def sentence(rounds: Sequence[Round], cv: Any) -> str:
    """Return what a search has done, in a sentence."""
    words = {"loo": "leave-one-out", "gcv": "generalised cross-validation"}
    by = words.get(cv, "cross-validation") if isinstance(cv, str) else "cross-validation"
    first, last = rounds[0], rounds[-1]
    kernels = f"{len(first.kernels)} kernel" + ("s" if len(first.kernels) > 1 else "")
    text = f"{kernels} and {len(first)} candidates by {by} on {first.n_rows} rows"
    if len(rounds) == 1:
        return text
    return (
        f"{text} out of {last.n_rows}, with alpha over the sum of the weights kept; then "
        f"{len(last)} alphas of the best kernel on all rows"
    )


def _by_fold(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the scores of every fold and their standard deviation, as scikit-learn has them.

    A fold that a sample of the rows does not reach has no score there.
    """
    numbers = [list(r.folds or ()) for r in rounds]
    scores = np.full((sum(map(len, rounds)), 1 + max(map(max, numbers))), np.nan)
    deviations, end = np.empty(len(scores)), 0
    for r, folds in zip(rounds, numbers, strict=True):
        start, end = end, end + len(r)
        part = np.concatenate([r.averaged(s.swapaxes(1, 2)) for s in r.scores])
        scores[start:end, folds] = r.as_numbers(part)
        middle = np.average(part, axis=1, weights=r.shares, keepdims=True)
        spread = np.sqrt(np.average((part - middle) ** 2, axis=1, weights=r.shares))
        deviations[start:end] = r.as_numbers(spread)
    columns: dict[str, Any] = {f"split{i}_test_score": s for i, s in enumerate(scores.T)}
    return columns | {"std_test_score": deviations}


def _ranks(scores: Array, order: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return the ranks, one is best: by round from the last to the first, then by score."""
    ranks = np.empty(len(scores), np.int32)
    before = 0
    for last in range(int(order.max()), -1, -1):
        here = order == last
        ranks[here] = before + rankdata(-_comparable(scores[here]), method="min")
        before += int(here.sum())
    return ranks


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


class ScoredKernel(NamedTuple):
    """A kernel with the best of its penalties, its score on rows left out, and how many rows."""

    kernel: Kernel
    penalty: float
    score: float
    rows: int


@dataclass(frozen=True)
class Candidates:
    """The kernels of a search, best first: prints as a table, and is iterated.

    Parameters
    ----------
    entries : tuple of ScoredKernel
        Every kernel once, as it came to the last round that it took part in.
    parameter : str
        What the penalty is called.
    """

    # Significant digits of kernels in a table for people.
    digits: ClassVar[int] = 3

    entries: tuple[ScoredKernel, ...]
    parameter: str

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> Self:
        """Return the kernels of a table of results, see `table`."""
        parameter = "C" if "C" in results else "alpha"
        best: dict[Kernel, ScoredKernel] = {}
        for i in np.argsort(results["rank_test_score"], kind="stable").tolist():
            kernel, score = results["kernel"][i], float(results["mean_test_score"][i])
            rows = int(results["n_resources"][i])
            best.setdefault(kernel, ScoredKernel(kernel, float(results[parameter][i]), score, rows))
        return cls(tuple(best.values()), parameter)

    def __iter__(self) -> Iterator[ScoredKernel]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: int) -> ScoredKernel:
        return self.entries[place]

    def __str__(self) -> str:
        return as_text(self._header, self._rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(f"{len(self)} kernels", self._header, self._rows())

    def to_pandas(self) -> Any:
        """Return the kernels as a data frame of pandas."""
        return as_frame(self._header, self._rows())

    @property
    def _header(self) -> tuple[str, ...]:
        return ("rank", "kernel", self.parameter, "score", "rows")

    def _rows(self) -> list[tuple[Any, ...]]:
        return [(i + 1, str(rounded(c.kernel, self.digits)), *c[1:]) for i, c in enumerate(self)]
