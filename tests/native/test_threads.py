"""Threads of the engine, and those of the BLAS."""

import pytest
import scipy.linalg  # noqa: F401  # its BLAS is one of those that are limited
from threadpoolctl import ThreadpoolController

from mercer.native.threads import in_threads, one_blas_thread, thread_count


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in libraries]


@pytest.mark.parametrize(("threads", "share"), [(3, 1), (5, 1), (7, 2)])
def test_threads_that_work_side_by_side_share_all_others(monkeypatch, threads, share):
    monkeypatch.setenv("MERCER_THREADS", str(threads))
    assert in_threads(lambda _: thread_count(), range(3)) == [share] * 3
    assert thread_count() == threads


def test_the_blas_has_one_thread_until_the_last_who_asked_is_done():
    first, second = one_blas_thread(), one_blas_thread()
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("this BLAS cannot be given two threads")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert set(blas_threads()) == {2}
