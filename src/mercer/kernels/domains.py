"""Domains of kernel parameters: each turns what was given into a plain value, or says why not.

A kernel's author writes ``c: float = positive(1.0)``; the check runs when the kernel is made. The
declarations stand at the end of this file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.kernels.language.brief import shown

Check = Callable[[Any], Any]

# The rules that stand for a gamma of scikit-learn.
GAMMA_RULES = ("columns", "variance")


def _declared(check: Check, default: Any = MISSING) -> Callable[..., Any]:
    """Return what declares a field of a kernel: a call with its default, if it has one."""

    def declare(default: Any = default) -> Any:
        return field(default=default, metadata={"domain": check})

    return declare


def _optional(check: Check) -> Check:
    """Return the check of what may be None as well."""
    return lambda value: None if value is None else check(value)


def choice(*words: str) -> Any:
    """Declare one of some words, the first by default."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"must be one of {', '.join(map(repr, words))}")
        return value

    return _declared(check, words[0])()


def several_of(*words: str) -> Any:
    """Declare a tuple of different ones of some words, empty by default."""

    def check(value: Any) -> tuple[str, ...]:
        given = tuple(value) if isinstance(value, tuple | list) else (value,)
        if not all(isinstance(word, str) and word in words for word in given):
            raise ValueError(f"must be a list of {', '.join(map(repr, words))}")
        if len(set(given)) < len(given):
            raise ValueError("must not name anything twice")
        return given

    return _declared(check, ())()


def function(default: Any = MISSING) -> Any:
    """Declare a callable, which counts for equality and not for the hash: it need not have one."""
    return field(default=default, hash=False, metadata={"domain": _function})


def check_fields(value: Any) -> None:
    """Replace the fields of a dataclass that declare a domain by plain values, or say why not."""
    for f in fields(value):
        object.__setattr__(value, f.name, checked(type(value), f, getattr(value, f.name)))


def checked(kind: type, parameter: Field[Any], given: Any) -> Any:
    """Return what was given for a parameter of a class as a plain value, or say why not."""
    if "domain" not in parameter.metadata:
        return given
    try:
        return parameter.metadata["domain"](given)
    except ValueError as error:
        raise ValueError(f"{kind.__name__}: {parameter.name} {error}, got {shown(given)}") from None


def check_positive(name: str, value: Any) -> float:
    """Return a positive number given outside a field, or say what is wrong with it."""
    try:
        return _positive(value)
    except ValueError as error:
        raise ValueError(f"{name} {error}, got {shown(value)}") from None


def check_columns(columns: tuple[Any, ...]) -> tuple[str | int, ...]:
    """Return different columns by name or position, at least one."""
    if not columns:
        raise ValueError(".on() needs at least one column, got none")
    names = tuple(c if isinstance(c, str) else _position(c) for c in columns)
    if len(set(names)) < len(names):
        raise ValueError(f".on{shown(names)} names a column twice")
    return names


def _position(column: Any) -> int:
    is_whole = isinstance(column, Integral) and not isinstance(column, bool)
    if not is_whole or abs(column) > sys.float_info.max:
        raise ValueError(
            f".on() takes column names or whole numbers, got {shown(column)}; give the "
            "position of a column whose name is no text"
        )
    return int(column)


def _real(value: Any) -> float:
    # Of a plain float, as thousands of scales are, there is nothing to ask.
    if type(value) is not float and (
        isinstance(value, bool | np.bool_) or not isinstance(value, Real)
    ):
        raise ValueError("must be a real number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("must be finite")
    return number


def _positive(value: Any) -> float:
    number = _real(value)
    if number <= 0.0:
        raise ValueError("must be positive")
    return number


def _non_negative(value: Any) -> float:
    number = _real(value)
    if number < 0.0:
        raise ValueError("must not be negative, or the result would not be a kernel")
    return number


def _whole(value: Any) -> int:
    if isinstance(value, Real) and not isinstance(value, Integral) and _real(value).is_integer():
        value = int(float(value))
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < 1:
        raise ValueError("must be a whole number of at least 1")
    # A number that is no float could be neither an exponent nor printed.
    _real(value)
    return int(value)


def _count(value: Any) -> int:
    try:
        return _whole(value + 1) - 1
    except (TypeError, ValueError):
        raise ValueError("must be a whole number of at least 0") from None


def _lengths(value: Any) -> int | tuple[int, ...]:
    if not isinstance(value, tuple | list | np.ndarray):
        return _whole(value)
    several = tuple(_whole(v) for v in value)
    if not several or len(set(several)) < len(several):
        raise ValueError("must be a whole number of at least 1, or several different ones")
    return several


def _fraction(value: Any) -> float:
    number = _real(value)
    if not 0.0 <= number <= 1.0:
        raise ValueError("must lie between 0 and 1")
    return number


def _truth(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError("must be True or False")
    return bool(value)


def _weights(value: Any) -> tuple[float, ...]:
    if not isinstance(value, tuple | list | np.ndarray) or len(value) == 0:
        raise ValueError("must be None or a list of numbers, one for each length")
    return tuple(_non_negative(v) for v in value)


def _length_scale(value: Any) -> float | tuple[float, ...] | str:
    if isinstance(value, str):
        if value not in ("median", *GAMMA_RULES):
            raise ValueError("must be positive, a tuple of positive numbers, or 'median'")
        return value
    if isinstance(value, tuple | list | np.ndarray) and np.ndim(value) == 1:
        if len(value) == 0:
            raise ValueError("must have one entry per column")
        return tuple(_positive(v) for v in value)
    return _positive(value)


def _slope(value: Any) -> float | str:
    return value if isinstance(value, str) and value in GAMMA_RULES else _real(value)


def _coefficients(value: Any) -> tuple[float, ...]:
    if not isinstance(value, tuple | list | np.ndarray) or len(value) == 0:
        raise ValueError("must be a non-empty list of numbers, the constant term first")
    return tuple(_non_negative(v) for v in value)


def _numbers(value: Any) -> tuple[float, ...]:
    if not isinstance(value, tuple | list | np.ndarray) or np.ndim(value) != 1:
        raise ValueError("must be a list of numbers")
    return tuple(_real(v) for v in value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def _positions(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple | list | np.ndarray):
        raise ValueError("must be None or a list of positions")
    positions = tuple(_count(v) for v in value)
    if len(set(positions)) < len(positions):
        raise ValueError("must not name a position twice")
    return positions


def _positives(value: Any) -> tuple[float, ...]:
    return tuple(_positive(v) for v in _numbers(value))


def _symmetric_matrix(value: Any) -> tuple[tuple[float, ...], ...]:
    matrix = np.asarray(value)
    if matrix.dtype == object and all(isinstance(v, Integral) for v in matrix.flat):
        # Whole numbers beyond 64 bits.
        matrix = np.array([_real(v) for v in matrix.flat]).reshape(matrix.shape)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "fiu":
        raise ValueError("must be a square matrix of real numbers")
    if not np.isfinite(matrix).all():
        raise ValueError("must be finite")
    if not np.array_equal(matrix, matrix.T):
        raise ValueError("must be symmetric, or k(x, z) would differ from k(z, x)")
    return tuple(tuple(float(v) for v in row) for row in matrix)


def _matrix(value: Any) -> tuple[tuple[float, ...], ...]:
    given = value.tolist() if isinstance(value, np.ndarray) else value
    is_list = isinstance(given, list | tuple)
    if not is_list or not all(isinstance(row, list | tuple | np.ndarray) for row in given):
        raise ValueError("must be a matrix of real numbers, a list of rows of one length")
    rows = tuple(_numbers(row) for row in given)
    if len({len(row) for row in rows}) > 1:
        raise ValueError("must have rows of one length")
    return rows


def _function(value: Any) -> Callable[..., Any]:
    if not callable(value):
        raise ValueError("must be a function")
    return value


# A finite real number; a positive one; one of at least zero; one from 0 to 1.
real, optional_real = _declared(_real), _declared(_optional(_real), None)
positive, optional_positive = _declared(_positive), _declared(_optional(_positive), None)
non_negative = _declared(_non_negative)
fraction = _declared(_fraction)
# A whole number of at least one; of at least zero; of at least one, or several different ones.
whole = _declared(_whole)
count = _declared(_count)
lengths = _declared(_lengths)
# True or False; text.
truth = _declared(_truth)
text, optional_text = _declared(_text), _declared(_optional(_text), None)
# A length scale: positive, one per column, "median" or a rule for gamma.
length_scale = _declared(_length_scale)
# A real factor, or a rule for gamma such as "columns": 1 / their number.
slope = _declared(_slope)
# Tuples of finite numbers, and of positive ones, which may be empty.
numbers = _declared(_numbers)
positives = _declared(_positives)
# Tuples of numbers of at least zero, and of different positions from 0, which may be empty.
coefficients = _declared(_coefficients)
optional_weights = _declared(_optional(_weights), None)
optional_positions = _declared(_optional(_positions), None)
# Matrices, kept as tuples of rows.
matrix = _declared(_matrix)
symmetric_matrix = _declared(_symmetric_matrix)
