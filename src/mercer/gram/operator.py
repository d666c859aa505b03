"""The contract of a linear operator: a matrix known by its products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.memory import gigabytes
from mercer.errors import MemoryLimitError

Array = NDArray[Any]
# Row numbers, a slice, or a mask with one truth value per row.
Index = Any


class Operator(ABC):
    """A real matrix of which products, rows and, memory permitting, all entries can be had.

    ``scipy.sparse.linalg`` takes it wherever it takes a LinearOperator.
    """

    # NumPy hands ``array @ operator`` over instead of taking the operator for a scalar object.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries, float64 or float32."""

    @property
    @abstractmethod
    def T(self) -> Operator:
        """The transpose."""

    @abstractmethod
    def product(self, V: Array) -> Array:
        """Return K V for a checked vector (m,) or matrix (m, p) of floats."""

    @abstractmethod
    def rows(self, index: Index) -> Array:
        """Return the rows at `index` as a matrix, one row of it for a single number."""

    @abstractmethod
    def dense(self) -> Array:
        """Return all entries, or refuse with `MemoryLimitError` where they do not fit."""

    @property
    def dense_bytes(self) -> int:
        """The memory that all entries take."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

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


def check_fits(shape: tuple[int, int], dtype: Any, limit: int) -> None:
    """Refuse a matrix of more bytes than the limit, before it is allocated."""
    needed = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if needed > limit:
        raise MemoryLimitError(
            f"a dense matrix of {shape[0]} x {shape[1]} {np.dtype(dtype)} entries needs "
            f"{gigabytes(needed)} but the limit is {gigabytes(limit)}; raise memory=, use fewer "
            "rows, or use products with the streamed operator, which store nothing of that size"
        )


def _as_right_side(V: Any, m: int) -> Array:
    vectors = np.asarray(V)
    if vectors.dtype.kind not in "fiub":
        raise ValueError(f"V must hold real numbers, got dtype {vectors.dtype}")
    if vectors.ndim not in (1, 2) or vectors.shape[0] != m:
        raise ValueError(f"V must have {m} rows to be multiplied by K, got shape {vectors.shape}")
    is_float = vectors.dtype in (np.float32, np.float64)
    return vectors if is_float else vectors.astype(np.float64)
