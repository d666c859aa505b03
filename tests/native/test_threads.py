"""Threads of the engine; jobs on them: results in order, errors, and Ctrl-C."""

import signal
import threading
import time

import numpy as np
import pytest

from mercer.kernels import FromFunction
from mercer.native import threads
from mercer.native.core import thread_count
from mercer.native.threads import in_pool, in_threads
from mercer.selection import KernelRidgeCV


@pytest.mark.parametrize(("count", "share"), [(3, 1), (5, 1), (7, 2)])
def test_threads_that_work_side_by_side_share_all_others(monkeypatch, count, share):
    monkeypatch.setenv("MERCER_THREADS", str(count))
    assert in_threads(lambda _: thread_count(), range(3)) == [share] * 3
    assert thread_count() == count


def test_results_come_in_the_order_of_the_jobs():
    assert in_pool(lambda job: (time.sleep(0.01 * (3 - job)), job)[1], [0, 1, 2], 2) == [0, 1, 2]


def test_an_error_is_raised_and_drops_the_jobs_that_have_not_begun():
    begun = []

    def run(job):
        begun.append(job)
        time.sleep(0.02)
        raise ArithmeticError(f"job {job}")

    with pytest.raises(ArithmeticError, match="job 0"):
        in_pool(run, list(range(100)), 1)
    assert len(begun) < 100


def test_ctrl_c_ends_a_search_while_kernels_are_evaluated(rng):
    entered, released = threading.Event(), threading.Event()

    def slow(A, B):
        # The main thread asks for the diagonal first, and Python interrupts it there by itself.
        if threading.current_thread() is not threading.main_thread():
            entered.set()
            released.wait(20.0)
        return A @ B.T

    def press():
        entered.wait(20.0)
        signal.raise_signal(signal.SIGINT)

    X = rng.normal(size=(30, 2))
    # A process started in the background may have been told to ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=press).start()
    start = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            KernelRidgeCV([FromFunction(slow), "gaussian"], [1.0]).fit(X, X[:, 0])
        seconds = time.perf_counter() - start
    finally:
        released.set()
        signal.signal(signal.SIGINT, before)
    assert seconds < 3.0


def test_a_search_goes_on_after_one_was_interrupted(rng):
    X = rng.normal(size=(30, 2))
    assert np.isfinite(KernelRidgeCV().fit(X, X[:, 0]).best_score_)


def test_ctrl_c_while_threads_start_is_raised_and_begins_no_further_job(monkeypatch):
    begun = []

    def interrupted(work, arguments):
        work(*arguments) if not begun else None
        raise KeyboardInterrupt

    def run(job):
        begun.append(job)
        pool.drop()

    pool = threads.ThreadPool(run, range(100), 3)
    monkeypatch.setattr(threads, "start_new_thread", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.start()
    assert begun == [0]


def test_a_pool_can_be_awaited_again_after_ctrl_c():
    is_open = threading.Event()
    pool = threads.ThreadPool(lambda job: is_open.wait(10.0) and job, range(3), 2)
    pool.start()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(KeyboardInterrupt):
        pool.wait()
    is_open.set()
    pool.wait()
    assert pool.results() == [0, 1, 2]
