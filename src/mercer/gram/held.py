"""The Gram matrix by landmarks with its features in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.data.memory import gigabytes
from mercer.data.stream import part_of
from mercer.errors import MemoryLimitError
from mercer.features import LandmarkMap
from mercer.gram.gram import Array, Index, positions
from mercer.gram.landmarks import LandmarkGram, block_entries


class HeldLandmarkGram(LandmarkGram):
    """F F' with F = phi(X) computed once, for solvers that read it many times.

    A part has the same array of features, of which it knows its rows.

    Parameters
    ----------
    landmarks : LandmarkMap
        phi.
    X : rows
        The rows.
    memory : int or str, optional
        The limit for `dense`, in bytes or as ``"4GB"``; a share of the free memory by default.
    F : array
        The features of these rows, or of more, in float32 or float64.
    where : array of shape (n,)
        Which rows of F.
    """

    # The error of features in float32, see `LandmarkMap.single_error`, up to which they are
    # computed in it: a gap of a thousandth, the default, is told well from it.
    most_error: ClassVar[float] = 1e-4

    def __init__(
        self, landmarks: LandmarkMap, X: Any, memory: Any, F: Array, where: NDArray[np.int64]
    ) -> None:
        super().__init__(landmarks, X, memory)
        self.F, self.where = F, where

    @classmethod
    def of(cls, gram: LandmarkGram, dtype: Any) -> HeldLandmarkGram:
        """Return a Gram matrix by landmarks with features in a precision.

        Those in float32 are computed in it where that loses little, else in float64 and rounded.
        Where the numbers of float32 end too soon for them they are in float64.
        """
        if not gram.landmarks.is_in_single:
            dtype = np.float64
        if isinstance(gram, HeldLandmarkGram) and gram.F.dtype == dtype:
            return gram
        if not fits_features(gram, dtype):
            raise _too_large(gram, dtype)
        is_precise = gram.landmarks.single_error <= cls.most_error
        computed = dtype if is_precise else np.float64
        F = np.empty((len(gram), gram.landmarks.n_features), dtype)
        for rows, block in LandmarkGram.feature_blocks(gram, computed):
            F[rows] = block
        held = cls(gram.landmarks, gram.X, gram.asked, F, np.arange(len(gram)))
        held.index = gram.index
        return held

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        return self.F.dtype

    @property
    def held_bytes(self) -> int:
        return int(self.F.nbytes)

    def features(self) -> Array:
        is_all = len(self.where) == len(self.F)
        return np.asarray(self.F if is_all else self.F[self.where], np.float64)

    def feature_blocks(
        self, dtype: Any = np.float64, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        for rows, F in self.held_blocks(entries, first):
            yield rows, np.array(F, dtype)

    def held_blocks(
        self, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        entries = entries or block_entries(self.steady_memory)
        for rows in row_blocks((len(self), self.landmarks.n_features), entries, first):
            some = self.where[rows]
            is_run = some[-1] - some[0] + 1 == len(some) and (np.diff(some) == 1).all()
            yield rows, self.F[some[0] : some[-1] + 1] if is_run else self.F[some]

    def part(self, index: Index) -> HeldLandmarkGram:
        some = positions(index, len(self))
        rows = part_of(self.X, some)
        return HeldLandmarkGram(self.landmarks, rows, self.asked, self.F, self.where[some])


def fits_features(gram: LandmarkGram, dtype: Any) -> bool:
    """Whether the features of all rows fit into the memory, beside those that are there."""
    needed = len(gram) * gram.landmarks.n_features * np.dtype(dtype).itemsize
    return needed + gram.held_bytes <= gram.memory


def _too_large(gram: LandmarkGram, dtype: Any) -> MemoryLimitError:
    n, m, each = len(gram), gram.landmarks.n_features, len(gram) * np.dtype(dtype).itemsize
    most = gram.memory // each
    fewer = f", or use n_landmarks={most}" if most else f" to {gigabytes(each)} for one landmark"
    return MemoryLimitError(
        f"the features of {n} rows by {m} landmarks need {gigabytes(m * each)} but the limit is "
        f"{gigabytes(gram.memory)}; raise memory={fewer}"
    )
