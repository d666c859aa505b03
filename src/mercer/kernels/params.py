"""Parameters of frozen values by nested name, as scikit-learn spells them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.domains import check_fields
from mercer.kernels.language.brief import brief

if TYPE_CHECKING:
    from mercer.kernels.formula import Formula

Array = NDArray[np.float64]
Rounded = TypeVar("Rounded", bound="Formula")

# Where a value keeps what functions have found of it.
KEPT = "_kept"


class Parametric:
    """A frozen dataclass whose fields, and the fields of its parts, can be read and replaced."""

    # Other ways to give all fields by one number: its name, and the constructor that takes it.
    alternatives: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A dataclass leaves alone what its body defines, and overwrites what it inherits.
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    # Fields become plain values of their domains, or are refused.
    __post_init__ = check_fields

    def __repr__(self) -> str:
        """Return ``str(self)``, with its lists shortened if that is too long for a line."""
        return brief(str(self))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` also those of the parts, as ``a__b``.

        With `deep` numbers that a parameter can also be given by, such as gamma, are there too.
        """
        params: dict[str, Any] = {}
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            params[f.name] = value
            if deep:
                params.update(_nested(f.name, value))
        if deep:
            others = {name: getattr(self, name, None) for name in self.alternatives}
            params.update({name: value for name, value in others.items() if value is not None})
        return params

    def with_params(self, **params: Any) -> Self:
        """Return a copy with these parameters replaced; nested ones are named ``a__b``."""
        own: dict[str, Any] = {}
        parts: dict[str, dict[str, Any]] = {}
        others = {name: params.pop(name) for name in self.alternatives if name in params}
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        for path, value in params.items():
            name, _, rest = path.partition("__")
            if name not in names:
                raise ValueError(_unknown(type(self).__name__, name, [*names, *self.alternatives]))
            if rest:
                parts.setdefault(name, {})[rest] = value
            else:
                own[name] = value
        for name, changes in parts.items():
            own[name] = _replaced(own.get(name, getattr(self, name)), changes, name)
        changed = replace(self, **own)  # type: ignore[type-var]
        # What it is already, or was before, is no change: get_params() with one value replaced
        # sets that one alone. Nor is it computed again, and so not rounded.
        for k in (self, changed):
            others = {n: value for n, value in others.items() if value != getattr(k, n, None)}
        if not others:
            return changed
        name, value = next(iter(others.items()))
        if changed != self or len(others) > 1:
            given = ", ".join(f"{n}={v!r}" for n, v in {**own, **others}.items())
            raise ValueError(f"{name} stands for all parameters; give it alone, got {given}")
        return getattr(type(self), self.alternatives[name])(value)

    def __sklearn_clone__(self) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the fields is worked out once, and is no part of the value.
        kind: Any = type(self)
        derived = _worked_out(kind)
        return {n: v for n, v in vars(self).items() if n not in derived and n != KEPT}


def real_parameters(kernel: Formula) -> dict[str, float | Array]:
    """Return the real parameters of a kernel, and of its parts, by their names in `get_params`.

    These are numbers and lists of numbers that are not whole by their nature; the numbers of input
    maps, which are fitted to rows, are none of them.
    """
    found = {f: _numbers(v) for f, v in kernel.get_params(deep=False).items()}
    own = {f: v for f, v in found.items() if v is not None and has_domain(kernel, f)}
    for name, child in children(kernel):
        own |= {f"{name}__{key}": value for key, value in real_parameters(child).items()}
    return own


def rounded(kernel: Rounded, digits: int) -> Rounded:
    """Return a kernel with its real parameters in so many significant digits."""
    changes: dict[str, Any] = {}
    for name, value in real_parameters(kernel).items():
        numbers = [float(f"{v:.{digits}g}") for v in np.ravel(value)]
        changes[name] = numbers[0] if np.ndim(value) == 0 else tuple(numbers)
    return kernel.with_params(**changes)


def children(kernel: Formula) -> list[tuple[str, Formula]]:
    """Return the parts of a kernel with their names, in the order of its fields."""
    found: list[tuple[str, Formula]] = []
    for name, value in kernel.get_params(deep=False).items():
        if is_formula(value):
            found.append((name, value))
        elif isinstance(value, tuple) and any(map(is_formula, value)):
            found += [(f"{name}__{i}", part) for i, part in enumerate(value)]
    return found


def is_formula(value: Any) -> bool:
    """Whether a field of a kernel is a kernel with a formula."""
    return hasattr(value, "lower") and hasattr(value, "get_params")


def has_domain(kernel: Formula, name: str) -> bool:
    """Whether a parameter says which numbers it takes."""
    return any(f.name == name and "domain" in f.metadata for f in fields(kernel))


@cache
def _worked_out(kind: type) -> frozenset[str]:
    """Return the names of what a class works out once."""
    every = (vars(base) for base in kind.__mro__)
    return frozenset(n for own in every for n, v in own.items() if isinstance(v, cached_property))


def _nested(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Parametric):
        return {f"{name}__{key}": v for key, v in value.get_params().items()}
    params: dict[str, Any] = {}
    if isinstance(value, tuple) and any(isinstance(part, Parametric) for part in value):
        for i, part in enumerate(value):
            params[f"{name}__{i}"] = part
            params.update(_nested(f"{name}__{i}", part))
    return params


def _replaced(value: Any, changes: dict[str, Any], name: str) -> Any:
    if isinstance(value, Parametric):
        return value.with_params(**changes)
    if not isinstance(value, tuple):
        raise ValueError(f"{name} is {value!r} and has no parameters of its own")
    items = list(value)
    parts: dict[int, dict[str, Any]] = {}
    for path, new in changes.items():
        position, _, rest = path.partition("__")
        if not position.isdecimal() or int(position) >= len(items):
            raise ValueError(
                f"{name} has parts 0 to {len(items) - 1}, got {name}__{position}; "
                "see get_params() for the names"
            )
        if rest:
            parts.setdefault(int(position), {})[rest] = new
        else:
            items[int(position)] = new
    for i, inner in parts.items():
        items[i] = _replaced(items[i], inner, f"{name}__{i}")
    return tuple(items)


def _unknown(owner: str, name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(names) or 'none'}"
    return f"{owner} has no parameter {name!r}{hint}"


def _numbers(value: Any) -> float | Array | None:
    if isinstance(value, float):
        return value
    is_list = isinstance(value, tuple) and bool(value)
    return np.array(value) if is_list and all(isinstance(v, float) for v in value) else None
