"""The problem of leading eigenvectors, what is found of them, and the contract of what finds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.contract import Limited, Outcome

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Components(Outcome):
    """K = V diag(s) V', or CKC with C = I - 11'/n, as far as the largest s; and how to go on.

    The score of a row x is c_j(x) = sum_i k(x, x_i) A_ij - b_j, which on the training rows is
    sqrt(s_j) V_ij: inner products of scores are those of the (centred) features of the kernel.

    Parameters
    ----------
    values : array of shape (m,)
        s in descending order; what rounding explains is zero.
    vectors : array of shape (n, m)
        V, each column with its largest entry positive.
    coefficients : array of shape (r, m)
        A; zero where s is.
    offset : array of shape (m,)
        b; zero without centring.
    index : array of shape (r,), optional
        The rows x_i of the sum, if they are not all.
    residual : float
        The share of the trace of K that is left out.

    The iterations are products with K, 1 for a solver that does not iterate.
    """

    values: Array
    vectors: Array
    coefficients: Array
    offset: Array
    index: NDArray[np.intp] | None = None
    residual: float = 0.0

    @property
    def n_landmarks(self) -> int:
        """The number of rows in the sum."""
        return len(self.coefficients)

    @property
    def scores(self) -> Array:
        """The scores of the training rows."""
        return self.vectors * np.sqrt(self.values)

    def padded(self, columns: int) -> Components:
        """Return as many components, those beyond the ones found of zero."""
        wider = ((0, 0), (0, columns - len(self.values)))
        return replace(
            self,
            values=np.pad(self.values, wider[1]),
            vectors=np.pad(self.vectors, wider),
            coefficients=np.pad(self.coefficients, wider),
            offset=np.pad(self.offset, wider[1]),
        )

    @property
    def dense_coefficients(self) -> Array:
        """A with a row for every training row."""
        if self.index is None:
            return self.coefficients
        full = np.zeros((len(self.vectors), len(self.values)))
        full[self.index] = self.coefficients
        return full


@dataclass(frozen=True)
class ComponentProblem:
    """The eigenvectors of K, or of CKC with C = I - 11'/n, of the largest eigenvalues.

    Parameters
    ----------
    rows : int
        n.
    most : int, optional
        How many of them; None is all that are not zero.
    centred : bool
        Whether they are those of CKC.
    """

    rows: int
    most: int | None
    centred: bool

    def zero_solution(self, tol: float) -> Components:
        """Return no components, or as many of zero as are asked for."""
        none = Components(
            np.empty(0), np.empty((self.rows, 0)), np.empty((self.rows, 0)), np.empty(0)
        )
        return none if self.most is None else none.padded(self.most)


class ComponentSolver(Limited[ComponentProblem, Components]):
    """What finds the components of a Gram matrix."""

    # Whether every entry of the Gram matrix is read.
    reads_all: ClassVar[bool]
