"""Columns of text that spell dates in an order that their cells tell."""

from datetime import date, datetime

import pytest

from mercer.errors import DataFileError
from mercer.files.form import OPEN, Form
from mercer.files.tables import table_of


def read(tmp_path, cells, form=OPEN):
    """Return a table whose column 'd' has these cells, and what became of them."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["d,b", *(f"{cell},1" for cell in cells)]))
    table = table_of(str(path), form)
    return table, table.read()["d"].to_list()


@pytest.mark.parametrize(
    ("cells", "order", "format"),
    [
        (["3/4/2020", "30/01/2020"], "the day first", "%d/%m/%Y"),
        (["3.4.2020", "30.1.2020"], "the day first", "%d.%m.%Y"),
        (["04-03-2020", "01-30-2020"], "the month first", "%m-%d-%Y"),
        (["2020/4/3", "2020/01/30"], "the year first", "%Y/%m/%d"),
    ],
)
def test_one_cell_tells_the_order_of_all(tmp_path, cells, order, format):
    table, found = read(tmp_path, cells)
    assert found == [date(2020, 4, 3), date(2020, 1, 30)]
    assert table.remarks == (f"column 'd': dates with {order}, such as {cells[0]!r}",)
    assert table.dates == (("d", format),)


@pytest.mark.parametrize(("tail", "seconds"), [(" 7:05", 0), (" 07:05:09", 9)])
def test_a_time_of_the_day_may_follow(tmp_path, tail, seconds):
    _, found = read(tmp_path, [f"30/01/2020{tail}", f"1/2/2020{tail}"])
    assert found == [datetime(2020, 1, 30, 7, 5, seconds), datetime(2020, 2, 1, 7, 5, seconds)]


def test_marks_and_empty_cells_are_missing_dates(tmp_path):
    table, found = read(tmp_path, ["n/a", "30/01/2020", "", "Unknown"])
    assert found == [None, date(2020, 1, 30), None, None]
    assert table.remarks[0].endswith("such as '30/01/2020'; 2 cells such as 'n/a' count as missing")


@pytest.mark.parametrize(
    "cells",
    [
        ["3/4/2020", "12/12/2020"],
        ["30/1/2020", "1/30/2020"],
        ["30/1/2020", "30.1.2020"],
        ["30/1/20", "29/1/20"],
        ["30/1/2020", "31/2/2020"],
        ["30/1/2020", "30/1/2020 10:00"],
        ["30/1/2020", "soon"],
        ["2020-01-30", "2020-01-31"],
    ],
    ids=[
        *("either order", "both orders", "two signs", "two digits", "no such day"),
        *("some times", "a word", "iso"),
    ],
)
def test_what_does_not_tell_one_order_stays_text(tmp_path, cells):
    table, found = read(tmp_path, cells)
    assert found == cells
    assert table.dates == ()
    assert not any("dates with" in text for text in table.remarks)


def test_dates_are_read_as_in_the_rows_of_the_fit(tmp_path):
    form = Form(dates=(("d", "%d/%m/%Y"),))
    assert read(tmp_path, ["3/4/2020", "?"], form)[1] == [date(2020, 4, 3), None]
    assert read(tmp_path, ["", ""], form)[1] == [None, None]
    for cell in ("4/30/2020", "2020-04-31", "2020-04-03 10:00", "3/4/20", "7"):
        said = f"'d' has '{cell}' in row 2, and was dates with the day first"
        with pytest.raises(DataFileError, match=said):
            read(tmp_path, ["3/4/2020", cell], form)
    with pytest.raises(DataFileError, match="'d' has '7' in row 1, and was dates"):
        read(tmp_path, ["7", "8"], form)


@pytest.mark.parametrize(
    ("format", "cell", "read_as"),
    [
        ("%d/%m/%Y", "2020-04-03", date(2020, 4, 3)),
        ("%m.%d.%Y", "2020-04-03", date(2020, 4, 3)),
        ("%d/%m/%Y %H:%M", "2020-04-03 07:05", datetime(2020, 4, 3, 7, 5)),
        ("%d/%m/%Y %H:%M:%S", "2020-04-03T07:05:09", datetime(2020, 4, 3, 7, 5, 9)),
    ],
)
def test_dates_of_iso_8601_are_understood_in_columns_of_dates(tmp_path, format, cell, read_as):
    assert read(tmp_path, [cell, "?"], Form(dates=(("d", format),)))[1] == [read_as, None]


def test_what_was_text_in_the_rows_of_the_fit_stays_text(tmp_path):
    assert read(tmp_path, ["30/01/2020"], Form(texts=("d",)))[1] == ["30/01/2020"]


@pytest.mark.parametrize(
    "entry", ["d", ("d",), ("d", 1), ("d", "%d/%m"), ("d", "%d/%m.%Y"), (1, "%d/%m/%Y")]
)
def test_a_form_with_dates_of_another_kind_is_refused(entry):
    with pytest.raises(ValueError, match="how its cells are written"):
        Form(dates=(entry,))
