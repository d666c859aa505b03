"""Jobs on several threads that Ctrl-C ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Event, Thread
from typing import TypeVar

from mercer.data.deadline import check

Job = TypeVar("Job")
Result = TypeVar("Result")

# Seconds between two looks at whether Ctrl-C was pressed.
LOOK = 0.05


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
    except KeyboardInterrupt:
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
    done = Event()
    found: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            failures.append(error)
        done.set()

    Thread(target=run, daemon=True).start()
    while not done.wait(LOOK):
        check()
    if failures:
        raise failures[0]
    return found[0]
