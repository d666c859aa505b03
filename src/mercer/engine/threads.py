"""How many threads the tiles run on."""

from __future__ import annotations

import os


def thread_count() -> int:
    """Return MERCER_THREADS, or the number of processors this process may use."""
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
