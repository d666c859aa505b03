"""Rows that a model keeps."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from kinds_of_rows import ROWS, TABLES
from mercer.data.kept import rows_from_state, rows_state, same_rows


@pytest.mark.parametrize("X", ROWS.values(), ids=list(ROWS))
def test_rows_are_had_back_from_their_state(X):
    state = rows_state(X)
    assert all(isinstance(v, np.ndarray | list | str | bool) for v in state.values())
    again = rows_from_state(state)
    if X is not ROWS["arrays of tokens"]:
        assert type(again) is type(X)
        assert same_rows(X, again)
    if X is ROWS["whole categories"] or X is ROWS["zoned"]:
        assert again.dtypes.equals(X.dtypes)
    if X is ROWS["zoned polars"] or X is ROWS["zoned pyarrow"]:
        assert again.schema == X.schema


def test_rows_without_a_form_have_no_state():
    with pytest.raises(ValueError, match="type Series have no state"):
        rows_state(pd.Series(["a"]))
    with pytest.raises(ValueError, match="got 'graph'"):
        rows_from_state({"kind": "graph"})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("zone", ["nowhere", "../etc", 3, ""])
def test_a_time_zone_that_is_none_makes_no_table(library, zone):
    state = {"kind": "table", "library": library, "names": ["day"]}
    state |= {"column0": np.array(["2024-05-03T12"], "M8[us]"), "column0.zone": zone}
    with pytest.raises((ValueError, TypeError)):
        rows_from_state(state)


def test_a_time_zone_of_numbers_makes_no_table():
    state = {"kind": "table", "library": "pandas", "names": ["n"], "column0": np.arange(3.0)}
    with pytest.raises(ValueError, match="column 'n' has the time zone UTC and no dates"):
        rows_from_state(state | {"column0.zone": "UTC"})


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


@pytest.mark.parametrize("name", ["pandas", "whole categories"])
def test_who_writes_into_the_state_of_a_table_is_refused(name):
    parts = [v for v in rows_state(ROWS[name]).values() if isinstance(v, np.ndarray)]
    assert parts
    assert not any(part.flags.writeable for part in parts)
