"""The digest of a problem: what tells it from others, whatever it is made of."""

from __future__ import annotations

import dis
import pickle
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from sysconfig import get_paths
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from mercer.data.kept import rows_state

# Values whose text says all of them.
PLAIN = (str, bytes, bool, int, float, complex, np.generic, type(None), type(Ellipsis))
# What its name identifies.
NAMED = (BuiltinFunctionType, np.ufunc, type)
# Where the modules of Python and of packages are.
INSTALLED = tuple(get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
# Bytes of an array that are read at a time: rows may be on a disk, and not one after the other.
BLOCK_BYTES = 1 << 24


def digest(*parts: Any) -> str:
    """Return the SHA-256 of settings, kernels, arrays and rows.

    A Python function is told from others by its code, its defaults and the values that it reads
    from around it, as two may have one name.

    Raises
    ------
    ValueError
        For an object that does not tell what it holds, such as an open file.
    """
    found = sha256()
    seen: set[int] = set()
    for piece in _pieces(parts, seen):
        found.update(len(piece).to_bytes(8, "little"))
        found.update(piece)
    return found.hexdigest()


def _pieces(part: Any, seen: set[int]) -> Iterator[Any]:
    """Yield the bytes of a value, behind what says of which kind and length it is."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        yield f"array {part.dtype.str} {part.shape}".encode()
        yield from _blocks(part)
        return
    yield f"{type(part).__module__}.{type(part).__qualname__}".encode()
    if isinstance(part, PLAIN):
        yield repr(part).encode()
    elif isinstance(part, list | tuple | frozenset | dict):
        yield from _items(part, seen)
    elif isinstance(part, ModuleType):
        yield part.__name__.encode()
    elif isinstance(part, NAMED):
        yield f"{getattr(part, '__module__', '')} {part.__name__}".encode()
    elif isinstance(part, FunctionType):
        yield from _of_function(part, seen)
    elif isinstance(part, CodeType):
        names = (part.co_names, part.co_argcount, part.co_kwonlyargcount, part.co_flags)
        yield from _pieces((part.co_code, names, part.co_consts), seen)
    elif isinstance(part, partial):
        yield from _pieces((part.func, part.args, part.keywords), seen)
    elif isinstance(part, MethodType):
        yield from _pieces((part.__func__, part.__self__), seen)
    elif is_dataclass(part):
        yield from _items({f.name: getattr(part, f.name) for f in fields(part) if f.compare}, seen)
    else:
        yield from _items(_rows(part), seen)


def _items(part: Any, seen: set[int]) -> Iterator[Any]:
    """Yield what a list, a tuple, a set or a dictionary holds."""
    yield str(len(part)).encode()
    if isinstance(part, dict):
        part = [item for pair in part.items() for item in pair]
    elif isinstance(part, frozenset):
        part = sorted(part, key=repr)
    if all(isinstance(item, PLAIN) for item in part):
        yield repr(part).encode()
        return
    for item in part:
        yield from _pieces(item, seen)


def _blocks(array: np.ndarray[Any, Any]) -> Iterator[Any]:
    """Yield the bytes of an array in the order of its rows, without a copy of all."""
    if array.size == 0:
        return
    rows = np.atleast_1d(array)
    step = max(1, BLOCK_BYTES * len(rows) // rows.nbytes)
    for begin in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[begin : begin + step]).reshape(-1).view(np.uint8)


def _of_function(f: FunctionType, seen: set[int]) -> Iterator[Any]:
    # A function may call itself.
    if id(f) in seen:
        return
    seen.add(id(f))
    cells = tuple(cell.cell_contents for cell in f.__closure__ or ())
    yield from _pieces((f.__code__, f.__defaults__, f.__kwdefaults__, cells), seen)
    # What an installed module holds changes with its code alone.
    if f.__code__.co_filename.startswith(INSTALLED):
        return
    for name in sorted(_globals(f.__code__)):
        if name in f.__globals__:
            yield from _pieces((name, f.__globals__[name]), seen)


def _globals(code: CodeType) -> set[str]:
    """Return the names that a function, and those within it, read from their module."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    inner = (_globals(part) for part in code.co_consts if isinstance(part, CodeType))
    return found.union(*inner)


def _rows(part: Any) -> Any:
    """Return rows as arrays and plain values, and any other object as the bytes of a pickle."""
    try:
        return rows_state(part)
    except ValueError:
        pass
    try:
        # To compare it, never to load it.
        return {"pickle": pickle.dumps(part, protocol=5)}
    except Exception as error:
        raise ValueError(
            f"checkpoint= tells a fit from others by all that it is made of, and {part!r:.60} "
            f"cannot be read ({error}); use a plain function instead, or checkpoint=None"
        ) from error
