"""The candidates of the automatic machine, and the table that a person reads of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.listing import as_frame, as_html, as_text
from mercer.kernels import Kernel

Array = NDArray[np.float64]

HEADER = ("rank", "kernel", "round", "rows", "RMSE", "seconds")


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
    errors : array of shape (n, targets)
        What predictions of rows left out miss, times the roots of their weights.
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
        """The root of the mean squared error on rows left out.

        It is in units of the target; of classes it is that of the codes 1 and -1.
        """
        return float(np.sqrt(self.squares.mean()))


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The candidates, best first: prints as a table, and is iterated.

    ``RMSE`` is the root of the mean squared error on rows left out, in units of the target; of
    classes it is that of the codes 1 and -1.

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


def simplest_first(finalists: list[Candidate]) -> list[Candidate]:
    """Return finalists with one that is not learned first, if it is as good.

    It is if its mean squared error is larger by no more than one standard deviation of the mean
    difference on the same rows, nor by more than `NEARLY`: where a few large errors make the
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
