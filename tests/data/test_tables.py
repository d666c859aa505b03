"""Tables of every kind: mappings of columns, pandas, polars and pyarrow."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.data.columns import (
    column_values,
    is_plain,
    is_table,
    like_rows,
    n_rows,
    stack_rows,
    table_matrix,
)
from mercer.data.kinds import Kind, column_kinds
from mercer.kernels import (
    Gaussian,
    Linear,
    default_kernel,
)
from refusals import refuses

X = np.arange(12.0).reshape(4, 3)
X.flags.writeable = False
K = Gaussian()(X)


def pandas_table(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_table(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


TABLES = pytest.mark.parametrize("table", [dict, pandas_table, polars_table, arrow_table])


@TABLES
def test_tables_are_matrices_with_names(table):
    rows = table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    assert_allclose(Gaussian()(rows), K)
    assert_allclose(Gaussian()(rows, X), K)
    assert_allclose(Gaussian().on("c", "a")(rows), Gaussian().on(2, 0)(X))
    assert_allclose(Gaussian().on(-1)(rows), Gaussian().on(2)(X))
    assert_allclose(Gaussian("median").on("b")(rows), Gaussian("median").on(1)(X))
    assert_allclose(Gaussian().diagonal(rows), np.ones(4))


@TABLES
def test_integers_and_booleans_in_tables_are_numbers(table):
    rows = table({"a": [1, 2], "b": [True, False]})
    assert_allclose(Linear()(rows), [[2.0, 2.0], [2.0, 4.0]])


@TABLES
def test_text_beside_the_columns_in_use_does_no_harm(table):
    rows = table({"a": [1.0, 2.0], "name": ["x", "y"]})
    assert_allclose(Linear().on("a")(rows), [[1.0, 2.0], [2.0, 4.0]])


@TABLES
def test_text_in_the_columns_in_use_is_refused_by_name(table):
    rows = table({"a": [1.0, 2.0], "name": ["x", "y"]})
    refuses("column 'name' of X does not hold numbers: 'x' at row 0; make", Gaussian(), rows)


@TABLES
def test_unknown_columns_are_refused_with_the_known_ones(table):
    rows = table({"age": [1.0, 2.0], "bmi": [3.0, 4.0]})
    said = "no column 'agee' in the table; it has 'age', 'bmi'; did you mean 'age'?"
    refuses(said, Gaussian().on("agee"), rows)
    refuses("in the table; it has 'age', 'bmi'", Gaussian().on("height"), rows)
    refuses("no column 5 in a table of 2 columns", Gaussian().on(5), rows)


@TABLES
def test_missing_cells_are_refused_with_the_column(table):
    rows = table({"age": [1.0, 2.0], "bmi": [3.0, float("nan")]})
    refuses("X contains NaN at row 1, column 'bmi'", Gaussian(), rows)


@pytest.mark.parametrize("table", [pandas_table, polars_table, arrow_table])
def test_nulls_are_missing_cells(table):
    refuses("X contains NaN at row 1, column 'a'", Gaussian(), table({"a": [1.0, None]}))


@TABLES
def test_tables_without_rows_give_an_empty_matrix(table):
    assert Gaussian()(table({"a": np.empty(0), "b": np.empty(0)})).shape == (0, 0)


def test_nullable_integers_are_numbers():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"a": pandas.array([1, 2], dtype="Int64")})
    assert_allclose(Linear()(rows), [[1.0, 2.0], [2.0, 4.0]])
    rows = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64")})
    refuses("X contains NaN at row 1, column 'a'", Linear(), rows)


@pytest.mark.parametrize("kind", ["category", "datetime64[ns]", "complex"])
def test_columns_of_other_kinds_are_refused(kind):
    pandas = pytest.importorskip("pandas")
    values = ["2020-01-01", "2020-01-02"] if kind != "complex" else [1j, 2j]
    rows = pandas.DataFrame({"a": pandas.Series(values).astype(kind)})
    refuses("column 'a' of X does not hold numbers", Gaussian(), rows)


def test_single_precision_tables_stay_single():
    assert Gaussian()(pandas_table({"a": X[:, 0].astype(np.float32)})).dtype == np.float32


def test_column_names_must_differ():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame(X, columns=["a", "b", "a"])
    refuses("several columns are named 'a'; rename them", Gaussian(), rows)


def test_lazy_tables_are_refused():
    lazy = polars_table({"a": [1.0]}).lazy()
    refuses("LazyFrame is not a table in memory; collect it first", Gaussian(), lazy)


@pytest.mark.parametrize("read", [column_kinds, default_kernel])
def test_lazy_tables_are_refused_without_a_warning_that_it_takes_long_to_look_at_them(read):
    with pytest.raises(ValueError, match="LazyFrame is not a table in memory; collect it first"):
        read(polars_table({"a": [1.0]}).lazy())


@pytest.mark.parametrize("values", [pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])], ids=type)
def test_a_series_is_no_table_of_plain_numbers(values):
    assert not is_plain(values)
    assert is_plain(values.to_frame("a") if isinstance(values, pd.Series) else values.to_frame())


def test_columns_of_different_length_are_refused():
    refuses("different lengths: [1, 2]", Gaussian(), {"a": [1.0, 2.0], "b": [3.0]})


def test_names_need_a_table():
    message = "X is a matrix without column names, so .on('a') cannot be resolved"
    refuses(message, Gaussian().on("a", 0), X)


def test_positions_need_columns():
    refuses("no column 3 in a matrix of 3 columns", Gaussian().on(3), X)
    refuses("no column -4 in a matrix of 3 columns", Gaussian().on(-4), X)
    refuses(
        ".on(0) needs a table or a matrix, got list of shape (2,)", Gaussian().on(0), ["a", "b"]
    )


def test_columns_of_a_table_called_by_numbers_are_selected_by_position():
    values = np.arange(12.0).reshape(4, 3)
    table = pytest.importorskip("pandas").DataFrame(values, columns=[7, 0, 1])
    assert_allclose(Gaussian(5.0).on(0, 2)(table), Gaussian(5.0)(values[:, [0, 2]]))


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        sp.csr_array,
        lambda X: pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"]),
        lambda X: pytest.importorskip("polars").DataFrame(X, schema=["a", "b", "c"]),
        lambda X: [tuple(row) for row in X],
    ],
    ids=["array", "csr", "pandas", "polars", "list"],
)
def test_stacked_rows_keep_their_form(form):
    stacked = stack_rows(form(X[:3]), form(X[3:]))
    assert type(stacked) is type(form(X))
    assert n_rows(stacked) == 4
    entries = stacked.toarray() if sp.issparse(stacked) else stacked
    assert_allclose(table_matrix(entries, "X") if is_table(entries) else entries, X)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_whole_numbers_are_stacked_under_others(library):
    module = pytest.importorskip(library)
    form = module.table if library == "pyarrow" else module.DataFrame
    stacked = stack_rows(form({"a": [0.5], "b": [1]}), form({"a": [2], "b": [3]}))
    assert_allclose(table_matrix(stacked, "X"), [[0.5, 1.0], [2.0, 3.0]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_matrix_takes_the_form_and_the_names_of_a_table(library):
    table = pytest.importorskip(library).DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]})
    shaped = like_rows(table, X)
    assert type(shaped) is type(table)
    assert list(shaped.columns) == ["a", "b", "c"]
    assert_allclose(table_matrix(shaped, "X"), X)
    assert list(like_rows({"a": [1.0], "b": [2.0], "c": [3.0]}, X)) == ["a", "b", "c"]
    assert like_rows(X[:1], X) is X


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_frame_of_numbers_is_read_at_once_as_column_by_column(library, rng, monkeypatch):
    columns = {f"c{i}": rng.normal(size=20) for i in range(5)}
    columns["c1"] = rng.integers(0, 9, 20)
    columns["c2"][3] = np.nan
    frame = library.DataFrame(columns)
    if library is pl:
        frame = frame.with_columns(pl.when(pl.col("c3") > 0.0).then("c3").alias("c3"))
    slow = np.column_stack([values for _, values in column_values(frame)])

    def none(*_):
        raise AssertionError("a column is looked at by itself")

    monkeypatch.setattr("mercer.data.columns.table_series", none)
    monkeypatch.setattr("mercer.data.kinds.table_series", none)
    found = table_matrix(frame, "X")
    assert_array_equal(found, slow)
    assert found.dtype == slow.dtype
    assert found.flags.c_contiguous
    assert column_kinds(frame) == dict.fromkeys(columns, Kind.NUMBERS)
    whole = table_matrix(frame.select("c1") if library is pl else frame[["c1"]], "X")
    assert whole.dtype == np.int64
    # Nobody can change the rows of the frame by it.
    found[:] = 0.0
    assert_array_equal(table_matrix(frame, "X"), slow)


def test_a_frame_that_holds_more_than_plain_numbers_is_read_by_columns():
    gaps = pd.array([1.0, None], dtype="Float64")
    for column, kind in (
        (gaps, Kind.NUMBERS),
        ([True, False], Kind.BOOLEANS),
        (["a", "b"], "text"),
    ):
        frame = pd.DataFrame({"x": [1.0, 2.0], "z": column})
        assert column_kinds(frame) == {"x": Kind.NUMBERS, "z": kind}
    assert np.isnan(table_matrix(pd.DataFrame({"x": [1.0, 2.0], "z": gaps}), "X")[1, 1])
    twice = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(ValueError, match="several columns are named 'x'"):
        table_matrix(twice, "X")
