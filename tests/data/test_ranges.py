"""Ranges and categories of training rows, and what other rows have outside of them."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from mercer.data.ranges import Levels, Outside, Ranges, Unseen, outside_in_words
from mercer.errors import OutsideRangeWarning, UnseenCategoriesWarning
from mercer.selection.automatic.ranges import training_ranges


def test_ranges_are_those_of_all_blocks_without_what_is_missing():
    blocks = [np.array([[1.0, np.nan]]), np.array([[3.0, 5.0], [-2.0, 4.0]])]
    assert Ranges.of(blocks).entries == (("0", -2.0, 3.0), ("1", 4.0, 5.0))


def test_only_columns_of_numbers_have_a_range():
    table = pd.DataFrame({"a": [1, 4], "b": ["x", "y"], "c": [True, False], "d": [np.nan] * 2})
    assert Ranges.of([table]).entries == (("a", 1.0, 4.0),)


def test_far_is_farther_outside_than_a_quarter_of_the_range():
    ranges = Ranges((("0", 0.0, 2.0),))
    assert ranges.outside(np.array([[2.5], [-0.5], [np.nan]])) == []
    assert ranges.outside(np.array([[2.6], [-9.0], [1.0]])) == [Outside("0", 2, -9.0, 0.0, 2.0)]


def test_of_few_rows_far_is_farther():
    few, many = (Ranges.of([np.linspace(0.0, 2.0, n)[:, None]]) for n in (8, 24))
    assert few.outside(np.array([[3.4]])) == []
    assert len(few.outside(np.array([[3.6]]))) == 1
    assert len(many.outside(np.array([[2.6]]))) == 1


def test_of_many_columns_far_is_farther():
    ranges = Ranges(tuple((str(j), 0.0, 2.0) for j in range(100)))
    assert ranges.outside(np.full((1, 100), 3.0)) == []
    assert len(ranges.outside(np.full((1, 100), 3.1))) == 100


def test_blocks_add_up_to_the_farthest():
    both = Outside("a", 2, -9.0, 0.0, 2.0).with_more(Outside("a", 1, 12.0, 0.0, 2.0))
    assert both == Outside("a", 3, 12.0, 0.0, 2.0)


@pytest.mark.parametrize("entry", [("a", 2.0, 1.0), ("a", np.nan, 1.0), (3, 0.0, 1.0)])
def test_what_is_no_range_is_refused(entry):
    with pytest.raises(ValueError, match="no range"):
        Ranges((entry,))


@pytest.mark.parametrize("kind", [mercer.KernelRegressor, mercer.KernelClassifier])
def test_an_automatic_machine_warns_of_numbers_far_outside(kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"dose": rng.uniform(0, 10, 25), "age": rng.uniform(20, 80, 25)})
    y = table.dose > 5 if kind is mercer.KernelClassifier else table.dose
    model = kind().fit(table, y)
    model.predict(table)
    said = "where predictions are guesses: column 'dose', 1 row with 500 where these have"
    with pytest.warns(OutsideRangeWarning, match=said):
        model.predict(pd.DataFrame({"dose": [5.0, 500.0], "age": [30.0, 40.0]}))


@pytest.mark.parametrize("is_text", [False, True])
def test_dates_have_ranges_and_lie_outside_of_them_as_numbers_do(is_text):
    days = [None, *(date(2020, 1, 1) + timedelta(day) for day in range(61))]
    rows, new = (
        pl.DataFrame({"d": [str(day) if is_text and day else day for day in each]})
        for each in (days, [date(2020, 2, 1), date(2020, 5, 1), date(2031, 1, 1)])
    )
    ranges = Ranges.of([rows])
    assert ranges.dates == ("d",) and ranges.on(["d"]) == ranges
    (found,) = ranges.outside(new)
    assert str(found) == (
        "'d', 2 rows with values such as 2031-01-01 where these have 2020-01-01 to 2020-03-01"
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("other", ["soon", "2021-01-01T10:00:00Z", "2020-02-30"])
def test_text_that_begins_with_a_date_has_no_range(other):
    assert Ranges.of([pl.DataFrame({"d": ["2020-01-01", other, None]})]).entries == ()


def test_many_columns_are_one_sentence_and_named():
    found = [Outside(f"x{i}", 1, 9.0, 0.0, 1.0) for i in range(15)]
    said = outside_in_words(found)
    assert "'x2', 1 row with 9 where these have 0 to 1; also 'x3'" in said
    assert said.endswith("'x12' and 2 columns more")


@pytest.mark.parametrize("days", [1e9, -1e9])
def test_ranges_of_dates_without_such_days_are_refused(days):
    with pytest.raises(ValueError, match="ranges of days"):
        Ranges((("d", min(0.0, days), max(0.0, days)),), ("d",))
    with pytest.raises(ValueError, match="ranges of days"):
        Ranges((), ("d",))


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 5], [3.0, 4]],
        [[1.0, 5], [3.0, None], [2.0, 4]],
        np.array([[1.0, 5], [3.0, None], [2.0, 4]], object),
    ],
)
def test_lists_and_objects_that_are_numbers_have_ranges(rows):
    assert Ranges.of([rows]).entries == (("0", 1.0, 3.0), ("1", 4.0, 5.0))


@pytest.mark.parametrize("rows", [["a text", "b"], [["a"], ["b", "c"]], [["a", "b"]], []])
def test_lists_of_text_have_none(rows):
    assert Ranges.of([rows]).entries == ()


def test_objects_of_which_a_later_one_is_text_have_none():
    assert Ranges.of([np.array([[1.0]] * 5000 + [["x"]], object)]).entries == ()


@pytest.mark.parametrize("form", ["table", "array", "list"])
def test_columns_that_the_kernel_does_not_read_have_no_range(form):
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    rows = {"table": table, "array": table.to_numpy(), "list": table.to_numpy().tolist()}[form]
    name = {"table": "b"}.get(form, "1")
    one = mercer.Gaussian().on("b" if form == "table" else 1)
    assert training_ranges(rows, one).entries == ((name, 3.0, 4.0),)
    assert len(training_ranges(rows, mercer.Gaussian()).entries) == 2


def test_levels_are_those_of_all_blocks_without_what_is_missing():
    blocks = [pd.DataFrame({"site": ["b", None], "age": [1, 2]}), pl.DataFrame({"site": ["a"]})]
    assert Levels.of(blocks, ["site"]) == Levels((("site", ("a", "b")),))


def test_a_whole_number_is_the_same_category_beside_a_missing_one():
    known = Levels.of([pd.DataFrame({"site": [1, 2]})], ["site"])
    unseen = Unseen(known)
    unseen.see(pd.DataFrame({"site": [1.0, np.nan]}))
    assert unseen.sentences == []


def test_a_column_of_too_many_categories_is_not_remembered():
    table = pl.DataFrame({"key": [f"k{i}" for i in range(10_001)]})
    assert Levels.of([table], ["key"]) == Levels()


@pytest.mark.parametrize("entry", [("site",), ("site", ["a"]), (1, ("a",)), ("site", (1,))])
def test_what_are_no_levels_is_refused(entry):
    with pytest.raises(ValueError, match="categories are the name of a column"):
        Levels((entry,))


@pytest.mark.parametrize("kind", [mercer.KernelRegressor, mercer.KernelClassifier])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_automatic_machine_warns_once_of_unseen_categories(kind, frame, tmp_path):
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south"], 25)
    y = (
        site == "north"
        if kind is mercer.KernelClassifier
        else (site == "north") + rng.normal(0, 0.1, 25)
    )
    table = {"site": site.tolist(), "dose": rng.uniform(0, 10, 25)}
    model = kind().fit(frame(table), y)
    model.predict(frame(table))
    mercer.save(model, tmp_path / "m.mercer")
    for each in (model, mercer.load(tmp_path / "m.mercer")):
        with pytest.warns(UnseenCategoriesWarning) as warned:
            each.predict(frame({"site": ["north", "east", "west"], "dose": [1.0, 2.0, 3.0]}))
        (one,) = warned
        assert str(one.message) == (
            "column 'site': 2 rows have categories that no training row has, 'east', 'west'; "
            "predictions there rest on the other columns"
        )
