"""The compiled core where there is one, and the level of the processor that it runs at."""

from __future__ import annotations

import functools
import os
import warnings
from types import ModuleType
from typing import Any

from mercer.errors import EngineWarning
from mercer.native.threads import thread_count


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


def describe() -> dict[str, Any]:
    """Return which engine runs, at which level of the processor, on how many threads."""
    is_native = core() is not None
    return {
        "engine": "native" if is_native else "numpy",
        "cpu": cpu_level() if is_native else None,
        "threads": thread_count(),
    }
