"""Kernels of the inner product x'z."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.checks import as_matrix
from mercer.kernels import domains
from mercer.kernels.formula import Array, Rule
from mercer.kernels.kernel import Kernel
from mercer.kernels.language.notation import matrix
from mercer.tiles import Expression, Tile


def _number(scale: Any) -> Any:
    if isinstance(scale, str):
        raise ValueError(f"scale is the rule {scale!r}; resolve it on rows first: k.resolved(X)")
    return scale


@dataclass(frozen=True)
class Linear(Kernel):
    """Inner product plus a constant: x'z + c.

    Parameters
    ----------
    offset : float
        c, at least zero for a valid kernel.
    """

    offset: float = domains.real(0.0)

    def lower(self, t: Tile) -> Expression:
        return t.dot() + self.offset

    def rule(self) -> Rule:
        return "inner product plus a non-negative constant" if self.offset >= 0 else None


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Power of the inner product: (s x'z + c)^p.

    Parameters
    ----------
    degree : int
        p, at least one.
    offset : float
        c, at least zero for a valid kernel.
    scale : float, "columns" or "variance"
        s; ``"columns"`` is one over the number of columns, ``"variance"`` one over that number
        times the variance of all entries.
    """

    degree: int = domains.whole(2)
    offset: float = domains.real(1.0)
    scale: float | str = domains.slope(1.0)

    def lower(self, t: Tile) -> Expression:
        return (_number(self.scale) * t.dot() + self.offset) ** self.degree

    def rule(self) -> Rule:
        valid = self.offset >= 0 and (isinstance(self.scale, str) or self.scale >= 0)
        return "whole power of a non-negative combination of x'z and 1" if valid else None


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """Hyperbolic tangent of the inner product: tanh(s x'z + c), which is not positive definite.

    Parameters
    ----------
    scale : float, "columns" or "variance"
        s; ``"columns"`` is one over the number of columns, ``"variance"`` one over that number
        times the variance of all entries.
    offset : float
        c.
    """

    scale: float | str = domains.slope(1.0)
    offset: float = domains.real(0.0)

    def lower(self, t: Tile) -> Expression:
        return t.tanh(_number(self.scale) * t.dot() + self.offset)


@dataclass(frozen=True)
class Cosine(Kernel):
    """Cosine of the angle between two rows: x'z / (||x|| ||z||), zero for a zero row."""

    def lower(self, t: Tile) -> Expression:
        return t.normalize(t.dot())

    def rule(self) -> Rule:
        return "normalised inner product"


@functools.lru_cache(maxsize=64)
def _is_semi_definite(A: tuple[tuple[float, ...], ...]) -> bool:
    """Whether a symmetric matrix is known for certain to be positive semi-definite."""
    values = np.linalg.eigvalsh(np.array(A))
    rounding = 10 * len(A) * np.finfo(float).eps * np.abs(values).max()
    if abs(values[0]) > rounding:
        return bool(values[0] > 0.0)
    # Columns up to which elimination in whole numbers, which grow with every step, takes no second.
    eliminated_columns = 64
    return len(A) <= eliminated_columns and _has_no_negative_pivot(A)


def _has_no_negative_pivot(A: tuple[tuple[float, ...], ...]) -> bool:
    """Whether elimination without division (Bareiss), which is exact, meets no negative pivot."""
    ratios = [[value.as_integer_ratio() for value in row] for row in A]
    common = max(q for row in ratios for _, q in row)  # all are powers of two
    rows = [[p * (common // q) for p, q in row] for row in ratios]
    last = 1
    for k, row in enumerate(rows):
        pivot = row[k]
        if pivot < 0 or (pivot == 0 and any(row[k + 1 :])):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(rows)):
            below = rows[i]
            below[i:] = [(below[j] * pivot - row[i] * row[j]) // last for j in range(i, len(rows))]
        last = pivot
    return True


@dataclass(frozen=True)
class MatrixMap:
    """The map of rows z -> A z."""

    A: tuple[tuple[float, ...], ...]

    @property
    def n_columns(self) -> int:
        """The number of columns of the rows it maps."""
        return len(self.A[0])

    def root(self) -> MatrixMap | None:
        """Return the map z -> R'z with A = R R' up to rounding, or None if A is indefinite."""
        A = np.array(self.A)
        values, vectors = np.linalg.eigh(A)
        rounding = 10 * len(A) * np.finfo(float).eps * np.abs(A).max()
        if values[0] < -rounding:
            return None
        # Directions that rounding alone explains are left out; one stays even where A is zero.
        kept = values > rounding
        kept[-1] = True
        R = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
        return MatrixMap(tuple(map(tuple, R.T.tolist())))

    def __call__(self, Z: Any) -> Array:
        rows = as_matrix(Z, "Z")
        if rows.shape[1] != self.n_columns:
            raise ValueError(
                f"Bilinear: A has {self.n_columns} columns but the rows have {rows.shape[1]}; "
                "they must agree"
            )
        return np.asarray(rows @ np.array(self.A).T, dtype=rows.dtype)

    def pullback(self, Z: Any, V: Array) -> Array:
        """Return J(z)'v = A'v."""
        return np.asarray(np.einsum("pk,npt->nkt", np.array(self.A), V))

    def magnitudes(self, Z: Any) -> Array:
        """Return |A| |z|, which the rounding errors of A z are relative to."""
        return np.asarray(abs(as_matrix(Z, "Z")) @ np.abs(np.array(self.A)))

    def as_latex(self, z: str) -> str:
        """Return A z as a formula."""
        return f"{matrix(self.A)} {z}"


@dataclass(frozen=True)
class Bilinear(Kernel):
    """Bilinear form x'Az of a symmetric matrix A, valid when A is positive semi-definite.

    Parameters
    ----------
    A : symmetric matrix
        Kept as a tuple of rows.
    """

    A: tuple[tuple[float, ...], ...] = domains.symmetric_matrix()

    def lower(self, t: Tile) -> Expression:
        return t.dot(MatrixMap(self.A))

    def rule(self) -> Rule:
        return "x'Az with A positive semi-definite" if _is_semi_definite(self.A) else None

    def suspects(self) -> list[dict[str | int, float]]:
        if self.rule() is not None:
            return []
        # The ends of the spectrum, scaled to k(x, x) = -1 and 1, so that they can cancel.
        values, vectors = np.linalg.eigh(np.array(self.A))
        ends = [(values[i], vectors[:, i]) for i in (0, -1) if values[i] != 0.0]
        return [dict(enumerate((v / np.sqrt(abs(s))).tolist())) for s, v in ends]
