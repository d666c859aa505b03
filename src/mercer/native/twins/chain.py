"""The twin of the native chain routines, in NumPy: a loop over the knots, all ridges at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

Array = NDArray[np.float64]

# Precisions are kept below this, so that ratios of them never meet infinity over infinity.
LARGEST_PRECISION = 1e200


class Sides(NamedTuple):
    """What eliminating the other knots adds to the equation of each, of shape (knots, ridges)."""

    data: Array  # precision that the targets add
    row_sums: Array  # precision that the prior adds
    drop: Array  # right-hand side if the knot takes the value of its own target
    source: Array  # right-hand side if the knot is held at zero


@np.errstate(all="ignore")
def chain_solve(
    links: Array,
    row_sums: Array,
    weights: Array,
    y: Array,
    per_alpha: float,
    b_penalty: float,
    f: Array,
    a: Array,
) -> float:
    """Write f and a at the knots, and return the offset b."""
    w = data_precision(weights, np.array([per_alpha]))
    sides = _sides(links, row_sums, w, y)
    h, t = row_sums[:, None], y[:, None]
    total = w + h + sides.data + sides.row_sums
    b, _ = _offset(w, (h + sides.row_sums) / total, t, b_penalty)
    f[:] = ((w * t + sides.source - b * (w + sides.data)) / total)[:, 0]
    a[:] = (w / total * (h * t + sides.drop - b * (h + sides.row_sums)))[:, 0]
    return float(b[0])


@np.errstate(all="ignore")
def chain_held_out(
    links: Array,
    row_sums: Array,
    weights: Array,
    y: Array,
    per_alpha: Array,
    b_penalty: float,
    starts: NDArray[np.int64] | None,
    row_weights: Array,
    row_steps: Array,
    sums: Array,
    residuals: Array | None,
) -> None:
    """Write sum_j w_j e_j^2 of the leave-one-out residuals e, and e itself if asked for."""
    precision = (links, row_sums, weights, y, per_alpha, b_penalty)
    missed, free, _, _ = _left_out(precision, starts, row_weights, row_steps)
    e = missed / free
    sums[:] = row_weights @ e**2
    if residuals is not None:
        residuals[:] = e.T


@np.errstate(all="ignore")
def chain_generalised(
    links: Array,
    row_sums: Array,
    weights: Array,
    y: Array,
    per_alpha: Array,
    b_penalty: float,
    starts: NDArray[np.int64] | None,
    row_weights: Array,
    row_steps: Array,
    squares: Array,
    traces: Array,
) -> None:
    """Write sum_j a_j^2 / w_j and sum_j B_jj / w_j, times the square of a unit and the unit.

    The unit is 1, or alpha where that is larger, so that no square underflows.
    """
    precision = (links, row_sums, weights, y, per_alpha, b_penalty)
    missed, free, own, total = _left_out(precision, starts, row_weights, row_steps)
    share = own * (1.0 / np.minimum(per_alpha, 1.0)) / total
    squares[:] = ((share * missed) ** 2 / row_weights[:, None]).sum(axis=0)
    traces[:] = (share * free / row_weights[:, None]).sum(axis=0)


def _left_out(
    precision: tuple[Array, Array, Array, Array, Array, float],
    starts: NDArray[np.int64] | None,
    row_weights: Array,
    row_steps: Array,
) -> tuple[Array, Array, Array, Array]:
    """Return missed, free, own and total of every row, of shape (n, ridges).

    A row misses its target by missed / free when it is left out, and own / total of the first and
    of the second are a_i and B_ii.
    """
    links, row_sums, weights, y, per_alpha, b_penalty = precision
    w = data_precision(weights, per_alpha)
    sides = _sides(links, row_sums, w, y)
    h, t = row_sums[:, None], y[:, None]
    total = w + h + sides.data + sides.row_sums
    b, S = _offset(w, (h + sides.row_sums) / total, t, b_penalty)
    missed = h * t + sides.drop - b * (h + sides.row_sums)
    beside = h + sides.data + sides.row_sums
    leaving = (h + sides.row_sums) / total * ((h + sides.row_sums) / S)
    if starts is None:
        return missed, beside - w * leaving, w, total
    knot = np.repeat(np.arange(len(y)), np.diff(starts))
    own = data_precision(row_weights, per_alpha)
    others = data_precision(weights[knot] - row_weights, per_alpha)
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
    s = shares_at(knots, length_scale, root, x)
    out[:] = s.first[:, None] * values[s.left] + s.second[:, None] * values[s.right]


class Shares(NamedTuple):
    """What f is at positions between or beside two knots: first f_left + second f_right + noise."""

    left: NDArray[np.intp]  # the knot before a position, or the first
    right: NDArray[np.intp]  # the knot behind it, or the last
    first: Array
    second: Array
    rest: Array  # 1 - first - second, to the last digit
    noise: Array  # the variance of f there where it is known at the knots


@np.errstate(all="ignore")
def shares_at(knots: Array, length_scale: float, root: float, x: Array) -> Shares:
    """Return how the values at x follow from those at their neighbours, and how far they do not."""
    last = len(knots) - 1
    found = np.searchsorted(knots, x, side="right") - 1
    left, right = np.clip(found, 0, last), np.clip(found + 1, 0, last)
    u, v = x - knots[left], knots[right] - x
    is_straight = np.isinf(length_scale)
    between = _straight(u, v) if is_straight else _bent(u, v, length_scale)
    fade = np.expm1(-np.abs(u) / length_scale)
    beyond = 1.0 + fade, np.zeros_like(x), -fade, np.abs(u) if is_straight else -fade * (2.0 + fade)
    before = beyond
    if is_straight:
        before = 1.0 + u / root, np.zeros_like(x), -u / root, -u * (1.0 + u / root)
    parts = zip(before, beyond, between, strict=True)
    return Shares(
        left,
        right,
        *(np.where(found < 0, b, np.where(found == last, e, m)) for b, e, m in parts),
    )


def _straight(u: Array, v: Array) -> tuple[Array, ...]:
    """Return both shares, what is missing from one, and the variance of a Brownian bridge."""
    return v / (u + v), u / (u + v), np.zeros_like(u), u * (v / (u + v))


def _bent(u: Array, v: Array, length_scale: float, least: float = 1e-290) -> tuple[Array, ...]:
    """Return sinh(v / l) and sinh(u / l) over sinh((u + v) / l), without large exponentials.

    And what is missing from one, and the variance of the bridge. Below the `least` sinh digits
    were lost to underflow, and the curve is as good as straight.
    """
    p, q = np.expm1(-u / length_scale), np.expm1(-v / length_scale)
    a, b = -p * (2.0 + p), -q * (2.0 + q)
    total = a + b * (1.0 + p) ** 2
    rest = p * q / (1.0 + (1.0 + p) * (1.0 + q))
    bent = (1.0 + p) * b / total, (1.0 + q) * a / total, rest, a * (b / total)
    is_tiny = ~(total > least)
    first, second, rest, noise = _straight(u, v)
    straight = first, second, rest, 2.0 / length_scale * noise
    return tuple(np.where(is_tiny, s, b) for s, b in zip(straight, bent, strict=True))


def chain_spread(
    links: Array, row_sums: Array, w: Array, total: Array, left: Array, right: Array, rise: Array
) -> None:
    """Write 1 / C_ii, the ratios of C along the chain both ways, and C row_sums."""
    before, ratios = _passed(links, row_sums, w)
    behind, back = _passed(links[::-1], row_sums[::-1], w[::-1])
    total[:] = w + row_sums + before[0] + behind[0, ::-1]
    rise[:] = (row_sums + before[1] + behind[1, ::-1]) / total
    left[:], right[:] = ratios, back[::-1]


def _passed(links: Array, row_sums: Array, w: Array) -> tuple[Array, Array]:
    """Return the precision before knots, the part of the prior in it, and t of each link."""
    (link, summed), ratios = sides = np.zeros((2, len(w))), np.empty(len(links))
    for i, g in enumerate(links):
        own = w[i] + row_sums[i] + link[i]
        t = ratios[i] = g / (g + own)
        link[i + 1], summed[i + 1] = t * own, t * (row_sums[i] + summed[i])
    return sides


def chain_influence(
    w: Array,
    left: Array,
    right: Array,
    level: Array,
    knots: NDArray[np.int64],
    here: Array,
    there: Array,
    share: Array,
    out: Array,
) -> None:
    """Write w_j (C_xj + share level_j) for positions x beside knots, of shape (rows, m)."""
    for r, i in enumerate(knots):
        out[r, : i + 1] = np.cumprod(np.append(here[r], left[:i][::-1]))[::-1]
        out[r, i + 1 :] = np.cumprod(np.append(there[r], right[i + 1 :]))[: len(w) - i - 1]
    out += share[:, None] * level
    out *= w


def data_precision(weights: Array, per_alpha: Array) -> Array:
    """Return min(w / alpha, LARGEST_PRECISION), of shape (knots, ridges)."""
    w = weights[:, None] * per_alpha
    return np.minimum(np.where(weights[:, None] > 0.0, w, 0.0), LARGEST_PRECISION)


def _offset(w: Array, v: Array, t: Array, b_penalty: float) -> tuple[Array, Array]:
    """Return b and its precision S given the data, for v = 1 - f at targets of 1."""
    S = (w * v).sum(axis=0) + b_penalty
    b = np.zeros(w.shape[1]) if np.isinf(b_penalty) else (w * v * t).sum(axis=0) / S
    return b, S


def _sides(links: Array, row_sums: Array, w: Array, y: Array) -> Sides:
    left = _swept(links, row_sums, w, y)
    right = _swept(links[::-1], row_sums[::-1], w[::-1], y[::-1])
    return Sides(*(one + other[::-1] for one, other in zip(left, right, strict=True)))


def _swept(links: Array, row_sums: Array, w: Array, y: Array) -> Array:
    """Return the `Sides` of what lies before every knot; all terms but `drop` are of one sign."""
    data, summed, drop, source = swept = np.zeros((4, *w.shape))
    for i, g in enumerate(links):
        up, down = w[i] + data[i], row_sums[i] + summed[i]
        t = g / (g + up + down)
        data[i + 1], summed[i + 1] = t * up, t * down
        drop[i + 1] = t * ((up + down) * (y[i + 1] - y[i]) + row_sums[i] * y[i] + drop[i])
        source[i + 1] = t * (w[i] * y[i] + source[i])
    return swept
