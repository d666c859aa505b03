"""Kernels that users bring: a function, a feature map, a finished matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.data.checks import as_matrix
from mercer.data.columns import n_rows
from mercer.engine import Expression, Tile
from mercer.kernels import domains
from mercer.kernels.formula import Array, Rule
from mercer.kernels.kernel import Kernel
from mercer.kernels.maps import Received


@dataclass(frozen=True)
class Filler:
    """The block of values of a user's function, checked for shape and finiteness."""

    f: Callable[..., Any]
    pairwise: bool

    def __call__(self, X: Any, Z: Any) -> Array:
        if self.pairwise:
            block = np.array([[self.f(x, z) for z in _each(Z)] for x in _each(X)], dtype=float)
            block = block.reshape(n_rows(X), n_rows(Z))
        else:
            block = np.asarray(self.f(X, Z))
        expected = (n_rows(X), n_rows(Z))
        if block.shape != expected:
            raise ValueError(
                f"the kernel function returned shape {block.shape} for {expected[0]} and "
                f"{expected[1]} rows; it must return {expected} (or pass pairwise=True for f(x, z))"
            )
        if block.dtype.kind not in "fiub" or not np.isfinite(block).all():
            raise ValueError(
                "the kernel function returned values that are not finite real numbers "
                f"(dtype {block.dtype}); check it on these rows"
            )
        return block.astype(np.float64, copy=False)


def _each(X: Any) -> Any:
    return X if isinstance(X, list | tuple | np.ndarray) else as_matrix(X)


@dataclass(frozen=True)
class FromFunction(Kernel):
    """A kernel given by a Python function of two blocks of rows.

    Parameters
    ----------
    f : callable
        f(X, Z) -> (n, m), vectorised.
    pairwise : bool
        True if `f` takes single rows instead: f(x, z) -> float.
    """

    domain: ClassVar[str] = "anything"
    f: Callable[..., Any] = domains.function()
    pairwise: bool = False

    def lower(self, t: Tile) -> Expression:
        return t.opaque(Filler(self.f, self.pairwise))


@dataclass(frozen=True)
class FromFeatures(Kernel):
    """The inner product of explicit features: phi(x)'phi(z).

    Parameters
    ----------
    phi : callable
        phi(X) -> (n, p), vectorised. Lists and tables of numbers come to it as an array of shape
        (n, columns); all other rows, such as texts and tables that hold some, come as given.
    """

    domain: ClassVar[str] = "anything"
    phi: Callable[[Any], Any] = domains.function()

    def lower(self, t: Tile) -> Expression:
        return t.after(Received()).after(self.phi).dot()

    def rule(self) -> Rule:
        return "inner product of explicit features"


def _finished(K: Any, Z: Any) -> Array:
    matrix = as_matrix(K)
    if Z is not K and matrix.shape[1] != n_rows(Z):
        raise ValueError(
            f"a precomputed block of shape {matrix.shape} does not fit {n_rows(Z)} training rows; "
            "it must have one column per training row"
        )
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _finished_diagonal(K: Any) -> Array:
    matrix = as_matrix(K)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"a precomputed block of shape {matrix.shape} has no diagonal k(x, x); "
            "only the square training matrix has"
        )
    return np.asarray(matrix.diagonal())


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A finished Gram matrix: the rows given are its rows."""

    def lower(self, t: Tile) -> Expression:
        return t.opaque(_finished, _finished_diagonal, whole=True)
