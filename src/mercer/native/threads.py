"""How many threads the engine runs on, and how."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Job = TypeVar("Job")
Result = TypeVar("Result")


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


def workers(threads: int) -> ThreadPoolExecutor:
    """Return threads that work side by side, each of which may start its share of all others."""
    share = max(1, thread_count() // threads)
    return ThreadPoolExecutor(threads, initializer=_become_worker, initargs=(share,))


def _become_worker(share: int) -> None:
    _HERE.share = share


def in_threads(run: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Return what `run` makes of every job, on all threads; it gains where it frees the GIL."""
    threads = min(thread_count(), len(jobs))
    if threads <= 1:
        return [run(job) for job in jobs]
    with workers(threads) as pool:
        # The deadline of this thread is that of its jobs.
        futures = [pool.submit(copy_context().run, run, job) for job in jobs]
        return [future.result() for future in futures]


class _OneBlasThread:
    """A limit on the BLAS of the process, kept while any thread asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._askers = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._askers == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._askers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._askers -= 1
            if self._askers == 0:
                self._limit.restore_original_limits()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which the BLAS has one thread, for work that is not worth more.

    Its threads wait for more work by spinning, which takes time from those of the engine.
    """
    return _ONE_BLAS_THREAD


@cache
def _libraries() -> ThreadpoolController:
    # To find the libraries takes milliseconds, longer than what is to run on one thread. They are
    # found by a function that C calls, in which Ctrl-C would be lost; other threads hear none.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ThreadpoolController).result()
