"""What the columns of a table hold."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import Linear
from mercer.data.columns import as_seconds
from mercer.data.kinds import Kind, column_kinds

DAY = datetime.date(2020, 1, 1)
COLUMNS = {
    "float": ([1.5, 2.0], Kind.NUMBERS),
    "whole": ([1, 2], Kind.NUMBERS),
    "gaps": ([1.5, None], Kind.NUMBERS),
    "truth": ([True, False], Kind.BOOLEANS),
    "truth with gaps": ([True, None], Kind.BOOLEANS),
    "text": (["a", "b"], Kind.TEXT),
    "text with gaps": (["a", None], Kind.TEXT),
    "bytes": ([b"a", b"b"], Kind.TEXT),
    "lists": ([["a"], ["b", "c"]], Kind.SEQUENCES),
    "dates": ([DAY, None], Kind.DATES),
    "dates with times": ([datetime.datetime(2020, 1, 1), None], Kind.DATES),
    "zones": ([datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), None], Kind.DATES),
    "times": ([datetime.time(17, 30), None], Kind.CLOCK_TIMES),
    "durations": ([datetime.timedelta(hours=3), None], Kind.DURATIONS),
    "exact": ([Decimal("1.5"), None], Kind.NUMBERS),
    "nothing": ([None, None], Kind.EMPTY),
}


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_kinds_follow_from_dtypes(table):
    rows = table({name: values for name, (values, _) in COLUMNS.items()})
    assert column_kinds(rows) == {name: kind for name, (_, kind) in COLUMNS.items()}


@pytest.mark.parametrize(
    "column", [[["a"], ["b", "c"]], [["a", "b"], ["c", "d"]], [("a",), None], [[1.0, 2.0]] * 2]
)
def test_a_mapping_may_hold_a_column_of_lists(column):
    assert column_kinds({"x": [1.0, 2.0], "lists": column})["lists"] is Kind.SEQUENCES


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pd.Series([1, None], dtype="Int64"), Kind.NUMBERS),
        (pd.Series([1.5, None], dtype="Float32"), Kind.NUMBERS),
        (pd.Series([True, None], dtype="boolean"), Kind.BOOLEANS),
        (pd.Series(["a", None], dtype="string"), Kind.TEXT),
        (pd.Series(["a", None], dtype=object), Kind.TEXT),
        (pd.Series([1, 2.5], dtype=object), Kind.NUMBERS),
        (pd.Series([1, "a"], dtype=object), Kind.OTHER),
        (pd.Series([None, np.nan], dtype=object), Kind.EMPTY),
        (pd.Series(["a", "b"], dtype="category"), Kind.CATEGORIES),
        (pd.Series([1, 2], dtype="category"), Kind.CATEGORIES),
        (pd.Series(pd.to_timedelta([1, 2], unit="D")), Kind.DURATIONS),
        (pd.Series([1j, 2j]), Kind.OTHER),
    ],
    ids=lambda v: str(v.dtype) if isinstance(v, pd.Series) else "",
)
def test_pandas_has_kinds_of_its_own(series, kind):
    assert column_kinds(pd.DataFrame({"c": series})) == {"c": kind}


def test_polars_has_categories_and_enumerations():
    rows = pl.DataFrame(
        {"c": ["a", "b"], "e": ["a", "b"], "d": [1.5, 2.5]},
        {"c": pl.Categorical, "e": pl.Enum(["a", "b"]), "d": pl.Decimal(10, 2)},
    )
    kinds = {"c": Kind.CATEGORIES, "e": Kind.CATEGORIES, "d": Kind.NUMBERS}
    assert column_kinds(rows) == kinds


def test_missing_numbers_are_numbers_and_missing_text_is_nothing():
    nothing = pl.DataFrame({"a": [None], "b": [None]}, {"a": pl.Float64, "b": pl.String})
    assert column_kinds(nothing) == {"a": Kind.NUMBERS, "b": Kind.EMPTY}


def test_arrow_has_dictionaries():
    rows = pa.table({"c": pa.array(["a", "b"]).dictionary_encode()})
    assert column_kinds(rows) == {"c": Kind.CATEGORIES}


def test_columns_of_a_mapping_are_arrays():
    rows = {"a": [1, 2], "b": np.array(["x", "y"]), "c": np.array([DAY, DAY], dtype="M8[D]")}
    assert list(column_kinds(rows).values()) == [Kind.NUMBERS, Kind.TEXT, Kind.DATES]


def test_a_table_without_rows_has_kinds():
    rows = pl.DataFrame({"a": [], "b": []}, {"a": pl.Float64, "b": pl.String})
    assert list(column_kinds(rows).values()) == [Kind.NUMBERS, Kind.TEXT]


@pytest.mark.parametrize("number", [int, float])
def test_numbers_beside_durations_stay_what_they_are(number):
    rows = np.array([[datetime.timedelta(seconds=i), number(i * i)] for i in range(5)], object)
    expected = np.array([[i, i * i] for i in range(5)], float)
    assert (Linear()(rows) == expected @ expected.T).all()


def test_durations_of_numpy_among_objects_are_seconds_in_any_unit():
    second, gap = datetime.timedelta(seconds=1), np.timedelta64("NaT")
    found = as_seconds(np.array([second, np.timedelta64(1500, "ms"), gap, None, pd.NaT], object))
    np.testing.assert_array_equal(found, [1.0, 1.5, np.nan, np.nan, np.nan])
    assert as_seconds(np.array([np.timedelta64(1500, "ms"), 2], object)).tolist() == [1.5, 2]
