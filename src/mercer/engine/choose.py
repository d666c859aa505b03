"""Which engine runs: the native core at the best level this machine has, or the NumPy twin."""

from __future__ import annotations

import functools
import os
import warnings
from types import ModuleType
from typing import Any

from mercer.engine import numpy_tiles
from mercer.engine.reduced import Array, Reduced
from mercer.engine.threads import thread_count
from mercer.errors import EngineWarning


@functools.cache
def engine() -> ModuleType:
    """Return the module that runs the tiles: ``takes``, ``fill``, ``multiply``, ``dense_share``."""
    wanted = os.environ.get("MERCER_ENGINE", "native")
    if wanted not in ("native", "numpy"):
        raise ValueError(f"MERCER_ENGINE must be 'native' or 'numpy', got {wanted!r}")
    if wanted == "numpy":
        return numpy_tiles
    try:
        from mercer.engine import native
    except ImportError as error:
        warnings.warn(
            f"mercer runs its NumPy engine, several times slower, because the native core is "
            f"missing ({error}); reinstall with a C++ compiler at hand",
            EngineWarning,
            stacklevel=2,
        )
        return numpy_tiles
    return native


def reduce(K: Array, u: Array | None = None) -> Reduced:
    """Return K = Q T Q' with T narrow, and Q orthogonal to the unit vector `u` if it is given.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, C-contiguous, float64. It is overwritten.
    u : array of shape (n,), optional
        The unit vector.
    """
    # Imported here because LAPACK is slow to import and evaluating a kernel does without.
    from mercer.engine.spectrum import Spectrum

    if engine() is numpy_tiles:
        return Spectrum(K, u)
    from mercer.engine.band import Band, blas

    return Spectrum(K, u) if blas() is None else Band(K, u)


def describe() -> dict[str, Any]:
    """Return which engine runs, at which level of the processor, on how many threads."""
    chosen = engine()
    is_native = chosen is not numpy_tiles
    return {
        "engine": "native" if is_native else "numpy",
        "cpu": chosen.cpu_level() if is_native else None,
        "threads": thread_count(),
    }
