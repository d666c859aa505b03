"""A kernel as arrays and plain values by name, and back through a closed list of classes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from mercer.kernels.kernel import (
    After,
    Columns,
    Exp,
    Kernel,
    Normalized,
    PolynomialOf,
    Power,
    Scaled,
)
from mercer.kernels.language.printing import snake_case
from mercer.kernels.language.vocabulary import FUNCTION_KERNELS, KERNELS, MAPS, MAX_DEPTH
from mercer.kernels.maps import AsNumbers
from mercer.kernels.params import Parametric
from mercer.kernels.recentred import Recentred

# Plain values and arrays by name.
State = dict[str, Any]

# What the expression language writes by operators and methods.
COMPOSITES: tuple[type[Any], ...] = (
    Scaled,
    Power,
    Exp,
    PolynomialOf,
    Normalized,
    After,
    Columns,
    Recentred,
    AsNumbers,
)
# All that a state can hold. What is made of a Python function is not among them.
CLASSES: dict[str, type[Any]] = {
    snake_case(kind.__name__): kind
    for kind in (*KERNELS.values(), *COMPOSITES, *MAPS.values())
    if kind not in FUNCTION_KERNELS
}

# The name of the entry that says which class a value is of.
CLASS = "class"


def kernel_state(kernel: Kernel) -> State:
    """Return what a kernel is made of by name, as arrays and plain values alone.

    Its own parameters go by their names, those of its parts by ``part.name``, and of each the entry
    ``class`` says what it is. Tuples of numbers are arrays, so that there may be any number of
    them, and all are exact. `kernel_from_state` reads it back.
    """
    state = dict(_entries(kernel, ""))
    if kernel_from_state(state) != kernel:
        raise ValueError(f"{kernel!r:.200} has no state: its parameters are no plain values")
    return state


def kernel_from_state(state: State) -> Kernel:
    """Return the kernel that `kernel_state` described.

    Nothing is evaluated: a class comes from a closed list, and its constructor checks parameters.

    Parameters
    ----------
    state : dict
        Arrays and plain values by name.
    """
    found = _read(state, "", 0)
    if not isinstance(found, Kernel):
        raise ValueError(f"the state of a kernel begins with one, got {state.get(CLASS)!r}")
    return found


def _entries(value: Any, path: str) -> list[tuple[str, Any]]:
    name = snake_case(type(value).__name__)
    if CLASSES.get(name) is not type(value):
        raise ValueError(
            f"{value!r:.100} has no state of arrays and plain values: it is, or holds, a function "
            "or a class of yours; use kernels of the expression language"
        )
    found: list[tuple[str, Any]] = [(f"{path}{CLASS}", name)]
    for field in fields(value):
        at, part = f"{path}{field.name}", getattr(value, field.name)
        if isinstance(part, Parametric) or callable(part):
            found += _entries(part, f"{at}.")
        elif isinstance(part, tuple) and any(isinstance(p, Parametric) for p in part):
            for i, inner in enumerate(part):
                found += _entries(inner, f"{at}.{i}.")
        elif part is not None:
            found.append((at, _plain(part)))
    return found


def _plain(value: Any) -> Any:
    """Return a parameter as it is, tuples of numbers as arrays and other tuples as lists."""
    if not isinstance(value, tuple):
        return value
    for kind in (float, int):
        if value and all(type(v) is kind for v in value):
            numbers = np.array(value)
            # Whole numbers beyond 64 bits stay a list.
            return numbers if numbers.dtype != object else list(value)
    rows = [_plain(v) for v in value]
    are_rows = rows and all(isinstance(r, np.ndarray) and r.ndim == 1 for r in rows)
    if are_rows and len({(r.shape, r.dtype) for r in rows}) == 1:
        return np.array(rows)
    return [r.tolist() if isinstance(r, np.ndarray) else r for r in rows]


def _read(state: State, path: str, depth: int) -> Any:
    name = state.get(f"{path}{CLASS}")
    if name not in CLASSES:
        known = ", ".join(sorted(CLASSES))
        raise ValueError(f"no kernel or map has the name {name!r} at {path!r}; there are {known}")
    # Kernels that are made by hand may nest deeper than those of a text.
    most_nested = 4 * MAX_DEPTH
    if depth > most_nested:
        raise ValueError(f"the state of a kernel nests deeper than {most_nested}")
    given: dict[str, Any] = {}
    for field in fields(CLASSES[name]):
        at = f"{path}{field.name}"
        if f"{at}.{CLASS}" in state:
            given[field.name] = _read(state, f"{at}.", depth + 1)
        elif f"{at}.0.{CLASS}" in state:
            parts: list[Any] = []
            while f"{at}.{len(parts)}.{CLASS}" in state:
                parts.append(_read(state, f"{at}.{len(parts)}.", depth + 1))
            given[field.name] = tuple(parts)
        else:
            given[field.name] = _as_tuple(state.get(at))
    return CLASSES[name](**given)


def _as_tuple(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
