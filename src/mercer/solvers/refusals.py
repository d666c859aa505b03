"""What a solver says where there is no answer: why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.errors import IndefiniteKernelError, KernelOverflowError, SingularSystemError
from mercer.gram import Gram, LandmarkGram
from mercer.kernels.validity.rounding import STEP, form_error
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]

# The largest C times weight, and times k(x, x).
LARGEST_COST = 1e100


@dataclass(frozen=True, eq=False)
class NegativeForm:
    """Coefficients c, one per row of the Gram matrix, with c'Kc < 0 beyond rounding."""

    coefficients: Array
    value: float
    rounding_bound: float


def indefinite(
    c: Array, value: float, magnitude: float, terms: int, entry: float = STEP
) -> IndefiniteKernelError | None:
    """Return the refusal of K with the witness c if c'Kc is negative beyond rounding, or None.

    Parameters
    ----------
    c : array of shape (n,)
        A unit vector.
    value, magnitude : float
        c'Kc and |c|'|K||c|.
    terms : int
        Rows up to the last at which c is not zero.
    entry : float
        Relative error granted to an entry of K.
    """
    return _refusal(c, value, ((2 * terms + 2) * EPS + entry) * magnitude)


def _refusal(c: Array, value: float, bound: float) -> IndefiniteKernelError | None:
    if value >= -bound:
        return None
    return IndefiniteKernelError(
        f"the Gram matrix is not positive semi-definite: c'Kc = {value:.3g} for the unit "
        f"vector c of the witness, beyond rounding ({bound:.1g}); use another kernel",
        NegativeForm(c, value, bound),
    )


def indefinite_along(gram: Gram, c: Array, few: int = 2048) -> IndefiniteKernelError | None:
    """Return the refusal of K if c'Kc, computed from its entries, is negative beyond rounding.

    Up to `few` rows the error of every entry is bounded by itself.
    """
    c = c / np.linalg.norm(c)
    used = np.flatnonzero(c)
    if len(used) <= few:
        K, some = gram.between(used, used).astype(np.float64, copy=False), c[used]
        return _refusal(c, float(some @ K @ some), form_error(K, gram.errors(used), some))
    value = magnitude = 0.0
    for rows in row_blocks(gram.shape):
        block = gram.rows(rows).astype(np.float64, copy=False)
        value += float(c[rows] @ (block @ c))
        magnitude += float(np.abs(c[rows]) @ (np.abs(block) @ np.abs(c)))
    return indefinite(c, value, magnitude, len(c), gram.entry_error)


def singular(alpha: float, n: int, largest: float, dtype: Any = np.float64) -> SingularSystemError:
    """Return the refusal of a ridge that is lost beside a K with this largest diagonal entry.

    `dtype` is that of the entries of K.
    """
    unit = float(np.finfo(dtype).eps)
    return SingularSystemError(
        f"K + alpha W^-1 is singular to working precision at alpha = {alpha:g}; raise alpha "
        f"(rounding alone asks for {10 * n * unit * largest:.1g}) or drop repeated rows"
    )


def not_invertible(rcond: float) -> SingularSystemError:
    """Return the refusal of no ridge at all for a singular K."""
    return SingularSystemError(
        "alpha = 0 needs an invertible Gram matrix, but this one is singular to working "
        f"precision (reciprocal condition number {rcond:.1g}); use alpha > 0 or drop repeated rows"
    )


def not_finite() -> KernelOverflowError:
    """Return the refusal of a K that overflowed."""
    return KernelOverflowError(
        "the Gram matrix holds entries that are not finite; scale the columns, or choose a kernel "
        "that does not overflow on them"
    )


def check_finite(diagonal: Array) -> None:
    """Refuse a K that overflows, by its diagonal: no entry is larger than the largest there."""
    if not np.isfinite(diagonal).all():
        raise not_finite()


def check_scores(diagonal: Array, largest: float) -> None:
    """Refuse a K so large that the squares of scores overflow.

    Parameters
    ----------
    diagonal : array
        That of K, or of a part that stands for it.
    largest : float
        The largest C times weight, about the largest coefficient.
    """
    check_finite(diagonal)
    entry = float(np.abs(diagonal).max(initial=0.0))
    if entry > LARGEST_COST / max(largest, 1.0):
        raise KernelOverflowError(
            f"k(x, x) is up to {entry:.2g} on these rows, and the squares of scores overflow at "
            f"C = {largest:g}; scale the columns"
        )


def too_costly(largest: float) -> ValueError:
    """Return the refusal of losses that count so much that the squares of coefficients overflow.

    The largest C times weight is about the largest coefficient; objectives have its square, times
    entries of K.
    """
    return ValueError(
        f"C times the largest weight is {largest:g}, whose squares overflow; use at most "
        f"{LARGEST_COST:g}"
    )


def overflow(alpha: float) -> KernelOverflowError:
    """Return the refusal of a ridge that is too small for float64 to hold what follows from it."""
    return KernelOverflowError(f"the coefficients overflow at alpha = {alpha:g}; raise alpha")


def known_by_landmarks(gram: Gram) -> LandmarkGram:
    """Return the Gram matrix as the one by landmarks that a solver needs, or refuse another."""
    found = gram.by_landmarks()
    if found is None:
        raise ValueError(
            f"the solver 'nystrom' needs a Gram matrix by landmarks, got {gram!r}; use "
            "landmark_gram(kernel, X, n_landmarks)"
        )
    return found
