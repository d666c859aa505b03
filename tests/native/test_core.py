"""Memory that is used again: only once nobody can see it any more."""

import gc
import pickle
import sys

import numpy as np
import pytest

from mercer.native.core import empty
from mercer.tiles import loop_twin
from mercer.tiles.evaluate import engine
from processes import forked

native_only = pytest.mark.skipif(
    engine() is loop_twin or not sys.platform.startswith("linux"),
    reason="the NumPy engine keeps no memory, and only Linux tells how much is mapped",
)
# A little more than 8 MB.
SHAPE = ((1 << 20) // 1000 + 1, 1000)

MAPPED = """
import numpy as np
from mercer.native.core import empty

def mapped():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * 4096 / 2**20

empty((2**23,), np.float64)
start = mapped()
"""


def megabytes(lines):
    """Return what `lines` print of the mapped memory, in a process of its own."""
    done = forked(MAPPED + lines)
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


@native_only
def test_a_result_gets_the_memory_of_one_that_is_gone():
    lines = """
first = empty((2**23,), np.float64)
print(mapped() - start)
second = empty((2**23,), np.float64)
print(mapped() - start)
del first
print(mapped() - start)
third = empty((2**23,), np.float64)
print(mapped() - start)
"""
    one, two, waiting, again = megabytes(lines)
    assert abs(one) < 8.0
    assert abs(two - 64.0) < 8.0
    assert waiting == again == two


@native_only
def test_only_two_blocks_wait():
    lines = """
arrays = [empty((2**23,), np.float64) for _ in range(5)]
print(mapped() - start)
arrays.clear()
print(mapped() - start)
"""
    many, waiting = megabytes(lines)
    assert abs(many - 4 * 64.0) < 8.0
    assert abs(waiting - 64.0) < 8.0


@native_only
def test_a_much_larger_block_is_not_spent_on_a_small_result():
    lines = """
other = empty((2**23,), np.float64)
large = empty((2**26,), np.float64)
del large
print(mapped() - start)
small = empty((2**20,), np.float64)
print(mapped() - start)
"""
    waiting, more = megabytes(lines)
    assert abs(waiting - 512.0) < 4.0
    assert abs(more - waiting - 8.0) < 4.0


@pytest.mark.parametrize(
    "view_of",
    [lambda a: a[1:], lambda a: a.T[3], lambda a: a.reshape(-1)[5:6], memoryview],
    ids=["rows", "column", "entry", "memoryview"],
)
def test_memory_that_a_view_still_shows_is_not_given_away(view_of):
    array = empty(SHAPE, np.float64)
    array[:] = 7.0
    view = view_of(array)
    del array
    gc.collect()
    other = empty(SHAPE, np.float64)
    other[:] = 1.0
    assert (np.asarray(view) == 7.0).all()


def test_memory_comes_back_without_python_code_in_which_an_interrupt_would_be_lost():
    array = empty(SHAPE, np.float64)
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append((event, frame.f_code.co_name)))
    del array
    sys.setprofile(None)
    assert [name for event, name in calls if event == "call"] == []


def test_such_an_array_is_like_any_other():
    array = empty(SHAPE, np.float32)
    array[:] = np.arange(SHAPE[1])
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)
