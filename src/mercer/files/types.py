"""Whether what was read from a file has the type that a class declares."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from mercer.errors import ModelFileError


def check_field(kind: type[Any], name: str, value: Any) -> None:
    """Refuse a value that a field of a class does not declare.

    Arrays are compared by their kind of numbers, containers by themselves and not by what is in
    them, which was checked when it was made.

    Parameters
    ----------
    kind : type
        The class.
    name : str
        The field.
    value : object
        What the file has for it.
    """
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type]
    declared = hints.get(name, Any)
    if not _is(value, declared):
        raise ModelFileError(
            f"{kind.__name__}.{name} cannot be {str(value)[:40]!r} of the type "
            f"{type(value).__name__}"
        )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError:
        # Names that only type checkers import tell nothing at run time.
        return {}


def _is(value: Any, declared: Any) -> bool:
    if declared is Any:
        return True
    origin = get_origin(declared)
    if origin in (Union, UnionType):
        return any(_is(value, option) for option in get_args(declared))
    if declared in (None, NoneType):
        return value is None
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_kind(value, declared)
    if declared is float:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if declared is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if declared is bool:
        return isinstance(value, bool | np.bool_)
    plain = origin or declared
    return isinstance(value, plain) if isinstance(plain, type) else callable(value)


def _has_kind(value: NDArray[Any], declared: Any) -> bool:
    """Whether an array holds numbers of the declared kind, of any size."""
    wanted = get_args(get_args(declared)[1])
    if not wanted or wanted[0] is Any or not isinstance(wanted[0], type):
        return True
    return np.issubdtype(value.dtype, np.dtype(wanted[0]).type) or (
        np.dtype(wanted[0]).kind == value.dtype.kind
    )
