"""The digest of a problem: what tells it from others, by the values that it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from mercer.data.kept import rows_state

# Values whose text says all of them.
PLAIN = (str, bytes, bool, int, float, complex, np.generic, type(None), type(Ellipsis))
# Bytes of an array that are read at a time: rows may be on a disk, and not one after the other.
BLOCK_BYTES = 1 << 24


def digest(*parts: Any) -> str:
    """Return the SHA-256 of settings, kernels, arrays and rows.

    Raises
    ------
    ValueError
        For what holds more than values: a function, whose code may read whatever is around it.
    """
    found = sha256()
    for piece in _pieces(parts):
        found.update(len(piece).to_bytes(8, "little"))
        found.update(piece)
    return found.hexdigest()


def _pieces(part: Any) -> Iterator[Any]:
    """Yield the bytes of a value, behind what says of which kind and length it is."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        yield f"array {part.dtype.str} {part.shape}".encode()
        yield from _blocks(part)
        return
    yield f"{type(part).__module__}.{type(part).__qualname__}".encode()
    if isinstance(part, PLAIN):
        yield repr(part).encode()
    elif isinstance(part, list | tuple | frozenset | dict):
        yield from _items(part)
    elif is_dataclass(part):
        yield from _items({f.name: getattr(part, f.name) for f in fields(part) if f.compare})
    else:
        yield from _items(_rows(part))


def _items(part: Any) -> Iterator[Any]:
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
        yield from _pieces(item)


def _blocks(array: np.ndarray[Any, Any]) -> Iterator[Any]:
    """Yield the bytes of an array in the order of its rows, without a copy of all."""
    if array.size == 0:
        return
    rows = np.atleast_1d(array)
    step = max(1, BLOCK_BYTES * len(rows) // rows.nbytes)
    for begin in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[begin : begin + step]).reshape(-1).view(np.uint8)


def _rows(part: Any) -> Any:
    """Return rows as arrays and plain values."""
    try:
        return rows_state(part)
    except ValueError:
        raise ValueError(
            f"checkpoint= goes on from the same fit alone, and {part!r:.60} cannot be compared "
            "reliably; use a kernel without Python functions, or checkpoint=None"
        ) from None
