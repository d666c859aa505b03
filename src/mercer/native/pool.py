"""Memory of large results, which the native core uses again once nobody holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.native.core import core

# Results smaller than this come from the caches of the allocator anyway.
SMALLEST = 1 << 23


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of any content, like ``numpy.empty``."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    native = None if size < SMALLEST else core()
    memory = None if native is None else native.reserved(size)
    return np.empty(shape, dtype) if memory is None else memory.view(dtype).reshape(shape)
