"""The compiled core where there is one, and what it runs with: processor, threads and memory."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import EngineWarning


@functools.cache
def core() -> ModuleType | None:
    """Return the compiled core, or None where the NumPy twins run."""
    wanted = os.environ.get("MERCER_ENGINE", "native")
    if wanted not in ("native", "numpy"):
        raise ValueError(f"MERCER_ENGINE must be 'native' or 'numpy', got {wanted!r}")
    if wanted == "numpy":
        return None
    try:
        from mercer.native import _native
    except ImportError as error:
        warnings.warn(
            f"mercer runs its NumPy engine, several times slower, because the native core is "
            f"missing ({error}); reinstall with a C++ compiler at hand",
            EngineWarning,
            stacklevel=2,
        )
        return None
    return _native


def routines(twin: ModuleType) -> ModuleType:
    """Return where to call routines that `twin` has under the same names: the core, or the twin."""
    return core() or twin


def cpu_level() -> str:
    """Return the level of the processor that native code runs at: MERCER_CPU, or the best."""
    return _level(os.environ.get("MERCER_CPU", ""))


@functools.cache
def _level(wanted: str) -> str:
    from mercer.native import _native

    try:
        return str(_native.level(wanted))
    except ValueError as error:
        raise ValueError(f"MERCER_CPU={wanted!r}: {error}; try v2, v3, v4 or unset it") from None


class _Here(threading.local):
    """What the thread that asks knows of itself: its share of all threads, if it is one of many."""

    share: int | None = None


_HERE = _Here()


def thread_count() -> int:
    """Return MERCER_THREADS, or the number of processors; in a worker its share of them."""
    if _HERE.share is not None:
        return _HERE.share
    wanted = os.environ.get("MERCER_THREADS")
    if wanted is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if not wanted.isdecimal() or int(wanted) < 1:
        raise ValueError(f"MERCER_THREADS must be a whole number of at least 1, got {wanted!r}")
    return int(wanted)


def become_worker(share: int) -> None:
    """Let this thread, one of several side by side, start no more than its share of others."""
    _HERE.share = share


def empty(shape: tuple[int, ...], dtype: Any, smallest: int = 1 << 23) -> NDArray[Any]:
    """Return an array of any content, large ones in memory that earlier results have left.

    Those of fewer bytes than the `smallest` of these come from the caches of the allocator anyway.
    """
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    native = None if size < smallest else core()
    memory = None if native is None else native.reserved(size)
    return np.empty(shape, dtype) if memory is None else memory.view(dtype).reshape(shape)


def describe() -> dict[str, Any]:
    """Return which engine runs, at which level of the processor, on how many threads."""
    is_native = core() is not None
    return {
        "engine": "native" if is_native else "numpy",
        "cpu": cpu_level() if is_native else None,
        "threads": thread_count(),
    }
