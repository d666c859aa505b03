"""Match: the kernel of categories."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.kernels import Gaussian, Linear, Match
from mercer.testing import check_kernel
from mercer.tiles import apply, loop_twin
from mercer.tiles.operands import bind
from refusals import refuses

TABLES = pytest.mark.parametrize("table", [dict, pd.DataFrame, pl.DataFrame, pa.table])
OWN = Match(missing="own-category")


def slow(X, Z):
    """The definition, pair by pair."""
    return np.array([[np.mean([a == b for a, b in zip(x, z, strict=True)]) for z in Z] for x in X])


values = st.one_of(st.sampled_from(["a", "b", "", "ä", 1, 2, True, 0.5]), st.text(max_size=3))


@given(
    st.integers(1, 4).flatmap(
        lambda d: st.tuples(
            st.lists(st.tuples(*[values] * d), min_size=1, max_size=6),
            st.lists(st.tuples(*[values] * d), min_size=1, max_size=6),
        )
    )
)
def test_it_is_the_share_of_equal_columns(sides):
    X, Z = sides
    assert_array_equal(Match()(X, Z), slow(X, Z))
    assert_array_equal(Match()(X), slow(X, X))


@TABLES
def test_it_reads_every_kind_of_table(table):
    X = {"site": ["x", "y", "x"], "year": [1, 2, 2], "flag": [True, True, False]}
    Z = {"site": ["y", "new"], "year": [2, 7], "flag": [False, True]}
    expected = slow(list(zip(*X.values(), strict=True)), list(zip(*Z.values(), strict=True)))
    assert_array_equal(Match()(table(X), table(Z)), expected)
    assert_array_equal(Match().on("site")(table(X)), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


GAPS = {
    "pandas objects": pd.DataFrame({"c": pd.Series(["x", None, np.nan, "y"], dtype=object)}),
    "pandas strings": pd.DataFrame({"c": pd.Series(["x", None, None, "y"], dtype="string")}),
    "pandas categories": pd.DataFrame({"c": pd.Categorical(["x", None, None, "y"])}),
    "pandas whole numbers": pd.DataFrame({"c": pd.array([1, None, None, 2], dtype="Int64")}),
    "pandas booleans": pd.DataFrame({"c": pd.array([True, None, None, False], dtype="boolean")}),
    "pandas floats": pd.DataFrame({"c": [1.0, np.nan, np.nan, 2.0]}),
    "pandas dates": pd.DataFrame({"c": pd.to_datetime(["2020-01-01", None, None, "2021-01-01"])}),
    "polars strings": pl.DataFrame({"c": ["x", None, None, "y"]}),
    "polars categories": pl.DataFrame({"c": ["x", None, None, "y"]}, {"c": pl.Categorical}),
    "polars enum": pl.DataFrame({"c": ["x", None, None, "y"]}, {"c": pl.Enum(["y", "x"])}),
    "polars whole numbers": pl.DataFrame({"c": [2**60, None, None, 2**60 + 1]}),
    "polars booleans": pl.DataFrame({"c": [True, None, None, False]}),
    "arrow dictionary": pa.table({"c": pa.array(["x", None, None, "y"]).dictionary_encode()}),
    "arrow strings": pa.table({"c": pa.array(["x", None, None, "y"])}),
    "arrow whole numbers": pa.table({"c": pa.array([2**60, None, None, 2**60 + 1])}),
    "mapping": {"c": ["x", None, float("nan"), "y"]},
}


@pytest.mark.parametrize("rows", GAPS.values(), ids=GAPS)
def test_missing_values_are_refused_with_column_and_row(rows):
    refuses("column 'c' has a missing value at row 1; fill it or drop the row", Match(), rows)


@pytest.mark.parametrize("rows", GAPS.values(), ids=GAPS)
def test_missing_values_may_be_a_category_of_their_own(rows):
    expected = [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert_array_equal(OWN(rows), expected)
    assert_array_equal(OWN(rows, {"c": [None, "new"]})[:, 0], [0, 1, 1, 0])


@pytest.mark.parametrize(
    "form",
    [
        lambda c: pd.DataFrame({"c": pd.Categorical(c)}),
        lambda c: pl.DataFrame({"c": c}, {"c": pl.Categorical}),
        lambda c: pa.table({"c": pa.array(c).dictionary_encode()}),
        lambda c: np.array(c),
        lambda c: np.array(c, dtype=object)[:, None],
        lambda c: c,
        pd.Series,
    ],
    ids=["pandas", "polars", "arrow", "strings", "objects", "list", "series"],
)
def test_values_are_equal_whatever_holds_them(form):
    left, right = ["b", "a", "c"], ["a", "z", "b"]
    expected = [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert_array_equal(Match()(form(left), {"c": right}), expected)
    assert_array_equal(Match()({"c": right}, form(left)).T, expected)


def test_a_whole_number_equals_the_float_of_the_same_value():
    assert_array_equal(Match()(np.array([[1], [2]]), np.array([[1.0], [2.5]])), [[1, 0], [0, 0]])


def test_what_cannot_be_a_category_is_refused():
    refuses("the values of column 'c' cannot be categories", Match(), {"c": [["a"], ["b"]]})
    refuses("cannot be read from a sparse matrix", Match(), sp.csr_array(np.eye(2)))
    refuses("X has 0 columns", Match(), pd.DataFrame(index=[0, 1]))
    refuses("got shape (2, 2, 2)", Match(), np.zeros((2, 2, 2)))
    refuses("X has 2 columns and Z has 1", Match(), np.zeros((2, 2)), np.zeros((2, 1)))
    refuses("different lengths: [1, 2]", Match(), {"a": ["x", "y"], "b": ["x"]})


def test_missing_must_be_one_of_its_words():
    with pytest.raises(ValueError, match="Match: missing must be one of 'refuse', 'own-category'"):
        Match(missing="drop")


@pytest.mark.parametrize(
    "kernel", [Match(), OWN, Match() * Gaussian(1.5) + 0.5 * Match().on(1), Match().exp()], ids=str
)
def test_it_keeps_the_contract_of_kernels(kernel, rng):
    X, Z = rng.integers(0, 3, (9, 3)), rng.integers(0, 4, (7, 3))
    check_kernel(kernel, X.astype(float), Z.astype(float))


def test_it_keeps_the_contract_of_kernels_on_words(rng):
    words = np.array(["red", "green", "blue"])
    check_kernel(Match(), words[rng.integers(0, 3, (9, 2))], words[rng.integers(0, 3, (7, 2))])


def test_single_precision_rows_beside_it_stay_single(points):
    X = points(8).astype(np.float32)
    kernel = Gaussian().on(0, 1) + Match().on(2)
    assert kernel(X).dtype == np.float32
    assert Match()({"c": ["a", "b"]}).dtype == np.float64


@pytest.mark.parametrize("width", [1, 2, 7, 40])
def test_the_engine_agrees_with_its_twin(width, rng):
    X, Z = rng.integers(0, 3, (70, width)), rng.integers(0, 3, (300, width))
    V = rng.normal(size=(300, 2))
    bound = bind(Match().program, X, Z)
    K, KV = np.empty((70, 300)), np.empty((70, 2))
    loop_twin.fill(bound, K)
    loop_twin.multiply(bound, V, KV)
    assert_array_equal(Match()(X, Z), K)
    assert_allclose(apply(Match().program, X, Z, V), KV, rtol=1e-11, atol=1e-11)


def test_it_is_proved_and_so_is_what_is_built_from_it():
    assert Match().check().status == "PROVED"
    assert (Match().on("site") * Gaussian().on("age") + Linear().on("age")).check().status == (
        "PROVED"
    )


def test_it_is_written_and_read():
    k = 0.5 * OWN.on("site", "body part") * Gaussian(2.0).on("age")
    assert mercer.kernel(str(k)) == k
    assert mercer.kernel("match") == Match()


def test_its_formula_is_an_indicator():
    assert Match().on("a").latex() == r"\mathbf{1}[x_{\text{a}} = z_{\text{a}}]"
    assert Match().latex() == r"\frac{1}{d} \sum_j \mathbf{1}[x_j = z_j]"
    assert Match().normalized().latex() == Match().latex()


def test_dates_match_whatever_holds_them():
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    kernel = Match()
    held = np.array(days, dtype="datetime64[D]")[:, None]
    fine = held.astype("datetime64[ns]")
    listed = np.array(days, dtype=object)[:, None]
    np.testing.assert_array_equal(kernel(held, listed), np.eye(2))
    moments = np.array([datetime(2026, 1, 1), datetime(2026, 1, 2)], dtype=object)[:, None]
    np.testing.assert_array_equal(kernel(fine, moments), np.eye(2))
