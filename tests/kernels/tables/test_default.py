"""default_kernel: the kernel that a table suggests."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.estimators import KernelRidge
from mercer.kernels import (
    Calendar,
    FillMissing,
    Gaussian,
    Match,
    Spectrum,
    Standardize,
    Words,
    default_kernel,
)

TABLES = {"mapping": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
EACH_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
N = 60
CATEGORIES = Match("own-category")
PARTS = Spectrum(3).normalized().after(FillMissing())


def random_words(rng, least, most):
    letters = np.array(list("CNOcno=#"))
    return ["".join(rng.choice(letters, rng.integers(least, most))) for _ in range(N)]


@EACH_TABLE
def test_each_kind_of_column_has_a_term(table, rng):
    rows = table(
        {
            "age": rng.normal(50.0, 9.0, N),
            "dose": rng.integers(0, 5, N),
            "site": [f"site {i % 4}" for i in range(N)],
            "smoker": [bool(i % 2) for i in range(N)],
            "smiles": random_words(rng, 10, 20),
            "note": [f"came in on day {i} with pain" for i in range(N)],
        }
    )
    k = default_kernel(rows)
    numbers, categories, smiles, note = k.terms
    assert numbers.columns == ("age", "dose")
    assert numbers.kernel == Gaussian("median").after(Standardize(missing="mean"))
    assert categories == CATEGORIES.on("site", "smoker")
    assert smiles == PARTS.on("smiles")
    assert note == Words().after(FillMissing()).on("note")


@EACH_TABLE
def test_what_is_printed_is_read_back(table, rng):
    rows = table({"body mass": rng.normal(size=N), "it's": ["a", "b"] * 30, "x": np.arange(N) % 7})
    k = default_kernel(rows)
    assert mercer.kernel(str(k)) == k


def test_the_length_scale_is_the_median_distance_of_the_scaled_rows(rng):
    X = rng.normal(size=(N, 3)) * [1.0, 10.0, 100.0]
    scale = default_kernel(X).resolved(X).kernel.length_scale
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(scale, Gaussian("median").resolved(scaled).length_scale, rtol=1e-12)


@EACH_TABLE
def test_numbers_and_dates_are_scaled_by_the_rows_that_weigh(table, rng):
    day = [datetime(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 900, N)]
    columns = {"age": rng.normal(size=N) ** 3, "day": day}
    weights = rng.integers(0, 3, N).astype(float)
    used, twice = np.flatnonzero(weights), np.repeat(np.arange(N), weights.astype(int))
    some = table({name: [values[i] for i in used] for name, values in columns.items()})
    repeated = table({name: [values[i] for i in twice] for name, values in columns.items()})
    weighed = default_kernel(table(columns)).resolved(some, weights[used])
    assert_allclose(weighed(some), default_kernel(repeated).resolved(repeated)(some), rtol=1e-9)


def test_every_term_is_normalised(rng):
    columns = {"a": rng.normal(size=N), "b": ["x", "y"] * 30, "c": random_words(rng, 10, 20)}
    rows = pd.DataFrame(columns)
    for term in default_kernel(rows).terms:
        assert_allclose(term.resolved(rows).diagonal(rows), 1.0)


@EACH_TABLE
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("row", np.arange(N)),
        ("number", np.arange(N)[::-1] + 1),
        ("patient_id", np.arange(N) * 7 + 1000),
        ("userId", [f"user {i}" for i in range(N)]),
        ("code", [f"A-{i:04d}" for i in range(N)]),
        ("hash", [f"{i:08x}-0000-4000-8000-{i:012x}" for i in range(N)]),
        ("constant", np.full(N, 3.5)),
        ("one word", ["same"] * N),
        ("empty", np.full(N, np.nan)),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_columns_that_say_nothing_are_left_out(table, name, column, rng):
    rows = table({"age": rng.normal(size=N), name: column})
    assert default_kernel(rows).columns == ("age",)


def test_numbers_of_rows_are_left_out_also_of_a_part_of_the_rows(rng):
    rows = pd.DataFrame({"age": rng.normal(size=200), "row": np.arange(1, 201)})
    for part in (rows.sample(frac=0.8, random_state=0), rows.sample(frac=0.7, random_state=1)):
        assert default_kernel(part).columns == ("age",)
    # Whole numbers of which some are alike, or that leave gaps, mean something.
    counts = rows.assign(row=rng.integers(0, 200, 200))
    assert default_kernel(counts).columns == ("age", "row")
    assert default_kernel(rows.assign(row=3 * rows.row)).columns == ("age", "row")


@pytest.mark.parametrize("name", ["year", "t", "sales_week", "day of trial"])
def test_what_numbers_the_rows_is_read_if_it_is_a_time_or_alone(name, rng):
    assert default_kernel({"row": np.arange(N)}).columns == ("row",)
    assert default_kernel({"age": rng.normal(size=N), name: np.arange(N)}).columns == ("age", name)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_nothing_are_left_out(table, rng):
    rows = table({"age": rng.normal(size=N), "nothing": [None] * N})
    assert default_kernel(rows).columns == ("age",)


@EACH_TABLE
def test_dates_have_a_term_each_and_durations_are_numbers(table, rng):
    day = [datetime(2020, 1, 1) + timedelta(days=11 * i, hours=5 * i % 24) for i in range(N)]
    born = [datetime(1990, 1, 1).date() + timedelta(days=i) for i in range(N)]
    stay = [timedelta(hours=int(h)) for h in rng.integers(1, 99, N)]
    rows = table({"age": rng.normal(size=N), "day": day, "stay": stay, "born": born})
    numbers, days, births = default_kernel(rows).terms
    assert numbers.columns == ("age", "stay")
    assert days.kernel.g == Calendar(("time", "year", "week", "day"), missing="mean")
    assert births.kernel.g == Calendar(("time", "week"), missing="mean")
    assert (days.columns, births.columns) == (("day",), ("born",))


@EACH_TABLE
def test_dates_of_one_value_or_none_are_left_out(table, rng):
    rows = {"age": rng.normal(size=N), "day": [datetime(2020, 1, 1)] * N}
    assert default_kernel(table(rows)).columns == ("age",)


@EACH_TABLE
def test_text_of_iso_dates_is_a_date(table, rng):
    days = [str(datetime(2020, 1, 1).date() + timedelta(days=3 * i)) for i in range(N)]
    k = default_kernel(table({"age": rng.normal(size=N), "day": days}))
    assert k.terms[1].kernel.g == Calendar(("time", "week"), missing="mean")
    no_dates = [day.replace("-03-", "-13-") for day in days]
    k = default_kernel(table({"age": rng.normal(size=N), "day": no_dates}))
    assert k.terms[1] == PARTS.on("day")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("year", np.arange(1990, 1990 + N)),
        ("level", [0, 1, 2] * 20),
        ("binary", [0, 1] * 30),
    ],
)
def test_whole_numbers_that_mean_something_are_numbers(name, column, rng):
    rows = {"age": rng.normal(size=N), name: column}
    assert default_kernel(rows).columns == ("age", name)


@pytest.mark.parametrize(
    "column",
    [
        ["x", "y", "z"] * 20,
        [f"{i % 20:02d}" for i in range(N)],
        [chr(65 + i // 2) + "q" for i in range(N)],
        pd.Categorical([f"level number {i}" for i in range(N)]),
        ["yes", None, "no"] * 20,
        [True, None, False] * 20,
    ],
    ids=["few", "codes", "short", "declared", "gaps", "gaps in truth values"],
)
def test_categories_are_matched(column):
    assert default_kernel(pd.DataFrame({"c": column})) == CATEGORIES.on("c")


@EACH_TABLE
def test_short_text_is_a_category_also_if_it_never_comes_back(table):
    states = [a + b for a in "ABCDEFGHIJ" for b in "KLMNO"]
    rows = table({"state": states})
    k = default_kernel(rows)
    assert k == CATEGORIES.on("state")
    assert_array_equal(k(rows), np.eye(len(states)))
    with pytest.raises(ValueError, match="'code' is another text in every row"):
        default_kernel(table({"code": [f"A{i}" for i in range(100)]}))


@EACH_TABLE
def test_text_that_is_shorter_than_its_parts_is_like_itself(table):
    rows = table({"name": ["Al", "Jo", "O", "Gertrude", "Wilhelmina", "Alexander", "Josephine"]})
    k = default_kernel(rows)
    assert k == Spectrum((1, 2, 3)).normalized().after(FillMissing()).on("name")
    assert mercer.kernel(str(k)) == k
    assert_allclose(k.diagonal(rows), 1.0)
    assert (k(rows)[0, [5, 1]] > 0.0).tolist() == [True, False]


def test_empty_text_among_longer_has_nothing_in_common_with_itself():
    rows = {"name": ["", "Gertrude", "Wilhelmina", "Alexander"]}
    k = default_kernel(rows)
    assert k == PARTS.on("name")
    assert_allclose(k.diagonal(rows), [0.0, 1.0, 1.0, 1.0])


def test_many_categories_are_categories_if_they_come_back():
    cities = [f"the city of {'abcdefgh'[i % 8]} {'mnopqrstuv'[i % 10]}" for i in range(1000)]
    assert default_kernel({"city": cities}) == CATEGORIES.on("city")


@pytest.mark.parametrize(("rows", "is_category"), [(3, True), (2, False)])
def test_many_names_are_categories_if_each_comes_back_three_times(rows, is_category):
    lasts = ["Miller", "Turner", "Baker", "Fisher", "Weaver", "Tanner", "Cooper", "Smith"]
    firsts = ["Lisa", "Jo", "Ann", "Tom", "Max", "Eva", "Kim", "Sam"]
    names = [f"{last}, {first}" for last in lasts for first in firsts]
    rows_of = {"name": names * rows}
    assert (default_kernel(rows_of) == CATEGORIES.on("name")) is is_category


def test_one_value_repeated_in_a_small_table_is_enough():
    assert default_kernel({"colour": ["red", "blue", "red", "green"]}) == CATEGORIES.on("colour")


def test_an_array_is_read_as_a_whole_or_by_position(rng):
    X = rng.normal(size=(N, 2))
    assert str(default_kernel(X)).endswith("after(standardize(missing='mean'))")
    X = np.column_stack([X[:, 0], np.ones(N), X[:, 1]])
    assert default_kernel(X).columns == (0, 2)
    assert default_kernel(["a", "b", "a", "b"]) == CATEGORIES
    assert default_kernel(random_words(rng, 10, 20)) == PARTS


@pytest.mark.parametrize(
    "names",
    [pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")]), [5, 7, 0]],
    ids=["levels", "numbers"],
)
def test_columns_that_are_not_called_by_text_are_read_by_position(names, rng):
    columns = {"a": rng.normal(size=N), "b": ["x", "y"] * 30, "c": rng.normal(size=N)}
    named = pd.DataFrame(columns)
    other = named.set_axis(names, axis="columns")
    k = default_kernel(other)
    assert [term.columns for term in k.terms] == [(0, 2), (1,)]
    assert_array_equal(k(other), default_kernel(named)(named))
    models = [KernelRidge(default_kernel(rows)).fit(rows, columns["a"]) for rows in (named, other)]
    assert_array_equal(models[1].predict(other), models[0].predict(named))


@EACH_TABLE
def test_missing_numbers_stand_at_the_mean_with_an_indicator(table, rng):
    age = [None if i == 4 else v for i, v in enumerate(rng.normal(50.0, 9.0, N).tolist())]
    rows = table({"bmi": rng.normal(size=N), "age": age})
    k = default_kernel(rows).resolved(rows)
    assert k.kernel.g.indicators == (1,)
    assert mercer.kernel(str(k)) == k
    assert_allclose(k.diagonal(rows), 1.0)


def test_numbers_that_are_never_all_known_have_a_scale():
    rows = {"a": [1.0, np.nan, 2.0, np.nan], "b": [np.nan, 1.0, np.nan, 7.0]}
    scale = default_kernel(rows).resolved(rows).kernel.kernel.length_scale
    # Two rows have an indicator and a standardised number different, or one number twice as far.
    assert_allclose(scale, 2.0)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("gap", range(4))
def test_a_value_that_is_first_missing_in_new_rows_is_taken(table, gap, rng):
    columns = {
        "age": rng.normal(50.0, 9.0, N).tolist(),
        "site": [f"site {i % 3}" for i in range(N)],
        "day": [datetime(2020, 1, 1) + timedelta(days=i) for i in range(N)],
        "note": [f"came in on day {i} with pain" for i in range(N)],
    }
    whole, name = pd.DataFrame(columns), list(columns)[gap]
    model = KernelRidge(default_kernel(whole), 0.1).fit(whole, np.arange(N))
    new = table({**columns, name: [None, *columns[name][1:]]})
    found = model.predict(new)
    assert np.isfinite(found[0])
    assert_allclose(found[1:], model.predict(whole)[1:], rtol=1e-9)


@EACH_TABLE
def test_missing_text_says_nothing(table):
    notes = [None if i == 4 else f"came in on day {i} with pain" for i in range(N)]
    rows = table({"note": notes})
    K = default_kernel(rows)(rows)
    assert_array_equal(K[4], 0.0)
    assert (np.delete(np.delete(K, 4, 0), 4, 1) > 0.0).all()


def test_a_table_that_says_nothing_is_refused():
    with pytest.raises(ValueError, match=r"'id' numbers the rows; 'c' has one value"):
        default_kernel({"id": np.arange(N), "c": ["x"] * N})


@EACH_TABLE
def test_a_model_of_a_table_needs_no_more(table, rng):
    age, site = rng.normal(50.0, 9.0, N), [f"site {i % 3}" for i in range(N)]
    y = np.sin(age / 9.0) + np.arange(N) % 3
    rows = table({"id": np.arange(N), "age": age, "site": site})
    if table is dict:
        rows = pd.DataFrame(rows)
    model = KernelRidge(default_kernel(rows), 0.1).fit(rows, y)
    assert model.score(rows, y) > 0.95
    assert model.feature_names_in_.tolist() == ["age", "site"]
    assert mercer.kernel(str(model.kernel_)) == model.kernel_


@pytest.mark.parametrize(
    "lists", [[[1.0, 2.0], [3.0], [4.0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]
)
def test_a_column_of_lists_in_a_mapping_is_left_out(lists):
    columns = {"age": [41.0, 52.0, 60.0], "lists": lists}
    assert default_kernel(columns).columns == ("age",)


def test_a_list_of_texts_or_dates_with_gaps_is_learnt_from(rng):
    texts = [None, *random_words(rng, 10, 20)[1:]]
    days = np.array([None, *(datetime(2020, 1, 1) + timedelta(days=i) for i in range(1, N))])
    for rows in (texts, days, np.where(rng.random((N, 2)) < 0.1, np.nan, rng.random((N, 2)))):
        model = KernelRidge(default_kernel(rows), 0.1).fit(rows, np.arange(N))
        assert np.isfinite(model.predict(rows)).all()


def test_durations_are_numbers_in_any_form():
    hours = [timedelta(hours=h) for h in (1, 5, 2, 9)]
    seconds = np.array([[h.total_seconds()] for h in hours])
    expected = Gaussian(3600.0)(seconds)
    forms = [np.array(hours, "m8[s]")[:, None], np.array(hours, object)[:, None], {"h": hours}]
    forms += [table({"h": hours}) for table in (pd.DataFrame, pl.DataFrame, pa.table)]
    forms.append(pd.DataFrame({"h": pd.Series(hours, dtype=object)}))
    for rows in forms:
        assert_allclose(Gaussian(3600.0)(rows), expected, rtol=1e-12)
    late = pd.DataFrame({"h": pd.Series([pd.NaT, *hours], dtype=object)})
    filled = Gaussian(1.0).after(Standardize(missing="mean")).on("h")
    assert np.isfinite(filled(late)).all()
