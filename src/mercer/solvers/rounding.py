"""What rounding hides from a measured residual or gap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import MEMORY, row_blocks

Array = NDArray[np.float64]

# The units of rounding of float64 and float32.
EPS, EPS32 = (float(np.finfo(t).eps) for t in (np.float64, np.float32))
# The least number of float64 with all its digits, to divide by in place of zero.
TINY = float(np.finfo(np.float64).tiny)
# Units of rounding that count for one: those of an entry of K, of its product and of their sum.
UNITS = 2.0
# How far a sum of independent errors goes beyond its root of squares: more in one case of 1500.
LAMBDA = 4.0
# Between these sizes squares are numbers, with room for weights, penalties and entries of K.
USUAL = (1e-60, 1e60)


def product_rounding(diagonal: Array, a: Array) -> Array:
    """Return how far a computed K a may be from K a, in the shape of a: (n,) or (n, targets).

    An entry of K is at most sqrt(k_i k_j) for the diagonal k, and so its error and that of its
    product with a_j is as many units of rounding of sqrt(k_i k_j) a_j. Errors of few terms may all
    have one sign, as those of equal rows have; errors of many are as good as independent and add up
    like the root of their squares, but for a factor LAMBDA that is hardly ever exceeded:
    UNITS eps sqrt(k_i) min(sum_j sqrt(k_j) |a_j|, LAMBDA sqrt(sum_j k_j a_j^2)).

    References
    ----------
    N. J. Higham and T. Mary (2019), A new approach to probabilistic rounding error analysis.
    """
    roots = np.sqrt(np.maximum(diagonal, 0.0)).astype(np.float64)
    terms = (roots * a.T).T
    size = np.minimum(np.abs(terms).sum(axis=0), LAMBDA * column_norms(terms))
    return np.asarray(UNITS * EPS * np.multiply.outer(roots, size))


def column_units(V: Array) -> Array:
    """Return the largest entry of every column, by which it can be divided before it is squared."""
    unit = np.maximum(V.max(axis=0, initial=0.0), -V.min(axis=0, initial=0.0))
    return np.where((unit == 0.0) | ~np.isfinite(unit), 1.0, unit)


def column_norms(V: Array) -> Array:
    """Return the Euclidean norm of every column, also where its square is no number."""
    unit = column_units(V)
    if V.size <= MEMORY:
        return np.asarray(unit * np.linalg.norm(V / unit, axis=0))
    # The squares of many rows would take more memory than what they are of.
    blocks = row_blocks((len(V), V[0].size))
    norms = [np.linalg.norm(V[rows] / unit, axis=0) for rows in blocks]
    return np.asarray(unit * np.linalg.norm(norms, axis=0))


def row_norms(V: Array) -> Array:
    """Return the Euclidean norm along the last axis, also where its square is no number."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("...i,...i->...", V, V)
    if ((squares > USUAL[0] ** 2) & (squares < np.inf)).all():
        return np.asarray(np.sqrt(squares))
    unit = np.abs(V).max(axis=-1, initial=0.0, keepdims=True)
    scaled = V / np.where((unit == 0.0) | ~np.isfinite(unit), 1.0, unit)
    return np.asarray(unit[..., 0] * np.sqrt(np.einsum("...i,...i->...", scaled, scaled)))


def usual_unit(size: float) -> float:
    """Return the power of two to count a quantity in, one unless its squares may be no numbers."""
    if not 0.0 < size < np.inf or USUAL[0] <= size <= USUAL[1]:
        return 1.0
    return float(2.0 ** np.round(np.log2(size)))


def usual_units(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the usual unit of the numbers in each column of a matrix, or of those of a vector."""
    sizes = np.atleast_1d(np.abs(Y).max(axis=0, initial=0.0))
    return np.array([usual_unit(float(size)) for size in sizes])
