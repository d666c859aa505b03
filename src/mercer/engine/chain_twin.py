"""The twin of the native chain routines, in NumPy: a loop over the knots, all ridges at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

Array = NDArray[np.float64]

# Conductances are kept below this, so that ratios of them never meet infinity over infinity.
LARGEST = 1e200


class Sides(NamedTuple):
    """What hangs on every knot beside itself: its conductances and currents, (knots, ridges)."""

    data: Array  # conductance towards the targets
    ground: Array  # conductance towards the ground
    drop: Array  # current that flows if the knot takes the value of its own target
    source: Array  # current that flows in if the knot is held at zero


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
    w = _conductances(weights, per_alpha)
    sides = _sides(links, ground, w, y)
    h, t = ground[:, None], y[:, None]
    total = w + h + sides.data + sides.ground
    b, S = _offset(w, (h + sides.ground) / total, t, earth)
    numerator = h * t + sides.drop - b * (h + sides.ground)
    beside = h + sides.data + sides.ground
    leaving = (h + sides.ground) ** 2 / (total * S)
    if starts is None:
        others, own, step = np.zeros_like(w), w, np.zeros((len(y), 1))
    else:
        knot = np.repeat(np.arange(len(y)), np.diff(starts))
        own, step = _conductances(row_weights, per_alpha), row_steps[:, None]
        others = _conductances(weights[knot] - row_weights, per_alpha)
        numerator, beside, total, leaving = (v[knot] for v in (numerator, beside, total, leaving))
    with np.errstate(invalid="ignore", divide="ignore"):
        e = (step * total + numerator) / (others + beside - own * leaving)
    sums[:] = row_weights @ e**2
    if residuals is not None:
        residuals[:] = e.T


def chain_multiply(decays: Array, V: Array, out: Array) -> None:
    """Write K V, where K_ij is the product of the decays between i and j."""
    forward = np.vstack([np.ones(len(V)), np.append(-decays, 0.0)])
    out[:] = solve_banded((1, 0), forward, V)
    out += solve_banded((1, 0), np.vstack([forward[0], [*forward[1, -2::-1], 0.0]]), V[::-1])[::-1]
    out -= V


def chain_interpolate(
    knots: Array, values: Array, length_scale: float, x: Array, out: Array
) -> None:
    """Write the values at x of what is linear, or bent by the length scale, between knots."""
    right = np.clip(np.searchsorted(knots, x, side="right"), 1, max(len(knots) - 1, 1))
    left = right - 1
    right = np.minimum(right, len(knots) - 1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        u, v = (np.maximum(d, 0.0) for d in (x - knots[left], knots[right] - x))
        linear = u / (u + v)
        p, q = (np.expm1(-d / length_scale) for d in (u, v))
        a, b = -p * (2.0 + p), -q * (2.0 + q)
        bent = a + b * (1.0 + p) ** 2
        is_bent = bent > 1e-290
        first = np.where(is_bent, (1.0 + p) * b / bent, 1.0 - linear)
        second = np.where(is_bent, (1.0 + q) * a / bent, linear)
        beyond = np.where(x < knots[0], knots[0] - x, x - knots[-1])
        fading = np.exp(-np.maximum(beyond, 0.0) / length_scale)
    before, after = x <= knots[0], x >= knots[-1]
    first = np.where(before, fading, np.where(after, 0.0, first))
    second = np.where(before, 0.0, np.where(after, fading, second))
    out[:] = first[:, None] * values[left] + second[:, None] * values[right]


def _conductances(weights: Array, per_alpha: Array) -> Array:
    """Return min(w / alpha, LARGEST), of shape (knots, ridges)."""
    with np.errstate(over="ignore", invalid="ignore"):
        w = np.where(weights[:, None] > 0.0, weights[:, None] * per_alpha, 0.0)
    return np.minimum(w, LARGEST)


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
