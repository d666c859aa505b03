"""Kernels that are valid on coefficients of sum zero, made valid on all by an origin."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.data.columns import take_rows
from mercer.data.distinct import distinct_sample
from mercer.data.sequences import sequence_rows
from mercer.data.stream import some_rows
from mercer.kernels import domains
from mercer.kernels.formula import Rule
from mercer.kernels.kernel import Applied, Kernel
from mercer.kernels.validity.proof import Proof
from mercer.tiles import Expression, Tile
from mercer.tiles.derivative import input_gradient

Array = NDArray[Any]


@dataclass(frozen=True)
class Recentred(Applied):
    """k(x, z) - k(x, x0) - k(x0, z) + k(x0, x0) + c: the kernel k seen from a row x0 as origin.

    It has the values of k on coefficients of sum zero, and is positive semi-definite if k is so on
    these. Where an offset is fitted freely, which keeps that sum, both give the same function.

    Parameters
    ----------
    kernel : Kernel
        k.
    origin : tuple of numbers, str, or tuple of tokens
        x0, a row as k reads it.
    level : float
        c, not negative: a positive one keeps the matrix of distinct rows, x0 among them,
        invertible.

    References
    ----------
    I. J. Schoenberg (1938), Metric spaces and positive definite functions.
    """

    method: ClassVar[str] = "seen_from"
    origin: tuple[Any, ...] | str
    level: float = domains.non_negative(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.origin, str):
            object.__setattr__(self, "origin", tuple(np.asarray(self.origin).tolist()))

    def lower(self, t: Tile) -> Expression:
        # (u(x), 1)'(1, u(z)) = u(x) + u(z).
        beside = t.after(FromOrigin(self.kernel, self.origin, self.level))
        return self.kernel.lower(t) - beside.dot(Swapped())

    def rule(self) -> Rule:
        return "conditionally positive definite k, seen from an origin (Schoenberg)"

    def proof(self) -> Proof | None:
        if self.kernel.is_conditional:
            return Proof(self, str(self.rule()))
        return super().proof()


@dataclass(frozen=True)
class FromOrigin:
    """The map of a row x to (u(x), 1) with u(x) = k(x, x0) - (k(x0, x0) + c) / 2.

    Parameters
    ----------
    kernel : Kernel
        k.
    origin : row
        x0.
    level : float
        c.
    """

    kernel: Kernel
    origin: tuple[Any, ...] | str
    level: float

    def __call__(self, X: Any) -> Array:
        rows = _read(self.kernel, X)
        x0: Any = [self.origin] if isinstance(rows, list) else np.array([self.origin], rows.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            u = self.kernel(rows, x0)[:, 0] - 0.5 * (self.kernel.diagonal(x0)[0] + self.level)
        if not np.isfinite(u).all():
            raise ValueError(
                f"k(x, x0) of {self.kernel!r} is not finite at row {int(np.argmin(np.isfinite(u)))}"
                "; scale the columns, or choose a kernel that does not overflow on them"
            )
        return np.column_stack([u, np.ones_like(u)])

    def pullback(self, X: Any, V: Array) -> Array:
        """Return J(x)'v: the gradient of k(x, x0) by x, times v_0."""
        rows = _read(self.kernel, X)
        x0, one = np.array([self.origin], rows.dtype), np.ones((1, 1))
        return input_gradient(self.kernel.lower(Tile()), rows, x0, one) * V[:, :1]

    def as_latex(self, x: str) -> str:
        """Return the pair in terms of the row."""
        return rf"\left(u({x}),\, 1\right)"


@dataclass(frozen=True)
class Swapped:
    """The map of a pair to the same pair in the other order."""

    def __call__(self, X: Array) -> Array:
        return np.ascontiguousarray(X[:, ::-1])

    def pullback(self, X: Array, V: Array) -> Array:
        """Return J(x)'v: v in the other order."""
        return V[:, ::-1]

    def as_latex(self, x: str) -> str:
        """Return the swapped pair."""
        return rf"\operatorname{{swap}}{x}"


def recentred(kernel: Kernel, X: Any) -> Kernel:
    """Return a kernel that is positive semi-definite, and has the values of `kernel` on contrasts.

    It is the kernel itself unless that is valid on coefficients of sum zero only. Of a sum, a
    multiple or a kernel on columns only the parts that need it are replaced.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    X : rows
        The training rows, one of which becomes the origin: of a sample the one that is nearest to
        the others, so that little cancels. It depends on what the rows hold, not on their order.
    """
    if not kernel.is_conditional:
        return kernel
    X = some_rows(X)
    if not kernel.keeps_sums:
        return Recentred(kernel, *_middle(kernel, X))
    inner = kernel.inputs(X)
    changes: dict[str, Any] = {}
    for f in fields(kernel):
        value = getattr(kernel, f.name)
        if isinstance(value, Kernel):
            changes[f.name] = recentred(value, inner)
        elif isinstance(value, tuple) and any(isinstance(v, Kernel) for v in value):
            changes[f.name] = tuple(recentred(v, inner) for v in value)
    return kernel.with_params(**changes)


def _middle(kernel: Kernel, X: Any) -> tuple[Any, float]:
    """Return the row of a sample nearest to the others, and its mean squared distance to them.

    The distances are those of the kernel's features; one is taken for zero.
    """
    rows = _read(kernel, X)
    # Rows among which the origin is the one nearest to the others: a few dozen know the middle.
    origin_rows = 64
    some = take_rows(rows, distinct_sample(rows, origin_rows))
    # Rows that overflow are refused where they meet the origin.
    with np.errstate(over="ignore", invalid="ignore"):
        K, own = kernel(some).astype(np.float64), kernel.diagonal(some).astype(np.float64)
        distances = own.mean() + own - 2.0 * K.mean(axis=1)
    row = int(np.argmin(distances))
    level = float(distances[row])
    level = level if 0.0 < level < np.inf else 1.0
    if isinstance(some, list):
        return some[row] if isinstance(some[row], str) else tuple(some[row]), level
    return tuple((some[[row]].toarray() if sp.issparse(some) else some[[row]])[0].tolist()), level


def _read(kernel: Kernel, X: Any) -> Any:
    """Return rows as a matrix if the kernel reads numbers, else as a list."""
    return as_matrix(X) if kernel.domain == "numbers" else list(sequence_rows(X))
