"""The schedule of a search among Cs: how many rows and candidates its rounds have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Kernel
from mercer.selection.results import Round

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """Successive halving: which rows and candidates every round of a search has.

    Parameters
    ----------
    scores : (int, int)
        Rows times columns of scores of the first sample, on which all candidates are tried, and of
        the second. Where there are no more, the first sample is all rows.
    most_rows : (int, int)
        Rows of the samples however few the columns are.
    of_a_class : int
        Rows for every class that a sample has at least, if there are so many.
    tested : int
        Rows that are tested by a sample at most.
    few_candidates : int
        Candidates that are tried on all rows however many these are.
    kernels : int
        Kernels that go on to the second sample.
    left_out : int
        Rows of two classes up to which leaving out each takes no longer than a fit. With several
        classes it takes longer as soon as not all candidates are tried on all rows.
    folds : int
        Those that take the place of leaving out one row.
    tried_on_all : int
        Cs that are about tried on all rows before scores fall.
    below : float
        Cs go on from this share of the best upwards.
    by_loss, by_scorer : int
        The Cs end once so many scores in a row are worse than the best. The log loss of the same
        rows is smooth in C: the first that is worse is past the best. What counts right answers
        moves in jumps.
    gap, sample_gap : float
        The relative gaps to which candidates are solved on all rows and on a sample: what is left
        out moves scores by more.

    References
    ----------
    K. Jamieson and A. Talwalkar (2016), Non-stochastic best arm identification and hyperparameter
    optimization.
    """

    scores: tuple[int, int] = (600, 2400)
    most_rows: tuple[int, int] = (250, 1000)
    of_a_class: int = 8
    tested: int = 1000
    few_candidates: int = 4
    kernels: int = 2
    left_out: int = 1000
    folds: int = 3
    tried_on_all: int = 5
    below: float = 0.1
    by_loss: int = 1
    by_scorer: int = 2
    gap: float = 1e-4
    sample_gap: float = 1e-2

    def sizes(self, columns: int, classes: int) -> tuple[int, int]:
        """Return the rows of both samples for some columns of scores of some classes."""
        least = self.of_a_class * classes
        few, more = (
            max(min(scores // columns, rows), least)
            for scores, rows in zip(self.scores, self.most_rows, strict=True)
        )
        return few, more

    def fits(
        self, n: int, columns: int, classes: int, Cs: Sequence[Array], folds: int | None
    ) -> list[tuple[int, int]]:
        """Return about how many fits to how many rows every round has.

        Parameters
        ----------
        n, columns, classes : int
            All rows, and the columns of scores and the classes that they have.
        Cs : sequence of arrays
            Those of every kernel.
        folds : int, optional
            How many there are; None leaves out each row.
        """
        few, more = self.sizes(columns, classes)
        count, each = sum(map(len, Cs)), max(map(len, Cs))
        on_all = self.folds if folds is None else folds
        if n <= few:
            return [(n, count * (folds or 1))]
        if count <= self.few_candidates:
            return [(n, count * on_all)]
        middle = [(more, self.kernels * each)] if n > more else []
        return [(few, count), *middle, (n, on_all * min(each, self.tried_on_all))]

    def is_past(self, scores: Sequence[float], patience: int) -> bool:
        """Whether the scores of ascending Cs have passed their best: the last few are worse.

        What the gap of the fits may account for is not worse.
        """
        best = float(np.nanmax(scores)) if np.isfinite(scores).any() else -np.inf
        return max(scores[-patience:]) < best - self.gap * abs(best)

    def survivors(
        self, last: Round, kernels: Sequence[Kernel], Cs: Sequence[Array], count: int
    ) -> tuple[list[Kernel], list[Array]]:
        """Return the best kernels of a round, and of each the Cs from below its best upwards.

        Parameters
        ----------
        last : Round
            What was tried: the first of the kernels.
        kernels, Cs : sequences
            What there was to try.
        count : int
            The number of kernels to return at most.
        """
        means = [np.nan_to_num(m.ravel(), nan=-np.inf) for m in last.means]
        order = np.argsort([-m.max() for m in means], kind="stable")[:count]
        best = [last.alphas[k][int(means[k].argmax())] for k in order]
        kept = [Cs[k][Cs[k] >= self.below * C] for k, C in zip(order, best, strict=True)]
        return [kernels[k] for k in order], kept
