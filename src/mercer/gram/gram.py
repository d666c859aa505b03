"""The contract of a Gram matrix as an operator, and the shifted Gram that it returns."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from time import perf_counter
from typing import Any, Self

import numpy as np

from mercer.data.blocks import row_blocks
from mercer.gram.operator import Array, Index, Operator, check_fits, positions
from mercer.kernels.validity.rounding import SINGLE, STEP

# Entries computed at a time before they are rounded: 32 MB in float64.
ENTRIES_AT_A_TIME = 1 << 22
# Seconds of work that tell how long an entry takes, unless the machine was busy with other things:
# they count the second time, or if they are so many that this is unlikely.
LONG_ENOUGH, LONG = 2e-3, 5e-2


class Gram(Operator):
    """The symmetric matrix K with K_ij = k(x_i, x_j), as an operator.

    It knows kernel and data, and no solver. ``memory`` is the limit in bytes for `dense`.
    """

    memory: int

    @abstractmethod
    def diagonal(self) -> Array:
        """Return k(x_i, x_i) for every row."""

    @property
    def T(self) -> Self:
        return self

    @property
    def held_bytes(self) -> int:
        """The memory that entries already take."""
        return 0

    @property
    def has_own_threads(self) -> bool:
        """Whether products run on threads that are not those of the BLAS."""
        return False

    @property
    def is_conditional(self) -> bool:
        """Whether c'Kc >= 0 is known of coefficients c of sum zero, though not of all."""
        return False

    @property
    def is_proved(self) -> bool:
        """Whether c'Kc >= 0 is known of all coefficients c without a look at the entries."""
        return False

    @property
    def entry_error(self) -> float:
        """How far an entry may be from what it stands for, as a share of it."""
        return SINGLE if self.dtype == np.float32 else STEP

    def errors(self, index: Index) -> Array:
        """Return a bound on the error of every entry K_ij of some rows i and the same columns j."""
        return np.asarray(self.entry_error * np.abs(self.between(index, index)), np.float64)

    def shifted(self, d: Any) -> ShiftedGram:
        """Return K + diag(d) for a number or a vector d."""
        return ShiftedGram(self, d)

    def lower(self, dtype: Any) -> Array:
        """Return a new array of which the lower triangle holds K in this precision.

        Entries are computed in the precision of the Gram and rounded when they are stored.
        """
        check_fits(self.shape, dtype, self.memory)
        out = np.empty(self.shape, dtype)
        for rows in row_blocks(self.shape, ENTRIES_AT_A_TIME):
            out[rows, : rows.stop] = self.rows(rows)[:, : rows.stop]
        return out

    def between(self, rows: Index, columns: Index) -> Array:
        """Return the entries K_ij of some rows i and some columns j, as a new array."""
        down, across = positions(rows, len(self)), positions(columns, len(self))
        # Whole rows are computed, so that the fewer of them the better.
        if len(across) < len(down):
            return self.rows(across)[:, down].T
        return self.rows(down)[:, across]

    @cached_property
    def entry_seconds(self) -> float:
        """The time that an entry takes in a product, the best rate of more and more rows."""
        best, rows, long = np.inf, 1, 0
        while True:
            start = perf_counter()
            entries = self.timed(slice(0, min(rows, len(self))))
            taken = perf_counter() - start
            best = min(best, taken / entries)
            long += taken > LONG_ENOUGH
            # Entries that Python computes are dear: one row of them tells enough.
            if long == 2 or taken > LONG or rows >= len(self):
                return float(best)
            rows *= 4

    def timed(self, some: slice) -> int:
        """Compute these rows once as a product would, and return how many entries that were."""
        return int(self.rows(some).size)

    def fresh(self) -> Array:
        """Return all entries in float64 as a new array, which the caller may overwrite."""
        check_fits(self.shape, np.float64, self.memory)
        K = self.dense()
        return np.array(K, np.float64, order="C", copy=None if K.flags.writeable else True)


class WrappedGram(Gram):
    """A Gram matrix made of the entries of another one, with its shape, precision and memory.

    Parameters
    ----------
    gram : Gram
        K.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.memory = gram.memory

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.gram.dtype

    @property
    def held_bytes(self) -> int:
        return self.gram.held_bytes

    @property
    def has_own_threads(self) -> bool:
        return self.gram.has_own_threads


class ShiftedGram(WrappedGram):
    """K + diag(d), the Gram matrix of a kernel plus noise of its own on every row.

    Parameters
    ----------
    gram : Gram
        K.
    d : float or array of shape (n,)
        What is added to the diagonal.
    """

    def __init__(self, gram: Gram, d: Any) -> None:
        n = len(gram)
        shift = np.asarray(d)
        if shift.dtype.kind not in "fiub" or shift.shape not in ((), (n,)):
            raise ValueError(
                f"a shift must be a number or a vector of {n} numbers, "
                f"got shape {shift.shape} and dtype {shift.dtype}"
            )
        if not np.isfinite(shift).all():
            raise ValueError(f"a shift must be finite, got {shift[~np.isfinite(shift)][0]}")
        super().__init__(gram)
        self.shift = np.broadcast_to(shift.astype(np.float64), (n,))

    def product(self, V: Array) -> Array:
        shift = self.shift if V.ndim == 1 else self.shift[:, None]
        KV = self.gram.product(V)
        return KV + (shift * V).astype(KV.dtype, copy=False)

    def diagonal(self) -> Array:
        return self.gram.diagonal() + self.shift

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        block = np.array(self.gram.rows(chosen))
        block[np.arange(len(chosen)), chosen] += self.shift[chosen]
        return block

    def dense(self) -> Array:
        K = self.gram.dense()
        if not K.flags.writeable:
            check_fits(self.shape, self.dtype, self.memory)
            K = K.copy()
        K[np.diag_indices(len(self))] += self.shift
        return K

    def shifted(self, d: Any) -> ShiftedGram:
        return ShiftedGram(self.gram, self.shift + ShiftedGram(self.gram, d).shift)
