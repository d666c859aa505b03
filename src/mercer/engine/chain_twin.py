"""The twin of the native chain routines, in NumPy: a loop over the knots, all ridges at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

Array = NDArray[np.float64]

# Conductances are kept below this, so that ratios of them never meet infinity over infinity.
LARGEST = 1e200
LEAST = 1e-290


class Sides(NamedTuple):
    """What hangs on every knot beside itself: its conductances and currents, (knots, ridges)."""

    data: Array  # conductance towards the targets
    ground: Array  # conductance towards the ground
    drop: Array  # current that flows if the knot takes the value of its own target
    source: Array  # current that flows in if the knot is held at zero


@np.errstate(all="ignore")
def chain_solve(
    links: Array,
    ground: Array,
    weights: Array,
    y: Array,
    per_alpha: float,
    earth: float,
    f: Array,
    a: Array,
) -> float:
    """Write f and a at the knots, and return the offset b."""
    w = _conductances(weights, np.array([per_alpha]))
    sides = _sides(links, ground, w, y)
    h, t = ground[:, None], y[:, None]
    total = w + h + sides.data + sides.ground
    b, _ = _offset(w, (h + sides.ground) / total, t, earth)
    f[:] = ((w * t + sides.source - b * (w + sides.data)) / total)[:, 0]
    a[:] = (w / total * (h * t + sides.drop - b * (h + sides.ground)))[:, 0]
    return float(b[0])


@np.errstate(all="ignore")
def chain_held_out(
    links: Array,
    ground: Array,
    weights: Array,
    y: Array,
    per_alpha: Array,
    earth: float,
    starts: NDArray[np.int64] | None,
    row_weights: Array,
    row_steps: Array,
    sums: Array,
    residuals: Array | None,
) -> None:
    """Write sum_j w_j e_j^2 of the leave-one-out residuals e, and e itself if asked for."""
    network = (links, ground, weights, y, per_alpha, earth)
    missed, free, _, _ = _left_out(network, starts, row_weights, row_steps)
    e = missed / free
    sums[:] = row_weights @ e**2
    if residuals is not None:
        residuals[:] = e.T


@np.errstate(all="ignore")
def chain_generalised(
    links: Array,
    ground: Array,
    weights: Array,
    y: Array,
    per_alpha: Array,
    earth: float,
    starts: NDArray[np.int64] | None,
    row_weights: Array,
    row_steps: Array,
    squares: Array,
    traces: Array,
) -> None:
    """Write sum_j a_j^2 / w_j and sum_j B_jj / w_j, times the square of a unit and the unit.

    The unit is 1, or alpha where that is larger, so that no square underflows.
    """
    network = (links, ground, weights, y, per_alpha, earth)
    missed, free, own, total = _left_out(network, starts, row_weights, row_steps)
    share = own * (1.0 / np.minimum(per_alpha, 1.0)) / total
    squares[:] = ((share * missed) ** 2 / row_weights[:, None]).sum(axis=0)
    traces[:] = (share * free / row_weights[:, None]).sum(axis=0)


def _left_out(
    network: tuple[Array, Array, Array, Array, Array, float],
    starts: NDArray[np.int64] | None,
    row_weights: Array,
    row_steps: Array,
) -> tuple[Array, Array, Array, Array]:
    """Return missed, free, own and total of every row, of shape (n, ridges).

    A row misses its target by missed / free when it is left out, and own / total of the first and
    of the second are a_i and B_ii.
    """
    links, ground, weights, y, per_alpha, earth = network
    w = _conductances(weights, per_alpha)
    sides = _sides(links, ground, w, y)
    h, t = ground[:, None], y[:, None]
    total = w + h + sides.data + sides.ground
    b, S = _offset(w, (h + sides.ground) / total, t, earth)
    missed = h * t + sides.drop - b * (h + sides.ground)
    beside = h + sides.data + sides.ground
    leaving = (h + sides.ground) / total * ((h + sides.ground) / S)
    if starts is None:
        return missed, beside - w * leaving, w, total
    knot = np.repeat(np.arange(len(y)), np.diff(starts))
    own = _conductances(row_weights, per_alpha)
    others = _conductances(weights[knot] - row_weights, per_alpha)
    missed, beside, total, leaving = (v[knot] for v in (missed, beside, total, leaving))
    return row_steps[:, None] * total + missed, others + beside - own * leaving, own, total


def chain_multiply_decays(decays: Array, V: Array, out: Array) -> None:
    """Write K V, where K_ij is the product of the decays between i and j."""
    one = np.ones(len(V))
    before = solve_banded((1, 0), [one, np.append(-decays, 0.0)], V, check_finite=False)
    behind = solve_banded((0, 1), [np.append(0.0, -decays), one], V, check_finite=False)
    out[:] = before + behind - V


def chain_multiply_lengths(lengths: Array, V: Array, out: Array) -> None:
    """Write K V, where K_ij is the sum of the lengths up to the lesser of i and j."""
    out[:] = np.cumsum(lengths[:, None] * np.cumsum(V[::-1], axis=0)[::-1], axis=0)


@np.errstate(all="ignore")
def chain_interpolate(
    knots: Array, values: Array, length_scale: float, root: float, x: Array, out: Array
) -> None:
    """Write the values at x of what is straight, or bent by the length scale, between knots."""
    last = len(knots) - 1
    found = np.searchsorted(knots, x, side="right") - 1
    left, right = np.clip(found, 0, last), np.clip(found + 1, 0, last)
    u, v = x - knots[left], knots[right] - x
    first, second = _straight(u, v) if np.isinf(length_scale) else _bent(u, v, length_scale)
    fading = np.exp(-np.abs(u) / length_scale)
    before = 1.0 + u / root if np.isinf(length_scale) else fading
    first = np.where(found < 0, before, np.where(found == last, fading, first))
    second = np.where((found < 0) | (found == last), 0.0, second)
    out[:] = first[:, None] * values[left] + second[:, None] * values[right]


def _straight(u: Array, v: Array) -> tuple[Array, Array]:
    return v / (u + v), u / (u + v)


def _bent(u: Array, v: Array, length_scale: float) -> tuple[Array, Array]:
    """Return sinh(v / l) and sinh(u / l) over sinh((u + v) / l), without large exponentials."""
    p, q = np.expm1(-u / length_scale), np.expm1(-v / length_scale)
    a, b = -p * (2.0 + p), -q * (2.0 + q)
    total = a + b * (1.0 + p) ** 2
    first, second = (1.0 + p) * b / total, (1.0 + q) * a / total
    # Below that, digits were lost to underflow, and the curve is as good as straight.
    is_tiny = ~(total > LEAST)
    straight = _straight(u, v)
    return np.where(is_tiny, straight[0], first), np.where(is_tiny, straight[1], second)


def _conductances(weights: Array, per_alpha: Array) -> Array:
    """Return min(w / alpha, LARGEST), of shape (knots, ridges)."""
    w = weights[:, None] * per_alpha
    return np.minimum(np.where(weights[:, None] > 0.0, w, 0.0), LARGEST)


def _offset(w: Array, v: Array, t: Array, earth: float) -> tuple[Array, Array]:
    """Return b and the conductance S between data and ground, given v = 1 - f for targets of 1."""
    S = (w * v).sum(axis=0) + earth
    b = np.zeros(w.shape[1]) if np.isinf(earth) else (w * v * t).sum(axis=0) / S
    return b, S


def _sides(links: Array, ground: Array, w: Array, y: Array) -> Sides:
    left = _swept(links, ground, w, y)
    right = _swept(links[::-1], ground[::-1], w[::-1], y[::-1])
    return Sides(*(one + other[::-1] for one, other in zip(left, right, strict=True)))


def _swept(links: Array, ground: Array, w: Array, y: Array) -> Array:
    """Return the `Sides` of what lies before every knot; all terms but `drop` are of one sign."""
    data, earthed, drop, source = swept = np.zeros((4, *w.shape))
    for i, g in enumerate(links):
        up, down = w[i] + data[i], ground[i] + earthed[i]
        t = g / (g + up + down)
        data[i + 1], earthed[i + 1] = t * up, t * down
        drop[i + 1] = t * ((up + down) * (y[i + 1] - y[i]) + ground[i] * y[i] + drop[i])
        source[i + 1] = t * (w[i] * y[i] + source[i])
    return swept
