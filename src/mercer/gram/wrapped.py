"""Gram matrices of the entries of another one: parts, rounded, shifted, scaled, recentred."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.gram import Array, Gram, Index, positions


class PartOfGram(Gram):
    """K at some of its rows and the same columns; nothing is copied until asked for.

    Parameters
    ----------
    gram : Gram
        K.
    index : array of shape (m,)
        The rows.
    """

    def __init__(self, gram: Gram, index: Array) -> None:
        self.gram = self._limited_like = gram
        self.index = index

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), len(self.index)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.gram.dtype

    @property
    def is_proved(self) -> bool:
        return self.gram.is_proved

    @property
    def entry_error(self) -> float:
        return self.gram.entry_error

    def errors(self, index: Index) -> Array:
        return self.gram.errors(self.at(index))

    def at(self, index: Index) -> Array:
        """Return which rows of K some of these are."""
        return self.index[positions(index, len(self))]

    def part(self, index: Index) -> Gram:
        return PartOfGram(self.gram, self.at(index))

    def single(self) -> Gram:
        is_single = self.dtype == np.float32
        return self if is_single else PartOfGram(self.gram.single(), self.index)

    @property
    def stored(self) -> tuple[Array, Array | None] | None:
        stored = self.gram.stored
        if stored is None:
            return None
        matrix, rows = stored
        return matrix, self.index if rows is None else rows[self.index]

    def product(self, V: Array) -> Array:
        return self.gram.partial_product(self.index, self.index, V)

    def partial_product(self, rows: Index | None, columns: Index, V: Array) -> Array:
        across = self.at(columns)
        down = across if rows is columns else self.at(slice(None) if rows is None else rows)
        return self.gram.partial_product(down, across, V)

    def diagonal(self) -> Array:
        return self.gram.diagonal()[self.index]

    def rows(self, index: Index) -> Array:
        return self.gram.between(self.at(index), self.index)

    def between(self, rows: Index, columns: Index) -> Array:
        return self.gram.between(self.at(rows), self.at(columns))

    def dense(self) -> Array:
        self.check_room(self.dtype)
        return self.gram.between(self.index, self.index)


class WrappedGram(Gram):
    """A Gram matrix made of the entries of another one, with its shape, precision and memory.

    Parameters
    ----------
    gram : Gram
        K.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = self._limited_like = gram

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


class SingleGram(WrappedGram):
    """K with entries that are rounded to float32 as they are handed out.

    Products are those of K, in its own precision.

    Parameters
    ----------
    gram : Gram
        K in float64.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    @property
    def held_bytes(self) -> int:
        # What is held are not these entries: `dense` makes them anew.
        return 0

    def product(self, V: Array) -> Array:
        return self.gram.product(V)

    def diagonal(self) -> Array:
        return self.gram.diagonal().astype(np.float32)

    def rows(self, index: Index) -> Array:
        return self.gram.rows(index).astype(np.float32)

    def between(self, rows: Index, columns: Index) -> Array:
        return self.gram.between(rows, columns).astype(np.float32)


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
            self.check_room(self.dtype)
            K = K.copy()
        K[np.diag_indices(len(self))] += self.shift
        return K

    def shifted(self, d: Any) -> ShiftedGram:
        return ShiftedGram(self.gram, self.shift + ShiftedGram(self.gram, d).shift)


class ScaledGram(WrappedGram):
    """diag(f) K diag(f), with entries f_i k(x_i, x_j) f_j.

    Parameters
    ----------
    gram : Gram
        K.
    factors : array of shape (n,)
        f.
    """

    def __init__(self, gram: Gram, factors: Array) -> None:
        super().__init__(gram)
        self.factors = factors

    def product(self, V: Array) -> Array:
        f = self.factors if V.ndim == 1 else self.factors[:, None]
        return np.asarray(f * self.gram.product(f * V))

    def diagonal(self) -> Array:
        return np.asarray(self.factors**2 * self.gram.diagonal())

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        return np.asarray(self.factors[chosen, None] * self.gram.rows(chosen) * self.factors)

    def dense(self) -> Array:
        self.check_room(np.float64)
        return np.asarray(self.factors[:, None] * self.gram.dense() * self.factors)


class RecentredGram(WrappedGram):
    """k(x, z) - k(x, x0) - k(x0, z) + k(x0, x0) for one of the rows as origin x0.

    It has the values of K on coefficients of sum zero, and is positive semi-definite if and only if
    K is so on these. The kernel `mercer.kernels.Recentred` is the same for rows that are at hand.

    Parameters
    ----------
    gram : Gram
        K.
    origin : int
        The number of the row x0.

    References
    ----------
    I. J. Schoenberg (1938), Metric spaces and positive definite functions.
    """

    def __init__(self, gram: Gram, origin: int) -> None:
        super().__init__(gram)
        row = gram.rows([origin])[0].astype(np.float64)
        self.u = row - 0.5 * row[origin]

    def product(self, V: Array) -> Array:
        u = self.u.astype(np.result_type(self.dtype, V.dtype), copy=False)
        return self.gram.product(V) - np.multiply.outer(u, V.sum(axis=0)) - u @ V

    def diagonal(self) -> Array:
        return (self.gram.diagonal() - 2.0 * self.u).astype(self.dtype, copy=False)

    def rows(self, index: Index) -> Array:
        chosen = positions(index, len(self))
        block = self.gram.rows(chosen) - self.u[chosen, None] - self.u
        return block.astype(self.dtype, copy=False)
