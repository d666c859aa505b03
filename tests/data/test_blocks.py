"""Blocks of rows: their sizes, and that together they are all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer.data import blocks
from mercer.data.blocks import CACHE, LARGE, MEMORY, PANEL, blocks_of, half_blocks, row_blocks


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
