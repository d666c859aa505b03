"""A file that is put in the place of another one whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Buffer = bytes | memoryview


def check_replaceable(path: Path) -> None:
    """Refuse a pipe or a device, in whose place a file would be."""
    if path.exists() and not path.is_file():
        raise OSError(0, "it is a folder, a pipe or a device; give the name of a file")


def replace_file(path: Path, parts: Iterable[Buffer]) -> None:
    """Put a file in the place of another one, or leave that as it was and raise an OSError.

    The new one is written beside it and forced to the disk before it takes the name.

    Parameters
    ----------
    path : Path
        The file.
    parts : iterable of bytes
        What it holds, one after the other.
    """
    path = path.resolve()
    check_replaceable(path)
    # Who may read the old file may read the new one, and nobody else.
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def unwritten(path: Path, error: OSError) -> str:
    """Return in words that a file could not be replaced."""
    return (
        f"{path} cannot be written: {error.strerror or error}; what was there before is unchanged"
    )


def _umask() -> int:
    """Return the rights that files of this process do not have."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk, where folders can be opened for it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
