"""The contract of a Gram matrix: what solvers may ask of it, and what follows from the rest."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.data.checks import Matrix, fits_single
from mercer.data.memory import memory_limit
from mercer.gram.operator import Array, Index, Operator, check_fits, positions
from mercer.kernels.validity.rounding import SINGLE, STEP

if TYPE_CHECKING:
    from mercer.features import LandmarkMap
    from mercer.gram.landmarks import LandmarkGram
    from mercer.gram.line.chain import ChainGram


class Gram(Operator):
    """The symmetric matrix K with K_ij = k(x_i, x_j), as an operator.

    It knows kernel and data, and no solver. `shape`, `dtype`, `product`, `rows` and `diagonal` have
    to be written; all else has a default that follows from them, which a Gram matrix overrides
    where it knows better. `mercer.testing.check_gram` checks that both agree.
    """

    # How far entries of `single` may be off, as a share of the largest entry.
    single_error: ClassVar[float] = 1e-5

    # Which of the kernel's features the columns of `features` are; None if all in order.
    feature_columns: NDArray[np.int64] | None = None
    # The map whose features those of this matrix are, where it is known by landmarks.
    landmarks: LandmarkMap | None = None

    @abstractmethod
    def diagonal(self) -> Array:
        """Return k(x_i, x_i) for every row."""

    @cached_property
    def memory(self) -> int:
        """The limit in bytes for `dense` and what else is as large; a share of what is free."""
        return memory_limit(None)

    @property
    def T(self) -> Self:
        return self

    # What is known of the matrix.

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
        return PartOfGram(self, positions(index, len(self)))

    def single(self) -> Gram:
        """Return K in float32, or refuse where the numbers of float32 end before its entries."""
        if self.dtype == np.float32:
            return self
        diagonal = self.diagonal()
        if not fits_single(diagonal):
            raise ValueError(
                f"k(x, x) is up to {np.abs(diagonal).max():.2g} on these rows, and working sets "
                "are solved in float32, which ends at 3.4e+38; scale the columns"
            )
        return SingleGram(self)

    def shifted(self, d: Any) -> Gram:
        """Return K + diag(d) for a number or a vector d."""
        return ShiftedGram(self, d)

    def features(self) -> Matrix | None:
        """Return F, dense or CSR, where F F' = K is how the matrix is known; else None."""
        return None

    @property
    def landmark_rows(self) -> NDArray[np.intp]:
        """Which of its rows are landmarks, in a matrix that is known by these."""
        return np.empty(0, np.intp)

    def left_out(self) -> tuple[float, int]:
        """Return the share of the trace of K that it is without, and of how many rows it is known.

        It is zero, but for a matrix that is known by landmarks.
        """
        return 0.0, len(self)

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
        check_fits(self.shape, dtype, self.memory)
        out = np.empty(self.shape, dtype)
        for rows in row_blocks(self.shape):
            out[rows, : rows.stop] = self.rows(rows)[:, : rows.stop]
        return out

    def dense(self) -> Array:
        check_fits(self.shape, self.dtype, self.memory)
        out = np.empty(self.shape, self.dtype)
        for rows in row_blocks(self.shape):
            out[rows] = self.rows(rows)
        return out

    def fresh(self) -> Array:
        """Return all entries in float64 as a new array, which the caller may overwrite."""
        check_fits(self.shape, np.float64, self.memory)
        K = self.dense()
        return np.array(K, np.float64, order="C", copy=None if K.flags.writeable else True)


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
        self.gram = gram
        self.index = index
        self.memory = gram.memory

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
        check_fits(self.shape, self.dtype, self.memory)
        return self.gram.between(self.index, self.index)


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
            check_fits(self.shape, self.dtype, self.memory)
            K = K.copy()
        K[np.diag_indices(len(self))] += self.shift
        return K

    def shifted(self, d: Any) -> ShiftedGram:
        return ShiftedGram(self.gram, self.shift + ShiftedGram(self.gram, d).shift)
