"""Streams: the same rows in every pass, cut alike whatever the source hands out."""

import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from mercer.data.blocks import blocks_of
from mercer.data.columns import n_rows, take_rows
from mercer.data.stream import Stream, opened, stream_of
from mercer.data.stream.sources import ArraySource
from mercer.data.stream.stream import _at, recut


def cut(X, sizes):
    """Return a function of an iterator of blocks of so many rows each."""
    ends = np.cumsum(sizes)

    def blocks():
        for size, end in zip(sizes, ends, strict=True):
            yield take_rows(X, slice(int(end - size), int(end)))

    return blocks


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(50, 3))


def test_rows_are_counted_taken_and_cut_as_those_of_an_array(X):
    stream = stream_of(cut(X, [7, 0, 13, 30]))
    assert n_rows(stream) == 50
    assert stream.shape == (50, 3)
    np.testing.assert_array_equal(take_rows(stream, slice(5, 25)), X[5:25])
    index = np.array([0, 6, 7, 8, 19, 20, 49])
    np.testing.assert_array_equal(take_rows(stream, index), X[index])
    assert take_rows(stream, np.array([], np.intp)).shape == (0, 3)
    for (rows, some), (expected, part) in zip(
        blocks_of(stream, 2, 22), blocks_of(X, 2, 22), strict=True
    ):
        assert rows == expected
        np.testing.assert_array_equal(some, part)


def test_some_rows_of_a_stream_are_a_stream(X):
    index = np.array([1, 2, 3, 20, 48])
    part = stream_of(cut(X, [25, 25])).part(index)
    assert len(part) == 5
    np.testing.assert_array_equal(part.collected(), X[index])
    np.testing.assert_array_equal(part.part(np.array([0, 4])).collected(), X[[1, 48]])


def test_maps_see_every_block(X):
    stream = stream_of(cut(X, [25, 25])).mapped(lambda rows: 2.0 * rows)
    np.testing.assert_array_equal(stream.collected(), 2.0 * X)
    np.testing.assert_array_equal(stream.head, 2.0 * X[:25])


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_blocks_are_cut_alike_whatever_the_source_hands_out(sizes, step):
    X = np.arange(sum(sizes))
    found = list(recut(cut(X, sizes)(), step))
    assert all(len(block) == step for block in found[:-1])
    np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *found]), X)


def test_sparse_rows_tables_and_lists_stay_what_they_are(X):
    for rows in (sp.csr_array(X), pl.DataFrame(X), ["a", "b", "c"] * 10):
        n = n_rows(rows)
        found = stream_of(cut(rows, [n // 2, n - n // 2])).collected()
        assert type(found) is type(rows)
        assert n_rows(found) == n


def test_another_number_of_rows_in_a_later_pass_names_both_counts(X):
    sizes = [25, 25]
    stream = stream_of(lambda: cut(X, sizes)())
    sizes.pop()
    with pytest.raises(ValueError, match=r"had 50 rows when it was first read and has 25 now"):
        list(blocks_of(stream, 1))


def test_an_iterator_that_is_used_up_is_refused(X):
    blocks = cut(X, [25, 25])()
    stream = stream_of(lambda: blocks)
    with pytest.raises(ValueError, match="it must give the same rows at every pass"):
        list(blocks_of(stream, 1))


def test_pairs_bring_their_targets(X):
    y = np.arange(50.0)
    stream, targets, weights = opened(lambda: ((X[i : i + 20], y[i : i + 20]) for i in (0, 20, 40)))
    np.testing.assert_array_equal(stream.collected(), X)
    np.testing.assert_array_equal(targets, y)
    assert weights is None


def test_columns_of_tables_are_targets_and_weights_by_name(X):
    table = pl.DataFrame(X, schema=["a", "y", "w"])
    for rows in (table, cut(table, [20, 30])):
        found, y, weights = opened(rows, "y", "w")
        found = found.collected() if isinstance(found, Stream) else found
        assert found.columns == ["a"]
        np.testing.assert_array_equal(y, X[:, 1])
        np.testing.assert_array_equal(weights, X[:, 2])


@pytest.mark.parametrize(
    ("blocks", "y", "said"),
    [
        (lambda X: 3, None, "returned int; it must return an iterator"),
        (lambda X: [(X, X, X)], None, "a tuple of 3; blocks are X or pairs"),
        (lambda X: [], None, "has 0 rows"),
        (lambda X: [(X, X[:3, 0])], None, "50 rows with 3 targets at row 0"),
        (lambda X: [X, (X, X[:, 0])], None, "some blocks with y and some without, at row 50"),
        (lambda X: [(X, X[:, 0])], np.ones(50), "y was given as well"),
        (lambda X: [X], "y", "'y' names a column, and X is no table"),
    ],
)
def test_blocks_that_mean_nothing_are_refused(X, blocks, y, said):
    with pytest.raises(ValueError, match=said):
        opened(lambda: blocks(X), y)


def test_rows_are_taken_in_any_order_and_several_times(X):
    stream = stream_of(cut(X, [20, 30]))
    for index in ([3, 1, 0, 2], [0, 0, 49], [49, 20, 19]):
        assert np.array_equal(stream.take(np.array(index)), X[index])
    part = stream.part(np.array([30, 4, 7]))
    assert np.array_equal(part.take(np.array([1, 0])), X[[4, 30]])
    with pytest.raises(ValueError, match="read in their order"):
        list(stream.part(np.array([3, 1])).blocks(10))


@pytest.mark.parametrize("kind", [np.uint32, np.intp])
def test_rows_that_do_not_ascend_are_refused_whatever_numbers_they_are(X, kind):
    stream = replace(stream_of(cut(X, [50])), index=np.array([3, 1, 2], kind))
    with pytest.raises(ValueError, match="give ascending positions"):
        list(stream.blocks(10))


def test_a_few_rows_of_a_block_do_not_keep_all_of_it_in_memory(X):
    for some in (np.array([7]), np.arange(10, 30)):
        assert not np.shares_memory(_at(X, some), X)
        np.testing.assert_array_equal(_at(X, some), X[some])
    assert np.shares_memory(_at(X, np.arange(5, 45)), X)


def pages_of_files():
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("RssFile"))


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells of pages in /proc")
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_a_pass_over_a_memory_map_leaves_none_of_it_in_memory(tmp_path, mode):
    rows = np.arange(8_000_000.0).reshape(-1, 4)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode=mode)
    stream = Stream(ArraySource(mapped[1:]), len(rows) - 1)
    before = pages_of_files()
    total = sum(block.sum() for _, block in stream.blocks(1 << 18))
    assert pages_of_files() - before < 0.4 * rows.nbytes
    assert total == rows[1:].sum()


def test_what_was_written_to_a_copy_on_write_stays_after_a_pass(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((1000, 2)))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="c")
    mapped[500] = 7.0
    for _ in range(2):
        (block,) = (rows for _, rows in Stream(ArraySource(mapped), 1000).blocks(1000))
        assert block.sum() == 14.0


def test_a_pass_copies_no_positions_of_rows():
    n, positions = 400_000, np.arange(400_000, dtype=np.uint32)
    rows = ArraySource(np.broadcast_to(0.0, (n, 1024)))
    tracemalloc.start()
    for _ in Stream(rows, n, index=positions)._kept():
        pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < positions.nbytes
