"""Rows that a model keeps."""

import datetime as dt
from collections import namedtuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer.data.kept import rows_from_state, rows_state, same_rows
from mercer.estimators.validation import owned
from mercer.functions.function import read_only

DAYS = [dt.datetime(2024, 5, day, 12) for day in (3, 1, 2)]
COLUMNS = {
    "age": [1.5, None, 3.0],
    "count": [1, 2, 3],
    "is_old": [True, False, True],
    "site": ["north", None, "söüth"],
    "day": DAYS,
}
TABLES = {
    "pandas": pd.DataFrame(COLUMNS),
    "categorical": pd.DataFrame({"site": pd.Categorical(["a", "b", "a"])}),
    "whole categories": pd.DataFrame({"site": pd.Categorical([3, 1, 3])}),
    "nullable": pd.DataFrame({"site": pd.array(["a", pd.NA, "b"], dtype="string")}),
    "polars": pl.DataFrame(COLUMNS),
    "enum": pl.DataFrame({"site": ["a", "b", "a"]}, {"site": pl.Enum(["b", "a"])}),
    "pyarrow": pa.table(COLUMNS),
    "mapping": {"age": np.arange(3.0), "site": ["a", "b", "c"]},
}
ROWS = {
    **TABLES,
    "array": np.arange(6.0).reshape(3, 2),
    "single": np.arange(6.0, dtype=np.float32).reshape(3, 2),
    "csr": sp.csr_array(np.eye(3)),
    "csc": sp.csc_array(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]])),
    "texts": ["a", "bc", "d"],
    "tokens": [["a", 1], ["b"], []],
    "arrays of tokens": [np.array([1, 2]), np.array([3])],
}


@pytest.mark.parametrize("X", ROWS.values(), ids=list(ROWS))
def test_rows_are_had_back_from_their_state(X):
    state = rows_state(X)
    assert all(isinstance(v, np.ndarray | list | str | bool) for v in state.values())
    again = rows_from_state(state)
    if X is not ROWS["arrays of tokens"]:
        assert type(again) is type(X)
        assert same_rows(X, again)
    if X is ROWS["whole categories"]:
        assert again.dtypes.equals(X.dtypes)


@pytest.mark.parametrize("X", ROWS.values(), ids=list(ROWS))
def test_own_rows_hold_the_same(X):
    assert same_rows(owned(X), X)


def test_rows_without_a_form_have_no_state():
    with pytest.raises(ValueError, match="type Series have no state"):
        rows_state(pd.Series(["a"]))
    with pytest.raises(ValueError, match="got 'graph'"):
        rows_from_state({"kind": "graph"})


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


def test_rows_differ_by_one_value():
    assert not same_rows(TABLES["pandas"], TABLES["pandas"].assign(count=[1, 2, 4]))
    assert not same_rows(TABLES["pandas"], TABLES["pandas"][["age"]])
    assert not same_rows(ROWS["tokens"], [["a", 1], ["b"], ["c"]])
    assert not same_rows(ROWS["array"], ROWS["array"][:2])
    assert not same_rows(ROWS["csr"], 2.0 * ROWS["csr"])
    assert not same_rows(ROWS["texts"], ROWS["array"])
    assert not same_rows(TABLES["nullable"], TABLES["nullable"].fillna("c"))
    assert not same_rows(np.array([None], object), np.array([np.nan], object))


def test_rows_by_columns_are_not_rows_by_rows():
    csc = ROWS["csc"]
    same_parts = sp.csr_array((csc.data, csc.indices, csc.indptr), shape=csc.shape)
    assert not same_rows(csc, same_parts)
    assert_array_equal(rows_from_state(rows_state(csc)).toarray(), csc.toarray())
    other = csc.tocoo()
    assert_array_equal(rows_from_state(rows_state(other)).toarray(), csc.toarray())
    assert same_rows(other, other.copy())


def test_own_named_tuples_are_named_tuples():
    pair = namedtuple("pair", "left right")
    rows = [pair("a", ["b"]), pair("c", ["d"])]
    kept = owned(rows)
    rows[0].right.append("e")
    assert kept == [pair("a", ["b"]), pair("c", ["d"])]
    assert type(kept[0]) is pair


@pytest.mark.parametrize("name", ["array", "csr", "csc", "pandas", "whole categories"])
def test_who_writes_into_a_state_is_refused(name):
    X = ROWS[name] if name == "pandas" or "cat" in name else read_only(ROWS[name])
    parts = [v for v in rows_state(X).values() if isinstance(v, np.ndarray)]
    assert parts
    assert not any(part.flags.writeable for part in parts)
