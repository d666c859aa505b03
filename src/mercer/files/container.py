"""The container of a model file: a specification and arrays, sealed by a hash.

A file is one of safetensors: the length of a header, the header in JSON, and the buffers of all
arrays. The metadata of the header hold the specification as JSON and the SHA-256 of all bytes of
the file, in which the 64 digits of the hash itself are counted as zeros.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from mercer.data import replaced
from mercer.data.replaced import Buffer, unwritten
from mercer.errors import ModelFileError

# The version of what is written. A reader takes files of all versions up to its own.
FORMAT_VERSION = 1
MAGIC = "mercer"
EMPTY_HASH = "0" * 64
# Where the hash stands: once in the header, and nowhere else.
HASH = re.compile(rb'"sha256":"([0-9a-f]{64})"')
# The bytes of a header that may be read: its JSON takes many times as much memory.
LARGEST_HEADER = 100_000_000
# Pickles begin like this, and so do archives that may hold some. A length may, too, by chance.
PICKLES = (b"\x80", b"(", b"}", b"]", b"c", b"PK\x03\x04", b"\x1f\x8b")
# Those of protocol 0 are text: a function by module and name, or marks and values, each in a line.
TEXT_PICKLE = re.compile(rb"c[\w.]+\n[\w.]+\n|\([^,;\t\n]*\n")
# Bytes that text does not hold.
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")

# Kinds of numbers by the names that safetensors has for them.
KINDS = {"b1": "BOOL", "f2": "F16", "f4": "F32", "f8": "F64"}
KINDS |= {f"{k}{n}": f"{k.upper()}{8 * n}" for k in "iu" for n in (1, 2, 4, 8)}

Arrays = dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], spec: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a specification and arrays so that the file is the old or the new one, whole.

    Parameters
    ----------
    path : str or path
        The file.
    spec : JSON value
        The specification.
    arrays : dict of arrays
        Arrays of numbers by name.
    """
    replace_file(Path(path), _parts(spec, arrays))


def sealed(spec: Any, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file; the same specification and arrays give the same bytes."""
    return b"".join(_parts(spec, arrays))


def _parts(spec: Any, arrays: Mapping[str, NDArray[Any]]) -> list[Buffer]:
    """Return the length, the header and the buffers of a file, of which no array is copied."""
    metadata = {
        "format": MAGIC,
        "format_version": str(FORMAT_VERSION),
        "sha256": EMPTY_HASH,
        "spec": json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False),
    }
    header: dict[str, Any] = {"__metadata__": metadata}
    buffers: list[Buffer] = []
    end = 0
    # Wide numbers first, so that each begins at a multiple of its own size.
    for name in sorted(arrays, key=lambda n: (-arrays[n].dtype.itemsize, n)):
        array = np.ascontiguousarray(arrays[name], arrays[name].dtype.newbyteorder("<"))
        begin, end = end, end + array.nbytes
        shape = list(arrays[name].shape)
        header[name] = {"dtype": KINDS[array.dtype.str[1:]], "shape": shape}
        header[name]["data_offsets"] = [begin, end]
        buffers.append(array.reshape(-1).view(np.uint8).data)
    text = json.dumps(header, separators=(",", ":")).encode()
    # Buffers begin at multiples of eight bytes, so that arrays of numbers can be read in place.
    text += b" " * (-len(text) % 8)
    length = len(text).to_bytes(8, "little")
    digest = sha256()
    for part in (length, text, *buffers):
        digest.update(part)
    filled = HASH.sub(b'"sha256":"' + digest.hexdigest().encode() + b'"', text, count=1)
    return [length, filled, *buffers]


def read(path: str | os.PathLike[str]) -> tuple[Any, Arrays]:
    """Return the specification and the arrays of a file, after its hash was verified.

    Parameters
    ----------
    path : str or path
        The file.
    """
    try:
        return unsealed(_content(path))
    except FileNotFoundError:
        raise ModelFileError(
            f"{os.fspath(path)}: there is no such file; check its name and folder"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error.strerror or error}") from None
    except MemoryError:
        raise ModelFileError(f"{os.fspath(path)}: the file does not fit into memory") from None
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def _content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, of which the first must tell how many there are."""
    # Pipes and devices need not end.
    is_file = stat.S_ISREG(os.stat(path).st_mode)
    if not is_file:
        raise ModelFileError(
            "this is a folder" if os.path.isdir(path) else "this is a device or a pipe, and no file"
        )
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        start += file.read(length) if length <= min(size - 8, LARGEST_HEADER) else file.read(64)
        header, begin = _header(start, size)
        if begin + _stated_size(header) != size:
            raise ModelFileError("the file is longer or shorter than it states, a part is missing")
        return start + file.read()


def _stated_size(header: dict[str, Any]) -> int:
    """Return how many bytes the arrays of a header take."""
    try:
        ends = [v["data_offsets"][1] for name, v in header.items() if name != "__metadata__"]
    except (TypeError, KeyError, IndexError):
        ends = [None]
    if not all(type(end) is int for end in ends):
        raise ModelFileError("the header does not say where arrays are")
    return max(ends, default=0)


def unsealed(content: bytes) -> tuple[Any, Arrays]:
    """Return the specification and the arrays in the bytes of a file, which are verified first."""
    header, start = _header(content, len(content))
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or metadata.get("format") != MAGIC:
        raise ModelFileError("this is no model file of mercer, though one of safetensors")
    _check_version(metadata.get("format_version"))
    stated = [match.span(1) for match in HASH.finditer(content, 0, start)]
    if len(stated) != 1:
        raise ModelFileError(
            "the file has no hash, or several; it is damaged, save the model again"
        )
    begin, end = stated[0]
    digest = sha256(content[:begin])
    digest.update(EMPTY_HASH.encode())
    digest.update(memoryview(content)[end:])
    if digest.hexdigest().encode() != content[begin:end]:
        raise ModelFileError(
            "the bytes do not have the SHA-256 that the file states; it is damaged or was changed, "
            "save the model again"
        )
    try:
        spec = _specification(metadata.get("spec", ""))
        arrays = safetensors.numpy.load(content)
    except (ValueError, TypeError, RecursionError, KeyError, safetensors.SafetensorError) as error:
        raise ModelFileError(f"the content cannot be read: {error}") from None
    for array in arrays.values():
        array.flags.writeable = False
    return spec, arrays


def _header(content: bytes, size: int) -> tuple[dict[str, Any], int]:
    """Return the header of a file of so many bytes from the first of them, and where it ends."""
    if size == 0:
        raise ModelFileError("the file is empty")
    length = int.from_bytes(content[:8], "little")
    header = None
    if 8 <= 8 + length <= min(size, 8 + LARGEST_HEADER):
        with suppress(ValueError, RecursionError):
            header = json.loads(content[8 : 8 + length])
    if isinstance(header, dict):
        return header, 8 + length
    # Binary files show what they are in a few bytes.
    is_text = CONTROL.search(content, 0, 64) is None
    if is_text and TEXT_PICKLE.match(content) is None:
        raise ModelFileError(
            "this is no model file but text, such as a table; give one that mercer.save wrote"
        )
    if content.startswith(PICKLES):
        raise ModelFileError(
            "this is no model file but perhaps a pickle or an archive, which may run code when it "
            "is opened; mercer opens neither, write one with mercer.save"
        )
    raise ModelFileError("this is no model file, or a part of it is missing")


def _check_version(stated: Any) -> None:
    if not isinstance(stated, str) or not stated.isdecimal() or len(stated) > 9:
        raise ModelFileError(f"format_version must be a whole number, got {stated!r:.40}")
    if not 1 <= int(stated) <= FORMAT_VERSION:
        raise ModelFileError(
            f"the file has format_version {int(stated)}, and this mercer reads 1 to "
            f"{FORMAT_VERSION}; install a newer one"
        )


def _specification(text: Any) -> Any:
    """Return the value of a specification, which has finite numbers alone."""
    return json.loads(text, parse_constant=_refuse_number, parse_float=_finite)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_number(text)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"the number {text[:40]} is not finite")


def replace_file(path: Path, parts: Iterable[Buffer]) -> None:
    """Put a model in the place of another file, or leave that as it was."""
    path = path.resolve()
    try:
        replaced.replace_file(path, parts)
    except OSError as error:
        raise ModelFileError(unwritten(path, error)) from None
