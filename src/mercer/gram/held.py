"""The Gram matrix by landmarks with its features in memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import PANEL, row_blocks
from mercer.data.limits.memory import gigabytes, lacking, least_limit
from mercer.data.stream import part_of
from mercer.errors import MemoryLimitError
from mercer.features import LandmarkMap
from mercer.features.landmarks import clear
from mercer.gram.gram import Array, Index, positions
from mercer.gram.landmarks import LandmarkGram, block_entries
from mercer.native.threads import in_threads


class StoredLandmarkGram(LandmarkGram):
    """F F' of which a matrix with a row for each of n is stored, from which F follows.

    A part has the same matrix, of which it knows its rows.

    Parameters
    ----------
    landmarks : LandmarkMap
        phi.
    X : rows
        The rows.
    memory : int or str, optional
        The limit for `dense`, in bytes or as ``"4GB"``; a share of the free memory by default.
    matrix : array of shape (rows, m)
        What is stored of these rows, or of more, in float32 or float64.
    where : array of shape (n,)
        Which rows of the matrix.
    """

    def __init__(
        self, landmarks: LandmarkMap, X: Any, memory: Any, matrix: Array, where: NDArray[np.intp]
    ) -> None:
        super().__init__(landmarks, X, memory)
        self.matrix, self.where = matrix, where

    @classmethod
    def _holding(cls, gram: LandmarkGram, matrix: Array) -> Self:
        """Return a Gram matrix by landmarks with what is stored of all its rows."""
        held = cls(gram.landmarks, gram.X, gram.asked, matrix, np.arange(len(gram)))
        held.index = gram.index
        return held

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    @property
    def held_bytes(self) -> int:
        return int(self.matrix.nbytes)

    def part(self, index: Index) -> Self:
        some = positions(index, len(self))
        rows = part_of(self.X, some)
        return type(self)(self.landmarks, rows, self.asked, self.matrix, self.where[some])

    def stored_rows(self, rows: slice) -> NDArray[np.floating]:
        """Return what is stored of some rows, not to be written to."""
        return _rows_of(self.matrix, self.where[rows])

    def stored_blocks(
        self, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Yield what is stored of some rows at a time, not to be written to."""
        entries = entries or block_entries(self.steady_memory)
        for rows in row_blocks((len(self), self.landmarks.n_features), entries, first):
            yield rows, self.stored_rows(rows)

    @abstractmethod
    def to_stored(self, V: Array) -> Array:
        """Return c for which F V is what is stored times c."""

    @abstractmethod
    def from_stored(self, sums: Array) -> Array:
        """Return F'U for what is stored, transposed, times U."""


class HeldLandmarkGram(StoredLandmarkGram):
    """F F' with F = phi(X) computed once, for solvers that read it many times."""

    # The error of features in float32, see `LandmarkMap.single_error`, up to which they are
    # computed in it: a gap of a thousandth, the default, is told well from it.
    most_error: ClassVar[float] = 1e-4

    @classmethod
    def of(cls, gram: LandmarkGram, dtype: Any) -> HeldLandmarkGram:
        """Return a Gram matrix by landmarks with features in a precision.

        Those in float32 are computed in it where that loses little, else in float64 and rounded.
        Where the numbers of float32 end too soon for them they are in float64.
        """
        if not gram.landmarks.is_in_single:
            dtype = np.float64
        if isinstance(gram, HeldLandmarkGram) and gram.stored_dtype == dtype:
            return gram
        if not fits_features(gram, dtype):
            raise _too_large(gram, dtype)
        if dtype == np.float32 and gram.landmarks.single_error <= cls.most_error:
            return cls._holding(gram, gram.single_features())
        F = np.empty((len(gram), gram.landmarks.n_features), dtype)
        for rows, block in LandmarkGram.feature_blocks(gram):
            F[rows] = block
            clear(F[rows], gram.landmarks.least_root)
        return cls._holding(gram, F)

    def diagonal(self) -> Array:
        def squares(rows: slice) -> Array:
            F = self.stored_rows(rows).astype(np.float64)
            return np.asarray(np.einsum("ij,ij->i", F, F))

        blocks = row_blocks((len(self), self.landmarks.n_features), PANEL)
        return np.concatenate(in_threads(squares, list(blocks)))

    def features(self) -> Array:
        return np.asarray(_rows_of(self.matrix, self.where), np.float64)

    def feature_blocks(
        self, dtype: Any = np.float64, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        for rows, F in self.stored_blocks(entries, first):
            yield rows, np.array(F, dtype)

    def held_blocks(
        self, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        yield from self.stored_blocks(entries, first)

    def product(self, V: Array) -> Array:
        inner = np.zeros((self.landmarks.n_features, *V.shape[1:]))
        for rows, F in self.feature_blocks():
            inner += F.T @ V[rows]
        out = np.empty((len(self), *V.shape[1:]))
        for rows, F in self.feature_blocks():
            out[rows] = F @ inner
        return out

    def between(self, rows: Index, columns: Index) -> Array:
        down, across = (self.where[positions(i, len(self))] for i in (rows, columns))
        left = self.matrix[down].astype(np.float64)
        out = np.empty((len(down), len(across)))
        for some in row_blocks((len(across), self.landmarks.n_features)):
            out[:, some] = left @ self.matrix[across[some]].astype(np.float64).T
        return out

    def to_stored(self, V: Array) -> Array:
        return V

    def from_stored(self, sums: Array) -> Array:
        return sums


class HeldEntriesGram(StoredLandmarkGram):
    """F F' with K_nm computed once, in float32: F V = K_nm L^-T V takes no features of all rows.

    It spares the triangular system of every row, where products are few beside the landmarks.
    """

    @classmethod
    def of(cls, gram: LandmarkGram) -> LandmarkGram:
        """Return the matrix with entries, or where L^-1 takes digits from them with features."""
        is_precise = gram.landmarks.single_error <= HeldLandmarkGram.most_error
        if not (is_precise and gram.landmarks.is_in_single):
            return HeldLandmarkGram.of(gram, np.float32)
        if not fits_features(gram, np.float32):
            raise _too_large(gram, np.float32)
        return cls._holding(gram, gram.single_entries())

    def cross_blocks(
        self, dtype: Any = np.float64, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        if dtype != np.float32:
            yield from super().cross_blocks(dtype, entries, first)
            return
        for rows, K in self.stored_blocks(entries, first):
            yield rows, K.copy()

    def held_blocks(
        self, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        yield from self.feature_blocks(np.float32, entries, first)

    def to_stored(self, V: Array) -> Array:
        return self.landmarks.coefficients(V)

    def from_stored(self, sums: Array) -> Array:
        # BLAS counts along columns: rows are whitened, which are the columns of the sums.
        return self.landmarks.whitened(np.array(sums.T)).T


def _rows_of(A: NDArray[Any], where: NDArray[np.intp]) -> NDArray[Any]:
    """Return some rows of an array, themselves where they follow each other."""
    is_run = where[-1] - where[0] + 1 == len(where) and (np.diff(where) == 1).all()
    return A[where[0] : where[-1] + 1] if is_run else A[where]


def fits_features(gram: LandmarkGram, dtype: Any) -> bool:
    """Whether the features of all rows fit into the memory, beside those that are there."""
    needed = len(gram) * gram.landmarks.n_features * np.dtype(dtype).itemsize
    return needed + gram.held_bytes <= gram.memory


def _too_large(gram: LandmarkGram, dtype: Any) -> MemoryLimitError:
    n, m, each = len(gram), gram.landmarks.n_features, len(gram) * np.dtype(dtype).itemsize
    most = gram.memory // each
    one = gigabytes(least_limit(each, gram.memory))
    fewer = f", or use n_landmarks={most}" if most else f" to {one} for one landmark"
    return MemoryLimitError(
        f"the features of {n} rows by {m} landmarks need "
        f"{lacking(m * each, gram.memory)}; raise memory={fewer}"
    )
