"""The NumPy twin of the native solver of support vector machines: one pair of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mercer.native.smo import Box, Request

Array = NDArray[np.float64]


def smo_solve(request: Request, a: Array, g: Array, cpu: str) -> tuple[int, int, float, int]:
    """Minimise 1/2 a'Ka - z'a + epsilon |a|_1 in the box; return steps, looks, gap and its end."""
    box, effort, K, newton_step = request.box, request.effort, request.K, request.newton_step
    z, lower, upper, epsilon = box.z, box.lower, box.upper, box.epsilon
    dtype = np.float32 if request.is_single else np.float64
    if K is not None and request.index is not None:
        K = K[np.ix_(request.index, request.index)]
    rows: dict[int, Array] = {}

    def row(i: int) -> Array:
        if K is not None:
            return K[i].astype(np.float64)
        if i not in rows:
            if len(rows) >= max(request.capacity, 2):
                rows.pop(next(iter(rows)))
            block = np.empty((1, len(z)), dtype)
            assert request.source is not None
            request.source(np.array([i]), block)
            rows[i] = block[0].astype(np.float64)
        return rows[i]

    least = float(np.finfo(dtype).eps)
    start = perf_counter()
    looks, made = (int(count) for count in request.state.numbers[:2])
    gap = np.inf
    # Units of rounding of k |a| that K a may hide.
    units_hidden = 8.0
    # Steps between two looks at the duality gap and the clock, and looks between Newton steps.
    look, newton = 50, 8
    try:
        while True:
            up = np.where(a >= upper, -np.inf, -(g + np.where(a >= 0.0, epsilon, -epsilon)))
            down = np.where(a <= lower, -np.inf, g + np.where(a > 0.0, epsilon, -epsilon))
            if made % look == 0:
                gap = _relative_gap(box, a, g, up, down, effort.floor)
                if gap <= effort.tolerance:
                    return made, looks, gap, 0
                worst = up.max() + down.max() if box.has_offset else max(up.max(), down.max())
                hidden = (
                    units_hidden * np.finfo(np.float64).eps * effort.largest * np.linalg.norm(a)
                )
                if worst <= hidden:
                    return made, looks, gap, 5
                if looks >= effort.rounds:
                    return made, looks, gap, 1
                if made >= effort.steps:
                    return made, looks, gap, 6
                if perf_counter() - start > effort.seconds:
                    return made, looks, gap, 2
                if request.stop[0]:
                    return made, looks, gap, 3
                request.state.numbers[:2] = looks, made
                if request.progress is not None and looks > 0 and request.progress(looks, gap):
                    return made, looks, gap, 4
                looks += 1
                if newton_step is not None and looks % newton == 0 and newton_step() > 0.0:
                    continue
            i = int(up.argmax())
            j = int(down.argmax())
            if not box.has_offset:
                k, sign = (i, 1.0) if up[i] >= down[j] else (j, -1.0)
                slope = max(up[i], down[j])
                if not slope > 0.0:
                    return made, looks, gap, 5
                Kk = row(k)
                t = sign * min(slope / max(Kk[k], least), _room(a, lower, upper, k, sign)[0])
                _move(a, lower, upper, k, t)
                g += t * Kk
            else:
                Ki = row(i)
                fall = np.maximum(up[i] + down, 0.0)
                # No step leads from a row to itself, whatever rounding leaves of its two slopes.
                fall[i] = 0.0
                diagonal = _diagonal(K, row, fall)
                curve = np.maximum(Ki[i] + diagonal - 2.0 * Ki, least)
                j = int((fall**2 / curve).argmax())
                if not fall[j] > 0.0:
                    return made, looks, gap, 5
                Kj = row(j)
                curvature = max(Ki[i] + Kj[j] - 2.0 * Ki[j], least)
                most = min(_room(a, lower, upper, i, 1.0)[0], _room(a, lower, upper, j, -1.0)[0])
                t = min(fall[j] / curvature, most)
                _move(a, lower, upper, i, t)
                _move(a, lower, upper, j, -t)
                g += t * (Ki - Kj)
            made += 1
    except KeyboardInterrupt:
        if not effort.is_main:
            raise
        return made, looks, gap, 3


def _diagonal(K: NDArray[Any] | None, row: Callable[[int], Array], fall: Array) -> Array:
    """Return K_jj where it is known without a row of its own, else a common guess."""
    if K is not None:
        return K.diagonal().astype(np.float64)
    j = int(fall.argmax())
    return np.full(len(fall), row(j)[j])


def _room(a: Array, lower: Array, upper: Array, i: int, sign: float) -> tuple[float, float]:
    """Return how far the bound or the kink at zero is on the way, and where it is."""
    if sign > 0.0:
        end = 0.0 if a[i] < 0.0 else float(upper[i])
        return end - float(a[i]), end
    end = 0.0 if a[i] > 0.0 else float(lower[i])
    return float(a[i]) - end, end


def _move(a: Array, lower: Array, upper: Array, i: int, t: float) -> None:
    room, end = _room(a, lower, upper, i, float(np.sign(t)))
    a[i] = a[i] + t if abs(t) < room else end


def _relative_gap(box: Box, a: Array, g: Array, up: Array, down: Array, floor: float) -> float:
    epsilon = box.epsilon
    r = g + (0.5 * (up.max() - down.max()) if box.has_offset else 0.0)
    loss = box.upper * np.maximum(-r - epsilon, 0.0) - box.lower * np.maximum(r - epsilon, 0.0)
    gap = float((a * r + epsilon * np.abs(a) + loss).sum())
    primal = float((0.5 * a * (g + box.z) + loss).sum())
    most = max(abs(primal), abs(primal - gap), floor)
    return gap / most if most > 0.0 else 0.0
