"""Work on several threads: side by side, so that Ctrl-C ends it, and with one of the BLAS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from mercer.data.deadline import check
from mercer.native.core import become_worker, thread_count

Job = TypeVar("Job")
Result = TypeVar("Result")

# Seconds between two looks at whether Ctrl-C was pressed.
LOOK = 0.05


def workers(threads: int) -> ThreadPoolExecutor:
    """Return threads that work side by side, each of which may start its share of all others."""
    share = max(1, thread_count() // threads)
    return ThreadPoolExecutor(threads, initializer=become_worker, initargs=(share,))


def in_threads(run: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Return what `run` makes of every job, on all threads; it gains where it frees the GIL."""
    threads = min(thread_count(), len(jobs))
    if threads <= 1:
        return [run(job) for job in jobs]
    with workers(threads) as pool:
        # The deadline of this thread is that of its jobs.
        futures = [pool.submit(copy_context().run, run, job) for job in jobs]
        return [future.result() for future in futures]


def in_pool(run: Callable[[Job], Result], jobs: Sequence[Job], threads: int) -> list[Result]:
    """Return what `run` makes of every job, in their order.

    The first error drops the jobs that have not begun and is raised when the others are done.
    Ctrl-C is answered at once: a job that runs then goes on unseen to its end, since nothing can
    stop it from outside.
    """
    pool = ThreadPoolExecutor(threads)
    try:
        # The deadline of this thread is that of its jobs.
        futures = [pool.submit(copy_context().run, run, job) for job in jobs]
        waiting, failure = set(futures), None
        while waiting and failure is None:
            # With a timeout, since a plain wait does not hear Ctrl-C on every system.
            done, waiting = wait(waiting, LOOK, FIRST_EXCEPTION)
            failure = next((f.exception() for f in futures if f in done and f.exception()), None)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown(cancel_futures=True)
    if failure is not None:
        raise failure
    return [future.result() for future in futures]


def left_behind(call: Callable[[], Result]) -> Result:
    """Return what a call returns that frees the GIL and cannot be stopped from outside.

    It runs on another thread. When the time is up or Ctrl-C is pressed it goes on there unseen to
    its end, and what it would have returned is dropped.
    """
    done = threading.Event()
    found: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            failures.append(error)
        done.set()

    threading.Thread(target=run, daemon=True).start()
    while not done.wait(LOOK):
        check()
    if failures:
        raise failures[0]
    return found[0]


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
