"""describe_columns: what becomes of every column, in a table that a person can read."""

from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mercer import default_kernel, describe_columns
from mercer.kernels import Gaussian, Match, Standardize
from mercer.kernels.tables.roles import Role

TABLES = {"mapping": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
EACH_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
N = 40
START = datetime(2020, 1, 1)
WHOLE = "is another number in every row"

# The values of a column, and what it becomes.
ROLES = {
    "age": ([None, *np.linspace(20.0, 80.0, N - 1).tolist()], "number, indicator where missing"),
    "dose": ([i % 5 for i in range(N)], "number"),
    "stay": ([timedelta(hours=i * 7 % 50) for i in range(N)], "number"),
    "smoker": ([bool(i % 2) for i in range(N)], "category"),
    "consent": ([None, *(bool(i % 3) for i in range(N - 1))], "category, missing is one"),
    "site": ([None, *(f"site {i % 4}" for i in range(N - 1))], "category, missing is one"),
    "born": (
        [date(1950, 1, 1) + timedelta(days=97 * i) for i in range(N)],
        "date: time, year, week",
    ),
    "seen": (
        [None, *(START + timedelta(hours=5 * i) for i in range(N - 1))],
        "date: time, week, day",
    ),
    "at": ([time(i % 24) for i in range(N)], "date: day"),
    "iso": ([f"2020-01-{1 + i % 28:02d}" for i in range(N)], "date: time, week"),
    "note": ([None, *(f"came in on day {i} with pain" for i in range(N - 1))], "text: words()"),
    "smiles": (
        ["CNO=#"[i % 5] * 3 + f"C{i}N" for i in range(N)],
        "text: spectrum(k=3).normalized()",
    ),
    "row": (list(range(N)), "left out: numbers the rows"),
    "user_id": ([7 * i + 1000 for i in range(N)], f"left out: {WHOLE}"),
    "code": ([f"A-{i:04d}" for i in range(N)], "left out: is another text in every row"),
    "same": ([3.5] * N, "left out: has one value"),
    "same date": ([START] * N, "left out: has one value"),
    "same text": (["x"] * N, "left out: has one value"),
    "nothing": ([None] * N, "left out: has no value"),
    "lists": ([[1.0, 2.0]] * N, "left out: holds lists"),
}


@EACH_TABLE
def test_every_column_has_its_role(table):
    report = describe_columns(table({name: values for name, (values, _) in ROLES.items()}))
    assert {use.column: use.becomes for use in report} == {
        name: role for name, (_, role) in ROLES.items()
    }
    assert [use.column for use in report.left_out] == list(ROLES)[12:]
    assert len(report) == len(ROLES)


@EACH_TABLE
def test_it_is_the_default_kernel_that_is_described(table):
    rows = table({name: values for name, (values, _) in ROLES.items()})
    assert describe_columns(rows).kernel == default_kernel(rows)


@EACH_TABLE
def test_it_prints_as_a_table(table):
    rows = table({"id": [7, 8, 9], "age": [41.0, 52.5, None], "site": ["a", "b", "a"]})
    assert str(describe_columns(rows)).splitlines() == [
        "2 of 3 columns are used",
        "column  holds    missing  distinct  becomes",
        f"id      numbers        0         3  left out: {WHOLE}",
        "age     numbers        1         2  number, indicator where missing",
        "site    text           0         2  category",
    ]


def test_a_page_and_a_data_frame_say_the_same():
    rows = pd.DataFrame({"<b>": [1.5, 2.5, 4.0], "lists": [[1], [2], [3]]})
    report = describe_columns(rows)
    assert "&lt;b&gt;" in report._repr_html_()
    assert report._repr_html_().count("<tr>") == 3
    frame = report.to_pandas()
    assert frame["becomes"].tolist() == ["number", "left out: holds lists"]


def test_a_table_that_says_nothing_is_described_all_the_same():
    report = describe_columns({"id": np.arange(N), "c": ["x"] * N})
    assert report.kernel is None
    assert [use.reason for use in report] == ["numbers the rows", "has one value"]


@EACH_TABLE
def test_what_another_kernel_reads_is_told(table):
    rows = table({"age": [41.0, 52.0, 60.0], "site": ["a", "b", "a"], "day": [START] * 3})
    report = describe_columns(rows, "gaussian(2.0) + match.on(site) + linear.on(age)")
    assert [use.becomes for use in report] == [
        "gaussian(length_scale=2.0), linear(offset=0.0)",
        "match(missing='refuse')",
        "left out: the kernel does not read it",
    ]
    assert report.kernel.terms[:2] == (Gaussian(2.0).on("age"), Match().on("site"))


@EACH_TABLE
@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("gaussian.on(agee)", "no column 'agee' in the table; .*; did you mean 'age'?"),
        ("gaussian.on(age) + linear.on(7)", "no column 7 in a table of 2 columns"),
    ],
)
def test_columns_that_another_kernel_names_must_be_there(table, kernel, said):
    rows = table({"age": [41.0, 52.0, 60.0], "site": ["a", "b", "a"]})
    with pytest.raises(ValueError, match=said):
        describe_columns(rows, kernel)


# Text, what it is said to hold, and what is to be done.
SPELLED = {
    "comma": ([f"{i % 7},5" for i in range(N)], "numbers", "with decimal points to have"),
    "point": ([f" {i % 7 - 3}.25" for i in range(N)], "numbers", "make numbers of it to have"),
    "thousands": ([f"{1 + i % 7},000.5" for i in range(N)], "numbers", "decimal points"),
    "percent": ([f"{i}.5 %" for i in range(N)], "numbers", "compared by size"),
    "all different": ([str(100 + i) for i in range(N)], "numbers", "compared by size"),
    "marks": (
        [*(str(i + 1) for i in range(N - 1)), "n/a"],
        "numbers",
        "'1' and 'n/a'; make numbers of it, missing where there is none, to",
    ),
    "month first": ([f"{1 + i % 12}/{1 + i % 28}/2020" for i in range(N)], "dates", "the month"),
    "day first": ([f"{1 + i % 28}.{1 + i % 12}.2020" for i in range(N)], "dates", "the day first"),
    "either": ([f"{1 + i % 12}/{1 + i % 9}/2020" for i in range(N)], "dates", "as you know"),
    "zone": ([f"2020-01-{1 + i % 28:02d}T12:00:00Z" for i in range(N)], "dates", "by time"),
}


@EACH_TABLE
@pytest.mark.parametrize("name", SPELLED)
def test_numbers_and_dates_as_text_are_remarked_on(table, name):
    values, what, advice = SPELLED[name]
    rows = table({"age": np.linspace(20.0, 80.0, N) ** 2, "c": values})
    for report in (describe_columns(rows), describe_columns(rows, "gaussian.on(age)")):
        (remark,) = report.remarks
        assert remark.startswith(f"column 'c' holds {what} as text, such as {values[0]!r}")
        assert advice in remark
        assert str(report).splitlines()[-1] == remark
        assert f"holds {what} as text" in report._repr_html_()


@pytest.mark.parametrize(
    "values",
    [
        [f"0{i % 7}" for i in range(N)],
        [f"site {i % 7}" for i in range(N)],
        [*["1", "2", "3"] * 10, *["low", "high"] * 5],
        [f"2020-01-{1 + i % 28:02d}" for i in range(N)],
        [i % 7 for i in range(N)],
        [b"1", b"2"] * (N // 2),
    ],
    ids=["codes", "words", "mixed", "dates", "numbers", "bytes"],
)
def test_other_columns_have_no_remark(values):
    assert describe_columns({"c": values}).remarks == ()


def test_a_key_of_numbers_as_text_has_no_remark():
    report = describe_columns({"age": [1.5, 2.5, 4.0], "user_id": ["17", "23", "54"]})
    assert report.remarks == ()


def test_a_table_of_numbers_as_text_alone_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match="'c' holds numbers as text, such as '7'; make numbers"):
        default_kernel({"c": [str(i * i + 7) for i in range(N)]})


def test_columns_of_an_array_are_told_by_position():
    X = np.column_stack([np.arange(5.0) ** 2, np.ones(5)])
    assert [(use.column, use.becomes) for use in describe_columns(X)] == [
        (0, "number"),
        (1, "left out: has one value"),
    ]
    report = describe_columns(X, Gaussian(1.0).on(-1))
    assert [use.is_used for use in report] == [False, True]
    for kernel in (Gaussian("median"), Gaussian(1.0).after(Standardize()), Gaussian(1.0) + 1.0):
        assert [use.is_used for use in describe_columns(X, kernel)] == [True, True]


@pytest.mark.parametrize(
    ("column", "becomes"),
    [
        (pd.array([1, None, 3, 5], dtype="Int64"), "number, indicator where missing"),
        (pd.array([1.5, None, 3, 5], dtype="Float32"), "number, indicator where missing"),
        (pd.array([True, None, False, True], dtype="boolean"), "category, missing is one"),
        (pd.array(["a", None, "b", "a"], dtype="string"), "category, missing is one"),
        (pd.Categorical(["a", None, "b", "a"]), "category, missing is one"),
        (pd.date_range("2020-01-01", periods=4, tz="Europe/Berlin"), "date: time"),
        (pd.Series([1, "a", None, 2.5], dtype=object), "left out: holds other values"),
        (pd.period_range("2020-01", periods=4, freq="M"), "left out: holds other values"),
    ],
    ids=lambda v: "" if isinstance(v, str) else str(v.dtype),
)
def test_types_of_pandas_have_their_roles(column, becomes):
    (use,) = describe_columns(pd.DataFrame({"c": column}))
    assert use.becomes == becomes


def test_the_columns_of_sparse_rows_are_numbers():
    X = sp.csc_array(np.array([[1.0, 0.0, 7.0], [0.0, 0.0, 7.0], [2.0, 0.0, 7.0]]))
    report = describe_columns(X)
    assert [use.becomes for use in report] == ["number"] * 3
    assert [use.distinct for use in report] == [3, 1, 1]
    assert report.kernel == default_kernel(X)
    assert [use.is_used for use in describe_columns(X, Gaussian(1.0).on(0, 2))] == [
        True,
        False,
        True,
    ]


def test_sparse_rows_are_compared_as_dense_ones_are(rng):
    X = rng.normal(size=(30, 3)) * [1.0, 1e2, 1e4] * (rng.random((30, 3)) < 0.5)
    dense, sparse = (default_kernel(rows)(rows) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse, dense, rtol=1e-8)
    wide = sp.csr_array((4, 1001))
    assert default_kernel(wide) == Gaussian("median")


@EACH_TABLE
def test_identifiers_are_told_by_their_role(table):
    report = describe_columns(table({name: values for name, (values, _) in ROLES.items()}))
    keys = [use.column for use in report if use.role is Role.IDENTIFIER]
    assert keys == ["row", "user_id", "code"]
    assert not any(use.is_used for use in report if use.role is Role.IDENTIFIER)


@EACH_TABLE
def test_an_identifier_that_is_kept_is_read_as_what_it_holds(table):
    rows = table({name: values for name, (values, _) in ROLES.items()})
    kept = {use.column: use for use in describe_columns(rows, keep=["user_id", "code"])}
    assert kept["user_id"].becomes == "number"
    assert kept["code"].becomes == "text: spectrum(k=3).normalized()"
    assert kept["row"].becomes == "left out: numbers the rows"
    text = str(default_kernel(rows, keep=("user_id", "code")))
    assert "user_id" in text and ".on(code)" in text and "row" not in text
    # What has one value says nothing, whoever keeps it.
    assert {u.column: u.is_used for u in describe_columns(rows, keep="same")}["same"] is False
    told = r"^keep must name columns of the rows, got 'rwo'; use 'age', .*$"
    with pytest.raises(ValueError, match=told):
        default_kernel(rows, keep=["rwo"])


def test_columns_of_an_array_are_kept_by_position(rng):
    X = np.column_stack([rng.normal(size=N), np.arange(N)])
    assert default_kernel(X).columns == (0,)
    assert str(default_kernel(X, keep=[1])) == str(default_kernel(X[:, :1].repeat(2, axis=1)))


@pytest.mark.parametrize("columns", [np.asarray, sp.csr_array], ids=["array", "sparse"])
def test_columns_to_keep_are_checked_whatever_the_rows(rng, columns):
    X = columns(np.column_stack([rng.normal(size=N), np.arange(N)]))
    for ask in (default_kernel, describe_columns):
        for keep, name in ((["nope"], "'nope'"), ([0, 2], "2"), (1.5, "1.5")):
            told = f"^keep must name columns of the rows, got {name}; use 0, 1$"
            with pytest.raises(ValueError, match=told):
                ask(X, keep=keep)


@pytest.mark.parametrize("keep", [1, np.int64(1), np.array([1]), {1}], ids=repr)
def test_one_column_to_keep_or_several_may_be_named_as_python_and_numpy_do(rng, keep):
    X = np.column_stack([rng.normal(size=N), np.arange(N)])
    assert default_kernel(X, keep=keep) == default_kernel(X, keep=[1]) != default_kernel(X)


def test_none_to_keep_is_no_column(rng):
    X = np.column_stack([rng.normal(size=N), np.arange(N)])
    assert default_kernel(X, keep=None) == default_kernel(X)
