"""Work on several threads side by side, so that Ctrl-C ends it."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from mercer.data.limits.deadline import check
from mercer.native.core import become_worker, thread_count

Job = TypeVar("Job")
Result = TypeVar("Result")

# Seconds between two looks at whether Ctrl-C was pressed.
LOOK = 0.05


class ThreadPool(Generic[Job, Result]):
    """A pool of threads that Ctrl-C cannot leave half started or half awaited.

    `concurrent.futures` waits on conditions that are written in Python, and cleans up in callbacks
    of weak references: KeyboardInterrupt within the first releases a lock twice, within the second
    it is lost. Here starting a thread and waiting for it is one call to C.

    The first error drops the jobs that have not begun.

    Parameters
    ----------
    run : callable
        What is made of every job, with the deadline of the thread that makes the pool.
    jobs : sequence
        The jobs.
    threads : int
        How many threads.
    share : int, optional
        The threads that the engine may start within each.
    """

    def __init__(
        self,
        run: Callable[[Job], Result],
        jobs: Sequence[Job],
        threads: int,
        share: int | None = None,
    ) -> None:
        self._run, self._share, self._count = run, share, len(jobs)
        # One call to C takes the next of them, so that no two threads take the same one.
        self._left: Iterator[Any] = iter([(k, copy_context(), job) for k, job in enumerate(jobs)])
        self._found: dict[int, Result] = {}
        self._failures: dict[int, BaseException] = {}
        self._is_done = [False] * threads
        self._running = [allocate_lock() for _ in range(threads)]
        for lock in self._running:
            lock.acquire()

    def start(self) -> None:
        """Let the threads begin."""
        try:
            for k in range(len(self._running)):
                start_new_thread(self._work, (k,))
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Let no further job begin."""
        self._left = iter(())

    def wait(self) -> None:
        """Wait until no thread works."""
        for k, lock in enumerate(self._running):
            while not self._is_done[k]:
                lock.acquire(timeout=LOOK)

    def results(self) -> list[Result]:
        """Return the results in the order of the jobs, or raise the first error."""
        for k in sorted(self._failures):
            raise self._failures[k]
        return [self._found[k] for k in range(self._count)]

    def _work(self, thread: int) -> None:
        try:
            if self._share is not None:
                become_worker(self._share)
            while (taken := next(self._left, None)) is not None:
                k, context, job = taken
                try:
                    self._found[k] = context.run(self._run, job)
                except BaseException as error:
                    self._failures[k] = error
                    self.drop()
        finally:
            self._is_done[thread] = True
            self._running[thread].release()


def in_threads(run: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Return what `run` makes of every job, on all threads; it gains where it frees the GIL.

    Ctrl-C is raised when the jobs that have begun are done.
    """
    threads = min(thread_count(), len(jobs))
    if threads <= 1:
        return [run(job) for job in jobs]
    pool = ThreadPool(run, jobs, threads, thread_count() // threads)
    pool.start()
    try:
        pool.wait()
    except BaseException:
        pool.drop()
        pool.wait()
        raise
    return pool.results()


def in_pool(run: Callable[[Job], Result], jobs: Sequence[Job], threads: int) -> list[Result]:
    """Return what `run` makes of every job, in their order.

    The first error drops the jobs that have not begun and is raised when the others are done.
    Ctrl-C is answered at once: a job that runs then goes on unseen to its end, since nothing can
    stop it from outside.
    """
    threads = min(threads, len(jobs))
    pool = ThreadPool(run, jobs, threads, max(1, thread_count() // max(1, threads)))
    pool.start()
    try:
        pool.wait()
    except BaseException:
        pool.drop()
        raise
    return pool.results()


def left_behind(call: Callable[[], Result]) -> Result:
    """Return what a call returns that frees the GIL and cannot be stopped from outside.

    It runs on another thread. When the time is up or Ctrl-C is pressed it goes on there unseen to
    its end, and what it would have returned is dropped.
    """
    found: list[Result] = []
    failures: list[BaseException] = []
    running = allocate_lock()
    running.acquire()

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            failures.append(error)
        running.release()

    start_new_thread(run, ())
    while not (found or failures):
        running.acquire(timeout=LOOK)
        check()
    if failures:
        raise failures[0]
    return found[0]
