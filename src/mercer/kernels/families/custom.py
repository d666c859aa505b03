"""Kernels that users bring: a function, a feature map, a finished matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.data.checks import as_matrix
from mercer.data.columns import n_rows
from mercer.kernels import domains
from mercer.kernels.formula import Array, Rule
from mercer.kernels.kernel import Kernel
from mercer.kernels.maps import Received
from mercer.tiles import Expression, Tile


@dataclass(frozen=True)
class Filler:
    """The block of values of a user's function, checked for shape and finiteness."""

    f: Callable[..., Any] = field(hash=False)
    pairwise: bool

    def __call__(self, X: Any, Z: Any) -> Array:
        expected = (n_rows(X), n_rows(Z))
        if self.pairwise:
            values = [_dense(self.f(x, z)) for x in _each(X) for z in _each(Z)]
            block = np.array(values, dtype=float).reshape(expected)
        else:
            try:
                block = _dense(self.f(X, Z))
            except Exception as error:
                if self._takes_rows(X, Z):
                    raise ValueError(
                        f"the kernel function refuses two blocks of rows ({error}) but takes two "
                        "rows; pass FromFunction(f, pairwise=True)"
                    ) from error
                raise
        if block.shape != expected:
            raise ValueError(
                f"the kernel function returned shape {block.shape} for {expected[0]} and "
                f"{expected[1]} rows; it must return {expected}, or if it is written for two rows, "
                "f(x, z) -> float, pass FromFunction(f, pairwise=True)"
            )
        if block.dtype.kind not in "fiub" or not np.isfinite(block).all():
            raise ValueError(
                "the kernel function returned values that are not finite real numbers "
                f"(dtype {block.dtype}); check it on these rows"
            )
        return block.astype(np.float64, copy=False)

    def _takes_rows(self, X: Any, Z: Any) -> bool:
        """Whether the function gives a number for two single rows."""
        try:
            value = _dense(self.f(next(iter(_each(X))), next(iter(_each(Z)))))
        except Exception:
            return False
        return value.size == 1 and value.dtype.kind in "fiub"


def _dense(values: Any) -> Array:
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def _each(X: Any) -> Any:
    return X if isinstance(X, list | tuple | np.ndarray) else as_matrix(X)


@dataclass(frozen=True)
class FromFunction(Kernel):
    """A kernel given by a Python function of two blocks of rows.

    Parameters
    ----------
    f : callable
        f(X, Z) -> (n, m), vectorised; a sparse matrix will do.
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

    @cached_property
    def is_precomputed(self) -> bool:
        return True

    def lower(self, t: Tile) -> Expression:
        return t.opaque(_finished, _finished_diagonal, whole=True)
