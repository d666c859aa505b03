"""The contract of a feature map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import LARGE, blocks_of
from mercer.data.checks import Matrix
from mercer.data.columns import n_rows
from mercer.kernels import Kernel

Array = NDArray[Any]


class FeatureMap(ABC):
    """phi, a map of rows to finitely many numbers with phi(x)'phi(z) = k(x, z), or about that.

    It is a frozen dataclass of a kernel, rows and arrays: the state of a map is what it holds.
    """

    kernel: Kernel

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features p."""

    @property
    @abstractmethod
    def is_exact(self) -> bool:
        """Whether phi(x)'phi(z) is k(x, z) for all rows, but for rounding."""

    @property
    def names(self) -> list[str]:
        """What the features are called, one name each."""
        prefix = type(self).__name__.removesuffix("Map").lower()
        return [f"{prefix}{j}" for j in range(self.n_features)]

    @abstractmethod
    def of_block(self, X: Any, dtype: Any = np.float64) -> Matrix:
        """Return phi(X) of a few rows, of shape (n, p), in float64 or float32."""

    def blocks(
        self, X: Any, dtype: Any = np.float64, entries: int = LARGE
    ) -> Iterator[tuple[slice, Matrix]]:
        """Yield phi of some of the rows `X` at a time, with where they stand.

        Parameters
        ----------
        X : rows
            The rows.
        dtype : dtype
            The precision of the features.
        entries : int
            About how many numbers a block has, see `mercer.data.blocks`.
        """
        for rows, some in blocks_of(X, self.n_features, entries):
            yield rows, self.of_block(some, dtype)

    def __call__(self, X: Any, dtype: Any = np.float64) -> Matrix:
        """Return phi(X), of shape (n, p)."""
        n, out = n_rows(X), None
        for rows, F in self.blocks(X, dtype):
            if F.shape[0] == n:
                return F
            out = np.empty((n, self.n_features), dtype) if out is None else out
            out[rows] = F
        return np.empty((0, self.n_features), dtype) if out is None else out
