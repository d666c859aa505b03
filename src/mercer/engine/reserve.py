"""Memory of large results, used again once nobody holds it.

The system clears every page before it hands it out, which for a Gram matrix takes as long as to
compute it. A block that a result no longer needs is kept and given to the next one. Meanwhile it
is marked as free, so that the system may take it back whenever it is short of memory.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Results smaller than this come from the caches of the allocator anyway.
SMALLEST = 1 << 23
# Blocks are whole huge pages, which are cleared faster than small ones.
PAGE = 1 << 21
# A block is not given to a result that leaves more than this share of it unused.
SLACK = 0.9
MOST_BLOCKS = 2


class Reserve:
    """Blocks of memory that wait for the next large result."""

    def __init__(self) -> None:
        self._idle: list[mmap.mmap] = []
        self._lock = threading.Lock()

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array of any content, like ``numpy.empty``."""
        dtype = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        size = count * dtype.itemsize
        if size < SMALLEST or not hasattr(mmap, "MADV_FREE"):
            return np.empty(shape, dtype)
        block = self._taken(size) or _mapped(size)
        owner = np.frombuffer(block, dtype, count)
        # Every view keeps `owner` alive, whatever becomes of the array returned here.
        weakref.finalize(owner, self._return, block).atexit = False
        return owner.reshape(shape)

    def _taken(self, size: int) -> mmap.mmap | None:
        with self._lock:
            fits = [b for b in self._idle if size <= len(b) <= size / (1.0 - SLACK) + PAGE]
            if not fits:
                return None
            best = min(fits, key=len)
            self._idle.remove(best)
            return best

    def _return(self, block: mmap.mmap) -> None:
        # The collector may run this in the thread that holds the lock; then the block is let go.
        if not self._lock.acquire(blocking=False):
            return
        try:
            block.madvise(mmap.MADV_FREE)
            self._idle.append(block)
            del self._idle[:-MOST_BLOCKS]
        finally:
            self._lock.release()


def _mapped(size: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    block = mmap.mmap(-1, -(-size // PAGE) * PAGE, flags)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)
    return block


RESERVE = Reserve()
