"""The compiler: from a formula on tiles to a short list of instructions on numbered slots.

Every instruction reads its sources through a free affine map, so scaling and shifting cost
nothing: ``map`` does f(a s + b), ``add`` does a s + c t + b, ``multiply`` does
(a s + b) (c t + d), ``map_add`` does c f(a s + b) + d t. Equal subexpressions are computed once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.tiles.sensitivity import sensitivities
from mercer.tiles.tile import (
    Add,
    Expression,
    Leaf,
    Map,
    Multiply,
    Normalize,
    Number,
    Opaque,
    Polynomial,
    Power,
    Rescale,
    ScaleRows,
    View,
)

FUNCTIONS = ("identity", "exp", "tanh", "sqrt", "log1p", "reciprocal", "reciprocal_root")
OPERATIONS = ("leaf", "constant", "map", "map_add", "add", "multiply", "scale_rows")
BINARY = ("map_add", "add", "multiply")

Input = Leaf | Opaque
Factor = ScaleRows | Normalize


class Instruction(NamedTuple):
    """One step: ``target = operation(slots[first], slots[second])`` with constants a, b, c, d."""

    operation: str
    target: int
    first: int = 0
    second: int = 0
    function: str = "identity"
    a: float = 1.0
    b: float = 0.0
    c: float = 1.0
    d: float = 0.0

    @property
    def sources(self) -> tuple[int, ...]:
        """The slots that it reads."""
        if self.operation in BINARY:
            return (self.first, self.second)
        return (self.first,) if self.operation in ("map", "scale_rows") else ()


class Value(NamedTuple):
    """The number a * slot + b, not yet computed."""

    slot: int
    a: float = 1.0
    b: float = 0.0


@dataclass(frozen=True)
class Program:
    """Instructions over slots, the inputs and the row factors they refer to.

    ``steps`` are the instructions before any two of them became one, with a slot for each.
    """

    instructions: tuple[Instruction, ...]
    inputs: tuple[Input, ...]
    factors: tuple[Factor, ...]
    n_slots: int
    steps: tuple[Instruction, ...] = field(repr=False, compare=False)

    @cached_property
    def sensitivity(self) -> tuple[float, ...]:
        """How strongly the result reacts to an absolute error of each input, at most.

        The engine takes the fast form of a squared distance only where that error is harmless. Of
        other inputs, which have no such form, it is 0.
        """
        return sensitivities(self.steps, self.inputs)

    @cached_property
    def is_arithmetic(self) -> bool:
        """Whether every input is a numeric comparison the engine computes itself."""
        return all(isinstance(i, Leaf) for i in self.inputs)

    @cached_property
    def code(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The instructions as numbers, for the native loop: operations and slots, constants."""
        steps = [
            (
                OPERATIONS.index(s.operation),
                s.target,
                s.first,
                s.second,
                FUNCTIONS.index(s.function),
            )
            for s in self.instructions
        ]
        constants = [(s.a, s.b, s.c, s.d) for s in self.instructions]
        return np.array(steps, dtype=np.int32), np.array(constants, dtype=np.float64)

    @cached_property
    def views(self) -> frozenset[View]:
        """What its leaves see of a row, beside the row as it is."""
        leaves = [source for source in self.inputs if isinstance(source, Leaf)]
        return frozenset(v for leaf in leaves for v in (leaf.left, leaf.right) if v)


@dataclass
class _Compiler:
    instructions: list[Instruction] = field(default_factory=list)
    inputs: dict[Input, int] = field(default_factory=dict)
    factors: dict[Factor, int] = field(default_factory=dict)
    known: dict[Expression, Value] = field(default_factory=dict)

    def value(self, e: Expression) -> Value:
        if e not in self.known:
            self.known[e] = self.lower(e)
        return self.known[e]

    def emit(self, operation: str, **constants: float | int | str) -> Value:
        target = len(self.instructions)
        self.instructions.append(Instruction(operation, target, **constants))  # type: ignore[arg-type]
        return Value(target)

    def lower(self, e: Expression) -> Value:
        match e:
            case Number(value):
                return self.emit("constant", b=value)
            case Leaf() | Opaque():
                return self.emit("leaf", first=self.inputs.setdefault(e, len(self.inputs)))
            case Map(function, argument):
                s = self.value(argument)
                return self.emit("map", first=s.slot, function=function, a=s.a, b=s.b)
            case ScaleRows(argument) | Normalize(argument):
                return self.scaled(argument, e)
            case Rescale(argument, factor):
                return self.scaled(argument, factor)
            case Power(base, exponent):
                return self.power(self.value(base), exponent)
            case Polynomial(argument, coefficients):
                return self.horner(self.value(argument), coefficients)
            case Multiply(terms):
                return self.product(terms)
            case Add(terms):
                return self.sum(terms)
        raise TypeError(f"lower() returned {e!r}; build it from the methods of the tile t")

    def scaled(self, argument: Expression, factor: Factor) -> Value:
        s = self.value(argument)
        index = self.factors.setdefault(factor, len(self.factors))
        return self.emit("scale_rows", first=s.slot, second=index, a=s.a, b=s.b)

    def multiply(self, s: Value, t: Value) -> Value:
        return self.emit("multiply", first=s.slot, second=t.slot, a=s.a, b=s.b, c=t.a, d=t.b)

    def power(self, base: Value, exponent: int) -> Value:
        result: Value | None = None
        while exponent:
            if exponent & 1:
                result = base if result is None else self.multiply(result, base)
            exponent >>= 1
            if exponent:
                base = self.multiply(base, base)
        if result is None:
            raise ValueError("a power in lower() must be a whole number of at least 1, got 0")
        return result

    def horner(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        constant, *rest = coefficients
        if not any(rest):
            return self.value(Number(constant))
        result = Value(x.slot, x.a * rest[-1], x.b * rest[-1])
        for c in reversed(rest[:-1]):
            result = self.multiply(Value(result.slot, result.a, result.b + c), x)
        return Value(result.slot, result.a, result.b + constant)

    def product(self, terms: tuple[Expression, ...]) -> Value:
        factor = 1.0
        result: Value | None = None
        for term in terms:
            if isinstance(term, Number):
                factor *= term.value
            else:
                value = self.value(term)
                result = value if result is None else self.multiply(result, value)
        if result is None:
            return self.value(Number(factor))
        return Value(result.slot, result.a * factor, result.b * factor)

    def sum(self, terms: tuple[Expression, ...]) -> Value:
        shift = 0.0
        result: Value | None = None
        for term in terms:
            if isinstance(term, Number):
                shift += term.value
                continue
            s = self.value(term)
            if result is None:
                result = s
                continue
            t, r = s, result
            constants = {"a": r.a, "b": r.b + t.b, "c": t.a}
            result = self.emit("add", first=r.slot, second=t.slot, **constants)
        if result is None:
            return self.value(Number(shift))
        return Value(result.slot, result.a, result.b + shift)

    def finish(self, e: Expression) -> Program:
        result = self.value(e)
        if result != Value(len(self.instructions) - 1):
            self.emit("map", first=result.slot, a=result.a, b=result.b)
        inputs = tuple(self.inputs)
        instructions, n_slots = _reuse_slots(_fused(self.instructions))
        steps = tuple(self.instructions)
        return Program(instructions, inputs, tuple(self.factors), n_slots, steps)


def _fused(steps: list[Instruction]) -> list[Instruction]:
    """Add a function of a slot where it is computed, if it serves for nothing but a sum.

    A sum that is shifted stays a step: the four constants of an instruction hold no fifth.
    """
    readers = Counter(s for step in steps for s in step.sources)
    fused = {step.target: step for step in steps}
    for step in steps:
        if step.operation != "add" or step.b:
            continue
        terms = (step.second, step.c), (step.first, step.a)
        for (slot, c), (other, d) in (terms, terms[::-1]):
            f = fused[slot]
            if f.operation == "map" and readers[slot] == 1:
                del fused[slot]
                fused[step.target] = f._replace(
                    operation="map_add", target=step.target, second=other, c=c, d=d
                )
                break
    return list(fused.values())


def _reuse_slots(steps: list[Instruction]) -> tuple[tuple[Instruction, ...], int]:
    """Give each result a slot that is free again after the last reading of its former owner."""
    last_use = {s: step.target for step in steps for s in step.sources}
    home: dict[int, int] = {}
    free: list[int] = []
    n_slots = 0
    renamed = []
    for step in steps:
        i = step.target
        moved = {s: home[s] for s in step.sources}
        free.extend(home[s] for s in set(moved) if last_use[s] == i)
        if free:
            home[i] = free.pop()
        else:
            home[i] = n_slots
            n_slots += 1
        renamed.append(_renamed(step, home[i], moved))
    return tuple(renamed), n_slots


def _renamed(step: Instruction, target: int, home: dict[int, int]) -> Instruction:
    step = step._replace(target=target)
    if step.operation in BINARY:
        return step._replace(first=home[step.first], second=home[step.second])
    if step.operation in ("map", "scale_rows"):
        return step._replace(first=home[step.first])
    return step


def compiled(e: Expression) -> Program:
    """Return the program that computes an expression on any pair of row blocks."""
    return _Compiler().finish(e)


@lru_cache(maxsize=32)
def compile_expression(e: Expression) -> Program:
    """Return what `compiled` does, the same for an expression that comes again soon.

    Few are remembered, since expressions hold what users put into their kernels.
    """
    return compiled(e)
