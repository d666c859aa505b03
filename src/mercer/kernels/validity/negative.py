"""Negative directions of a symmetric matrix, certified against rounding and made small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.kernels.validity.rounding import STEP, form_error

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def room_for(K: Array) -> float:
    """Return the power of four by which K is multiplied so that sums over it do not overflow."""
    # Entries up to which sums over a matrix do not overflow, and what makes larger ones so small.
    largest_entry, shrinking = 2.0**960, 2.0**-64
    return shrinking if max(K.max(), -K.min()) > largest_entry else 1.0


def negative_form(K: Array, errors: Array) -> tuple[Array, float, float] | None:
    """Return c, c'Kc and the bound of its error if c'Kc is negative beyond it, or None."""
    c = direction(K)
    # The coefficients stand on both sides, so that either has half of the room.
    half = np.sqrt(room_for(K))
    for coefficients in (half * np.round(c, 2), half * c):
        value = float(coefficients @ K @ coefficients)
        bound = form_error(K, errors, coefficients)
        if value < -bound:
            return coefficients, value, bound
    return None


def direction(K: Array) -> Array:
    """Return the vector, of largest entry 1, along which K is most negative for its size."""
    # Rows are brought to one size first, or the largest would hide what the smallest show.
    size = np.sqrt(np.abs(K).max(axis=1))
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    _, vectors = scipy.linalg.eigh(scale[:, None] * K * scale, subset_by_index=[0, 0])
    c = scale * vectors[:, 0]
    return np.asarray(c / c[np.abs(c).argmax()])


def promising(K: Array, block: Index) -> Iterator[Index]:
    """Yield one row, two rows, and the rows of `block`, where K looks negative on them."""
    lowest = int(np.argmin(np.diagonal(K)))
    for index in (np.array([lowest]), worst_pair(K), block):
        part = K[np.ix_(index, index)]
        c = direction(part)
        if c @ part @ c < -STEP * (np.abs(c) @ np.abs(part) @ np.abs(c)):
            yield index


def worst_pair(K: Array) -> Index:
    """Return the two rows at which K_ij^2 exceeds K_ii K_jj the most."""
    n = len(K)
    size = np.sqrt(np.abs(np.diagonal(K)))
    best, pair = 0.0, np.arange(min(n, 2))
    for rows in row_blocks((n, n)):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(K[rows]) / (size[rows, None] * size[None, :])
        ratio = np.nan_to_num(ratio, nan=0.0, posinf=np.inf)
        ratio[np.arange(len(ratio)), np.arange(n)[rows]] = 0.0
        i, j = np.unravel_index(ratio.argmax(), ratio.shape)
        if ratio[i, j] > best:
            best, pair = ratio[i, j], np.sort([rows.start + i, j])
    return pair


def unequal_pair(K: Array, tolerance: float, errors: Array | float = 0.0) -> Index | None:
    """Return the rows i, j at which K_ij and K_ji differ the most, if beyond what is allowed.

    Allowed are twice the errors of the entries, and the tolerance times the largest entry.
    """
    gap = np.abs(K - K.T) - 2.0 * errors
    if gap.max() <= tolerance * np.abs(K).max():
        return None
    return np.array(np.unravel_index(gap.argmax(), gap.shape))


def both_ways(K: Array, pair: Index) -> tuple[float, float]:
    """Return K_ij and K_ji."""
    i, j = pair
    return float(K[i, j]), float(K[j, i])


def shrunk(K: Array, errors: Array, index: Index, tried: int = 64) -> Index:
    """Return few of the rows of `index` on which K still has a certified negative form.

    Of up to `tried` rows each is tried for whether it can be spared.
    """

    def certified(rows: Index) -> bool:
        block = np.ix_(rows, rows)
        return negative_form(K[block], errors[block]) is not None

    heaviest = index[np.argsort(-np.abs(direction(K[np.ix_(index, index)])))]
    m = 1
    while m < len(index) and not certified(heaviest[:m]):
        m *= 2
    rows = np.sort(heaviest[:m])
    for row in heaviest[:m][::-1] if m <= tried else ():
        fewer = rows[rows != row]
        if len(fewer) and certified(fewer):
            rows = fewer
    return rows
