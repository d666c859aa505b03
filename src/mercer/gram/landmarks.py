"""The Gram matrix of a kernel by landmarks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import LARGE, PANEL, blocks_of, narrow_blocks, row_blocks
from mercer.data.checks import Matrix, fits_single
from mercer.data.columns import n_rows, take_rows
from mercer.data.limits.memory import memory_limit, steady_limit
from mercer.data.stream import part_of
from mercer.features import LandmarkMap
from mercer.features.landmarks import TRIED, clear, is_right_in_single
from mercer.gram.gram import Array, Gram, Index, check_fits, positions
from mercer.native.core import empty
from mercer.tiles import apply, evaluate, residuals

# Rows that the trace residual and the size of the features are estimated from: their spread is a
# few hundredths of it, and they take little beside all rows.
SAMPLE = 500


def block_entries(memory: int) -> int:
    """Return how many entries a block of features has: a few MB at least, and no more than fit."""
    # The share of the memory that a block of features takes, of which there are a few at a time.
    block_share = 1 / 16
    return int(min(LARGE, max(PANEL, block_share * memory / 8)))


def two_blocks(n: int, m: int, memory: int) -> int:
    """Return how many entries two blocks of m features of n rows have, few rows rounded up."""
    return min(2 * block_entries(memory), max(2 * n * m, PANEL))


class LandmarkGram(Gram):
    """K_nm K_mm^-1 K_mn = F F' by the features F = phi(X) of landmarks, of which none are stored.

    Parameters
    ----------
    landmarks : LandmarkMap
        phi.
    X : rows
        The rows, which may come in blocks from a disk.
    memory : int or str, optional
        The limit for `features` and `dense`, in bytes or as ``"4GB"``; a share of the free memory
        by default.
    index : array of shape (m,), optional
        Which of the rows the landmarks are; None where they were not chosen among these.
    """

    landmarks: LandmarkMap

    def __init__(
        self,
        landmarks: LandmarkMap,
        X: Any,
        memory: Any = None,
        index: NDArray[np.intp] | None = None,
    ) -> None:
        self.landmarks = landmarks
        self.X, self.index = X, index
        self.asked = memory
        if memory is not None:
            self.memory = memory_limit(memory)

    @property
    def shape(self) -> tuple[int, int]:
        n = n_rows(self.X)
        return n, n

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def is_proved(self) -> bool:
        return True

    @property
    def is_structured(self) -> bool:
        return True

    def features(self) -> Matrix:
        """Return F of shape (n, m), stored."""
        check_fits((len(self), self.landmarks.n_features), np.float64, self.memory)
        return self.landmarks(self.X)

    def features_at(self, X: Any) -> Matrix:
        return self.landmarks(X)

    def entries_at(self, X: Any) -> Array:
        return np.asarray(self.features() @ self.landmarks(X).T)

    def part(self, index: Index) -> LandmarkGram:
        rows = part_of(self.X, positions(index, len(self)))
        return LandmarkGram(self.landmarks, rows, self.asked)

    @property
    def steady_memory(self) -> int:
        """The limit that the sizes of blocks and sums go by, whatever is free."""
        return steady_limit(self.asked)

    def cross_blocks(
        self, dtype: Any = np.float64, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        """Yield K_nm of some rows at a time from one on, with where they stand."""
        entries = entries or block_entries(self.steady_memory)
        phi = self.landmarks
        for rows, some in blocks_of(self.X, phi.n_features, entries, first):
            if dtype == np.float32 and self._is_single_at(some):
                yield rows, evaluate(phi.kernel.program, *self._rounded(some))
            else:
                yield rows, phi.entries(some, dtype)

    def single_entries(self) -> NDArray[np.float32]:
        """Return K_nm of all rows in float32, each written where it stays."""
        phi = self.landmarks
        K = empty((len(self), phi.n_features), np.float32)
        for rows, some in blocks_of(self.X, phi.n_features, block_entries(self.steady_memory)):
            if self._is_single_at(some):
                evaluate(phi.kernel.program, *self._rounded(some), out=K[rows])
            else:
                K[rows] = phi.entries(some, np.float32)
        return K

    def single_features(self) -> NDArray[np.float32]:
        """Return F = K_nm L^-T of all rows in float32, each computed where it stays."""
        F = self.single_entries()
        for rows in row_blocks(F.shape, block_entries(self.steady_memory)):
            self.landmarks.features_of(F[rows])
        return F

    def feature_blocks(
        self, dtype: Any = np.float64, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        """Yield F = K_nm L^-T of some rows at a time from one on, with where they stand."""
        for rows, K in self.cross_blocks(dtype, entries, first):
            yield rows, self.landmarks.features_of(K)

    def cross_product(self, V: Array) -> Array:
        """Return K_nm V in float64, the matrix never stored."""
        out = np.empty((len(self), *V.shape[1:]))
        for rows, product in self.product_blocks(V):
            out[rows] = product
        return out

    def product_blocks(self, V: Array, most: int | None = None) -> Iterator[tuple[slice, Array]]:
        """Yield K_nm V of some rows at a time, so many at most, with where they stand."""
        program = self.landmarks.kernel.program
        for rows, some in narrow_blocks(self.X, most):
            yield rows, apply(program, some, self.landmarks.rows, V)

    def rows_at_once(self, width: int) -> int:
        """Return of how many rows so many numbers each take as much as two blocks of features."""
        m = self.landmarks.n_features
        return max(1, two_blocks(len(self), m, self.steady_memory) // width)

    def cross_transposed(self, U: Array) -> Array:
        """Return K_mn U in float64, the matrix never stored."""
        out = np.zeros((self.landmarks.n_features, *U.shape[1:]))
        program = self.landmarks.kernel.program
        for rows, some in narrow_blocks(self.X):
            out += apply(program, self.landmarks.rows, some, U[rows])
        return out

    def residuals(self, c: Array, y: Array, weights: Array) -> tuple[Array, Array]:
        """Return r = y - K_nm c, and K_mn W r beside K_mn W 1, in one pass in float64.

        Parameters
        ----------
        c : array of shape (m, targets)
            Coefficients of the landmarks.
        y : array of shape (n, targets)
            What to fit.
        weights : array of shape (n,)
            w.
        """
        # No coefficients leave all of 1.
        c = np.hstack([c, np.zeros((len(c), 1))])
        program, adjoint, r = self.landmarks.kernel.program, np.zeros_like(c), np.empty_like(y)
        for rows, some in narrow_blocks(self.X):
            both = np.hstack([y[rows], np.ones((len(y[rows]), 1))])
            found, part = residuals(program, some, self.landmarks.rows, c, both, weights[rows])
            r[rows] = found[:, :-1]
            adjoint += part
        return r, adjoint

    def sides(self, some: Any, dtype: Any) -> tuple[Any, Any]:
        """Return some rows and the landmarks, in float32 if asked for and entries are right so."""
        if dtype == np.float32 and self._is_single_at(some):
            return self._rounded(some)
        return some, self.landmarks.rows

    @cached_property
    def is_single(self) -> bool:
        """Whether entries of rows rounded to float32 are right, as measured at some rows."""
        some = take_rows(self.X, self.sample[0][:TRIED])
        return is_right_in_single(self.landmarks.kernel, some, self.landmarks.rows)

    def _is_single_at(self, some: Any) -> bool:
        """Whether entries of some rows may be computed from these in float32."""
        return self.is_single and fits_single(some)

    def _rounded(self, some: Any) -> tuple[Any, Any]:
        """Return some rows and the landmarks in float32."""
        return some.astype(np.float32), self.landmarks.rows.astype(np.float32)

    def normal_product(
        self, C: Array, weights: Array, dtype: Any = np.float64
    ) -> tuple[Array, Array]:
        """Return K_mn W K_nm C and 1'W K_nm C, in one pass.

        Parameters
        ----------
        C : array of shape (m, p)
            Coefficients of the landmarks.
        weights : array of shape (n,)
            w.
        dtype : dtype
            The precision of entries, float32 where these are right in it.
        """
        program, adjoint = self.landmarks.kernel.program, np.zeros_like(C)
        sums = np.zeros(C.shape[1])
        for rows, some in narrow_blocks(self.X):
            w, (X, Z) = weights[rows], self.sides(some, dtype)
            r, part = residuals(program, X, Z, C, np.zeros((len(w), C.shape[1])), w)
            adjoint += part
            sums += w @ r
        return -adjoint, -sums

    def sketch(
        self, size: int, weights: Array, seed: int, dtype: Any = np.float32
    ) -> tuple[Array, Array]:
        """Return S W^(1/2) K_nm and S W^(1/2) 1 in one pass, with random signs S.

        Every row goes with a random sign to one of `size` sums: blocks of rows to as many sums that
        follow each other, from a random one on.

        Parameters
        ----------
        size : int
            How many sums.
        weights : array of shape (n,)
            w.
        seed : int
            Where the random numbers come from.
        dtype : dtype
            The precision of the sums of entries.

        References
        ----------
        K. Clarkson and D. Woodruff (2013), Low rank approximation and regression in input
        sparsity time.
        """
        m = self.landmarks.n_features
        S, ones = np.zeros((size, m), dtype), np.zeros(size)
        entries = min(LARGE // 4, size * m)
        for rows, K in self.cross_blocks(dtype, entries):
            clear(K, self.landmarks.least_root**2)
            random = np.random.default_rng([seed, rows.start])
            signs = random.choice([-1.0, 1.0], len(K)) * np.sqrt(weights[rows])
            K *= signs.astype(dtype)[:, None]
            first = int(random.integers(size))
            before = min(size - first, len(K))
            S[first : first + before] += K[:before]
            ones[first : first + before] += signs[:before]
            S[: len(K) - before] += K[before:]
            ones[: len(K) - before] += signs[before:]
        return S, ones

    def product(self, V: Array) -> Array:
        inner = self.cross_transposed(np.asarray(V, np.float64))
        # K_mm^-1 = L^-T L^-1.
        c = self.landmarks.whitened(np.array(inner.reshape(len(inner), -1).T))
        return self.cross_product(self.landmarks.coefficients(c.T.reshape(inner.shape)))

    def diagonal(self) -> Array:
        """Return ||phi(x_i)||^2."""
        out = np.empty(len(self))
        for rows, F in self.feature_blocks():
            out[rows] = np.einsum("ij,ij->i", F, F)
        return out

    def rows(self, index: Index) -> Array:
        return self.between(index, slice(None))

    def between(self, rows: Index, columns: Index) -> Array:
        down, across = positions(rows, len(self)), positions(columns, len(self))
        left = self.landmarks(take_rows(self.X, down))
        out = np.empty((len(down), len(across)))
        for some, F in self.landmarks.blocks(take_rows(self.X, across)):
            out[:, some] = left @ F.T
        return out

    @cached_property
    def sample(self) -> tuple[NDArray[np.intp], Array]:
        """Some rows by their numbers, all over the matrix, and their features."""
        index = np.linspace(0, len(self) - 1, min(len(self), SAMPLE)).astype(np.intp)
        return index, self.landmarks(take_rows(self.X, index))

    @property
    def stored_dtype(self) -> np.dtype[Any] | None:
        """The precision of the features that are stored, or None where none are."""
        return None

    def held_blocks(
        self, entries: int | None = None, first: int = 0
    ) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Yield the features of some rows at a time as they are stored, not to be written to."""
        yield from self.feature_blocks(entries=entries, first=first)

    def by_landmarks(self) -> LandmarkGram:
        return self

    @property
    def landmark_rows(self) -> NDArray[np.intp]:
        return super().landmark_rows if self.index is None else self.index

    def approximation_error(self) -> tuple[float, int]:
        return self.trace_residual(), len(self.sample[0])

    def residual_diagonal(self) -> Array:
        return np.maximum(self.landmarks.kernel.diagonal(self.X) - self.diagonal(), 0.0)

    def trace_residual(self) -> float:
        """Return the share of tr K that the landmarks leave, tr(K - F F') / tr K, of some rows."""
        index, F = self.sample
        diagonal = self.landmarks.kernel.diagonal(take_rows(self.X, index))
        kept = float(np.einsum("ij,ij->", F, F))
        return max(1.0 - kept / float(np.sum(diagonal, dtype=np.float64)), 0.0)
