"""How many threads the engine runs on, and how."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Job = TypeVar("Job")
Result = TypeVar("Result")


class _Here(threading.local):
    """What the thread that asks knows of itself."""

    is_worker = False


_HERE = _Here()


def thread_count() -> int:
    """Return MERCER_THREADS, or the number of processors this process may use; 1 in a worker."""
    if _HERE.is_worker:
        return 1
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


def workers(threads: int) -> ThreadPoolExecutor:
    """Return threads that work side by side, so that none of them starts further ones."""
    return ThreadPoolExecutor(threads, initializer=_become_worker)


def _become_worker() -> None:
    _HERE.is_worker = True


def in_threads(run: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Return what `run` makes of every job, on all threads; it gains where it frees the GIL."""
    threads = min(thread_count(), len(jobs))
    if threads <= 1:
        return [run(job) for job in jobs]
    with workers(threads) as pool:
        return list(pool.map(run, jobs))


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which the BLAS has one thread, for work that is not worth more."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    # To find the libraries takes milliseconds, longer than what is to run on one thread.
    return ThreadpoolController()
