"""Memory of large results, which the native core uses again once nobody holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.engine import numpy_tiles
from mercer.engine.choose import engine

# Results smaller than this come from the caches of the allocator anyway.
SMALLEST = 1 << 23


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of any content, like ``numpy.empty``."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size < SMALLEST or engine() is numpy_tiles:
        return np.empty(shape, dtype)
    from mercer.engine import _native

    memory = _native.reserved(size)
    return np.empty(shape, dtype) if memory is None else memory.view(dtype).reshape(shape)
