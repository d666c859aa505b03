"""Memory that is used again: only once nobody can see it any more."""

import gc
import mmap
import pickle

import numpy as np
import pytest

from mercer.engine import reserve as reserve_file
from mercer.engine.reserve import MOST_BLOCKS, SMALLEST, Reserve

pytestmark = pytest.mark.skipif(
    not hasattr(mmap, "MADV_FREE"), reason="this system cannot mark memory as free"
)
SHAPE = (SMALLEST // 8 // 1000 + 1, 1000)


def address(array):
    return array.__array_interface__["data"][0]


def test_a_result_gets_the_memory_of_one_that_is_gone():
    reserve = Reserve()
    first = reserve.empty(SHAPE, np.float64)
    where = address(first)
    del first
    again, other = reserve.empty(SHAPE, np.float64), reserve.empty(SHAPE, np.float64)
    assert address(again) == where
    assert address(other) != where


@pytest.mark.parametrize(
    "view_of",
    [lambda a: a[1:], lambda a: a.T[3], lambda a: a.reshape(-1)[5:6], memoryview],
    ids=["rows", "column", "entry", "memoryview"],
)
def test_memory_that_a_view_still_shows_is_not_given_away(view_of):
    reserve = Reserve()
    array = reserve.empty(SHAPE, np.float64)
    array[:] = 7.0
    view = view_of(array)
    del array
    gc.collect()
    other = reserve.empty(SHAPE, np.float64)
    other[:] = 1.0
    assert (np.asarray(view) == 7.0).all()


def test_a_much_larger_block_is_not_spent_on_a_small_result():
    reserve = Reserve()
    large = reserve.empty((16 * SHAPE[0], SHAPE[1]), np.float64)
    where = address(large)
    del large
    assert address(reserve.empty(SHAPE, np.float64)) != where


def test_only_few_blocks_wait(monkeypatch):
    fresh, mapped = [], reserve_file._mapped
    monkeypatch.setattr(reserve_file, "_mapped", lambda size: fresh.append(size) or mapped(size))
    reserve = Reserve()
    count = MOST_BLOCKS + 2
    for _ in range(2):
        arrays = [reserve.empty(SHAPE, np.float64) for _ in range(count)]
        arrays.clear()
    assert len(fresh) == 2 * count - MOST_BLOCKS


def test_such_an_array_is_like_any_other():
    array = Reserve().empty(SHAPE, np.float32)
    array[:] = np.arange(SHAPE[1])
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)
