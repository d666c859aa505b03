"""The contract of a Gram matrix: what solvers may ask of it, and what follows from the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import MEMORY, row_blocks
from mercer.data.checks import LARGEST_SINGLE, Matrix
from mercer.data.limits.memory import lacking, memory_limit
from mercer.errors import MemoryLimitError
from mercer.kernels.validity.rounding import SINGLE, STEP

if TYPE_CHECKING:
    from mercer.features import LandmarkMap
    from mercer.gram.landmarks import LandmarkGram
    from mercer.gram.line.chain import ChainGram

Array = NDArray[Any]
# Row numbers, a slice, or a mask with one truth value per row.
Index = Any


class Gram(ABC):
    """The symmetric matrix K with K_ij = k(x_i, x_j), as an operator.

    It knows kernel and data, and no solver. `shape`, `dtype`, `product`, `rows` and `diagonal` have
    to be written; all else has a default that follows from them, which a Gram matrix overrides
    where it knows better. `mercer.testing.check_gram` checks that both agree.
    ``scipy.sparse.linalg`` takes it wherever it takes a LinearOperator.
    """

    # NumPy hands ``array @ gram`` over instead of taking the matrix for a scalar object.
    __array_ufunc__ = None

    # How far entries of `single` may be off, as a share of the largest entry.
    single_error: ClassVar[float] = 1e-5

    # Which of the kernel's features the columns of `features` are; None if all in order.
    feature_columns: NDArray[np.int64] | None = None
    # The map whose features those of this matrix are, where it is known by landmarks.
    landmarks: LandmarkMap | None = None
    # The limit in bytes, if one was given, and a Gram matrix whose limit holds here else.
    _given: int | None = None
    _limited_like: Gram | None = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries, float64 or float32."""

    @abstractmethod
    def product(self, V: Array) -> Array:
        """Return K V for a checked vector (m,) or matrix (m, p) of floats."""

    @abstractmethod
    def rows(self, index: Index) -> Array:
        """Return the rows at `index` as a matrix, one row of it for a single number."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Return k(x_i, x_i) for every row."""

    @property
    def memory(self) -> int:
        """The limit in bytes for `dense` and what else is as large; a share of what is free."""
        if self._given is not None:
            return self._given
        return self._default_memory if self._limited_like is None else self._limited_like.memory

    @memory.setter
    def memory(self, limit: int) -> None:
        self._given = limit

    @cached_property
    def _default_memory(self) -> int:
        """The limit where none was given, the same whenever it is asked for."""
        return memory_limit(None)

    def has_room(self, needed: float) -> bool:
        """Whether so many bytes are within the limit.

        What is no larger than a block of rows is taken everywhere without asking how much is free;
        a limit that was given holds for it as well.
        """
        is_block = needed <= 8 * MEMORY and not self._is_told
        return is_block or needed <= self.memory

    @property
    def _is_told(self) -> bool:
        """Whether the limit was given."""
        other = self._limited_like
        return self._given is not None or (other is not None and other._is_told)

    def check_room(self, dtype: Any) -> None:
        """Refuse entries of this type if all of them are more than the limit."""
        n = self.shape[0]
        if not self.has_room(n * n * np.dtype(dtype).itemsize):
            check_fits(self.shape, dtype, self.memory)

    @property
    def T(self) -> Self:
        """The transpose, the same matrix."""
        return self

    # What is known of the matrix.

    @property
    def dense_bytes(self) -> int:
        """The memory that all entries take."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def held_bytes(self) -> int:
        """The memory that entries already take."""
        return 0

    @property
    def has_own_threads(self) -> bool:
        """Whether products run on threads that are not those of the BLAS."""
        return False

    @property
    def is_structured(self) -> bool:
        """Whether a product takes less time than reading n x n entries would."""
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

    # Other forms of the matrix.

    def part(self, index: Index) -> Gram:
        """Return K at some of its rows and the same columns."""
        from mercer.gram.wrapped import PartOfGram

        return PartOfGram(self, positions(index, len(self)))

    def single(self) -> Gram:
        """Return K in float32, or refuse where the numbers of float32 end before its entries."""
        if self.dtype == np.float32:
            return self
        self.check_single()
        from mercer.gram.wrapped import SingleGram

        return SingleGram(self)

    def check_single(self) -> None:
        """Refuse entries beyond the numbers of float32."""
        largest = np.abs(self.diagonal()).max(initial=0.0)
        if not largest <= LARGEST_SINGLE:
            raise ValueError(
                f"k(x, x) is up to {largest:.2g} on these rows, and working sets "
                "are solved in float32, which ends at 3.4e+38; scale the columns"
            )

    def shifted(self, d: Any) -> Gram:
        """Return K + diag(d) for a number or a vector d."""
        from mercer.gram.wrapped import ShiftedGram

        return ShiftedGram(self, d)

    def features(self) -> Matrix | None:
        """Return F, dense or CSR, where F F' = K is how the matrix is known; else None."""
        return None

    @property
    def landmark_rows(self) -> NDArray[np.intp]:
        """Which of its rows are landmarks, in a matrix that is known by these."""
        return np.empty(0, np.intp)

    def approximation_error(self) -> tuple[float, int]:
        """Return the share of the trace of K that it is without, and of how many rows it is known.

        It is zero, but for a matrix that is known by landmarks.
        """
        return 0.0, len(self)

    def residual_diagonal(self) -> Array | None:
        """Return what of k(x_i, x_i) its diagonal is without, (n,); None if k is not known."""
        return np.zeros(len(self))

    def entries_at(self, X: Any) -> Array:
        """Return k(x_i, x) between its rows x_i and new rows x, of shape (n, new rows)."""
        raise self._without_kernel()

    def features_at(self, X: Any) -> Matrix:
        """Return the features of new rows, with the columns of `features`."""
        raise self._without_kernel()

    def _without_kernel(self) -> ValueError:
        return ValueError(
            f"{self!r} does not know how new rows compare with its own; use gram_of(kernel, X)"
        )

    def entries(self) -> Gram:
        """Return the same matrix as one whose entries are soon had, for one of features."""
        return self

    def chain(self) -> ChainGram | None:
        """Return the matrix as that of points on a line whose inverse is tridiagonal, or None."""
        return None

    def by_landmarks(self) -> LandmarkGram | None:
        """Return the matrix as the one that is known by landmarks, or None."""
        return None

    @property
    def stored(self) -> tuple[Array, Array | None] | None:
        """The array in memory that has all entries, and at which of its rows; None for all rows.

        None as a whole if the entries are in no such array.
        """
        return None

    # Entries and sums.

    def between(self, rows: Index, columns: Index) -> Array:
        """Return the entries K_ij of some rows i and some columns j, as a new array."""
        down, across = positions(rows, len(self)), positions(columns, len(self))
        # Whole rows are computed, so that the fewer of them the better.
        if len(across) < len(down):
            return self.rows(across)[:, down].T
        return self.rows(down)[:, across]

    def partial_product(self, rows: Index | None, columns: Index, V: Array) -> Array:
        """Return the sums over some columns j of K_ij V_j at some rows i, or at all for None.

        Parameters
        ----------
        rows, columns : index
            Which; the same object for both may take half of the work.
        V : array of shape (columns,) or (columns, p)
            The factors.
        """
        down = slice(None) if rows is None else rows
        across = positions(columns, len(self))
        n = len(positions(down, len(self)))
        out = np.zeros((n, *V.shape[1:]))
        for block in row_blocks((len(across), n)):
            out += self.between(across[block], down).T @ V[block]
        return out

    def lower(self, dtype: Any) -> Array:
        """Return a new array of which the lower triangle holds K in this precision.

        Entries are computed in the precision of the Gram and rounded when they are stored.
        """
        self.check_room(dtype)
        out = np.empty(self.shape, dtype)
        for rows in row_blocks(self.shape):
            out[rows, : rows.stop] = self.rows(rows)[:, : rows.stop]
        return out

    def dense(self) -> Array:
        """Return all entries, or refuse with `MemoryLimitError` where they do not fit."""
        self.check_room(self.dtype)
        out = np.empty(self.shape, self.dtype)
        for rows in row_blocks(self.shape):
            out[rows] = self.rows(rows)
        return out

    def fresh(self) -> Array:
        """Return all entries in float64 as a new array, which the caller may overwrite."""
        self.check_room(np.float64)
        K = self.dense()
        return np.array(K, np.float64, order="C", copy=None if K.flags.writeable else True)

    # Products by operators, checked.

    def __len__(self) -> int:
        return self.shape[0]

    def __matmul__(self, V: Any) -> Array:
        return self.product(_as_right_side(V, self.shape[1]))

    def __rmatmul__(self, V: Any) -> Array:
        return (self.T @ np.asarray(V).T).T

    # The names by which scipy.sparse.linalg.aslinearoperator knows an operator.

    def matvec(self, v: Any) -> Array:
        """Return K v."""
        return self @ v

    def rmatvec(self, v: Any) -> Array:
        """Return K'v."""
        return self.T @ v

    def matmat(self, V: Any) -> Array:
        """Return K V."""
        return self @ V

    def rmatmat(self, V: Any) -> Array:
        """Return K'V."""
        return self.T @ V

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<{type(self).__name__} {n} x {m}, {self.dtype}>"


def positions(index: Index, n: int) -> NDArray[np.intp]:
    """Return row numbers, a slice or a mask as the vector of the row numbers it means."""
    return np.atleast_1d(np.arange(n)[index])


def check_fits(shape: tuple[int, int], dtype: Any, limit: int, copies: int = 1) -> None:
    """Refuse a matrix, or several at once, of more bytes than the limit, before it is allocated."""
    needed = copies * shape[0] * shape[1] * np.dtype(dtype).itemsize
    if needed > limit:
        of = f"{shape[0]} x {shape[1]} {np.dtype(dtype)} entries"
        what = f"a dense matrix of {of} needs"
        raise MemoryLimitError(
            f"{what if copies == 1 else f'{copies} dense matrices of {of} need'} "
            f"{lacking(needed, limit)}; raise memory=, use fewer rows, or use products with the "
            "streamed operator, which store nothing of that size"
        )


def _as_right_side(V: Any, m: int) -> Array:
    vectors = np.asarray(V)
    if vectors.dtype.kind not in "fiub":
        raise ValueError(f"V must hold real numbers, got dtype {vectors.dtype}")
    if vectors.ndim not in (1, 2) or vectors.shape[0] != m:
        raise ValueError(f"V must have {m} rows to be multiplied by K, got shape {vectors.shape}")
    is_float = vectors.dtype in (np.float32, np.float64)
    return vectors if is_float else vectors.astype(np.float64)
