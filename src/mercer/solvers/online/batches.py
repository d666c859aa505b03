"""Coefficients that change a random batch of rows at a time, and scores kept in step with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram
from mercer.solvers.checkpoint import State, random_state, restore_random
from mercer.solvers.run import Run

Array = NDArray[np.float64]

# Bytes for every entry of the rows of a batch: themselves, and what becomes of them.
ENTRY_BYTES = 16


def batch_size(n: int, memory: int, factors: int = 1) -> int:
    """Return how many of `n` rows a batch has: as many as pay and fit, at least two.

    Parameters
    ----------
    n : int
        All rows.
    memory : int
        The limit in bytes.
    factors : int
        How often a batch is factored.
    """
    # A batch of fewer rows takes longer to set up than to factor.
    smallest = 256
    # Rows of a batch for the root of all rows: factoring K of a batch, m^3 / 6 multiplications,
    # then takes about as long as computing its m x n entries of K.
    for_root_of_rows = 8.0
    wanted = max(smallest, int(for_root_of_rows * (n / factors) ** 0.5))
    return max(2, min(n, wanted, memory // (ENTRY_BYTES * n)))


class Batch(NamedTuple):
    """Some rows of K.

    Parameters
    ----------
    which : array of shape (m,)
        Their numbers.
    rows : array of shape (m, n)
        Their entries, in the precision that steps are made in.
    """

    which: NDArray[np.intp]
    rows: Array

    @property
    def core(self) -> Array:
        """K between the rows themselves, of shape (m, m), in float64."""
        return self.rows[:, self.which].astype(np.float64, order="C")


class Iterate:
    """Coefficients A and their scores F = K A, all of which follow every batch.

    Rows of K may be in float32. What that does to F is taken back by `refresh`, so that it limits
    how far an iteration gets between two of them and not how far it gets in the end.

    Parameters
    ----------
    gram : Gram
        K.
    is_single : bool
        Whether rows in float32 serve.
    start : array of shape (n, columns)
        The coefficients to begin with.
    batch : int
        m.
    seed : int
        Where the orders of the rows come from.
    """

    def __init__(
        self, gram: Gram, is_single: bool, start: Array, batch: int, seed: int | None
    ) -> None:
        self._gram = gram
        self._source = gram.single() if is_single else gram
        self._random = np.random.default_rng(seed)
        self._parts = -(-len(gram) // batch)
        self.A = start.copy()
        self.F = np.zeros_like(start)
        # Whether F is K A in float64.
        self.is_exact = not start.any()

    def epoch(self, run: Run) -> Iterator[Batch]:
        """Yield all rows once, in another order every time, until the run is over."""
        order = self._random.permutation(len(self.A))
        for index in np.array_split(order, self._parts):
            yield Batch(index, self._source.rows(index))
            if run.is_over():
                break

    def move(self, batch: Batch, step: Array) -> None:
        """Add a step of shape (m, columns) to the coefficients of a batch."""
        size = float(np.abs(step).max(initial=0.0))
        if size == 0.0:
            return
        self.is_exact = False
        self.A[batch.which] += step
        # Scaled, since coefficients may be beyond what float32 holds.
        scaled = (step / size).astype(batch.rows.dtype)
        self.F += size * (batch.rows.T @ scaled).astype(np.float64, copy=False)

    def refresh(self) -> None:
        """Compute F anew, in float64."""
        if not self.is_exact:
            self.F = np.asarray(self._gram @ self.A, np.float64)
            self.is_exact = True

    def state(self) -> State:
        """Return what the next epoch begins from."""
        flags = np.array([self.is_exact, self._source is self._gram])
        return {"A": self.A, "F": self.F, "flags": flags, "random": random_state(self._random)}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.A, self.F = state["A"], state["F"]
        self.is_exact, is_sharp = (bool(flag) for flag in state["flags"])
        if is_sharp:
            self.sharpen()
        restore_random(self._random, state["random"])

    def sharpen(self) -> None:
        """Take rows as precisely as can be from here on."""
        self._source = self._gram


def is_power_of_two(epoch: int) -> bool:
    """Whether to measure after so many epochs: that takes as long as one, so that it is seldom."""
    return epoch & (epoch - 1) == 0
