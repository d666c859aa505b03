"""The candidates of the automatic machine, and the table that a person reads of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.listing import as_frame, as_html, as_text, in_four_digits
from mercer.kernels import Kernel
from mercer.selection.automatic.kernels import Start

Array = NDArray[np.float64]

# Nested cross-validation: kernels are learned again without each fold, for errors at rows that
# their scales did not see.
NESTED = "nested CV"


class Judged(NamedTuple):
    """A kernel with the best of some ridges, judged on rows left out: see `Candidate`."""

    kernel: Kernel
    alpha: float
    squares: Array
    score: float
    missed: Array


@dataclass(frozen=True)
class Recipe:
    """How a candidate is learned: from a start, or as a sum of kernels that learns on.

    Parameters
    ----------
    start : Start, optional
        What one kernel is learned from.
    terms : tuple of Recipe
        With a start, how the kernel is learned whose scales it takes, if it takes any; without one,
        how the terms of the sum are: one kernel that learns on is a sum of one term.
    is_mixed : bool
        Whether nothing but the weights of the terms is learned in the end.
    """

    start: Start | None = None
    terms: tuple[Recipe, ...] = ()
    is_mixed: bool = False

    @property
    def every(self) -> tuple[Recipe, ...]:
        """All that is learned for it, itself last."""
        return (*(recipe for term in self.terms for recipe in term.every), self)

    @property
    def n_terms(self) -> int:
        """How many kernels it is a sum of; one where it is none."""
        return max(1, len(self.terms if self.start is None else self.start.terms))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel of the search.

    Parameters
    ----------
    name : str
        What it is called.
    kernel : Kernel
        With numbers for parameters.
    alpha : float
        The ridge.
    squares : array of shape (n,)
        The squared error of every row left out times its weight, the mean over all targets; of
        classes the targets are the codes 1 and -1. Targets whose squares are no numbers are counted
        in a power of two.
    score : float
        What the leaderboard shows: the root of the mean squared error on rows left out, in units
        of the target, or the share of these rows that are put into another class than theirs.
    scored_by : {"leave-one-out", "leave-one-group-out", "nested CV"}
        How rows are left out.
    rows : int
        How many rows it was scored on.
    is_learned : bool
        Whether its scales are.
    seconds : float
        What it took.
    parts : tuple of Candidate
        Of a mean the candidates that it is of; the kernel is then the sum of theirs with their
        weights, and the ridge that of the first.
    shares : tuple of float
        Their weights in the mean.
    missed : array of shape (n, targets), optional
        What predictions of rows left out miss, in the course of the search alone.
    recipe : Recipe, optional
        How it was learned, in the course of the search alone.
    """

    name: str
    kernel: Kernel
    alpha: float
    squares: Array = field(repr=False)
    score: float
    scored_by: str
    rows: int
    is_learned: bool
    seconds: float
    parts: tuple[Candidate, ...] = ()
    shares: tuple[float, ...] = ()
    missed: Array | None = field(default=None, repr=False)
    recipe: Recipe | None = field(default=None, repr=False)

    @property
    def error(self) -> float:
        """The root of the mean of `squares`, by which kernels are chosen."""
        return float(np.sqrt(self.squares.mean()))


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The candidates, the chosen one first, then by rows and score: a table, and iterated over.

    The score is the root of the mean squared error on rows left out (``RMSE``), in units of the
    target, or the share of them that are put into a wrong class (``error``). It is a search by
    successive halving: all kernels are scored on a few rows, and the best again on more. Scales of
    learned kernels come from some of the rows that they are scored on, from all where these are at
    most 800, so that their errors at new rows are larger, the more so the more columns and the
    fewer rows there are. In nested cross-validation, which classes of up to 1000 rows have and
    numbers of up to 200, every fold of the rows is scored by kernels that are learned again from
    the other rows.

    Parameters
    ----------
    entries : tuple of Candidate
        The candidates.
    measure : str
        What their scores are.
    note : str
        What else a reader should know of the choice, in lines.
    """

    entries: tuple[Candidate, ...]
    measure: str = "RMSE"
    note: str = ""

    @classmethod
    def of(cls, chosen: Candidate, others: Iterable[Candidate], is_classes: bool) -> Leaderboard:
        """Return the leaderboard of a candidate that was chosen, and the others in any order."""
        entries = (chosen, *sorted(others, key=_by_score))
        return cls(entries, "error" if is_classes else "RMSE")

    def led_by(self, chosen: Candidate) -> Leaderboard:
        """Return the same candidates with another one of them as the chosen one."""
        others = sorted((c for c in self if c is not chosen), key=_by_score)
        return replace(self, entries=(chosen, *others))

    @property
    def settled(self) -> Leaderboard:
        """The same candidates without what only the search needs to know of them."""
        return replace(self, entries=tuple(map(_settled, self)))

    @property
    def header(self) -> tuple[str, ...]:
        """The titles of the columns of the table."""
        return ("rank", "kernel", "scored by", "rows", self.measure, "seconds")

    def without_means(self) -> Leaderboard:
        """Return the candidates of one kernel each, the best of those that the first is like first.

        Errors on other rows, or of rows left out in another way, are not to be compared with.
        """
        single = [c for c in self if not c.parts]
        board = replace(self, entries=tuple(single))
        if single[0] is self[0]:
            return board
        alike = [c for c in single if _stage(c) == _stage(self[0])]
        finalists = sorted(alike, key=lambda c: c.error)
        return board.led_by(simplest_first(finalists)[0])

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: int) -> Candidate:
        return self.entries[place]

    @property
    def remarks(self) -> list[str]:
        """What a reader should know of the scores and of the choice, a sentence each."""
        said, best = [], self[0]
        rivals = [c for c in self if _stage(c) == _stage(best) and c.score < best.score]
        if self.measure == "error" and rivals:
            said.append("kernels are chosen by squared errors of their scores, not by counts")
        elif rivals:
            said.append("the first is as good as those with lower errors within a deviation")
        if any(c.rows != best.rows for c in self):
            said.append("errors on other rows than those of the first are not to be compared")
        if best.scored_by == NESTED:
            said.append("errors by nested CV are of folds from whose rows no scale was learned")
        elif any(c.is_learned for c in (best, *best.parts)):
            said.append("learned scales saw rows that are scored: errors at new rows are larger")
        return [*said, *self.note.splitlines()]

    def __str__(self) -> str:
        return "\n".join([as_text(self.header, self._rows()), *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = "; ".join([f"{len(self)} candidates", *self.remarks])
        return as_html(title, self.header, self._rows())

    def to_pandas(self) -> Any:
        """Return the candidates as a data frame of pandas."""
        return as_frame(self.header, self._rows())

    def _rows(self) -> list[tuple[Any, ...]]:
        return [
            (i + 1, c.name, c.scored_by, c.rows, in_four_digits(c.score), f"{c.seconds:.1f}")
            for i, c in enumerate(self)
        ]


def _settled(candidate: Candidate) -> Candidate:
    """Return a candidate without what only the search needs to know of it."""
    parts = tuple(map(_settled, candidate.parts))
    return replace(candidate, parts=parts, missed=None, recipe=None)


def _stage(candidate: Candidate) -> tuple[bool, int]:
    """Return what errors of candidates must share to be compared, less of those that tell more."""
    return candidate.scored_by != NESTED, -candidate.rows


def _by_score(candidate: Candidate) -> tuple[bool, int, float, float]:
    return *_stage(candidate), candidate.score, candidate.error


def simplest_first(finalists: list[Candidate]) -> list[Candidate]:
    """Return finalists with one that is not learned first, if it is as good.

    It is if its mean squared error is larger by no more than one standard deviation of the mean
    difference on the same rows, nor by more than one percent: where a few large errors make the
    deviation large, the mean is still what is to be expected.
    """
    if not finalists or not finalists[0].is_learned:
        return finalists
    best = finalists[0]
    # The share by which a mean squared error may be larger and still count as the same.
    nearly = 0.01
    for other in finalists[1:]:
        if other.is_learned:
            continue
        lost = other.squares - best.squares
        most = min(lost.std() / np.sqrt(len(lost)), nearly * best.squares.mean())
        if lost.mean() <= most:
            return [other, *(c for c in finalists if c is not other)]
    return finalists
