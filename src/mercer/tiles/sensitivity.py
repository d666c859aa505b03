"""How strongly the result of a program reacts to an error of one of its inputs.

Every step is followed from the input to the result with an interval for the values of its slot,
and intervals for its change when the input changes by one: dv itself, and dv / v. A difference of
large terms counts as large as they are: no form of an input spares it the digits it loses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mercer.tiles.tile import Leaf

if TYPE_CHECKING:
    from mercer.tiles.program import Input, Instruction


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`."""

    low: float
    high: float

    @property
    def size(self) -> float:
        """The largest absolute value."""
        return max(-self.low, self.high)

    def __add__(self, other: Interval) -> Interval:
        low, high = self.low + other.low, self.high + other.high
        return Interval(low if low == low else -math.inf, high if high == high else math.inf)

    def __mul__(self, other: Interval) -> Interval:
        ends = [_product(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __or__(self, other: Interval) -> Interval:
        """Return the interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def __and__(self, other: Interval) -> Interval:
        """Return what both have in common, which is something."""
        return Interval(max(self.low, other.low), min(self.high, other.high))


def _product(x: float, y: float) -> float:
    return x * y if x and y else 0.0


def _exactly(x: float) -> Interval:
    return Interval(x, x)


NOTHING = _exactly(0.0)
ANY, POSITIVE, SHARE = Interval(-math.inf, math.inf), Interval(0.0, math.inf), Interval(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Change:
    """The change dv of a slot, and dv / v."""

    absolute: Interval = NOTHING
    relative: Interval = NOTHING

    def affine(self, v: Interval, a: float, b: float) -> Change:
        """Return the change of a v + b."""
        absolute = _exactly(a) * self.absolute
        if not b or self == UNCHANGED:
            return Change(absolute, self.relative)
        shifted = _exactly(1.0 / b) * absolute
        if (_exactly(a / b) * v).low >= 0.0:
            return Change(absolute, (self.relative | NOTHING) & (shifted | NOTHING))
        size = min(self.relative.size, shifted.size)
        return Change(absolute, Interval(-size, size))


UNCHANGED = Change()


@dataclass(frozen=True, slots=True)
class Slot:
    """The values of a slot, and its change for errors of two kinds.

    An error of the input passes on as it is, or by a square root that may come near to zero. The
    engine limits the error of a squared distance D to some ulps of N, a sum of squared norms, and
    of D itself; that of sqrt(D) is therefore limited to some ulps of sqrt(N).

    References
    ----------
    N. Higham (2002), Accuracy and stability of numerical algorithms (chapter 3).
    """

    value: Interval
    plain: Change = UNCHANGED
    rooted: Change = UNCHANGED

    @property
    def reaction(self) -> float:
        """Its relative change for an error of one, or the square of that for the root of one."""
        root = self.rooted.relative.size
        return max(self.plain.relative.size, root * root)

    def becomes(self, value: Interval, change: Callable[[Change], Change]) -> Slot:
        """Return the slot of these values to which either change is passed on."""
        return Slot(value, change(self.plain), change(self.rooted))

    def affine(self, a: float, b: float) -> Slot:
        """Return a v + b."""
        if a == 1.0 and b == 0.0:
            return self
        value = _exactly(a) * self.value + _exactly(b)
        return self.becomes(value, lambda c: c.affine(self.value, a, b))


def sensitivities(steps: Sequence[Instruction], inputs: Sequence[Input]) -> tuple[float, ...]:
    """Return how strongly the result, relative to itself, reacts to an error of each input.

    By square roots it reacts to the root of the error, and the square of this reaction counts. Of
    inputs that are no squared distances there is but one form, so that their reaction is no matter.
    """
    unchanged: list[Slot] = []
    for step in steps:
        unchanged.append(_run(step, unchanged, inputs))
    terms = _terms(steps)
    readers = _readers(steps, terms)

    def reaction(leaf: int) -> float:
        slots, reached = list(unchanged), _reached(leaf, readers)
        slots[leaf] = Slot(POSITIVE, Change(_exactly(1.0), POSITIVE))
        for i in reached:
            slots[i] = _run(steps[i], slots)
        return max((slots[i].reaction for i in terms.intersection([leaf, *reached])), default=0.0)

    return tuple(
        reaction(step.target)
        if isinstance(source := inputs[step.first], Leaf) and source.kind == "squared_distance"
        else 0.0
        for step in steps
        if step.operation == "leaf"
    )


def _terms(steps: Sequence[Instruction]) -> set[int]:
    """Return the slots that the result is a sum of: it reacts as the strongest of them does."""
    terms = {steps[-1].target}
    for step in reversed(steps):
        is_sum = step.operation == "add" or (step.operation, step.function) == ("map", "identity")
        if is_sum and step.target in terms:
            terms.remove(step.target)
            terms.update(step.sources)
    return terms


def _readers(steps: Sequence[Instruction], terms: set[int]) -> dict[int, list[int]]:
    """Return the slots that are computed from each, of those that the terms need."""
    needed = set(terms)
    readers: dict[int, list[int]] = {}
    for step in reversed(steps):
        if step.target in needed:
            needed.update(step.sources)
            for s in step.sources:
                readers.setdefault(s, []).append(step.target)
    return readers


def _reached(slot: int, readers: dict[int, list[int]]) -> list[int]:
    """Return the slots that depend on one, in order."""
    found: set[int] = set()
    waiting = [slot]
    while waiting:
        others = [i for i in readers.get(waiting.pop(), ()) if i not in found]
        found.update(others)
        waiting += others
    return sorted(found)


def _run(step: Instruction, slots: Sequence[Slot], inputs: Sequence[Input] = ()) -> Slot:
    if step.operation == "leaf":
        source = inputs[step.first]
        is_signed = not isinstance(source, Leaf) or source.kind == "dot"
        return Slot(ANY if is_signed else POSITIVE)
    if step.operation == "constant":
        return Slot(_exactly(step.b))
    first = slots[step.first]
    if step.operation == "add":
        total = _added(first.affine(step.a, 0.0), slots[step.second].affine(step.c, 0.0))
        return total.affine(1.0, step.b)
    first = first.affine(step.a, step.b)
    if step.operation == "multiply":
        return _multiplied(first, slots[step.second].affine(step.c, step.d))
    if step.operation == "scale_rows":
        return _multiplied(first, Slot(ANY))
    return FUNCTIONS[step.function](first)


def _added(v: Slot, w: Slot) -> Slot:
    def change(c: Change, d: Change) -> Change:
        return Change(c.absolute + d.absolute, c.relative | d.relative)

    return Slot(v.value + w.value, change(v.plain, w.plain), change(v.rooted, w.rooted))


def _multiplied(v: Slot, w: Slot) -> Slot:
    def change(c: Change, d: Change) -> Change:
        absolute = w.value * c.absolute + v.value * d.absolute
        return Change(absolute, c.relative + d.relative)

    return Slot(v.value * w.value, change(v.plain, w.plain), change(v.rooted, w.rooted))


def _exp(v: Slot) -> Slot:
    low, high = (math.exp(x) if x < 709.0 else math.inf for x in (v.value.low, v.value.high))
    value = Interval(low, high)
    return v.becomes(value, lambda c: Change(value * c.absolute, c.absolute))


def _tanh(v: Slot) -> Slot:
    value = Interval(math.tanh(v.value.low), math.tanh(v.value.high))
    return v.becomes(value, _flattened)


def _log1p(v: Slot) -> Slot:
    if v.value.low < 0.0:
        return v.becomes(ANY, _unbounded)
    return v.becomes(Interval(math.log1p(v.value.low), math.log1p(v.value.high)), _flattened)


def _sqrt(v: Slot) -> Slot:
    value = Interval(math.sqrt(max(v.value.low, 0.0)), math.sqrt(max(v.value.high, 0.0)))
    half = _exactly(0.5)
    if value.low > 0.0:
        slope = Interval(0.0, 0.5 / value.low)
        return v.becomes(value, lambda c: Change(slope * c.absolute, half * c.relative))
    if v.rooted == UNCHANGED and v.plain.relative.size < math.inf:
        return v.becomes(value, lambda c: Change(value * half * c.relative, half * c.relative))
    root = math.sqrt(v.plain.absolute.size)
    if v.rooted != UNCHANGED or root == math.inf:
        return Slot(value, UNCHANGED, Change(ANY, ANY))
    # A root so small that its relative change is larger stands beside something of size one.
    return Slot(value, UNCHANGED, Change(_exactly(root), Interval(0.0, root)))


def _reciprocal(v: Slot) -> Slot:
    low, high = v.value.low, v.value.high
    value = Interval(1.0 / high, 1.0 / low) if low > 0.0 or high < 0.0 else ANY
    slope, minus = _exactly(-1.0) * (value * value), _exactly(-1.0)
    return v.becomes(value, lambda c: Change(slope * c.absolute, minus * c.relative))


def _reciprocal_root(v: Slot) -> Slot:
    # Squared distances that are small beside the norms are recomputed by differences, so that all
    # of them are accurate relative to themselves, which is what counts here.
    low, high = max(v.value.low, 0.0), max(v.value.high, 0.0)
    most = 1.0 / math.sqrt(low) if low > 0.0 else math.inf
    return Slot(Interval(1.0 / math.sqrt(high) if 0.0 < high < math.inf else 0.0, most))


def _flattened(c: Change) -> Change:
    """Return the change of f(v) where f' lies between zero and one, and v f' / f too."""
    return Change(SHARE * c.absolute, SHARE * c.relative)


def _unbounded(c: Change) -> Change:
    return UNCHANGED if c == UNCHANGED else Change(ANY, ANY)


FUNCTIONS: dict[str, Callable[[Slot], Slot]] = {
    "identity": lambda v: v,
    "exp": _exp,
    "tanh": _tanh,
    "sqrt": _sqrt,
    "log1p": _log1p,
    "reciprocal": _reciprocal,
    "reciprocal_root": _reciprocal_root,
}
