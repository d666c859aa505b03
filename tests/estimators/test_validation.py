"""Rows that nobody but the model can change."""

from collections import namedtuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from kinds_of_rows import ROWS
from mercer.data.kept import same_rows
from mercer.estimators.validation import owned


@pytest.mark.parametrize("X", ROWS.values(), ids=list(ROWS))
def test_own_rows_hold_the_same(X):
    assert same_rows(owned(X), X)


@pytest.mark.parametrize(
    "change",
    [
        lambda: (np.zeros((2, 2)), lambda X: X.fill(1.0)),
        lambda: (np.zeros((2, 2))[:, :1], lambda X: X.base.fill(1.0)),
        lambda: (np.zeros(2, object), lambda X: X.fill(1.0)),
        lambda: (sp.csr_array(np.eye(2)), lambda X: X.data.fill(2.0)),
        lambda: (sp.csc_array(np.eye(2)), lambda X: X.data.fill(2.0)),
        lambda: (["a", "b"], lambda X: X.reverse()),
        lambda: ([["a"], ["b"]], lambda X: X[0].append("c")),
        lambda: ([np.zeros(2)], lambda X: X[0].fill(1.0)),
        lambda: ({"age": np.zeros(2)}, lambda X: X["age"].fill(1.0)),
        lambda: (pd.DataFrame({"a": [1.0, 2.0]}), lambda X: X.__setitem__("a", 3.0)),
        lambda: (pd.DataFrame({"a": [1.0, 2.0]}), lambda X: X.isetitem(0, [3.0, 4.0])),
        lambda: (pd.Series([1.0, 2.0]), lambda X: X.__setitem__(0, 3.0)),
        lambda: (pl.DataFrame({"a": [1.0, 2.0]}), lambda X: X.__setitem__((0, "a"), 3.0)),
    ],
)
def test_changing_rows_leaves_own_ones_alone(change):
    X, act = change()
    kept, before = owned(X), owned(X)
    act(X)
    assert _same(kept, before)
    assert not _same(kept, X)


def _same(X, Z):
    return X.equals(Z) if isinstance(X, pd.Series) else same_rows(X, Z)


def test_a_read_only_memory_map_is_not_copied(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((4, 2)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert owned(X) is X
    assert owned(X[1:]).base is not None
    assert np.shares_memory(owned(X[1:]), X)


def test_a_memory_map_that_can_be_written_to_is_copied(tmp_path):
    for mode in ("r+", "c"):
        np.save(tmp_path / "X.npy", np.ones((4, 2)))
        X = np.load(tmp_path / "X.npy", mmap_mode=mode)
        kept = owned(X)
        X[0] = 5.0
        assert_array_equal(kept, np.ones((4, 2)))
        assert type(kept) is np.ndarray


def test_an_array_that_nobody_can_write_to_is_shared():
    X = np.ones(3)
    X.flags.writeable = False
    assert owned(X) is X
    assert owned(np.frombuffer(b"12345678")).base is not None
    parts = (np.ones(2), np.arange(2), np.arange(3))
    for part in parts:
        part.flags.writeable = False
    sparse = sp.csr_array(parts)
    assert owned(sparse) is sparse


def test_a_read_only_view_of_an_array_that_changes_is_copied():
    X = np.ones(3)
    view = X[:]
    view.flags.writeable = False
    kept = owned(view)
    X[0] = 5.0
    assert_array_equal(kept, np.ones(3))
    assert owned(np.frombuffer(bytearray(8))).base is None


def test_an_array_over_memory_of_an_unknown_owner_is_copied():
    values = pl.Series([1.0, 2.0]).to_numpy()
    assert not values.flags.writeable
    assert owned(values) is not values


def test_own_named_tuples_are_named_tuples():
    pair = namedtuple("pair", "left right")
    rows = [pair("a", ["b"]), pair("c", ["d"])]
    kept = owned(rows)
    rows[0].right.append("e")
    assert kept == [pair("a", ["b"]), pair("c", ["d"])]
    assert type(kept[0]) is pair
