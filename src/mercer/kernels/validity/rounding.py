"""How far the entries of a Gram matrix may be from the formula they compute.

A refutation c'Kc < 0 counts only if rounding cannot explain it. Every step of the program carries
an error bar beside its value, so that a difference of large terms is not taken for a small number
that is known well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import n_rows
from mercer.tiles import Program, compile_expression, evaluate
from mercer.tiles.operands import Bound, Operand, bind
from mercer.tiles.program import Instruction
from mercer.tiles.tile import Leaf, Normalize, Transform
from mercer.tiles.twin import FUNCTIONS

Array = NDArray[np.float64]
Bar = tuple[Array, Array]

# What the engine promises of an entry, and what is granted to each step.
STEP = 1e-12
# A user's function may lose half of its digits, as a distance from rounded squares does, and a
# finished matrix may have been computed in single precision before it was given in double.
FUNCTION = 1e-6
# A finished matrix that is given in single precision.
SINGLE = 1e-5


def entry_errors(program: Program, X: Any) -> Array:
    """Return a bound on the error of every entry of the Gram matrix of the rows `X`."""
    bound = bind(program, X)
    n = n_rows(X)
    slots: dict[int, Bar] = {}
    with np.errstate(all="ignore"):
        for step in program.instructions:
            value, error = _rounded(_run(step, slots, bound, X, (n, n)))
            slots[step.target] = value, _known(error)
    return slots[program.instructions[-1].target][1]


def form_error(K: Array, errors: Array, c: Array) -> float:
    """Return how far c'Kc, computed in float64, may be from its true value."""
    m = (2 * len(c) + 2) * np.finfo(np.float64).eps
    magnitude = np.abs(c)
    # An entry that is multiplied by zero does not matter, however little is known about it.
    used = np.flatnonzero(magnitude)
    block = np.ix_(used, used)
    entries = m / (1.0 - m) * np.abs(K[block]) + errors[block]
    return float(magnitude[used] @ entries @ magnitude[used])


def _run(
    step: Instruction, slots: dict[int, Bar], bound: Bound, X: Any, shape: tuple[int, int]
) -> Bar:
    if step.operation == "leaf":
        return _leaf(bound.operands[step.first], X)
    if step.operation == "constant":
        return np.full(shape, step.b), np.zeros(shape)
    first = slots[step.first]
    if step.operation in ("map", "map_add"):
        image = _map(step.function, _affine(first, step.a, step.b))
        if step.operation == "map":
            return image
        return _sum(_affine(_rounded(image), step.c, 0.0), _affine(slots[step.second], step.d, 0.0))
    if step.operation == "scale_rows":
        left, right = bound.factors[step.second]
        value, error = _affine(first, step.a, step.b)
        scale = left[:, None] * right[None, :]
        if isinstance(bound.program.factors[step.second], Normalize):
            error = error + np.abs(value) * _relative_error(np.diagonal(value), np.diagonal(error))
        return value * scale, error * np.abs(scale)
    second = slots[step.second]
    if step.operation == "add":
        return _sum(_affine(first, step.a, step.b), _affine(second, step.c, 0.0))
    (v, e), (w, f) = _affine(first, step.a, step.b), _affine(second, step.c, step.d)
    return v * w, np.abs(v) * f + np.abs(w) * e + e * f


def _leaf(o: Operand, X: Any) -> Bar:
    value = np.asarray(evaluate(compile_expression(o.source), X), dtype=np.float64)
    if not isinstance(o.source, Leaf):
        is_single = o.source.whole and getattr(o.left, "dtype", None) == np.float32
        return value, (SINGLE if is_single else FUNCTION) * np.abs(value)
    if o.source.kind != "dot":
        return value, STEP * np.abs(value)
    if o.is_counted:
        return value, STEP * value
    products: Any = abs(o.left) @ _sizes(o.source, o.left, o.right).T
    return value, STEP * (products if isinstance(products, np.ndarray) else products.toarray())


def _sizes(leaf: Leaf, left: Any, right: Any) -> Any:
    """Return what the errors of the right side are relative to: its sizes, or those within a map.

    The rows of both sides are the same; only the right ones may have gone through one more map.
    """
    if leaf.right != leaf.left and isinstance(leaf.right[-1], Transform):
        magnitudes = getattr(leaf.right[-1].g, "magnitudes", None)
        if magnitudes is not None:
            return magnitudes(left)
    return abs(right)


def _rounded(bar: Bar) -> Bar:
    return bar[0], bar[1] + STEP * np.abs(bar[0])


def _sum(first: Bar, second: Bar) -> Bar:
    return first[0] + second[0], first[1] + second[1]


def _affine(bar: Bar, a: float, b: float) -> Bar:
    return a * bar[0] + b, abs(a) * bar[1]


def _map(function: str, bar: Bar) -> Bar:
    """Return the image of a bar; every function of the engine is monotone between its ends."""
    f = FUNCTIONS[function]
    value, error = bar
    image = f(value)
    ends = [np.abs(f(value + error) - image), np.abs(f(value - error) - image)]
    broken = (function == "reciprocal") & (np.abs(value) <= error)
    return image, np.where(broken, np.inf, np.maximum(*ends))


def _relative_error(diagonal: Array, error: Array) -> Array:
    """Return the relative error of the factors 1/sqrt(k(x, x)), for each pair of rows."""
    each = np.where(diagonal > error, error / (diagonal - error), np.inf)
    # A diagonal that is surely not positive gives the factor zero, without error.
    each = np.where(diagonal + error <= 0.0, 0.0, each)
    return each[:, None] + each[None, :]


def _known(error: Array) -> Array:
    return np.where(np.isnan(error), np.inf, error)
