"""Marks for missing cells in columns of text."""

from pathlib import Path

import pytest

from mercer.files.form import OPEN, Form
from mercer.files.tables import table_of
from mercer.files.texts import MARKS, WORDS

COMMAND = Path(__file__).parents[2] / "docs" / "command.md"


def read(tmp_path, cells, form=OPEN):
    """Return a table whose column 'a' has these cells, and what became of them."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b", *(f"{cell},1" for cell in cells)]))
    table = table_of(str(path), form)
    return table, table.read()["a"].to_list()


@pytest.mark.parametrize("mark", ["NA", "N/A", "n.a.", "NaN", "null", "-", "?", ".", "<NA>"])
def test_a_mark_among_words_is_a_missing_cell_and_counted(tmp_path, mark):
    table, found = read(tmp_path, ["red", mark, "blue", "", mark])
    assert found == ["red", None, "blue", None, None]
    assert table.remarks == (f"column 'a': 2 cells such as {mark!r} count as missing",)


def test_the_page_of_the_command_names_every_mark():
    text = COMMAND.read_text(encoding="utf-8")
    assert [mark for mark in (*MARKS, *WORDS) if mark and f"`{mark}`" not in text] == []


@pytest.mark.parametrize("word", ["None", "unknown", "missing", "Na", "nil"])
def test_words_that_say_something_among_others_are_categories(tmp_path, word):
    table, found = read(tmp_path, ["red", word, "blue"])
    assert found == ["red", word, "blue"]
    assert table.remarks == ()


def test_na_among_capital_letters_is_a_category_and_said_to_be(tmp_path):
    table, found = read(tmp_path, ["DE", "NA", "FR", "n/a"])
    assert found == ["DE", "NA", "FR", None]
    assert table.remarks == (
        "column 'a': 1 cell 'NA' is a category, since others are capital letters too; empty such "
        "cells if they are missing",
        "column 'a': 1 cell such as 'n/a' counts as missing",
    )
    assert read(tmp_path, ["M", "NA", "F"])[1] == ["M", None, "F"]
    assert read(tmp_path, ["NA", "?"])[1] == [None, None]


def test_a_minus_beside_a_plus_is_a_category(tmp_path):
    table, found = read(tmp_path, ["+", "-", "."])
    assert found == ["+", "-", None]
    assert "1 cell '-' is a category, since others begin with '+'" in table.remarks[0]


def test_spaces_around_text_are_no_part_of_it(tmp_path):
    assert read(tmp_path, ["red ", "red", " blue", "  "])[1] == ["red", "red", "blue", None]


def test_marks_beside_dates_of_iso_8601_are_missing_dates(tmp_path):
    assert read(tmp_path, ["2020-01-30", "NA"])[1] == ["2020-01-30", None]


def test_later_files_have_the_categories_of_the_rows_of_the_fit(tmp_path):
    codes = Form(texts=("a",), trimmed=(("a", ("NA",)),))
    assert read(tmp_path, ["NA", "north", "?"], codes)[1] == ["NA", "north", None]
    words = Form(texts=("a",), trimmed=(("a", ()),))
    assert read(tmp_path, ["NA", "DE", " x"], words)[1] == [None, "DE", "x"]
    # A model of a file that was read before marks of text were known has them as categories.
    assert read(tmp_path, ["NA", "DE", " x"], Form(texts=("a",)))[1] == ["NA", "DE", " x"]


@pytest.mark.parametrize("entry", ["a", ("a",), ("a", "NA"), (1, ()), ("a", (1,))])
def test_a_form_with_marks_of_another_kind_is_refused(entry):
    with pytest.raises(ValueError, match="marks of columns of text"):
        Form(trimmed=(entry,))
