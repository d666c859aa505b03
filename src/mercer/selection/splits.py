"""Which rows are held out: one at a time, or the folds of a splitter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import LeaveOneOut, check_cv

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Splits:
    """Pairs of training and test rows among n rows; every test row is predicted from its pair's.

    Parameters
    ----------
    n : int
        The number of rows.
    pairs : sequence of (train, test), optional
        Row numbers; by default every row is held out by itself, without a list of n pairs.
    is_pooled : bool
        Whether all test rows of the pairs are scored together.
    numbers : sequence of int, optional
        Which of the folds of the splitter the pairs are; by default they are all of them.
    """

    n: int
    pairs: Sequence[tuple[Rows, Rows]] | None = None
    is_pooled: bool = False
    numbers: Sequence[int] | None = None

    @classmethod
    def of(cls, cv: Any, X: Any, y: Any, groups: Any, n: int) -> Splits:
        """Return what a number of folds, a splitter of scikit-learn or a list of pairs means."""
        splitter = check_cv(cv, y, classifier=False)
        if isinstance(splitter, LeaveOneOut):
            return cls(n)
        # Masks and negative numbers become row numbers.
        rows = np.arange(n)
        pairs = [
            (rows[np.asarray(train)], rows[np.asarray(test)])
            for train, test in splitter.split(X, y, groups)
        ]
        return cls._useful(n, pairs, range(len(pairs)))

    @cached_property
    def tested(self) -> Rows:
        """The test rows of all pairs, one pair after the other."""
        if self.pairs is None:
            return np.arange(self.n)
        return np.concatenate([test for _, test in self.pairs])

    @property
    def tests(self) -> list[Rows]:
        """The test rows of every pair, else all rows."""
        return [self.tested] if self.pairs is None else [test for _, test in self.pairs]

    @property
    def scored_folds(self) -> Sequence[int] | None:
        """The numbers of the folds that have a score each, None where all have one together."""
        if self.pairs is None or self.is_pooled:
            return None
        return range(len(self.pairs)) if self.numbers is None else self.numbers

    def shares(self, weights: Array) -> Array | None:
        """Return the weight of the test rows of every fold, None where all are scored together."""
        if self.scored_folds is None:
            return None
        return np.array([weights[test].sum() for _, test in self.pairs or ()])

    @property
    def sizes(self) -> Rows:
        """The number of test rows of every pair."""
        return np.array([len(test) for _, test in self.pairs or ()])

    @cached_property
    def are_complements(self) -> bool:
        """Whether every pair trains on exactly the rows that it does not test."""
        return all(
            len(train) + len(test) == self.n and len(np.union1d(train, test)) == self.n
            for train, test in self.pairs or ()
        )

    @property
    def are_single(self) -> bool:
        """Whether every pair tests one row by all others."""
        return self.pairs is None or (bool((self.sizes == 1).all()) and self.are_complements)

    def on(self, rows: Rows) -> Splits:
        """Return the splits of some of the rows, numbered anew."""
        if self.pairs is None:
            return Splits(len(rows))
        if len(rows) == self.n:
            return self
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))

        def kept(numbers: Rows) -> Rows:
            return place[numbers][place[numbers] >= 0]

        pairs = [(kept(train), kept(test)) for train, test in self.pairs]
        return self._useful(len(rows), pairs, self.numbers or range(len(pairs)))

    @classmethod
    def _useful(cls, n: int, pairs: Sequence[tuple[Rows, Rows]], numbers: Sequence[int]) -> Splits:
        """Return the pairs that test something, all of which must train on something."""
        useful = [i for i, (_, test) in enumerate(pairs) if len(test)]
        if not useful:
            raise ValueError("cv holds out no row of positive weight; use other folds")
        if any(len(pairs[i][0]) == 0 for i in useful):
            raise ValueError(
                "cv has a fold that leaves no row of positive weight to train on; use more folds "
                "or fewer zero weights"
            )
        return cls(n, [pairs[i] for i in useful], numbers=[numbers[i] for i in useful])


def splits_or_none(cv: Any, scoring: Any, X: Any, y: Any, groups: Any) -> Splits | None:
    """Return what a ridge is chosen by; None is generalised cross-validation.

    Parameters
    ----------
    cv, scoring
        As of `KernelRidgeCV`.
    X, y, groups
        Rows, their targets, and groups of rows for a splitter that keeps them together.
    """
    if not isinstance(cv, str):
        return Splits.of(cv, X, y, groups, len(y))
    if cv == "loo":
        return Splits(len(y))
    if cv != "gcv":
        raise ValueError(
            f"cv must be 'loo', 'gcv', a number of folds, a splitter or a list of (train, test), "
            f"got {cv!r}"
        )
    if scoring is not None:
        raise ValueError(
            "cv='gcv' predicts no held-out rows that scoring could judge; use cv='loo' or "
            "scoring=None"
        )
    return None
