"""The operators that make no kernel, refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.language.brief import shown

_REASONS = {
    "-": (
        "a difference of kernels need not be a kernel; add kernels with positive factors, or "
        "subtract matrices, k(X) - g(X)"
    ),
    "/": (
        "a quotient of kernels need not be a kernel; multiply by a positive number, 0.5 * k, or "
        "use k.normalized()"
    ),
    "+": "only kernels and numbers are added to a kernel; add matrices as k(X) + ...",
    "*": "a kernel is multiplied by kernels and numbers; f(x) k(x, z) f(z) is k.scaled_by(f)",
}


class NoDifferences:
    """The operators of numbers that kernels do not have."""

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if may_answer(other, "__rsub__") else refuse(self, "-", other)

    def __rsub__(self, other: Any) -> Any:
        return refuse(other, "-", self)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if may_answer(other, "__rtruediv__") else refuse(self, "/", other)

    def __rtruediv__(self, other: Any) -> Any:
        return refuse(other, "/", self)

    def __neg__(self) -> Any:
        raise TypeError(
            f"-({self!r}) is no kernel, since kernels are positive semi-definite; use a positive "
            "factor, or negate a matrix, -k(X)"
        )


# Values that know these operators, but no kernels.
_PLAIN = (NoDifferences, complex, float, int, str, bytes, list, tuple, np.ndarray, np.generic)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, and not True or False."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def may_answer(other: Any, method: str) -> bool:
    """Whether the other side of an operator has an answer of its own, by this method."""
    return hasattr(other, method) and not isinstance(other, _PLAIN)


def refuse(left: Any, operator: str, right: Any) -> Any:
    """Raise the error of an operator between these two, of which one is a kernel."""
    raise TypeError(f"{shown(left)} {operator} {shown(right)}: {_REASONS[operator]}")
