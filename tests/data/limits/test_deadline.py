"""The clock that long work looks at."""

import threading
from time import perf_counter, sleep

import numpy as np
import pytest

from mercer.data.blocks import half_blocks, row_blocks
from mercer.data.limits.deadline import TimeIsUpError, check, seconds_left, shielded, until
from mercer.gram import StreamedGram
from mercer.kernels import Gaussian
from mercer.native.threads import in_pool, in_threads


def over():
    return until(perf_counter() - 1.0)


def test_without_a_deadline_nothing_happens():
    check()
    assert seconds_left() == np.inf


def test_what_is_over_raises_and_what_comes_after_it_does_not():
    with over(), pytest.raises(TimeIsUpError):
        check()
    check()


def test_the_earlier_of_two_deadlines_counts():
    with until(perf_counter() + 60.0):
        with over(), pytest.raises(TimeIsUpError):
            check()
        check()
        assert 0.0 < seconds_left() <= 60.0
    with over(), until(np.inf), pytest.raises(TimeIsUpError):
        check()


def test_what_is_shielded_goes_on():
    with over(), shielded():
        check()


@pytest.mark.parametrize("blocks", [lambda: row_blocks((4, 4), 4), lambda: half_blocks(4, 4)])
def test_every_block_looks_at_the_clock(blocks):
    assert len(list(blocks())) > 1
    with over(), pytest.raises(TimeIsUpError):
        next(iter(blocks()))


@pytest.mark.parametrize("side_by_side", [in_threads, lambda run, jobs: in_pool(run, jobs, 2)])
def test_threads_have_the_deadline_of_whoever_started_them(side_by_side):
    with over(), pytest.raises(TimeIsUpError):
        side_by_side(lambda job: check(), [1, 2])
    assert side_by_side(lambda job: seconds_left(), [1, 2]) == [np.inf, np.inf]


def test_other_threads_have_none():
    found = []
    with over():
        thread = threading.Thread(target=lambda: found.append(seconds_left()))
        thread.start()
        thread.join()
    assert found == [np.inf]


@pytest.mark.parametrize("work", [lambda gram: gram @ np.ones(len(gram)), StreamedGram.dense])
def test_products_and_entries_end_in_time(rng, monkeypatch, work):
    monkeypatch.setenv("MERCER_THREADS", "1")
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(8000, 100)), "2GB")
    with over(), pytest.raises(TimeIsUpError):
        work(gram)


def test_a_function_of_pairs_ends_in_time(rng):
    from mercer.kernels import FromFunction

    def slow(X, Z):
        sleep(4e-6 * len(X) * len(Z))
        return X @ Z.T

    gram = StreamedGram(FromFunction(slow), rng.normal(size=(1000, 2)))
    began = perf_counter()
    with until(began + 0.1), pytest.raises(TimeIsUpError):
        gram.dense()
    assert perf_counter() - began < 1.0
