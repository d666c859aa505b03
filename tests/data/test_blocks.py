"""Blocks of rows: their sizes, and that together they are all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer.data import blocks
from mercer.data.blocks import (
    CACHE,
    LARGE,
    MEMORY,
    PANEL,
    blocks_of,
    half_blocks,
    narrow_blocks,
    row_blocks,
)


def test_a_block_has_as_many_entries_as_are_asked_for():
    for entries in (CACHE, PANEL, MEMORY, LARGE):
        first = next(row_blocks((10**9, 100), entries))
        assert first == slice(0, entries // 100)
    assert next(row_blocks((10**9, 100))) == slice(0, MEMORY // 100)


def test_a_row_is_never_cut():
    assert list(row_blocks((3, 10**9))) == [slice(0, 1), slice(1, 2), slice(2, 3)]


@pytest.mark.parametrize("n", [0, 1, 7, 12])
def test_blocks_are_all_rows_in_order(n):
    found = [i for rows in row_blocks((n, 4), 13) for i in range(rows.start, rows.stop)]
    assert found == list(range(n))


@pytest.mark.parametrize("n", [0, 1, 7])
def test_half_blocks_meet_every_pair_once(n):
    met = np.zeros((n, n), int)
    for rows, columns in half_blocks(n, 9):
        met[rows, columns] += 1
        met[columns, rows] += rows != columns
    assert (met == 1).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: X.tolist()])
def test_blocks_of_rows_have_the_form_of_all(form, monkeypatch, rng):
    monkeypatch.setattr(blocks, "MEMORY", 12)
    X = form(rng.normal(size=(7, 2)))
    for rows, some in blocks_of(X, 4):
        assert type(some) is type(X)
        whole, part = (A.toarray() if sp.issparse(A) else np.array(A) for A in (X, some))
        assert_array_equal(part, whole[rows])


def test_rows_that_are_one_block_are_not_copied(rng):
    X = rng.normal(size=(7, 2))
    ((rows, some),) = blocks_of(X, 2)
    assert some is X
    assert rows == slice(0, 7)


@pytest.mark.parametrize(
    ("X", "step"),
    [
        (np.zeros((3 << 17, 4)), 1 << 18),
        ({"a": np.zeros(3 << 17), "b": np.zeros(3 << 17)}, 3 << 17),
        (sp.eye_array(3 << 19, format="csr"), 1 << 20),
        (["a"] * (3 << 19), 1 << 20),
        (np.broadcast_to(0.0, (3000, 1 << 20)), 1 << 10),
    ],
)
def test_narrow_blocks_are_cut_by_the_numbers_of_a_row(X, step):
    rows, _ = next(narrow_blocks(X))
    assert rows == slice(0, step)


def test_narrow_blocks_of_a_table_are_all_of_its_rows(monkeypatch):
    monkeypatch.setattr(blocks, "MEMORY", 1 << 11)
    X = {"a": np.arange(3000), "b": np.arange(3000)}
    found = [some["b"] for _, some in narrow_blocks(X)]
    assert len(found) == 3
    assert_array_equal(np.concatenate(found), X["b"])
