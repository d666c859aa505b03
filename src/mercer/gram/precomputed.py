"""The Gram matrix that the user brought, and formulas that it takes part in."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.blocks import half_blocks
from mercer.data.checks import as_matrix
from mercer.data.limits.memory import memory_limit
from mercer.gram.dense import DenseGram
from mercer.gram.gram import Array, Gram
from mercer.gram.streamed import StreamedGram
from mercer.kernels import Kernel
from mercer.kernels.validity.rounding import FUNCTION


class PrecomputedGram(DenseGram):
    """A finished matrix: square, real, finite and symmetric within 8 eps max|K|.

    Parameters
    ----------
    K : array of shape (n, n)
        The matrix; it is not copied.
    memory : int or str, optional
        The limit for copies of it, in bytes or as ``"4GB"``; a share of the free memory by
        default.
    """

    def __init__(self, K: Any, memory: Any = None) -> None:
        super().__init__(as_finished(K), None if memory is None else memory_limit(memory))

    @property
    def entry_error(self) -> float:
        return max(super().entry_error, FUNCTION)

    def residual_diagonal(self) -> None:
        """Return None: of new rows the matrix tells no k(x, x)."""

    def entries_at(self, X: Any) -> Array:
        """Return new rows of the finished matrix, transposed."""
        matrix = as_matrix(X, "the rows of the precomputed Gram matrix")
        return (matrix if isinstance(matrix, np.ndarray) else matrix.toarray()).T


class FormulaOfPrecomputed(StreamedGram):
    """A formula of kernels, one of which is a finished Gram matrix, computed tile by tile.

    The matrix has a column for every row, so that entries between some rows and some columns, and
    those of rows in float32, are had from whole rows.

    Parameters
    ----------
    kernel : Kernel
        The formula.
    K : array of shape (n, n)
        The matrix; it is not copied.
    memory : int or str, optional
        The limit for `dense`, in bytes or as ``"4GB"``; a share of the free memory by default.
    """

    def __init__(self, kernel: Kernel, K: Any, memory: Any = None) -> None:
        super().__init__(kernel, as_finished(K), memory)

    def residual_diagonal(self) -> None:
        """Return None, as `PrecomputedGram` does."""

    between = Gram.between
    errors = Gram.errors
    part = Gram.part
    partial_product = Gram.partial_product
    single = Gram.single


def as_finished(K: Any) -> Array:
    """Return `K` as a dense matrix of floats, or say why it cannot be a Gram matrix."""
    matrix = as_matrix(K, "the precomputed Gram matrix")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"a precomputed Gram matrix must be square, got shape {matrix.shape}; "
            "give k(x_i, x_j) of the training rows with themselves"
        )
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    _check_symmetric(dense)
    return dense


def _check_symmetric(K: Array) -> None:
    tolerance = 8 * np.finfo(K.dtype).eps * max(K.max(), -K.min())
    for rows, columns in half_blocks(len(K)):
        gap = np.abs(K[rows, columns] - K[columns, rows].T)
        if gap.max() > tolerance:
            i, j = np.unravel_index(gap.argmax(), gap.shape)
            i, j = int(i) + rows.start, int(j) + columns.start
            raise ValueError(
                f"a precomputed Gram matrix must be symmetric, but K[{i}, {j}] = {K[i, j]:.17g} "
                f"and K[{j}, {i}] = {K[j, i]:.17g}; use (K + K.T) / 2 if they should be equal"
            )
