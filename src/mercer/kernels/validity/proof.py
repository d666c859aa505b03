"""What can be said about a kernel's validity: a proof tree, a witness against it, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.language.brief import brief


class Status(StrEnum):
    """PROVED by closure rules, REFUTED by a witness, or CONSISTENT: no witness was found."""

    PROVED = "PROVED"
    CONSISTENT = "CONSISTENT"
    REFUTED = "REFUTED"


@dataclass(frozen=True)
class Proof:
    """That a kernel is positive semi-definite, the rule used, and its premises.

    Parameters
    ----------
    kernel : Kernel
        The kernel, which is printed where the proof is.
    rule : str
        The rule used.
    premises : tuple of Proof
        What it follows from.
    """

    kernel: Any
    rule: str
    premises: tuple[Proof, ...] = ()

    @property
    def statement(self) -> str:
        """The kernel, as it prints."""
        return str(self.kernel)

    def __str__(self) -> str:
        return "\n".join(self._lines("", ""))

    def _lines(self, head: str, indent: str) -> list[str]:
        lines = [f"{head}{brief(self.statement)}    [{self.rule}]"]
        for i, premise in enumerate(self.premises):
            last = i == len(self.premises) - 1
            branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
            lines += premise._lines(indent + branch, indent + below)
        return lines


@dataclass(frozen=True, eq=False)
class Witness:
    """Points and coefficients c with c'Kc < 0, by more than rounding can explain.

    Re-check it in two lines: ``K = k(w.points)`` and
    ``w.coefficients @ K @ w.coefficients < -w.rounding_bound``. The points of a precomputed matrix
    are positions: there ``K = matrix[numpy.ix_(w.points, w.points)]``.
    """

    points: Any
    coefficients: NDArray[np.float64]
    value: float
    rounding_bound: float

    def __str__(self) -> str:
        n = len(self.coefficients)
        return (
            f"c'Kc = {self.value:.6g} < -{self.rounding_bound:.2g} (rounding) on {n} "
            f"point{'s' if n != 1 else ''}:\npoints\n{self.points}\ncoefficients\n"
            f"{self.coefficients}"
        )


@dataclass(frozen=True, eq=False)
class Asymmetry:
    """Two points x, z with k(x, z) different from k(z, x), by more than rounding can explain."""

    points: Any
    values: tuple[float, float]

    def __str__(self) -> str:
        there, back = self.values
        return f"not symmetric: k(x, z) = {there:.6g} but k(z, x) = {back:.6g} at\n{self.points}"


@dataclass(frozen=True, eq=False)
class Validity:
    """The answer of ``k.check()``: a status with its evidence.

    Attributes
    ----------
    kernel : str
        The kernel, as it prints.
    status : Status
        PROVED, CONSISTENT or REFUTED.
    proof : Proof or None
        The proof tree, if PROVED.
    witness : Witness, Asymmetry or None
        What speaks against the kernel, if REFUTED.
    searched : str
        How hard the search for a witness looked, if CONSISTENT.
    """

    kernel: str
    status: Status
    proof: Proof | None = None
    witness: Witness | Asymmetry | None = None
    searched: str = ""

    def __bool__(self) -> bool:
        raise TypeError(
            "a validity has three states, not two; compare validity.status with "
            "'PROVED', 'CONSISTENT' or 'REFUTED'"
        )

    def __str__(self) -> str:
        evidence = {
            Status.PROVED: str(self.proof),
            Status.REFUTED: str(self.witness),
            Status.CONSISTENT: f"no witness found in {self.searched}; this is not a proof",
        }[self.status]
        return f"{self.status.value}: {brief(self.kernel)}\n{evidence}"

    __repr__ = __str__
