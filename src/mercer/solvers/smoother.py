"""The contract of a fit as a linear map of its targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class LinearSmoother(ABC):
    """The fit as a linear map of the targets: f(x) + b = h(x)'y, for those that share one alpha.

    Parameters
    ----------
    targets : array of int
        Which targets these are.
    """

    targets: NDArray[np.intp]

    @abstractmethod
    def weights(self, X: Any) -> Array:
        """Return h(x) at the rows `X`, of shape (n, rows)."""

    @abstractmethod
    def variance(self, X: Any, prior: Array) -> Array:
        """Return the posterior variance of f(x) + b at the rows `X`, with k(x, x) for a prior.

        That of f is a Gaussian process with covariance k, the noise has variance alpha / w, and b
        is free.
        """

    def at(self, X: Any, prior: Array) -> tuple[Array, Array]:
        """Return both."""
        return self.weights(X), self.variance(X, prior)
